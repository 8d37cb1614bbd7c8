"""The sandbox contract: commands that are spoken to over their standard input and output, in both engines."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from esac_ag.clock import Deadline, sleep_s
from esac_ag.errors import DialogueTimeout, HarnessError, InfrastructureFailure, SandboxLost
from esac_ag.sandbox.contract import Dialogue, Sandbox, TreeLimits
from tests.builders_sandbox import MIB, WORK, a_memory_volume, ask, hear, run, say
from tests.contract.conftest import BAD_TEXT, OBEDIENT, Bench

CAT = ("cat",)
COMPLAINER = ("sh", "-c", "echo heard; no-such-program; cat")
EVERY_BYTE = bytes(range(256)).replace(b"\n", b"")


@contextmanager
def _speaking(bench: Bench, *argv: str, **changes: object) -> Iterator[tuple[Sandbox, Dialogue]]:
    """A started sandbox, and a dialogue with a command in it."""
    with bench.engine.create(bench.spec(**changes)) as sandbox:
        sandbox.start()
        with sandbox.open(argv) as dialogue:
            yield sandbox, dialogue


def test_each_line_has_its_reply(bench: Bench) -> None:
    """What is sent comes back line by line, without the newlines."""
    with _speaking(bench, *CAT) as (_, dialogue):
        assert [ask(dialogue, line) for line in (b"one", b"", b"three")] == [b"one", b"", b"three"]


def test_lines_that_come_together_are_told_apart(bench: Bench) -> None:
    """Several lines in one piece are several lines, and an unfinished one waits for its end."""
    with _speaking(bench, *CAT) as (_, dialogue):
        say(dialogue, b"a\nb\nc")
        assert [hear(dialogue), hear(dialogue)] == [b"a", b"b"]
        say(dialogue, b"d\n")
        assert hear(dialogue) == b"cd"


def test_every_byte_passes(bench: Bench) -> None:
    """Zeros, control characters and what is no UTF-8 arrive as they were sent."""
    with _speaking(bench, *CAT) as (_, dialogue):
        assert ask(dialogue, EVERY_BYTE) == EVERY_BYTE
        assert ask(dialogue, "Grüße, 世界\r".encode()) == "Grüße, 世界\r".encode()


def test_much_passes_both_ways_before_anything_is_read(bench: Bench) -> None:
    """Sending does not wait for a reader of what the command writes meanwhile, and loses none of it."""
    line = b"x" * (5 * MIB)
    with _speaking(bench, *CAT) as (_, dialogue):
        say(dialogue, line + b"\n" + b"short\n" * 100_000)
        assert hear(dialogue, limit_bytes=len(line)) == line
        assert {hear(dialogue) for _ in range(100_000)} == {b"short"}


def test_a_line_may_be_as_long_as_the_limit_and_no_longer(bench: Bench) -> None:
    """A line of exactly the limit passes; one byte more is a failure, each time it is asked for."""
    with _speaking(bench, *CAT) as (sandbox, dialogue):
        say(dialogue, b"12345\n123456\n")
        assert hear(dialogue, limit_bytes=5) == b"12345"
        for _ in range(2):
            with pytest.raises(InfrastructureFailure, match="too long a line"):
                hear(dialogue, limit_bytes=5)
        assert run(sandbox, "true").exit_code == 0


def test_a_line_without_end_is_a_failure(bench: Bench) -> None:
    """What never ends a line is not kept beyond the limit."""
    with (
        _speaking(bench, *BAD_TEXT) as (_, dialogue),
        pytest.raises(InfrastructureFailure, match="too long a line"),
    ):
        hear(dialogue, limit_bytes=3)


def test_output_that_nobody_reads_has_a_limit(bench: Bench) -> None:
    """A command that only writes cannot fill the host's memory while input waits to be sent."""
    with (
        _speaking(bench, "yes") as (_, dialogue),
        pytest.raises(InfrastructureFailure, match="more than anybody read"),
    ):
        say(dialogue, b"x" * (5 * MIB))


def test_a_command_that_ends_has_no_further_line(bench: Bench) -> None:
    """Its lines come, then nothing more, however often one asks."""
    with _speaking(bench, "echo", "one") as (_, dialogue):
        assert [hear(dialogue) for _ in range(3)] == [b"one", None, None]


