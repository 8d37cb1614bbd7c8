"""What may be done after a report, with its commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from esac_ag.manifest.plan import Phase
from esac_ag.plural import plural
from esac_ag.report.decision_view import ArmDecision
from esac_ag.report.inputs import ReportInputs
from esac_ag.report.view import ArmCounts, NextStep
from esac_ag.study.decision_records import DecisionOutcome


def next_steps(
    inputs: ReportInputs, counts: Sequence[ArmCounts], decisions: Sequence[ArmDecision]
) -> Iterator[NextStep]:
    """The steps that lead on from here, the nearest one first.

    They depend on nothing but what the report shows, so that a step that was begun makes no report outdated.
    """
    study = f"results/{inputs.manifest.study_id}"
    missing = sum(item.missing for item in counts)
    if missing:
        yield NextStep(
            words=f"Go on with the study, which lacks {plural(missing, 'run')}.",
            command="esac-ag run MANIFEST",
        )
    if ungraded := sum(item.ungraded for item in counts):
        yield NextStep(
            words=f"Grade what waits for it: {plural(ungraded, 'run')}.", command=f"esac-ag grade {study}"
        )
    if inputs.quality is None and inputs.manifest.phase is not Phase.CALIBRATION:
        yield NextStep(
            words="Let two people judge the submissions without knowing the arms: the protocol decides on "
            "their quality scores, and check scores alone decide nothing.",
            command=f"esac-ag review prepare {study}",
        )
    if any(item.primary and item.decision.outcome is DecisionOutcome.BENEFIT for item in decisions):
        yield NextStep(
            words="Confirm the provisional benefit on tasks that no study has had (phase: holdout).",
            command="esac-ag freeze DRAFT",
        )
    yield NextStep(words="Read studies and attempts in a browser.", command="esac-ag view results")
    yield NextStep(
        words="Derive every digest of this study again, and this report from its records.",
        command=f"esac-ag audit {study}",
    )
    yield NextStep(
        words="Correct this report: another one is added, and this one stays.",
        command=f"esac-ag report revise {study} --reason TEXT",
    )
