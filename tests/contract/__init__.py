"""One suite for every sandbox."""
