"""The text of `checks.py` of an imported Harbor task."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

CHECK = "verifier"
"""Id of the one check."""
_PLACE = re.compile("@[A-Z_]+@")
"""In the text: a value is put there."""

_TEXT = '''\
"""Runs Harbor's test.sh on the submission and reads its reward. Made by `esac-ag task import harbor`.

Trust: shared-process. The submission is put where Harbor has it, and test.sh runs as the user `subject`, as
the submission itself does. What writes the reward may import the submission, so a hostile submission could
forge it. Only the reading of the reward is out of its reach.
"""

import json
import math
import os

from esac_checks import Subject, check, require

WORKDIR = @WORKDIR@
TIMEOUT_S = @TIMEOUT_S@
VARIABLES = @VARIABLES@
FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files")
REWARD_BYTES = 65536
PREPARE = """
set -e
mkdir -p "$1" /logs/verifier /logs/agent /logs/artifacts "$HOME/.local/bin"
cp -a . "$1"
: > "$HOME/.local/bin/env"
cp -r "$2/tests/." /tests
while IFS= read -r path; do chmod 755 "$path"; done < "$2/programs"
[ "$1" = /agent/workspace ] || ln -s "$1" /agent/workspace
"""
RUN = """
cd "$1" && chmod 755 /tests/test.sh && exec /tests/test.sh
"""


@check("@CHECK@")
def verifier(subject: Subject) -> None:
    programs = []
    for place, target in (("tests", f"{subject.scratch}/tests"), ("stand-ins", f"{subject.scratch}/bin")):
        for path, data, executable in files_of(os.path.join(FILES, place)):
            subject.write(f"{target}/{path}", data)
            if executable:
                programs.append(f"/tests/{path}" if place == "tests" else f"{target}/{path}")
    subject.write(f"{subject.scratch}/programs", "".join(f"{path}\\n" for path in programs).encode())
    argv = ["/bin/bash", "-c", PREPARE, "prepare", WORKDIR, subject.scratch]
    done = subject.run(argv, timeout_s=60)
    require(done.exit_code == 0, f"the submission cannot be put in its place: {tail(done.stderr)}")
    variables = {"PATH": f"{subject.scratch}/bin:/usr/local/bin:/usr/bin:/bin", "PWD": WORKDIR, **VARIABLES}
    done = subject.run(["/bin/bash", "-c", RUN, "run", WORKDIR], env=variables, timeout_s=TIMEOUT_S)
    require(not done.timed_out, f"test.sh took longer than {TIMEOUT_S} s")
    rewards = read_rewards(subject)
    decisive = {"reward": rewards["reward"]} if "reward" in rewards else rewards
    told = ", ".join(f"{name} {value:g}" for name, value in sorted(rewards.items()))
    require(
        all(value >= 1 for value in decisive.values()),
        f"the reward is less than 1: {told[:500]}; test.sh ends with {tail(done.stdout + done.stderr)}",
    )


def files_of(folder):
    """Relative path, bytes and execute bit of every file below a folder."""
    for here, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(here, name)
            with open(path, "rb") as file:
                data = file.read()
            yield os.path.relpath(path, folder), data, bool(os.stat(path).st_mode & 0o100)


def read_rewards(subject):
    """The rewards by name; reward.txt counts before reward.json. Anything unexpected fails the check."""
    text = read(subject, "reward.txt")
    if text is not None:
        return {"reward": number(text)}
    text = read(subject, "reward.json")
    require(text is not None, "test.sh wrote neither reward.txt nor reward.json")
    return rewards_of(text)


def number(text):
    """One finite number, as reward.txt has to hold."""
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    require(math.isfinite(value), f"reward.txt holds no finite number: {text[:100]!r}")
    return value


def rewards_of(text):
    """An object of finite numbers, as reward.json has to hold."""
    try:
        found = json.loads(text, object_pairs_hook=once_each)
    except (ValueError, RecursionError) as error:
        require(False, f"reward.json is not what it should be: {error}")
    require(type(found) is dict and found, "reward.json holds no object with a reward")
    for name, value in found.items():
        # True and False are numbers to Python, and NaN is one to its JSON.
        good = type(value) in (int, float) and abs(value) < 1e300
        require(good, f"reward.json holds no finite number at {name[:100]!r}")
    return found


def once_each(pairs):
    """An object whose keys are all different."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


def read(subject, name):
    """A file of Harbor's verifier folder as text, read by a process of the subject; None if there is none."""
    path = f"/logs/verifier/{name}"
    if subject.run(["/usr/bin/test", "-e", path]).exit_code != 0:
        return None
    done = subject.run(["/usr/bin/head", "-c", str(REWARD_BYTES + 1), "--", path], timeout_s=10)
    require(done.exit_code == 0, f"{name} cannot be read")
    require(len(done.stdout) <= REWARD_BYTES, f"{name} has more than {REWARD_BYTES} bytes")
    try:
        return done.stdout.decode("utf-8")
    except UnicodeDecodeError:
        require(False, f"{name} is no text")


def tail(data):
    """The end of an output, for a reason."""
    return repr(data[-600:].decode("utf-8", "backslashreplace"))
'''


def checks_text(*, workdir: str, timeout_s: float, variables: Mapping[str, str]) -> str:
    """The text of the module.

    Args:
        workdir: absolute path at which the submission is put.
        timeout_s: time of test.sh.
        variables: environment of test.sh.
    """
    values = {
        "@WORKDIR@": json.dumps(workdir),
        "@TIMEOUT_S@": repr(timeout_s),
        "@VARIABLES@": repr(dict(variables)),
        "@CHECK@": CHECK,
    }
    # In one pass: a value may look like a place of another.
    return _PLACE.sub(lambda place: values[place[0]], _TEXT)
