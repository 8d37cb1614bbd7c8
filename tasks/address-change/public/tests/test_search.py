"""Finding customers."""

from __future__ import annotations

from tests.conftest import OAK


def test_customers_are_found_by_all_words(book):
    other = book.add_customer("Nora Berg", None, OAK)
    assert book.find("nora") == [1, other]
    assert book.find("NORA, mill") == [1]
    assert book.find("xy9 berg") == [other]
    assert book.find("nor") == []
    assert book.find("") == []
