"""Command line: `python3 -m depot ROOT put|get|list|history|find|plan`."""

from __future__ import annotations

import argparse
import sys

from depot.names import BadName
from depot.store import Depot, NoSuchDocument
from depot.sync import plan, scan


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="depot")
    parser.add_argument("root", help="the depot's folder")
    commands = parser.add_subparsers(dest="command", required=True)
    put = commands.add_parser("put", help="upload stdin under a name")
    put.add_argument("name")
    put.add_argument("--tag", action="append", default=[])
    get = commands.add_parser("get", help="write a document to stdout")
    get.add_argument("name")
    get.add_argument("--version", type=int)
    commands.add_parser("list", help="all names, one a line")
    commands.add_parser("history", help="versions of a document").add_argument("name")
    commands.add_parser("find", help="names of documents with a tag").add_argument("tag")
    commands.add_parser("plan", help="what a sync would do").add_argument("folder")
    return parser


def _run(arguments: argparse.Namespace) -> bytes:
    depot = Depot(arguments.root)
    match arguments.command:
        case "put":
            version = depot.put(arguments.name, sys.stdin.buffer.read(), arguments.tag)
            rows = [f"{version.name} version {version.number}"]
        case "get":
            return depot.get(arguments.name, arguments.version)
        case "history":
            rows = [f"{v.number} {v.at} {v.size} {v.name}" for v in depot.history(arguments.name)]
        case "find":
            rows = depot.find(arguments.tag)
        case "plan":
            planned = plan(depot, scan(arguments.folder))
            rows = [f"upload {name}" for name in planned.upload]
            rows += [f"unchanged {name}" for name in planned.unchanged]
            rows += [f"only-in-depot {name}" for name in planned.only_in_depot]
        case _:
            rows = depot.names()
    return "".join(f"{row}\n" for row in rows).encode("utf-8")


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 when it worked, 1 for no such document, 2 for a bad name."""
    try:
        output = _run(_parser().parse_args(argv))
    except NoSuchDocument as error:
        sys.stderr.write(f"depot: no such document: {error}\n")
        return 1
    except BadName as error:
        sys.stderr.write(f"depot: {error}\n")
        return 2
    sys.stdout.buffer.write(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
