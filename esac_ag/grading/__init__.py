"""Judging submissions in a container of their own, where the deciding process never imports them."""
