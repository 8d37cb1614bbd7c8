"""What commands say: counts that agree with their nouns, the program by its name, the way on after Ctrl-C."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from esac_ag.cli.forecast_rendering import runs_line
from esac_ag.cli.rendering import print_plan, print_proofs
from esac_ag.cli.report_rendering import print_summary
from esac_ag.conduct.forecasting import Forecast
from esac_ag.conduct.tasks import Proofs
from esac_ag.grading.proof_record import ProofRecord
from esac_ag.plural import plural
from esac_ag.report.build import build_view
from esac_ag.schedule import make_plan
from tests.builders_report import a_manifest, a_study, varied_score

CLI = Path(__file__).parents[2] / "esac_ag" / "cli"
COUNTED = re.compile(
    r"""f"[^"]*\{[^}"]*\}[ ](?:tasks|arms|runs|cells|forms|packets|findings|times|repetitions|attempts)\b"""
)
SIGNALLED_TWICE = """
import os, signal
from esac_ag.cli.running import stopping_on_signals
from esac_ag.conduct.context import Stop
with stopping_on_signals(Stop(), go_on="go on with: esac-ag run manifests/study.json -n 2"):
    os.kill(os.getpid(), signal.{first})
    print("stopping in order", flush=True)
    os.kill(os.getpid(), signal.{second})
    print("never said")
"""


def test_one_is_no_plural() -> None:
    """None and many are."""
    assert [plural(count, "task") for count in (0, 1, 2)] == ["0 tasks", "1 task", "2 tasks"]


def test_no_command_counts_without_regard_to_one() -> None:
    """A number before a noun in the plural is written by `plural`."""
    found = [
        f"{path.name}: {line.strip()}"
        for path in sorted(CLI.glob("*.py"))
        for line in path.read_text().splitlines()
        if COUNTED.search(line)
    ]
    assert found == []


def test_a_plan_of_one_run_and_a_proof_that_is_made_once_say_so() -> None:
    """As new users met them: `1 tasks`, `1 times each`."""
    whole = make_plan(a_manifest())
    one = whole.model_copy(update={"tasks": 1, "arms": 1, "repetitions": 1, "blocks": 1, "cells": 1})
    assert runs_line(one) == "runs: 1 = 1 task x 1 arm x 1 repetition, 1 at once"
    said = io.StringIO()
    console = Console(file=said, width=200)
    print_plan(Forecast(bound=one, expected=None, earlier=None), (), console)
    proof = ProofRecord(
        format_version=1,
        task_id="task-1",
        public_tree_sha256="0" * 64,
        grader_tree_sha256="0" * 64,
        grader_image_digest="sha256:" + "0" * 64,
        repeats=1,
        seeds=("s",),
        variants=(),
        holds=True,
        faults=(),
    )
    print_proofs(Proofs(proofs=(proof,)), console)
    assert "order: 1 randomised block\n" in said.getvalue()
    assert "1 time each" in said.getvalue()


def test_a_summary_names_the_program_that_acted() -> None:
    """`codex agent`, not `command agent`."""
    view = build_view(a_study(varied_score))
    header = view.header.model_copy(update={"agent_kind": "command", "agent_program": "codex"})
    said = io.StringIO()
    print_summary(view.model_copy(update={"header": header}), Console(file=said, width=100))
    assert f"{header.study_id}: codex agent, {header.phase}" in said.getvalue()


@pytest.mark.parametrize(("first", "second"), [("SIGINT", "SIGINT"), ("SIGTERM", "SIGINT")])
def test_a_second_signal_tells_how_to_go_on_before_it_leaves(first: str, second: str) -> None:
    """Nobody else will: the process is gone at once."""
    program = SIGNALLED_TWICE.format(first=first, second=second)
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 130
    assert ended.stdout == "stopping in order\n"
    first_line, last_line = ended.stderr.splitlines()
    assert first_line.startswith("stopping: running attempts are cancelled")
    assert last_line == "left at once; go on with: esac-ag run manifests/study.json -n 2"
