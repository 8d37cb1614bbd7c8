"""Parcels."""

from __future__ import annotations

import pytest

from parcelbook.errors import AlreadySent, UnknownParcel


def test_a_sent_parcel_keeps_its_label(book):
    parcel = book.order_parcel(1, "2 cups")
    assert book.send_parcel(parcel) == "NORA LIND | 12 Mill Lane | AB1 2CD Ashby"
    assert book.parcels(1) == [
        {
            "parcel": 1,
            "contents": "2 cups",
            "state": "sent",
            "sent_to": "NORA LIND | 12 Mill Lane | AB1 2CD Ashby",
        }
    ]
    assert book.notices(1)[-1]["kind"] == "parcel-sent"
    with pytest.raises(AlreadySent):
        book.send_parcel(parcel)
    with pytest.raises(UnknownParcel):
        book.send_parcel(99)


def test_the_packing_list_has_what_waits(book):
    book.send_parcel(book.order_parcel(1, "2 cups"))
    book.order_parcel(1, "a bowl, blue")
    assert book.packing_list().splitlines()[1:] == ['2,"a bowl, blue",NORA LIND | 12 Mill Lane | AB1 2CD Ashby']
