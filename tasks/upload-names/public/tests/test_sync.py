from depot.blobs import digest_of
from depot.store import Depot
from depot.sync import plan, scan


def test_a_plan_tells_new_changed_and_equal_files_apart(tmp_path):
    depot = Depot(tmp_path / "depot")
    depot.put("equal.txt", b"1")
    depot.put("changed.txt", b"2")
    depot.put("gone.txt", b"3")
    local = {
        "equal.txt": digest_of(b"1"),
        "changed.txt": digest_of(b"22"),
        "new.txt": digest_of(b"4"),
    }
    planned = plan(depot, local)
    assert planned.upload == ["changed.txt", "new.txt"]
    assert planned.unchanged == ["equal.txt"]
    assert planned.only_in_depot == ["gone.txt"]


def test_a_scan_leaves_hidden_files_and_folders_out(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"1")
    (tmp_path / ".hidden").write_bytes(b"2")
    (tmp_path / "folder").mkdir()
    assert scan(tmp_path) == {"a.txt": digest_of(b"1")}
