import pytest

from depot.store import Depot, NoSuchDocument


@pytest.fixture
def depot(tmp_path):
    return Depot(tmp_path / "depot", now=lambda: "2024-03-01T09:00:00+00:00")


def test_a_document_is_read_back(depot):
    depot.put("Plan.txt", b"one")
    assert depot.get("Plan.txt") == b"one"


def test_every_version_is_kept(depot):
    depot.put("Plan.txt", b"one")
    depot.put("Plan.txt", b"two")
    assert depot.get("Plan.txt") == b"two"
    assert depot.get("Plan.txt", version=1) == b"one"
    assert [version.number for version in depot.history("Plan.txt")] == [1, 2]


def test_the_same_content_again_adds_no_version(depot):
    depot.put("Plan.txt", b"one")
    assert depot.put("Plan.txt", b"one").number == 1


def test_names_are_listed_in_order(depot):
    depot.put("b.txt", b"1")
    depot.put("a.txt", b"2")
    assert depot.names() == ["a.txt", "b.txt"]


def test_an_unknown_document_is_reported(depot):
    with pytest.raises(NoSuchDocument):
        depot.get("Plan.txt")


def test_an_unknown_version_is_reported(depot):
    depot.put("Plan.txt", b"one")
    with pytest.raises(NoSuchDocument):
        depot.get("Plan.txt", version=2)


def test_a_name_from_a_mac_and_from_windows_is_one_document(depot):
    windows, mac = "Caf\u00e9.pdf", "Cafe\u0301.pdf"
    depot.put(windows, b"one")
    depot.put(mac, b"two")
    assert len(depot.names()) == 1
    assert depot.get(windows) == depot.get(mac) == b"two"


def test_tags_match_loosely(depot):
    depot.put("Plan.txt", b"one", tags=["Board  Meeting"])
    depot.put("Other.txt", b"two", tags=["Staff"])
    assert depot.find("board meeting") == ["Plan.txt"]


def test_nothing_is_created_by_reading(tmp_path):
    assert Depot(tmp_path / "none").names() == []
    assert not (tmp_path / "none").exists()
