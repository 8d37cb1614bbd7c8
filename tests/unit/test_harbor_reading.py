"""Reading Harbor tasks: what is used, what is told, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from esac_ag.conduct.harbor_package import oracle_text
from esac_ag.errors import InputRefused, UsageError
from esac_ag.manifest.package import Trust
from esac_ag.rooms.harbor import harbor_folders, mount_of, read_harbor_task, task_id_of
from esac_ag.rooms.harbor_report import Fate, HarborImport, Item
from tests.builders_harbor import REPAIR, SETTINGS, a_harbor_task


def with_settings(more: str, *, top: str = "") -> str:
    """A task.toml with further lines at its end, and at its top."""
    return top + SETTINGS.replace("NAME", "x").replace("DESCRIPTION", "y") + more


def fates(folder: Path) -> dict[str, Fate]:
    """What became of each thing of a task."""
    return {item.what: item.fate for item in read_harbor_task(folder).items}


def test_a_task_is_read_with_its_name_directory_and_times(tmp_path: Path) -> None:
    """What is used of it, before anything is run."""
    task = read_harbor_task(a_harbor_task(tmp_path / "one"))
    assert (task.name, task_id_of(task), task.workdir) == ("examples/Hello_World", "hello-world", "/app")
    assert task.settings.verifier_s == 60
    assert sorted(task.tests) == [b"test.sh", b"test_outputs.py"]
    assert list(task.solution) == [b"solve.sh"]


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('gpu_types = ["H100"]', "environment.gpu_types"),
        ('docker_image = "x"', "environment.docker_image"),
        ("allow_internet = true", "environment.allow_internet"),
        ('[[environment.mcp_servers]]\nname = "x"\nurl = "http://x"', "environment.mcp_servers"),
        ('[environment.healthcheck]\ncommand = "true"', "environment.healthcheck"),
        ('[environment.env]\nKEY = "${HOST_KEY}"', "environment.env.KEY"),
        ('[verifier.environment]\nos = "linux"', "verifier.environment"),
        ('[[verifier.collect]]\ncommand = "x"', "verifier.collect"),
        ('[[steps]]\nname = "one"', "steps"),
        ("[environment.later]\nx = 1", "environment.later"),
        ("[surprise]\nx = 1", "surprise"),
        ('[agent.env]\nX = "y"', "agent.env"),
    ],
)
def test_what_cannot_be_kept_is_told_by_its_key(tmp_path: Path, line: str, key: str) -> None:
    """Known keys and unknown ones, tables and values."""
    folder = a_harbor_task(tmp_path, changes={"task.toml": with_settings(line)})
    assert fates(folder)[key] is Fate.NOT_KEPT


def test_a_network_that_nobody_asked_for_is_told_too(tmp_path: Path) -> None:
    """Harbor's default is a public one; a task that wants none keeps it."""
    for mode, fate in (("", Fate.NOT_KEPT), ('network_mode = "no-network"\n', Fate.KEPT)):
        settings = with_settings("").replace('network_mode = "public"\n', mode)
        told = fates(a_harbor_task(tmp_path, changes={"task.toml": settings}))
        assert [found for what, found in told.items() if "network_mode" in what] == [fate]


def test_variables_of_the_host_never_enter_and_values_are_never_told(tmp_path: Path) -> None:
    """A default is taken in their place; what is literal goes to test.sh alone."""
    more = '[verifier.env]\nA = "${A:-fallback}"\nB = "plain-secret"\nC = "x-${HOST}"\nPATH = "/evil"\n'
    task = read_harbor_task(a_harbor_task(tmp_path, changes={"task.toml": with_settings(more)}))
    assert dict(task.settings.verifier_environment) == {"A": "fallback", "B": "plain-secret"}
    told = {item.what: item.fate for item in task.items}
    assert [told[f"verifier.env.{name}"] for name in ("A", "B", "C", "PATH")] == [
        Fate.CHANGED,
        Fate.KEPT,
        Fate.NOT_KEPT,
        Fate.NOT_KEPT,
    ]
    assert "plain-secret" not in str(task.items)


