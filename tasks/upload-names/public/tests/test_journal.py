import pytest

from depot.journal import Entry, Journal, JournalBroken


def test_entries_come_back_oldest_first(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    entries = [Entry("a", "0" * 64, 1, "t1", ("x",)), Entry("b", "1" * 64, 2, "t2")]
    for entry in entries:
        journal.append(entry)
    assert list(journal.entries()) == entries


def test_a_line_that_cannot_be_read_is_reported(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"name": "a"}\n')
    with pytest.raises(JournalBroken):
        list(Journal(path).entries())
