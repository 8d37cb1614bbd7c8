"""Addresses as values: tidied on the way in, so that equal ones compare equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from parcelbook.errors import BadAddress

FIELDS = ("street", "postcode", "city")


@dataclass(frozen=True)
class Address:
    """A tidied postal address."""

    street: str
    postcode: str
    city: str

    @classmethod
    def tidy(cls, fields: Mapping[str, str]) -> Address:
        """From what somebody typed. Raises BadAddress."""
        values = {name: " ".join(str(fields.get(name) or "").split()) for name in FIELDS}
        empty = [name for name, value in values.items() if not value]
        if empty:
            raise BadAddress(f"no {', '.join(empty)}")
        values["postcode"] = values["postcode"].upper()
        return cls(**values)

    def as_dict(self) -> dict[str, str]:
        """For callers."""
        return asdict(self)

    def one_line(self) -> str:
        """For mails and history."""
        return f"{self.street}, {self.postcode} {self.city}"

    def lines(self) -> list[str]:
        """For labels and invoices."""
        return [self.street, f"{self.postcode} {self.city}"]