@pytest.mark.parametrize(
    "settings",
    [
        "[task",
        "",
        'version = "1.4"',
        'schema_version = "1.3"',
        'schema_version = "2.0"',
        "schema_version = 1.4",
        with_settings("").replace("60.0", "true"),
        with_settings("").replace("60.0", "nan"),
        with_settings("").replace("60.0", "-1"),
        with_settings('os = "windows"'),
        with_settings("[environment.env]\nA = 1"),
        with_settings("").replace('"examples/x"', "7"),
        'schema_version = "1.4"\ntask = 3',
        'schema_version = "1.4"\nmany_digits = ' + "1" * 5000,
    ],
)
def test_settings_that_are_not_understood_are_refused(tmp_path: Path, settings: str) -> None:
    """Unknown schema versions above all; wrong types where the value is used."""
    with pytest.raises(InputRefused) as refused:
        read_harbor_task(a_harbor_task(tmp_path, changes={"task.toml": settings}))
    assert "task.toml" in refused.value.where


def test_a_time_beyond_a_checks_is_told_as_changed(tmp_path: Path) -> None:
    """The check gets what it can get."""
    settings = with_settings("").replace("60.0", "3600")
    task = read_harbor_task(a_harbor_task(tmp_path, changes={"task.toml": settings}))
    assert task.settings.verifier_s == 600
    assert {item.what: item.fate for item in task.items}["verifier.timeout_sec"] is Fate.CHANGED


@pytest.mark.parametrize("missing", ["task.toml", "instruction.md", "tests/test.sh"])
def test_a_task_without_one_of_its_files_is_refused(tmp_path: Path, missing: str) -> None:
    """By its name."""
    folder = a_harbor_task(tmp_path, changes={missing: None})
    with pytest.raises(InputRefused) as refused:
        read_harbor_task(folder)
    assert missing in refused.value.what


@pytest.mark.parametrize("place", ["environment/link", "tests/link", "solution/link", "link"])
@pytest.mark.parametrize("target", ["/etc/passwd", "task.toml", "."])
def test_links_are_refused_wherever_they_lead(tmp_path: Path, place: str, target: str) -> None:
    """Even those that stay inside."""
    folder = a_harbor_task(tmp_path / "task")
    (folder / place).symlink_to(target)
    with pytest.raises(InputRefused) as refused:
        read_harbor_task(folder)
    assert "symbolic link" in refused.value.what


def test_a_linked_task_of_a_folder_is_refused(tmp_path: Path) -> None:
    """It may lie anywhere."""
    a_harbor_task(tmp_path / "elsewhere")
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "one").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputRefused):
        harbor_folders(tmp_path / "all")


def test_a_folder_of_tasks_is_taken_apart_and_an_empty_one_refused(tmp_path: Path) -> None:
    """In order of the names; other folders do not matter."""
    for name in ("b", "a"):
        a_harbor_task(tmp_path / name)
    (tmp_path / "notes").mkdir()
    assert [folder.name for folder in harbor_folders(tmp_path)] == ["a", "b"]
    assert harbor_folders(tmp_path / "a") == (tmp_path / "a",)
    with pytest.raises(UsageError):
        harbor_folders(tmp_path / "notes")
    with pytest.raises(UsageError):
        harbor_folders(tmp_path / "missing")


@pytest.mark.parametrize(
    "source", ["../solution/solve.sh", "..", "a/../../tests", "/../x", "../../../etc/passwd", "['../x', '.']"]
)
def test_a_copy_from_outside_of_the_context_is_refused(tmp_path: Path, source: str) -> None:
    """However the path is written."""
    text = f"FROM x\nWORKDIR /app\nCOPY {source} ./\n"
    if source.startswith("["):
        text = 'FROM x\nWORKDIR /app\nCOPY ["../x", "."]\n'
    with pytest.raises(InputRefused) as refused:
        read_harbor_task(a_harbor_task(tmp_path, changes={"environment/Dockerfile": text}))
    assert "Dockerfile:3" in refused.value.where


