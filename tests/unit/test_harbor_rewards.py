"""The generated checks of an imported task: rewards are read strictly, by the grader's side."""

from __future__ import annotations

from types import ModuleType

import pytest

from esac_ag.conduct.harbor_checks import checks_text
from tests.builders_grading import guest_module


class Written:
    """What `subject.run` of a reading process would answer."""

    def __init__(self, exit_code: int, stdout: bytes = b"") -> None:
        self.exit_code, self.stdout = exit_code, stdout


class Subject:
    """A submission that left files in Harbor's verifier folder."""

    def __init__(self, **files: bytes) -> None:
        self.files = {f"/logs/verifier/{name.replace('_', '.')}": data for name, data in files.items()}

    def run(self, argv: list[str], timeout_s: float = 10.0) -> Written:
        """The two programs that the checks read with."""
        assert timeout_s > 0
        data = self.files.get(argv[-1])
        if argv[0] == "/usr/bin/test":
            return Written(0 if data is not None else 1)
        return Written(0, (data or b"")[: int(argv[2])])


@pytest.fixture(scope="module")
def checks() -> ModuleType:
    """The generated module."""
    guest_module("judge_failures")
    guest_module("judge_subject")
    guest = guest_module("esac_checks")
    guest.registry.clear()
    module = ModuleType("checks")
    module.__file__ = "/grade/private/checks.py"
    text = checks_text(workdir='/a"b', timeout_s=5.0, variables={"A": "it's", "B": "@CHECK@"})
    exec(compile(text, "checks.py", "exec"), module.__dict__)  # noqa: S102  (ours)
    assert list(guest.registry) == ["verifier"]
    guest.registry.clear()
    return module


def test_the_settings_stand_in_the_module_as_values(checks: ModuleType) -> None:
    """Whatever signs they hold."""
    assert (checks.WORKDIR, checks.TIMEOUT_S, checks.VARIABLES) == (
        '/a"b',
        5.0,
        {"A": "it's", "B": "@CHECK@"},
    )


@pytest.mark.parametrize(
    ("files", "rewards"),
    [
        ({"reward_txt": b"1\n"}, {"reward": 1.0}),
        ({"reward_txt": b" 0.25 "}, {"reward": 0.25}),
        ({"reward_json": b'{"reward": 1}'}, {"reward": 1}),
        ({"reward_json": b'{"speed": 0.5, "size": -2}'}, {"speed": 0.5, "size": -2}),
        ({"reward_txt": b"0", "reward_json": b'{"reward": 1}'}, {"reward": 0.0}),
    ],
)
def test_rewards_are_read(checks: ModuleType, files: dict[str, bytes], rewards: dict[str, float]) -> None:
    """One number of reward.txt, or all of reward.json; the first counts before the second."""
    assert checks.read_rewards(Subject(**files)) == rewards


@pytest.mark.parametrize(
    "text",
    [b"", b"nan", b"inf", b"-Infinity", b"1e999", b"true", b"1 1", b"1\n1", b"1_0", b"\xff", b"\xef\xbc\x91"],
)
def test_a_reward_txt_that_is_no_finite_number_fails_the_check(checks: ModuleType, text: bytes) -> None:
    """However it is written."""
    with pytest.raises(checks.require.__globals__["CheckFailed"]):
        checks.read_rewards(Subject(reward_txt=text))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"1",
        b"{}",
        b"[1]",
        b'{"reward": true}',
        b'{"reward": NaN}',
        b'{"reward": Infinity}',
        b'{"reward": 1e999}',
        b'{"reward": "1"}',
        b'{"reward": null}',
        b'{"reward": {"a": 1}}',
        b'{"reward": 0, "reward": 1}',
        b'{"reward": 1}' + b" " * 70000,
        b"[" * 60000,
        b"\xff",
    ],
)
def test_a_reward_json_that_is_no_object_of_finite_numbers_fails_the_check(
    checks: ModuleType, text: bytes
) -> None:
    """Booleans, NaN, duplicate keys, nested objects, and what is too large or no text."""
    with pytest.raises(checks.require.__globals__["CheckFailed"]):
        checks.read_rewards(Subject(reward_json=text))


def test_no_reward_at_all_fails_the_check(checks: ModuleType) -> None:
    """A test.sh that died before it wrote one is no pass."""
    with pytest.raises(checks.require.__globals__["CheckFailed"]):
        checks.read_rewards(Subject())
