import io
import sys

from depot.__main__ import main


def run(monkeypatch, capfdbinary, *argv, stdin=b""):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    code = main(list(argv))
    sys.stdout.flush()
    return code, capfdbinary.readouterr().out


def test_put_list_and_get(tmp_path, monkeypatch, capfdbinary):
    root = str(tmp_path / "depot")
    code, out = run(monkeypatch, capfdbinary, root, "put", "Plan.txt", stdin=b"one")
    assert (code, out) == (0, b"Plan.txt version 1\n")
    assert run(monkeypatch, capfdbinary, root, "list") == (0, b"Plan.txt\n")
    assert run(monkeypatch, capfdbinary, root, "get", "Plan.txt") == (0, b"one")


def test_an_unknown_document_ends_with_1(tmp_path, monkeypatch, capfdbinary):
    assert run(monkeypatch, capfdbinary, str(tmp_path), "get", "Plan.txt") == (1, b"")


def test_a_bad_name_ends_with_2(tmp_path, monkeypatch, capfdbinary):
    assert run(monkeypatch, capfdbinary, str(tmp_path), "put", "a/b") == (2, b"")