@pytest.mark.parametrize(
    "workdir",
    ["/", "/usr", "/usr/bin", "/etc/x", "/tmp/x", "/grade", "/subject/x", "/tests", "/logs/x", "/a b", "/-x"],
)
def test_a_working_directory_that_cannot_be_had_is_refused(tmp_path: Path, workdir: str) -> None:
    """The system's, the judge's and Harbor's own."""
    with pytest.raises(InputRefused):
        read_harbor_task(
            a_harbor_task(tmp_path, changes={"environment/Dockerfile": f"FROM x\nWORKDIR {workdir}\n"})
        )


def test_a_working_directory_may_come_from_the_settings_alone(tmp_path: Path) -> None:
    """That of a base image is not known, so without either the task is refused."""
    with pytest.raises(InputRefused):
        read_harbor_task(a_harbor_task(tmp_path / "a", changes={"environment/Dockerfile": "FROM x\n"}))
    settings = with_settings('workdir = "/usr/src/app"')
    task = read_harbor_task(
        a_harbor_task(tmp_path / "b", changes={"environment/Dockerfile": None, "task.toml": settings})
    )
    assert task.workdir == "/usr/src/app"
    assert ("environment", Fate.NOT_KEPT) in [(item.what, item.fate) for item in task.items]


@pytest.mark.parametrize(
    ("workdir", "mount"),
    [("/app", "/app"), ("/root/x", "/root"), ("/home/u/x", "/home"), ("/srv/a/b", "/srv/a/b")],
)
def test_homes_of_other_users_are_laid_over_as_a_whole(workdir: str, mount: str) -> None:
    """The subject may not walk through them."""
    assert mount_of(workdir) == mount


def test_every_file_and_instruction_that_is_dropped_is_told(tmp_path: Path) -> None:
    """Compose files, caches, notes, and what a Dockerfile says beyond files."""
    folder = a_harbor_task(
        tmp_path,
        REPAIR,
        changes={
            "environment/docker-compose.yaml": "services: {}\n",
            "environment/.dockerignore": "*\n",
            "tests/__pycache__/x.pyc": "",
            "tests/Dockerfile": "FROM x\n",
            "solution/solve.sh": None,
        },
    )
    told = fates(folder)
    assert {what for what, fate in told.items() if fate is Fate.NOT_KEPT} >= {
        "environment/docker-compose.yaml",
        "environment/.dockerignore",
        "tests/__pycache__/x.pyc",
        "tests/Dockerfile",
        "NOTES.md",
        "solution",
        "metadata",
        "environment.env.TOKEN",
        "Dockerfile:1: FROM python:3.12-slim",
        "Dockerfile:7: COPY data/numbers.txt /opt/reference/",
        "Dockerfile:11: USER nobody",
    }
    assert told["Dockerfile:5: COPY stats ./stats"] is Fate.KEPT
    assert told["Dockerfile:3: ENV LEVEL"] is Fate.CHANGED


def test_a_number_of_thousands_of_digits_is_refused(tmp_path: Path) -> None:
    """Python reads none of more than 4300."""
    folder = a_harbor_task(tmp_path / "one")
    (folder / "task.toml").write_text(with_settings(f"big = {'9' * 5000}\n"))
    with pytest.raises(InputRefused, match=r"task\.toml cannot be read"):
        read_harbor_task(folder)


def test_what_a_task_says_steers_neither_a_terminal_nor_a_page() -> None:
    """Its name and its lines stand in `oracle.md`, which people read in both."""
    evil = "\x1b[2J<script>alert(1)</script>\n# Heading [a](http://evil)"
    record = HarborImport(
        format_version=1,
        id="x",
        name=evil,
        schema_version="1.4",
        workdir="/app",
        trust=Trust.SHARED_PROCESS,
        oracle=f"ended, saying {evil}",
        items=(Item(what=evil, fate=Fate.KEPT, why=evil),),
    )
    text = oracle_text(record)
    assert [part for part in ("\x1b", "<script>", "[a](", "\n# Heading", "http://") if part in text] == []
    assert "Heading" in text
