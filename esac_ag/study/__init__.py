"""What a finished study is taken through: blinded review, decision rules, the conclusion."""
