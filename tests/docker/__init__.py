"""Tests on the real engine."""