def test_a_last_line_that_was_not_finished_is_dropped(bench: Bench) -> None:
    """Half a reply is none."""
    with _speaking(bench, *BAD_TEXT) as (_, dialogue):
        assert hear(dialogue) is None


def test_a_command_that_ended_takes_no_input(bench: Bench) -> None:
    """It is a failure to speak to nobody, and the container goes on."""
    with _speaking(bench, "true") as (sandbox, dialogue):
        assert hear(dialogue) is None
        with pytest.raises(InfrastructureFailure, match="takes no more input"):
            say(dialogue, b"hello\n")
        assert run(sandbox, "true").exit_code == 0


def test_a_command_that_ends_while_it_is_spoken_to_is_a_failure(bench: Bench) -> None:
    """Input that will never be taken is not waited for."""
    with (
        _speaking(bench, "true") as (_, dialogue),
        pytest.raises(InfrastructureFailure, match="takes no more input"),
    ):
        say(dialogue, b"x" * (5 * MIB))


def test_a_missing_program_is_a_line_and_the_end(bench: Bench) -> None:
    """The engine's message is the output, as for commands that are not spoken to."""
    with _speaking(bench, "no-such-program") as (_, dialogue):
        message = hear(dialogue)
        assert message is not None
        assert b"not found" in message
        assert hear(dialogue) is None


def test_silence_ends_at_the_deadline_and_freezes_the_container(bench: Bench) -> None:
    """What was made until then can be read, and nothing runs any more."""
    command = ("sh", "-c", f"echo done > {WORK}/done; echo ready; sleep 100")
    with _speaking(bench, *command, volumes=(a_memory_volume(),)) as (sandbox, dialogue):
        assert hear(dialogue) == b"ready"
        with pytest.raises(DialogueTimeout):
            hear(dialogue, within_s=0.3)
        with pytest.raises(SandboxLost):
            run(sandbox, "true")
        with pytest.raises(SandboxLost), sandbox.open(CAT):
            pass
        assert sandbox.get(WORK, TreeLimits()).tree.files()[b"done"].data == b"done\n"


