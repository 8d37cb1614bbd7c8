"""Judging submissions without knowing their arm: packets, forms, disagreement, agreement. Pure, no I/O."""
