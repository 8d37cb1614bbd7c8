"""The in-memory engine's own features: programs, injected faults, records, leftovers."""

from __future__ import annotations

import pytest

from esac_ag.clock import Deadline
from esac_ag.errors import EngineUnavailable, SandboxLost
from esac_ag.sandbox.contract import TreeLimits
from esac_ag.sandbox.memory import OPERATIONS, InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess
from esac_ag.tree import FileTree
from tests.builders_sandbox import UID, WORK, a_memory_volume, a_spec, run


def _judge(process: FakeProcess) -> int:
    text = process.files.read(f"{WORK}/answer").decode()
    process.files.write(f"{WORK}/verdict", b"pass" if text == "42" else b"fail")
    process.write(f"judged by {process.uid}\n")
    return 0


def test_a_function_can_play_a_whole_program() -> None:
    """The first process reads and writes the sandbox's files and prints."""
    engine = InMemoryEngine({"python3 /judge.py": _judge})
    pieces: list[bytes] = []
    with engine.create(a_spec(argv=("python3", "/judge.py", "--strict"))) as sandbox:
        sandbox.put(FileTree.of_text({"answer": "42"}), WORK, uid=UID, gid=UID)
        sandbox.start()
        state = sandbox.wait(Deadline.after_s(30), sink=pieces.append)
        verdict = sandbox.get(WORK, TreeLimits()).tree.files()[b"verdict"].data
    assert (state.exit_code, verdict) == (0, b"pass")
    assert b"".join(pieces) == f"judged by {UID}\n".encode()


def test_the_longest_beginning_of_the_arguments_wins() -> None:
    """A program for two words hides the one for the first word, and given ones hide built-in ones."""
    engine = InMemoryEngine({"tool": lambda _: 1, "tool fast": lambda _: 2, "true": lambda _: 3})
    with engine.create(a_spec()) as sandbox:
        sandbox.start()
        codes = [run(sandbox, *argv).exit_code for argv in (("tool",), ("tool", "fast", "x"), ("true",))]
    assert codes == [1, 2, 3]


def test_an_error_of_the_file_system_is_the_programs_exit() -> None:
    """A program need not handle what `cat` would print."""
    with InMemoryEngine().create(a_spec()) as sandbox:
        sandbox.start()
        result = run(sandbox, "cat", "/work/missing")
    assert result.exit_code == 1
    assert result.output == b"cat: /work/missing: No such file or directory\n"


OF_THE_ENGINE = {"create", "image_digest", "network"}


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name not in OF_THE_ENGINE])
def test_the_next_call_of_an_operation_can_fail(operation: str) -> None:
    """An injected fault is raised once, and the call after it acts."""
    engine = InMemoryEngine()
    with engine.create(a_spec(argv=("true",))) as sandbox:
        acts = {
            "put": lambda: sandbox.put(FileTree(), WORK, uid=UID, gid=UID),
            "start": sandbox.start,
            "execute": lambda: run(sandbox, "true"),
            "wait": lambda: sandbox.wait(Deadline.after_s(30)),
            "freeze": sandbox.freeze,
            "get": lambda: sandbox.get(WORK, TreeLimits()),
            "remove": sandbox.remove,
        }
        if operation in {"execute", "wait"}:
            sandbox.start()
        engine.fail_next(operation, SandboxLost("made up"))
        with pytest.raises(SandboxLost, match="made up"):
            acts[operation]()
        acts[operation]()


def test_a_creation_can_fail_more_than_once() -> None:
    """Faults queue up."""
    engine = InMemoryEngine()
    engine.fail_next("create", EngineUnavailable("made up"), times=2)
    for _ in range(2):
        with pytest.raises(EngineUnavailable), engine.create(a_spec()):
            pass
    with engine.create(a_spec()):
        assert len(engine.specs) == 1


def test_an_unknown_operation_cannot_fail() -> None:
    """A typing error in a test does not make it pass."""
    with pytest.raises(ValueError, match="explode"):
        InMemoryEngine().fail_next("explode", SandboxLost("x"))


def test_a_failed_removal_leaves_something_to_clean() -> None:
    """What could not be removed is told and removed later."""
    engine = InMemoryEngine(workspace="here")
    engine.fail_next("remove", SandboxLost("made up"))
    with pytest.raises(SandboxLost), engine.create(a_spec()):
        pass
    assert len(list(engine.leftovers("here"))) == 1
    assert len(engine.clean("here")) == 1
    assert list(engine.leftovers("here")) == []


def test_specs_are_on_record() -> None:
    """Tests can see what was asked for, in order."""
    engine = InMemoryEngine()
    for attempt in ("a", "b"):
        with engine.create(a_spec(attempt=attempt)):
            pass
    assert [spec.attempt for spec in engine.specs] == ["a", "b"]


def test_a_removed_file_makes_room() -> None:
    """The cap of a volume counts what is there."""
    with InMemoryEngine().create(a_spec(volumes=(a_memory_volume(max_files=3),))) as sandbox:
        sandbox.start()
        script = f"echo x > {WORK}/a; echo x > {WORK}/b; rm {WORK}/a; echo x > {WORK}/c"
        assert run(sandbox, "sh", "-c", script).exit_code == 0
        assert set(sandbox.get(WORK, TreeLimits()).tree) == {b"b", b"c"}


def test_links_are_followed_by_programs_and_kept_as_data() -> None:
    """Reading goes through a link, exporting does not."""
    with InMemoryEngine().create(a_spec()) as sandbox:
        sandbox.start()
        result = run(sandbox, "sh", "-c", f"echo x > {WORK}/a && ln -s a {WORK}/b && cat {WORK}/b")
        assert result.output == b"x\n"
        assert len(sandbox.get(WORK, TreeLimits()).tree) == 2


def test_the_shell_knows_its_few_rules() -> None:
    """Sequence, condition, redirection, append, exit."""
    with InMemoryEngine().create(a_spec()) as sandbox:
        sandbox.start()
        script = f"echo 'a b' > {WORK}/f; echo c >> {WORK}/f; false && echo never"
        assert run(sandbox, "sh", "-c", script).exit_code == 1
        assert run(sandbox, "sh", "-c", f"cat {WORK}/f; exit 5; echo never").output == b"a b\nc\n"


def test_a_failed_removal_does_not_hide_what_went_wrong_before() -> None:
    """The first error is told; what is left can be cleaned."""
    engine = InMemoryEngine(workspace="here")
    engine.fail_next("remove", SandboxLost("made up"))
    with pytest.raises(KeyboardInterrupt), engine.create(a_spec()):
        raise KeyboardInterrupt
    assert len(engine.clean("here")) == 1
