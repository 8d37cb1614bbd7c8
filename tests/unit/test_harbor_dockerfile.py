"""Following a Dockerfile without building it."""

from __future__ import annotations

import pytest

from esac_ag.rooms.harbor_dockerfile import expanded, instructions
from esac_ag.rooms.harbor_image import Command, Files, ReadImage, read_image
from esac_ag.rooms.harbor_report import Fate
from esac_ag.tree import FileTree

CONTEXT = FileTree.of_text(
    {"a.txt": "a", "b.txt": "b", "src/one.py": "1", "src/in/two.py": "2", "data.tar.gz": "z", ".hidden": "h"}
)


def read(text: str) -> ReadImage:
    """A Dockerfile of one stage in /app."""
    return read_image(f"FROM x\nWORKDIR /app\n{text}", CONTEXT, "Dockerfile")


def placed(text: str) -> list[str]:
    """Where its files go."""
    return [f"/{path.decode()}" for step in read(text).steps if isinstance(step, Files) for path in step.tree]


def commands(text: str) -> list[str]:
    """Its commands, as a shell gets them."""
    return [step.text for step in read(text).steps if isinstance(step, Command)]


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("COPY a.txt .", ["/app/a.txt"]),
        ("COPY a.txt c.txt", ["/app/c.txt"]),
        ("COPY a.txt new/", ["/app/new/a.txt"]),
        ("COPY a.txt b.txt new", ["/app/new/a.txt", "/app/new/b.txt"]),
        ("COPY *.txt ./", ["/app/a.txt", "/app/b.txt"]),
        ("COPY src .", ["/app/in/two.py", "/app/one.py"]),
        ("COPY src/ /app/lib", ["/app/lib/in/two.py", "/app/lib/one.py"]),
        ("COPY s*/one.py x/", ["/app/x/one.py"]),
        ('COPY ["a.txt", "d e.txt"]', ["/app/d e.txt"]),
        ("copy --chown=1:1 --chmod=755 a.txt /app", ["/app/a.txt"]),
        ("ADD a.txt /opt/", ["/opt/a.txt"]),
        ("ENV D=deep\nCOPY a.txt $D/${D:-x}.txt", ["/app/deep/deep.txt"]),
        ("COPY a.txt ../../../etc/x", ["/etc/x"]),
        ("COPY <<EOF new.txt\nhello\nEOF", ["/app/new.txt"]),
        ("COPY a.txt sub/x\nCOPY b.txt sub", ["/app/sub/x", "/app/sub/b.txt"]),
    ],
)
def test_files_go_where_docker_puts_them(line: str, paths: list[str]) -> None:
    """Files, folders' contents, wildcards, JSON forms, variables and heredocs."""
    assert placed(line) == paths


def test_everything_is_copied_by_a_dot_with_what_is_hidden() -> None:
    """But for archives, which ADD would unpack."""
    image = read_image("FROM x\nWORKDIR /app\nCOPY . .", FileTree.of_text({"a": "", ".h": ""}), "")
    assert [sorted(step.tree) for step in image.steps if isinstance(step, Files)] == [[b"app/.h", b"app/a"]]


@pytest.mark.parametrize(
    "line",
    [
        "COPY --from=build /x .",
        "COPY --exclude=*.txt . .",
        "COPY missing.txt .",
        "ADD https://example.com/x .",
        "ADD data.tar.gz .",
        "COPY a.txt",
        "RUN --mount=type=cache,target=/x make",
        "RUN apt-get update && apt-get install -y git && mkdir x",
        "RUN set -e; /usr/bin/pip install x",
        "RUN python3 -m pip install x",
        "RUN cd /tmp && \\\n    curl -O https://example.com",
        "RUN useradd someone",
        "HEALTHCHECK CMD true",
        "SURPRISE x",
        "ARG NAME='unfinished",
    ],
)
def test_what_cannot_be_followed_is_told_and_leaves_no_step(line: str) -> None:
    """Each as not kept, with its line."""
    image = read(line)
    assert image.steps == ()
    (item,) = [item for item in image.items if item.what.startswith("Dockerfile:3")]
    assert item.fate is Fate.NOT_KEPT


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("RUN mkdir -p a && \\\n  # a remark\n\n    touch a/b", "mkdir -p a &&     touch a/b"),
        ('RUN ["touch", "a b"]', "touch 'a b'"),
        ("RUN <<EOF\ntouch a\ntouch b\nEOF", "touch a\ntouch b\n"),
        ("RUN cat <<EOF > x\n$HOME\nEOF", "cat <<EOF > x\n$HOME\nEOF\n"),
    ],
)
def test_commands_that_only_make_files_are_listed_as_a_shell_gets_them(line: str, command: str) -> None:
    """Continued lines, JSON forms and heredocs."""
    assert commands(line) == [command]


def test_only_the_last_stage_is_read() -> None:
    """What the earlier ones copy is told."""
    image = read("COPY a.txt .\nRUN touch x\nFROM y\nWORKDIR work\nCOPY b.txt .")
    assert image.workdir == "/work"
    assert [list(step.tree) for step in image.steps if isinstance(step, Files)] == [[b"work/b.txt"]]
    told = [item.what for item in image.items if "earlier" in item.why]
    assert told == ["Dockerfile:3: COPY a.txt .", "Dockerfile:4: RUN touch x"]


def test_variables_of_an_earlier_stage_are_told_as_not_kept() -> None:
    """No program gets them; those of the last stage are told as they are."""
    image = read("ENV A=1\nFROM y\nWORKDIR /w\nENV B=2")
    assert dict(image.variables) == {"B": "2"}
    fates = {item.what: item.fate for item in image.items if "ENV" in item.what}
    assert fates == {"Dockerfile:3: ENV A": Fate.NOT_KEPT, "Dockerfile:6: ENV B": Fate.CHANGED}


def test_commands_get_the_folder_and_the_variables_of_their_place() -> None:
    """Later ENV and WORKDIR do not reach back."""
    image = read("ARG V=1\nENV A=$V B='x y'\nRUN one\nWORKDIR sub\nENV A=2\nRUN two")
    first, second = (step for step in image.steps if isinstance(step, Command))
    assert (first.folder, first.variables["A"], first.variables["B"]) == ("/app", "1", "x y")
    assert (second.folder, second.variables["A"]) == ("/app/sub", "2")
    assert image.workdir == "/app/sub"


@pytest.mark.parametrize(
    ("text", "value"),
    [("$A/x", "1/x"), ("${A}x", "1x"), ("${B:-d}", "d"), ("${A:+y}", "y"), ("${B:+y}", ""), (r"\$A", "$A")],
)
def test_variables_are_put_in(text: str, value: str) -> None:
    """With defaults and alternatives; unknown ones are empty."""
    assert expanded(text, {"A": "1"}) == value


def test_another_escape_sign_joins_lines() -> None:
    """As Dockerfiles for Windows have it."""
    (one,) = instructions("# escape=`\nRUN a `\n b\n")
    assert one.text == "a  b"
