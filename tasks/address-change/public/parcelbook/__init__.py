"""Customer directory of a small mail-order shop."""
