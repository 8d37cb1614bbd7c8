"""Refusals."""

from __future__ import annotations


class ParcelbookError(Exception):
    """Base class of all refusals."""


class UnknownCustomer(ParcelbookError):
    """No customer has this number."""


class UnknownParcel(ParcelbookError):
    """No parcel has this number."""


class BadAddress(ParcelbookError):
    """A field of an address is missing or empty."""


class AlreadySent(ParcelbookError):
    """The parcel has left."""
