"""The sandbox contract: commands and the first process, in both engines."""

from __future__ import annotations

import pytest

from esac_ag.clock import Deadline
from esac_ag.errors import SandboxLost
from esac_ag.sandbox.contract import Termination, TreeLimits
from tests.builders_sandbox import WORK, a_memory_volume, run
from tests.contract.conftest import BAD_TEXT, HOG, HOLDER, Bench


def test_a_command_gives_its_exit_code_and_output(bench: Bench) -> None:
    """What a command printed and how it exited comes back."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        result = run(sandbox, "sh", "-c", "echo hello; exit 3")
    assert (result.termination, result.exit_code) == (Termination.EXITED, 3)
    assert result.output == b"hello\n"
    assert not result.truncated
    assert result.duration_s > 0


def test_a_missing_program_is_an_exit_code_and_a_message(bench: Bench) -> None:
    """A program that does not exist is the command's failure, not the engine's."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        result = run(sandbox, "no-such-program")
    assert result.exit_code in {126, 127}
    assert b"not found" in result.output


def test_output_beyond_the_limit_is_dropped_and_said_so(bench: Bench) -> None:
    """The first bytes are kept, the rest is drained."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        result = run(sandbox, "echo", "0123456789", output_bytes=4)
        exact = run(sandbox, "echo", "012", output_bytes=4)
    assert (result.output, result.truncated, result.exit_code) == (b"0123", True, 0)
    assert (exact.output, exact.truncated) == (b"012\n", False)


def test_a_sink_receives_what_is_kept(bench: Bench) -> None:
    """A sink sees the output as it arrives, at most the limit in all."""
    pieces: list[bytes] = []
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        result = run(sandbox, "echo", "0123456789", output_bytes=4, sink=pieces.append)
    assert b"".join(pieces) == result.output == b"0123"


def test_standard_error_can_be_kept_apart(bench: Bench) -> None:
    """Programs whose output is data also complain; without a sink of its own both come together."""
    errors: list[bytes] = []
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        together = run(sandbox, "sh", "-c", "echo data; cat no-such-file")
        apart = run(sandbox, "sh", "-c", "echo data; cat no-such-file", error_sink=errors.append)
    assert b"data" in together.output
    assert b"no-such-file" in together.output
    assert apart.output == b"data\n"
    assert b"no-such-file" in b"".join(errors)


def test_output_need_not_be_text(bench: Bench) -> None:
    """Bytes that are not UTF-8 arrive as they are."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        assert run(sandbox, *BAD_TEXT).output == b"\xff\xc3(\x00"


def test_the_environment_is_fixed_and_can_be_added_to(bench: Bench) -> None:
    """Locale, time zone and home are the spec's; a command may have variables of its own."""
    spec = bench.spec(home=f"{WORK}/home", environment=(("OURS", "spec"),))
    with bench.engine.create(spec) as sandbox:
        sandbox.start()
        script = "printenv LANG; printenv TZ; printenv HOME; printenv OURS; printenv MINE"
        result = run(sandbox, "sh", "-c", script, environment=(("MINE", "command"),))
    assert result.output.decode().split() == ["C.UTF-8", "UTC", f"{WORK}/home", "spec", "command"]


def test_a_command_runs_in_the_folder_that_it_is_given(bench: Bench) -> None:
    """The working directory is the spec's unless a command has one."""
    with bench.engine.create(bench.spec(working_dir="/tmp")) as sandbox:
        sandbox.start()
        assert run(sandbox, "pwd").output == b"/tmp\n"
        assert run(sandbox, "pwd", working_dir=WORK).output == b"/work\n"


def test_the_deadline_ends_silence(bench: Bench) -> None:
    """A command that says nothing is not waited for beyond its deadline."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        result = run(sandbox, "sleep", "100", within_s=0.3)
    assert (result.termination, result.exit_code) == (Termination.TIMED_OUT, None)


def test_the_deadline_ends_endless_output(bench: Bench) -> None:
    """Output that never pauses does not keep a command alive, and the memory it takes is capped."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        result = run(sandbox, "yes", within_s=0.5, output_bytes=1000)
    assert result.termination is Termination.TIMED_OUT
    assert result.output == b"y\n" * 500
    assert result.truncated


def test_after_a_deadline_files_can_be_read_and_nothing_runs(bench: Bench) -> None:
    """Work done before the limit is there, in memory volumes too."""
    with bench.engine.create(bench.spec(volumes=(a_memory_volume(),))) as sandbox:
        sandbox.start()
        result = run(sandbox, "sh", "-c", f"echo done > {WORK}/done; sleep 100", within_s=0.5)
        assert result.termination is Termination.TIMED_OUT
        with pytest.raises(SandboxLost):
            run(sandbox, "true")
        assert sandbox.get(WORK, TreeLimits()).tree.files()[b"done"].data == b"done\n"


def test_a_background_process_that_holds_the_output_is_not_waited_for(bench: Bench) -> None:
    """The command's own end counts, whoever still holds its standard output."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        result = run(sandbox, *HOLDER, within_s=20)
    assert (result.termination, result.exit_code) == (Termination.EXITED, 0)
    assert result.output == b"started\n"


def test_memory_beyond_the_limit_is_told_apart(bench: Bench) -> None:
    """A command that the kernel killed for memory says so, and the container goes on."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        assert not sandbox.out_of_memory()
        assert run(sandbox, *HOG).termination is Termination.OUT_OF_MEMORY
        assert sandbox.out_of_memory()
        assert run(sandbox, "true").termination is Termination.EXITED


def test_the_first_process_is_waited_for(bench: Bench) -> None:
    """Its exit code comes back, and its output goes to the sink."""
    pieces: list[bytes] = []
    with bench.engine.create(bench.spec(argv=("sh", "-c", "echo out; exit 4"))) as sandbox:
        sandbox.start()
        state = sandbox.wait(Deadline.after_s(30), sink=pieces.append)
    assert (state.termination, state.exit_code) == (Termination.EXITED, 4)
    assert not state.out_of_memory
    assert b"".join(pieces) == b"out\n"


def test_the_first_process_has_an_output_limit(bench: Bench) -> None:
    """The spec's cap holds for the first process."""
    pieces: list[bytes] = []
    spec = bench.spec(argv=("echo", "0123456789"), output_bytes=4)
    with bench.engine.create(spec) as sandbox:
        sandbox.start()
        state = sandbox.wait(Deadline.after_s(30), sink=pieces.append)
    assert b"".join(pieces) == b"0123"
    assert state.truncated


def test_the_first_process_has_a_deadline(bench: Bench) -> None:
    """Waiting ends at the deadline, whatever the first process prints."""
    with bench.engine.create(bench.spec(argv=("yes",))) as sandbox:
        sandbox.start()
        state = sandbox.wait(Deadline.after_s(0.5))
    assert (state.termination, state.exit_code) == (Termination.TIMED_OUT, None)


def test_a_first_process_killed_for_memory_is_told_apart(bench: Bench) -> None:
    """Running out of memory is the subject's doing and has a name of its own."""
    with bench.engine.create(bench.spec(argv=HOG)) as sandbox:
        sandbox.start()
        state = sandbox.wait(Deadline.after_s(60))
        assert sandbox.out_of_memory()
    assert state.termination is Termination.OUT_OF_MEMORY
    assert state.out_of_memory


def test_a_command_in_an_ended_container_does_not_run(bench: Bench) -> None:
    """After the first process no other runs, and that is no failure of the engine."""
    with bench.engine.create(bench.spec(argv=("true",))) as sandbox:
        sandbox.start()
        sandbox.wait(Deadline.after_s(30))
        assert run(sandbox, "true").termination is Termination.CONTAINER_ENDED