def test_deadlines_that_pass_together_freeze_the_container_once(bench: Bench) -> None:
    """Dialogues in threads of their own do not get into each other's way; what was made is still there."""
    command = ("sh", "-c", f"echo done > {WORK}/done; echo ready; sleep 100")
    ends: list[type[BaseException]] = []

    def wait(dialogue: Dialogue, deadline: Deadline) -> None:
        with pytest.raises(HarnessError) as caught:
            dialogue.line(deadline, limit_bytes=100)
        ends.append(caught.type)

    with (
        _speaking(bench, *command, volumes=(a_memory_volume(),)) as (sandbox, first),
        sandbox.open(CAT) as second,
    ):
        assert hear(first) == b"ready"
        deadline = Deadline.after_s(0.3)
        threads = [threading.Thread(target=wait, args=(each, deadline)) for each in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ends == [DialogueTimeout] * 2
        assert sandbox.get(WORK, TreeLimits()).tree.files()[b"done"].data == b"done\n"


def test_input_that_is_not_taken_ends_at_the_deadline(bench: Bench) -> None:
    """A command that does not read cannot hold its speaker."""
    with _speaking(bench, "sleep", "100") as (sandbox, dialogue):
        with pytest.raises(DialogueTimeout):
            say(dialogue, b"x" * (5 * MIB), within_s=0.5)
        with pytest.raises(SandboxLost):
            run(sandbox, "true")


def test_a_line_that_is_there_outlasts_the_deadline(bench: Bench) -> None:
    """What has arrived is given without asking for the time."""
    with _speaking(bench, *CAT) as (_, dialogue):
        say(dialogue, b"one\ntwo\n")
        assert hear(dialogue) == b"one"
        assert hear(dialogue, within_s=0) == b"two"


def test_standard_error_is_kept_apart(bench: Bench) -> None:
    """Complaints are no lines."""
    with _speaking(bench, *COMPLAINER) as (_, dialogue):
        assert hear(dialogue) == b"heard"
        assert ask(dialogue, b"still here") == b"still here"
        dialogue_end = _until_errors(dialogue)
    assert b"no-such-program" in dialogue_end
    assert b"heard" not in dialogue_end


def test_a_dialogue_can_have_its_own_folder_and_variables(bench: Bench) -> None:
    """As for commands that are not spoken to."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        command = ("sh", "-c", "pwd; printenv MINE")
        with sandbox.open(command, working_dir=WORK, environment=(("MINE", "ours"),)) as dialogue:
            assert [hear(dialogue) for _ in range(3)] == [WORK.encode(), b"ours", None]


def test_two_dialogues_do_not_mix(bench: Bench) -> None:
    """Each command hears its own speaker, and other commands run beside them."""
    with _speaking(bench, *CAT) as (sandbox, first), sandbox.open(CAT) as second:
        say(first, b"1\n")
        say(second, b"2\n")
        assert run(sandbox, "echo", "3").output == b"3\n"
        assert (hear(second), hear(first)) == (b"2", b"1")


def test_closing_ends_the_input_and_not_the_container(bench: Bench) -> None:
    """The command sees the end of its input and goes on to its own end; nothing more is said or heard."""
    command = ("sh", "-c", f"cat; echo done > {WORK}/done")
    with _speaking(bench, *command) as (sandbox, dialogue):
        assert ask(dialogue, b"hello") == b"hello"
        dialogue.close()
        dialogue.close()
        assert hear(dialogue) is None
        with pytest.raises(InfrastructureFailure, match="takes no more input"):
            say(dialogue, b"hello\n")
        written = Deadline.after_s(30)
        while run(sandbox, "cat", f"{WORK}/done").output != b"done\n":
            assert not written.has_passed()
            sleep_s(0.01)


@pytest.mark.parametrize("way", ["removed", "killed"])
def test_a_container_taken_away_is_a_lost_sandbox(bench: Bench, way: str) -> None:
    """Whoever waits for a line learns at once that the host, not the command, ended it; so does the next."""
    with _speaking(bench, "sleep", "100") as (sandbox, dialogue):
        end = sandbox.remove if way == "removed" else lambda: bench.kill(sandbox.container_id)
        thread = threading.Timer(0.2, end)
        thread.start()
        for _ in range(2):
            with pytest.raises(SandboxLost):
                hear(dialogue)
        thread.join()
        with pytest.raises(SandboxLost), sandbox.open(CAT):
            pass


def test_a_container_taken_away_is_a_lost_sandbox_to_a_sender(bench: Bench) -> None:
    """Whoever waits to be heard learns it, too."""
    with _speaking(bench, "sleep", "100") as (sandbox, dialogue):
        thread = threading.Timer(0.2, sandbox.remove)
        thread.start()
        with pytest.raises(SandboxLost):
            say(dialogue, b"x" * (5 * MIB))
        thread.join()


def test_a_container_that_its_own_process_ended_is_the_end_of_the_dialogue(bench: Bench) -> None:
    """The end from inside is no loss, but nothing can be opened any more."""
    with _speaking(bench, "sh", "-c", "echo one; kill 1; sleep 20", argv=OBEDIENT) as (sandbox, dialogue):
        assert [hear(dialogue) for _ in range(2)] == [b"one", None]
        with pytest.raises(SandboxLost), sandbox.open(CAT):
            pass


def test_a_dialogue_before_the_start_is_refused(bench: Bench) -> None:
    """A created container runs nothing."""
    with bench.engine.create(bench.spec()) as sandbox, pytest.raises(HarnessError), sandbox.open(CAT):
        pass


def test_a_background_process_that_holds_the_output_is_not_waited_for(bench: Bench) -> None:
    """The command's own end counts, whoever still holds its standard output."""
    with _speaking(bench, "sh", "-c", "sleep 30 & echo started") as (_, dialogue):
        assert [hear(dialogue, within_s=20) for _ in range(2)] == [b"started", None]


def _until_errors(dialogue: Dialogue) -> bytes:
    """What it complained about, which may arrive after what it said."""
    deadline = Deadline.after_s(30)
    while not dialogue.errors():
        assert not deadline.has_passed()
        assert ask(dialogue, b"and now?") == b"and now?"
    return dialogue.errors()
