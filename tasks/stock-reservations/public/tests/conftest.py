"""Shared fixtures."""

from __future__ import annotations

import pytest


@pytest.fixture
def db(tmp_path):
    """The path of a database that does not exist yet."""
    return str(tmp_path / "stock.db")
