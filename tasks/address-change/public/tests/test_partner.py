"""The partner's file."""

from __future__ import annotations

import json

from parcelbook.cli import main

FILE = """number,street,postcode,city
1,7 Oak Street,,
2,1 Hill Road,AB1 2CD,Ashby
x,,,
"""


def test_each_line_stands_for_itself(book):
    assert book.import_partner_file(FILE) == {"changed": ["1"], "unchanged": [], "rejected": ["2", "x"]}
    assert book.customer(1)["address"] == {"street": "7 Oak Street", "postcode": "AB1 2CD", "city": "Ashby"}
    assert book.history(1)[-1]["actor"] == "partner"
    assert book.import_partner_file(FILE)["unchanged"] == ["1"]


def test_a_dry_run_writes_nothing(book):
    before = book.customer(1)
    assert book.import_partner_file(FILE, dry_run=True)["changed"] == ["1"]
    assert book.customer(1) == before
    assert book.history(1) == []


def test_the_commands(book, path, tmp_path, capsys):
    file = tmp_path / "partner.csv"
    file.write_text(FILE, encoding="utf-8")
    assert main(["--book", path, "import", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] == ["1"]
    assert main(["--book", path, "move", "1", "2 Elm Row", "EE1 1EE", "Elton", "--clerk", "ida"]) == 0
    assert json.loads(capsys.readouterr().out)["address"]["city"] == "Elton"
    assert main(["--book", path, "find", "elm"]) == 0
    assert json.loads(capsys.readouterr().out) == [1]
    assert main(["--book", path, "move", "99", "2 Elm Row", "EE1 1EE", "Elton"]) == 1
    assert capsys.readouterr().err.startswith("UnknownCustomer: ")
