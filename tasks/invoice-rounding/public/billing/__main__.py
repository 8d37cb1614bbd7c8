"""Command line: `python3 -m billing invoice|quote|record` reads an order as JSON from stdin."""

from __future__ import annotations

import argparse
import json
import sys

from billing.invoices import build_invoice, to_record
from billing.quotes import quote
from billing.statement import render


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 when it worked, 2 when the order cannot be priced."""
    parser = argparse.ArgumentParser(prog="billing")
    parser.add_argument("command", choices=("invoice", "quote", "record"))
    command = parser.parse_args(argv).command
    try:
        order = json.load(sys.stdin)
        if command == "quote":
            offer = quote(order)
            text = f"net {offer.net} tax {offer.tax} total {offer.gross} {offer.currency}\n"
        elif command == "record":
            text = json.dumps(to_record(build_invoice(order)), indent=2) + "\n"
        else:
            text = render(build_invoice(order))
    except (ValueError, KeyError) as error:
        sys.stderr.write(f"billing: {error}\n")
        return 2
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
