"""Containers: one contract, a Docker engine behind it, and an in-memory fake that ships with it."""
