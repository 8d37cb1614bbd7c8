"""Tests; see CONTRIBUTING.md."""
