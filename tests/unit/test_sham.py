"""A sham bundle is as long as its bundle and built like it, and holds nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from esac_ag.agents.loaded import SeenRequest, loaded_instructions
from esac_ag.cli.app import app
from esac_ag.errors import InputRefused, UsageError
from esac_ag.front_matter import front_matter
from esac_ag.manifest.plan import ArmKind
from esac_ag.rooms.bundles import read_bundle
from esac_ag.rooms.sham import length_of, sham_of, write_sham
from esac_ag.rooms.sham_text import words_on_lighthouses
from esac_ag.tree import FileTree, RegularFile
from tests.builders_manifest import write

ROOT = Path(__file__).parents[2]
SKILL = """\
---
name: read-first
description: Read the contracts of a repository before changing its code, and say what you read.
license: MIT
---

# Read first

1. Read README.md and `references/contracts.md`.
- [ ] Repair the cause, wherever it is.

```python
def fix(cause: Cause) -> None: ...
```
"""
REFERENCE = "# Contracts\r\n\r\nA contract is what callers rely on; ünïcode is no contract.\r\n" * 5
SCRIPT = "#!/bin/sh\nset -eu\npython -m pytest tests/unit --maxfail=1 --verbose --color=no\n"


def the_bundle() -> FileTree:
    """A skill with a reference, a program and a picture."""
    return FileTree(
        {
            b"SKILL.md": RegularFile(SKILL.encode()),
            b"references/contracts.md": RegularFile(REFERENCE.encode()),
            b"checks/run-tests.sh": RegularFile(SCRIPT.encode(), executable=True),
            b"logo.png": RegularFile(b"\x89PNG\r\n\x00\xff" * 200),
        }
    )


@pytest.mark.parametrize(
    "bundle",
    [
        the_bundle(),
        FileTree.of_text({"AGENTS.md": "# Rules\n\nAlways read the contracts first, then act on them.\n"}),
        FileTree.of_text({"data.json": '{"' + "x" * 5000 + '": 1}\n'}),
        FileTree.of_text({"letters.txt": "a b c d e f g\n" * 300}),
        read_bundle(ROOT / "arms" / "markskill"),
        read_bundle(ROOT / "arms" / "current-restraint"),
    ],
)
def test_a_sham_has_the_same_words_and_bytes(bundle: FileTree) -> None:
    """Within 2 %, for prose, code, one huge word, single letters and bytes that are no text."""
    sham, wanted = length_of(sham_of(bundle, "lighthouse-notes")), length_of(bundle)
    assert sham.files == wanted.files
    assert sham.words == pytest.approx(wanted.words, rel=0.02)
    assert sham.size_bytes == pytest.approx(wanted.size_bytes, rel=0.02)


def test_a_sham_is_built_like_its_bundle() -> None:
    """Entry and folders with common names stay; what tells the matter, runs or is no prose does not."""
    sham = sham_of(the_bundle(), "lighthouse-notes")
    assert list(sham) == [
        b"SKILL.md",
        b"folder-1/part-2.txt",
        b"part-3.txt",
        b"references/part-4.md",
    ]
    assert not any(node.executable for node in sham.files().values())
    lines = sham.files()[b"SKILL.md"].data.decode().split("\n")
    head = front_matter("\n".join(lines))
    assert head["name"] == "lighthouse-notes"
    assert len(head["description"].split()) >= 15
    body = lines[lines.index("---", 1) + 1 :]
    starts = [line.split(" ")[0] for line in body if line]
    assert starts[:4] == ["#", "1.", "-", "```"]
    assert starts[5:] == ["```"]
    assert any("`references/part-4.md`" in line for line in body)


ONE_LINE = "---\nname: t\ndescription: Run tests.\n---\nAlways run the tests before you finish.\n"
SHORT = {
    "a sentence": ("SKILL.md", "Always run the tests.\n"),
    "a head and a sentence": ("SKILL.md", ONE_LINE),
    "two words": ("AGENTS.md", "Be careful."),
    "a heading and a list": ("CLAUDE.md", "# Rules\n\n- Run the tests.\n- Read the contracts first.\n"),
    "some lines": ("SKILL.md", SKILL),
}


@pytest.mark.parametrize("case", SHORT)
def test_a_sham_of_a_few_words_is_made_of_whole_sentences(case: str, tmp_path: Path) -> None:
    """No line ends in the middle of one, no word is made up of letters, and the length is the same."""
    entry, text = SHORT[case]
    write(tmp_path / "mine" / entry, text)
    made = write_sham(tmp_path / "mine", tmp_path / "sham")
    assert made.length == made.of_bundle
    sham = (tmp_path / "sham" / entry).read_text()
    lines = [line for line in sham.split("\n") if line and not line.startswith(("---", "name:", "```"))]
    assert all(line.endswith(".") for line in lines), sham
    assert "a a" not in sham


def test_the_name_of_a_short_sham_leaves_its_text_the_room(tmp_path: Path) -> None:
    """A name of sixteen letters in place of one letter would take them from a text of forty."""
    write(tmp_path / "mine" / "SKILL.md", ONE_LINE)
    assert write_sham(tmp_path / "mine", tmp_path / "sham").name == "sea"
    write(tmp_path / "long" / "SKILL.md", ONE_LINE + "Read what is there before you write. " * 20)
    assert write_sham(tmp_path / "long", tmp_path / "other").name == "lighthouse-notes"


@pytest.mark.parametrize("name", ["markskill", "current-restraint"])
def test_a_sham_holds_no_trace_of_its_bundle(name: str) -> None:
    """The search that guards the control finds nothing of the bundle in it, nor of it in the bundle."""
    bundle = read_bundle(ROOT / "arms" / name)
    sham = sham_of(bundle, "lighthouse-notes")
    for own, other in ((sham, bundle), (bundle, sham)):
        texts = tuple(node.data.decode() for node in own.files().values())
        loaded = loaded_instructions(
            "one",
            None,
            placed={},
            present={},
            others={"other": other},
            requests=[SeenRequest(1, "0" * 64, texts)],
        )
        assert loaded.foreign == ()


def test_the_same_bundle_has_the_same_sham() -> None:
    """Nothing is drawn."""
    first, second = (sham_of(the_bundle(), "lighthouse-notes") for _ in range(2))
    assert first.exact_sha256() == second.exact_sha256()


@pytest.mark.parametrize(("count", "letters"), [(1, 1), (1, 400), (7, 7), (200, 900), (200, 2500), (0, 0)])
def test_words_have_the_letters_that_were_asked_for(count: int, letters: int) -> None:
    """Exactly, from single letters to words that are put together."""
    words = words_on_lighthouses(count, letters)
    assert (len(words), sum(map(len, words))) == (count, letters)


def test_the_command_writes_a_bundle_that_can_be_frozen(tmp_path: Path) -> None:
    """It prints both lengths, and doing it again changes nothing."""
    write(tmp_path / "mine" / "SKILL.md", SKILL)
    arguments = ["arm", "sham", str(tmp_path / "mine"), "-o", str(tmp_path / "sham")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    told = [line.split(": ")[1] for line in result.stdout.splitlines()]
    assert told[0] == told[1]
    assert write_sham(tmp_path / "mine", tmp_path / "sham").written is False
    assert write_sham(tmp_path / "mine", tmp_path / "two", name="tide-tables").kind is ArmKind.SKILL
    assert b"name: tide-tables" in (tmp_path / "two" / "SKILL.md").read_bytes()


def test_a_sham_that_cannot_be_as_long_is_refused(tmp_path: Path) -> None:
    """A skill of three words is shorter than a head with a description."""
    write(tmp_path / "mine" / "SKILL.md", "---\nname: x\n---\nhi\n")
    with pytest.raises(InputRefused, match="as long"):
        write_sham(tmp_path / "mine", tmp_path / "sham")
    assert not (tmp_path / "sham").exists()


def test_another_bundle_is_not_overwritten_and_a_name_is_checked(tmp_path: Path) -> None:
    """The place is taken, or the name would break the head."""
    write(tmp_path / "mine" / "SKILL.md", SKILL)
    write(tmp_path / "taken" / "SKILL.md", "mine\n")
    with pytest.raises(InputRefused, match="another bundle"):
        write_sham(tmp_path / "mine", tmp_path / "taken")
    with pytest.raises(UsageError):
        write_sham(tmp_path / "mine", tmp_path / "sham", name="a: b")
