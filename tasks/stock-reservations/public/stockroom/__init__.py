"""Shelf counts and reservations of a small mail-order shop, in one SQLite file."""
