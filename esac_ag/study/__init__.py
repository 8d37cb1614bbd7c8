"""From submissions to a decision: blinded review, decision rules, early stop, the conclusion; pure."""
