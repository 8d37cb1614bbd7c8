"""Shared fixtures."""

from __future__ import annotations

import datetime

import pytest

from parcelbook.book import Book

MILL = {"street": "12 Mill Lane", "postcode": "AB1 2CD", "city": "Ashby"}
OAK = {"street": "7 Oak Street", "postcode": "XY9 8ZW", "city": "Yarrow"}


@pytest.fixture
def path(tmp_path):
    """Where the directory is."""
    return str(tmp_path / "book.db")


@pytest.fixture
def book(path):
    """An open directory with one customer, number 1, in Mill Lane."""
    book = Book(path, today=lambda: datetime.date(2024, 5, 6))
    book.add_customer("Nora Lind", "nora@example.org", MILL)
    yield book
    book.close()
