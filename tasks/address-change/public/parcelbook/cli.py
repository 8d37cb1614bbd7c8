"""Commands for the office and for cron."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import closing
from pathlib import Path

from parcelbook.book import Book
from parcelbook.errors import ParcelbookError


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="parcelbook")
    top.add_argument("--book", required=True, help="directory file")
    commands = top.add_subparsers(dest="command", required=True)
    move = commands.add_parser("move", help="put a customer's address right")
    move.add_argument("number", type=int)
    move.add_argument("street")
    move.add_argument("postcode")
    move.add_argument("city")
    move.add_argument("--clerk", default="office", help="who does it")
    partner = commands.add_parser("import", help="take the partner's file")
    partner.add_argument("file", type=Path)
    partner.add_argument("--dry-run", action="store_true")
    commands.add_parser("packing-list", help="what waits to be sent")
    commands.add_parser("find", help="customers by words").add_argument("text")
    return top


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 when done, 1 when refused."""
    options = parser().parse_args(argv)
    try:
        with closing(Book(options.book)) as book:
            text = _run(book, options)
    except ParcelbookError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    sys.stdout.write(text)
    return 0


def _run(book: Book, options: argparse.Namespace) -> str:
    if options.command == "move":
        address = {"street": options.street, "postcode": options.postcode, "city": options.city}
        book.correct_address(options.number, address, options.clerk)
        return json.dumps(book.customer(options.number)) + "\n"
    if options.command == "import":
        text = options.file.read_text(encoding="utf-8")
        return json.dumps(book.import_partner_file(text, options.dry_run)) + "\n"
    if options.command == "find":
        return json.dumps(book.find(options.text)) + "\n"
    return book.packing_list()
