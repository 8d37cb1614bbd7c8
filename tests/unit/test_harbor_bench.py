"""What an import makes of the commands of a Dockerfile, without a container."""

from __future__ import annotations

from esac_ag.conduct.harbor_bench import Bench, Ran, build_snapshot
from esac_ag.rooms.harbor_image import Command
from esac_ag.rooms.harbor_report import Fate, Item
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.tree import FileTree
from tests.builders_agents import exited

COMMAND = Command("make data", "/app", {}, "Dockerfile:3: RUN make data")


class OneThatRan(Bench):
    """A bench on which every command leaves the same."""

    left_out: tuple[str, ...] = ()
    exit_code = 0

    def run(self, argv: tuple[str, ...], **_: object) -> Ran:
        """The files of a command, and what of them was lost."""
        assert argv[0] == "/bin/sh"
        return Ran(exited(self.exit_code), FileTree.of_text({"data.txt": "x"}), self.left_out)


class OneThatLoses(OneThatRan):
    """Not everything comes out of its containers."""

    left_out = ("`big` was left out: it is too large.",)


class OneThatFails(OneThatLoses):
    """Its commands fail besides."""

    exit_code = 1


def items(bench: type[OneThatRan]) -> tuple[Item, ...]:
    """What became of the command."""
    return build_snapshot(bench(InMemoryEngine({}), "any:1"), (COMMAND,), "/app")[1]


def test_what_cannot_be_taken_out_of_a_container_is_told() -> None:
    """An import says exactly what it could not keep."""
    told = {(item.fate, "`big` was left out" in item.why) for item in items(OneThatLoses)}
    assert told == {(Fate.CHANGED, True), (Fate.KEPT, False)}


def test_a_command_of_which_everything_came_is_kept_and_no_more_is_told() -> None:
    """One item for it."""
    assert [item.fate for item in items(OneThatRan)] == [Fate.KEPT]


def test_of_a_command_that_fails_nothing_is_told_but_that() -> None:
    """None of its files are taken along."""
    assert [item.fate for item in items(OneThatFails)] == [Fate.NOT_KEPT]
