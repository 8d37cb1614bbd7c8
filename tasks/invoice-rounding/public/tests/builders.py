"""Orders for tests."""


def order(*lines, currency="EUR", country="NL", number="2024-0117"):
    return {
        "number": number,
        "issued_on": "2024-03-31",
        "currency": currency,
        "customer": {"name": "Van Dijk BV", "country": country},
        "lines": list(lines),
    }


def item(price, rate="0.21", **more):
    return {"description": "Item", "unit_price": price, "tax_rate": rate, **more}
