"""The sandbox contract: from `create` to `remove`, in both engines."""

from __future__ import annotations

import pytest

from esac_ag.clock import Deadline
from esac_ag.errors import ImageMissing, SandboxLost
from esac_ag.sandbox.contract import Termination
from tests.builders_sandbox import run
from tests.contract.conftest import OBEDIENT, Bench


def test_leaving_the_block_removes_everything(bench: Bench) -> None:
    """No container and no volume outlives its block."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        assert any(sandbox.container_id[-12:] in line or "container" in line for line in _left(bench))
    assert _left(bench) == []


@pytest.mark.parametrize("interruption", [RuntimeError, KeyboardInterrupt])
def test_an_interrupted_block_removes_everything(bench: Bench, interruption: type[BaseException]) -> None:
    """Errors and Ctrl-C leave nothing behind."""
    with pytest.raises(interruption), bench.engine.create(bench.spec()) as sandbox:  # noqa: PT012
        sandbox.start()
        raise interruption
    assert _left(bench) == []


def test_removing_twice_is_no_error(bench: Bench) -> None:
    """`remove` is idempotent, and the end of the block removes once more."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.remove()
        sandbox.remove()
        assert _left(bench) == []


def test_clean_removes_what_leftovers_tells(bench: Bench) -> None:
    """A later command can remove what an earlier one left; the block's own removal finds nothing to do."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        told = _left(bench)
        assert told
        assert bench.engine.clean(bench.workspace)[0] == told[0]
        assert _left(bench) == []


def test_another_workspace_is_not_touched(bench: Bench) -> None:
    """`clean` removes only what carries its workspace's label."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        assert bench.engine.clean("another-workspace") == ()
        assert run(sandbox, "true").exit_code == 0


def test_a_description_tells_role_study_and_attempt(bench: Bench) -> None:
    """Leftovers say what they were for."""
    with bench.engine.create(bench.spec(study="my-study", attempt="fedcba9876543210")):
        line = _left(bench)[0]
    assert "probe" in line
    assert "my-study" in line
    assert "fedcba9876543210" in line


def test_sandboxes_have_ids_of_their_own(bench: Bench) -> None:
    """Two sandboxes of one spec are two containers."""
    with bench.engine.create(bench.spec()) as one, bench.engine.create(bench.spec()) as two:
        assert one.container_id != two.container_id


def test_a_missing_image_is_named(bench: Bench) -> None:
    """An image that does not exist is told apart from other failures."""
    spec = bench.spec().model_copy(update={"image": "esac-ag-no-such-image:1"})
    with pytest.raises(ImageMissing) as caught, bench.engine.create(spec):
        pass
    assert "esac-ag-no-such-image:1" in str(caught.value)
    assert _left(bench) == []


def test_an_image_has_a_stable_content_digest(bench: Bench) -> None:
    """The digest of an image is a SHA-256 and the same each time."""
    digest = bench.engine.image_digest(bench.image)
    assert digest == bench.engine.image_digest(bench.image)
    assert digest.startswith("sha256:")
    assert len(digest) == 71


def test_the_digest_of_a_missing_image_is_refused(bench: Bench) -> None:
    """There is no digest of nothing."""
    with pytest.raises(ImageMissing):
        bench.engine.image_digest("esac-ag-no-such-image:1")


def test_a_kill_from_outside_is_a_lost_sandbox_to_a_waiter(bench: Bench) -> None:
    """The subject cannot be blamed for what the host did."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        bench.kill(sandbox.container_id)
        with pytest.raises(SandboxLost):
            sandbox.wait(Deadline.after_s(30))


def test_a_kill_from_outside_is_a_lost_sandbox_to_a_command(bench: Bench) -> None:
    """Every later command tells so, not only the first."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        bench.kill(sandbox.container_id)
        for _ in range(2):
            with pytest.raises(SandboxLost):
                run(sandbox, "true")


def test_a_container_that_its_own_process_ended_is_the_subjects_doing(bench: Bench) -> None:
    """Killing the first process from inside buys no retry."""
    with bench.engine.create(bench.spec(argv=OBEDIENT)) as sandbox:
        sandbox.start()
        assert run(sandbox, "true").termination is Termination.EXITED
        result = run(sandbox, "sh", "-c", "kill 1; sleep 20")
        assert result.termination is Termination.CONTAINER_ENDED
        assert result.exit_code is None
        assert run(sandbox, "true").termination is Termination.CONTAINER_ENDED


def test_a_command_before_the_start_is_refused(bench: Bench) -> None:
    """A created container runs nothing."""
    with bench.engine.create(bench.spec()) as sandbox, pytest.raises(SandboxLost):
        run(sandbox, "true")


def _left(bench: Bench) -> list[str]:
    return list(bench.engine.leftovers(bench.workspace))
