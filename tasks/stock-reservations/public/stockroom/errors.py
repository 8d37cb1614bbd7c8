"""Refusals: what a caller is told when a request cannot be granted."""

from __future__ import annotations


class StockroomError(Exception):
    """Base class of all refusals."""


class OutOfStock(StockroomError):
    """Fewer units are available than were asked for."""


class UnknownSku(StockroomError):
    """No such SKU was ever received."""


class UnknownReservation(StockroomError):
    """No reservation has this number."""


class WrongState(StockroomError):
    """The reservation is not open any more."""


class KeyReused(StockroomError):
    """A request key came back with different content."""
