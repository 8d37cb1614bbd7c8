"""Tests without input and output."""
