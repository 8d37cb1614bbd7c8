"""Wrong solutions that try to look right: taking over the judge, forging results, beating the comparison."""

from __future__ import annotations

import pytest

from esac_ag.attempt import CheckVerdict, GradingStatus
from tests.builders_grading import SNAPSHOT, a_submission, docker_judge, reasons, verdicts

pytestmark = pytest.mark.docker

WRONG = "def total(quantity, price):\n    return price\n"
RESULT = '{"format_version": 1, "status": "graded", "invalid_reason": null, "checks": []}'

ALWAYS_EQUAL = """
class Everything:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    __class__ = int
    def __repr__(self): return "15"
"""

FORGED_ANSWER = """
import os
def total(quantity, price):
    os.write(3, {answer!r})
    os._exit(0)
"""

ATTACKS: dict[str, dict[str, str]] = {
    "conftest-and-plugins": {
        "prices/total.py": WRONG,
        "conftest.py": (
            "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\n"
            "def pytest_runtest_makereport(item, call):\n"
            "    outcome = yield\n    outcome.get_result().outcome = 'passed'\n"
        ),
        "pytest.ini": "[pytest]\naddopts = --collect-only\n",
        "tox.ini": "[pytest]\naddopts = -p evil\n",
        "setup.cfg": "[tool:pytest]\naddopts = --collect-only\n",
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--co'\n",
        "evil-1.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n",
        "evil.py": "import os\nos._exit(0)\n",
    },
    "os-exit-at-import": {"prices/__init__.py": "import os\nos._exit(0)\n"},
    "sys-exit-at-import": {"prices/__init__.py": "raise SystemExit(0)\n"},
    "atexit-rewrites-the-result": {
        "prices/total.py": (
            "import atexit, threading, time\n"
            "def rewrite():\n"
            "    for path in ('/grade/out/result.json', 'result.json', '/tmp/result.json'):\n"
            "        try:\n            open(path, 'w').write(RESULT)\n"
            "        except OSError:\n            pass\n"
            f"RESULT = {RESULT!r}\n"
            "atexit.register(rewrite)\nrewrite()\n"
            "threading.Thread(target=lambda: (time.sleep(0.2), rewrite())).start()\n" + WRONG
        )
    },
    "patched-test-frameworks": {
        "prices/__init__.py": (
            "import sys, unittest, unittest.case\n"
            "unittest.case.TestCase.run = lambda self, result=None: result\n"
            "unittest.TestCase.assertEqual = lambda *a, **k: None\n"
            "import _pytest.runner, _pytest.python\n"
            "_pytest.runner.runtestprotocol = lambda *a, **k: []\n"
            "import json\njson.dumps = lambda *a, **k: '{\"value\": true}'\n"
            "for name in ('esac_checks', 'judge_grader', 'subject_answer'):\n"
            "    sys.modules.pop(name, None)\n"
        ),
        "prices/total.py": WRONG,
    },
    "skip-from-the-solution": {
        "prices/total.py": "import pytest\npytest.skip('fine', allow_module_level=True)\n"
    },
    "skip-in-the-call": {
        "prices/total.py": "import pytest\n\n\ndef total(quantity, price):\n    pytest.skip('fine')\n"
    },
    "always-equal-object": {
        "prices/total.py": ALWAYS_EQUAL + "def total(quantity, price):\n    return Everything()\n"
    },
    "always-equal-number": {
        "prices/total.py": (
            "class Number(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\n"
            "def total(quantity, price):\n    return Number(price)\n"
        )
    },
    "always-equal-list": {
        "prices/total.py": (
            "class Items(list):\n    def __eq__(self, other): return True\n"
            "def total(quantity, price):\n    return Items([price])\n"
        )
    },
    "printed-success": {
        "prices/total.py": "print('5 passed in 0.01s')\nprint('ok')\n" + WRONG,
        "prices/__main__.py": f"print('5 passed in 0.01s')\nprint({RESULT!r})\n",
    },
    "planted-results": {
        "prices/total.py": WRONG,
        **dict.fromkeys(("result.json", "out/result.json", "grade/out/result.json", "../result"[3:]), RESULT),
        "judge.json": "{}",
        "private/checks.py": "",
        "grade/private/checks.py": "",
        "reward.txt": "1.0",
    },
    "shadow-modules": {
        "prices/total.py": WRONG,
        "json.py": "def loads(*a, **k): return {}\ndef dumps(*a, **k): return '{\"value\": 15}'\n",
        "esac_checks.py": "def require_equal(*a): pass\n",
        "subject_answer.py": "import os\nos.write(3, b'{\"value\": 15}')\nos._exit(0)\n",
        "os.py": "raise SystemExit(0)\n",
        "pytest.py": "raise SystemExit(0)\n",
    },
    "start-files": {
        "prices/total.py": WRONG,
        "sitecustomize.py": "import os\nos._exit(0)\n",
        "usercustomize.py": "import os\nos._exit(0)\n",
        "evil.pth": "import os; os._exit(0)\n",
        ".local/lib/python3.11/site-packages/evil.pth": "import os; os._exit(0)\n",
        ".bashrc": "exit 0\n",
    },
    "hard-coded-public-answers": {
        "prices/total.py": "KNOWN = {(1, 5): 5, (3, 5): 15}\n"
        "def total(quantity, price):\n    return KNOWN.get((quantity, price), price)\n"
    },
    **{
        f"forged-answer-{name}": {"prices/total.py": FORGED_ANSWER.format(answer=answer)}
        for name, answer in {
            "nan": b'{"value": NaN}',
            "infinity": b'{"value": Infinity}',
            "duplicate-keys": b'{"value": 1, "value": 2}',
            "text-for-a-number": b'{"value": "15"}',
            "truth-for-a-number": b'{"value": true}',
            "two-documents": b'{"value": 1}{"value": 2}',
            "surplus-key": b'{"value": 1, "verdict": "pass"}',
            "verdict": b'{"verdict": "pass"}',
            "record": b'{"op": "end", "check": "multiplies", "verdict": "pass", "reason": ""}',
            "no-json": b"pass",
            "nothing": b"",
            "deep": b"[" * 100_000,
            "not-unicode": b'{"value": "\xff\xfe"}',
        }.items()
    },
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_forger_passes_no_check_that_it_should_fail(attack: str) -> None:
    """The grading is valid, every check of the missing behaviour fails, and the container is gone."""
    grading = docker_judge().grade(a_submission(ATTACKS[attack]))
    assert grading.status is GradingStatus.GRADED, grading.invalid_reason
    by_id = verdicts(grading)
    assert {by_id[check] for check in ("multiplies", "command", "driven")} == {"fail"}
    assert by_id["readme-kept"] == "pass"
    assert docker_judge().leftovers() == []


def test_code_that_notices_the_judge_answers_only_for_itself() -> None:
    """Even with the judge's own module loaded in its process, a submission cannot set a verdict."""
    code = (
        "import sys\nsys.path.insert(0, '/esac')\n"
        "try:\n"
        "    import esac_checks\n    esac_checks._same = lambda *a: True\n"
        "    esac_checks.require_equal = lambda *a: None\n"
        "except Exception:\n    pass\n" + WRONG
    )
    grading = docker_judge().grade(a_submission({"prices/total.py": code}))
    assert not grading.passed
    assert grading.checks[0].verdict is CheckVerdict.FAIL


def test_an_untouched_snapshot_with_a_doctored_test_still_fails() -> None:
    """Weakened public tests are restored and decide nothing."""
    doctored = a_submission(
        {"prices/total.py": WRONG, "tests/test_total.py": "def test_one():\n    pass\n"}, base=SNAPSHOT
    )
    grading = docker_judge().grade(doctored)
    assert "multiplies" in reasons(grading)
