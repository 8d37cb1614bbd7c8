"""The engine's request for a container, and where files may be put."""

from __future__ import annotations

from typing import Any

import pytest

from esac_ag.errors import UsageError
from esac_ag.sandbox.contract import ScratchMount
from esac_ag.sandbox.options import container_request, require_volume
from tests.builders_sandbox import MIB, UID, WORK, a_memory_volume, a_spec, a_volume


def _request(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  (fields of several types)
    return container_request(a_spec(**changes), "here", "esac-ag-name")


def test_hardening_is_in_every_request() -> None:
    """No spec can leave a measure out."""
    host = _request()["HostConfig"]
    assert host["CapDrop"] == ["ALL"]
    assert host["CapAdd"] == []
    assert host["ReadonlyRootfs"] is True
    assert host["NetworkMode"] == "none"
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["MemorySwap"] == host["Memory"] == 128 * MIB
    assert host["PidsLimit"] == 64
    assert host["LogConfig"] == {"Type": "none"}
    assert host["IpcMode"] == "private"
    assert "Binds" not in host


def test_volumes_are_anonymous_and_labelled() -> None:
    """The engine makes them with the container, and `clean` finds them without it."""
    mounts = _request(volumes=(a_volume(), a_memory_volume("/fast", max_files=9)))["HostConfig"]["Mounts"]
    assert all("Source" not in mount and mount["Type"] == "volume" for mount in mounts)
    assert all(mount["VolumeOptions"]["Labels"]["esac-ag.workspace"] == "here" for mount in mounts)
    memory = mounts[1]["VolumeOptions"]["DriverConfig"]["Options"]
    assert memory["type"] == "tmpfs"
    assert {f"size={8 * MIB}", f"uid={UID}", "nosuid", "nodev", "nr_inodes=9"} <= set(memory["o"].split(","))
    assert "DriverConfig" not in mounts[0]["VolumeOptions"]


def test_scratch_mounts_have_their_options() -> None:
    """Size, owner, mode, number of files, and whether programs may run."""
    mount = ScratchMount(path="/s", size_bytes=MIB, owner_uid=5, mode=0o700, max_files=7, executable=False)
    options = _request(scratch=(mount,))["HostConfig"]["Tmpfs"]["/s"].split(",")
    assert {f"size={MIB}", "uid=5", "mode=700", "nr_inodes=7", "noexec", "nosuid", "nodev"} == set(
        options
    ) - {"gid=5"}


def test_the_images_entry_point_is_replaced() -> None:
    """What runs is the spec's, whatever the image says."""
    request = _request(argv=("a", "b", "c"))
    assert (request["Entrypoint"], request["Cmd"]) == (["a"], ["b", "c"])
    assert request["User"] == f"{UID}:{UID}"


def test_fixed_variables_can_be_overridden_only_by_the_spec() -> None:
    """The environment is fixed, the spec's own variables come last."""
    environment = dict(pair.split("=", 1) for pair in _request(environment=(("TZ", "Asia/Tokyo"),))["Env"])
    assert environment["TZ"] == "Asia/Tokyo"
    assert environment["HOME"] == "/tmp"
    assert environment["LANG"] == "C.UTF-8"


def test_a_seccomp_profile_is_passed_on() -> None:
    """A profile is added beside the ban of new privileges."""
    request: dict[str, Any] = container_request(a_spec(), "here", "name", seccomp="{}")
    assert request["HostConfig"]["SecurityOpt"] == ["no-new-privileges:true", "seccomp={}"]


@pytest.mark.parametrize(
    ("path", "volume", "below"),
    [
        ("/work", "/work", ""),
        ("/work/", "/work", ""),
        ("/work/a/b", "/work", "a/b"),
        ("/work/deep/x", "/work/deep", "x"),
        ("/work/deep/../a", "/work", "a"),
    ],
)
def test_a_path_lies_in_the_nearest_volume(path: str, volume: str, below: str) -> None:
    """Volumes within volumes are told apart, and dots are resolved first."""
    spec = a_spec(volumes=(a_volume(), a_volume("/work/deep")))
    found, rest = require_volume(spec, path, runs=False)
    assert (found.path, rest) == (volume, below)


@pytest.mark.parametrize("path", ["/", "/etc", "/workshop", "/work/../etc"])
def test_a_path_outside_of_volumes_is_refused(path: str) -> None:
    """The error names where files may go."""
    with pytest.raises(UsageError) as caught:
        require_volume(a_spec(), path, runs=True)
    assert caught.value.expected == WORK


def test_a_memory_volume_needs_a_running_container() -> None:
    """Before the start it takes nothing, afterwards it does."""
    spec = a_spec(volumes=(a_memory_volume(),))
    assert require_volume(spec, WORK, runs=True)[1] == ""
    with pytest.raises(UsageError):
        require_volume(spec, WORK, runs=False)
