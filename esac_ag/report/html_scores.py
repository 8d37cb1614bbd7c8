"""Sections of the page on scores: ranks, paired differences, the run-to-run spread."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.report.chart_pairs import pair_plot, pair_scale, sorted_pairs
from esac_ag.report.chart_ranks import rank_plot
from esac_ag.report.chart_runs import runs_plot
from esac_ag.report.check_words import UNTOUCHED, baseline_words
from esac_ag.report.html_blocks import (
    Block,
    Cell,
    Link,
    Row,
    Section,
    bullets,
    grouped_table,
    heading,
    notice,
    num,
    paragraph,
    plot,
    table,
)
from esac_ag.report.html_links import Links
from esac_ag.report.measured import Measured, measures, ranked, reason_of, without_score
from esac_ag.report.numbers import (
    NO_VALUE,
    interval_words,
    level_words,
    maybe_points,
    percent,
    points,
    signed_points,
)
from esac_ag.report.review_words import NO_REVIEW
from esac_ag.report.view import ArmComparison, Baseline, ReportView, Run, TaskArm
from esac_ag.statistics.estimates import NotEstimable, SignFlipReference
from esac_ag.statistics.pairs import PairedComparison


def rank_section(view: ReportView, links: Links) -> Section:
    """Arms by mean score: quality where there was a review, check scores always."""
    blocks: list[Block] = []
    if view.review is None:
        blocks.append(paragraph(NO_REVIEW))
    elif view.review.provisional:
        blocks.append(notice(f"Quality scores are provisional: {view.review.provisional_reason}."))
    blocks.append(
        paragraph(
            "An arm's score is the mean over tasks of the means over repetitions. Its interval is of that "
            "mean alone: arms share their tasks, so whether two of them differ is for the paired "
            "differences below to say, and not for intervals that overlap or do not."
        )
    )
    for measured in measures(view):
        baseline = view.baseline if measured.name == "checks" else None
        caption = f"{_agent(view)}Arms by mean {measured.titled}, {percent(view.method.confidence)} intervals"
        blocks.append(plot(caption, rank_plot(measured, baseline, links.of(measured.name))))
        blocks.append(_rank_table(view, measured, links.of(measured.name)))
    if view.baseline is not None:
        blocks += _baseline(view.baseline)
    return Section("ranks", "Arms by score", tuple(blocks))


def _agent(view: ReportView) -> str:
    """Every plot says so of itself: plots are copied out of their page."""
    return "Scripted replay, no evidence about any model. " if view.header.agent_kind == "scripted" else ""


def _rank_table(view: ReportView, measured: Measured, links: Links) -> Block:
    compared = {item.arm: item for item in measured.comparisons}
    rows = []
    for number, item in enumerate(ranked(measured.scores), start=1):
        known = not isinstance(item.mean, NotEstimable)
        interval = level_words(item.interval) if known else NO_VALUE
        found = compared.get(item.arm)
        rows.append(
            (
                Cell(item.arm, links.arm(item.arm)),
                num(number if known else NO_VALUE),
                Cell(item.agent_kind),
                num(maybe_points(item.mean) if known else reason_of(item.mean)),
                num(reason_of(item.interval) if known and reason_of(item.interval) else interval),
                num(f"{item.tasks_scored} of {item.tasks_planned}"),
                num(NO_VALUE)
                if found is None
                else num(maybe_points(found.overall.mean, signed=True), f"#versus:{item.arm}"),
                num(NO_VALUE if found is None else interval_words(found.overall.interval)),
            )
        )
    head = ("Arm", "Rank", "Agent", f"Mean {measured.words}", "Interval", "Tasks scored")
    against = (f"Paired difference to {view.header.control}", "Its interval")
    return table(f"Arms by mean {measured.titled}", (*head, *against), rows)


def _baseline(baseline: Baseline) -> Iterator[Block]:
    yield heading("Untouched snapshots", "baseline")
    yield paragraph(UNTOUCHED)
    rows = [(Cell(item.task), num(baseline_words(item))) for item in baseline.tasks]
    yield table("Check score of the untouched snapshot, by task", ("Task", "Check score"), rows)


def pair_section(view: ReportView, links: Links) -> Section:
    """Every arm against the control, task by task."""
    threshold = view.method.threshold_points
    blocks: list[Block] = [
        paragraph(
            "One row per task: the filled mark is the difference of the means over repetitions, the small "
            "hollow marks are those of single repetitions in which both runs have a score. The shaded "
            f"band is the threshold of practical improvement, ±{threshold:g} points. A task without a pair "
            "is a labelled gap and enters no mean."
        )
    ]
    found = list(measures(view))
    scales = {measured.name: pair_scale(measured, threshold) for measured in found}
    for compared in sorted(view.comparisons, key=lambda item: not item.primary):
        kind = "primary" if compared.primary else "secondary"
        place = f"versus:{compared.arm}"
        blocks.append(heading(f"{compared.arm} minus {compared.control} ({kind} comparison)", place))
        for measured in found:
            comparison = next(item for item in measured.comparisons if item.arm == compared.arm)
            own = links.of(measured.name)
            drawn = pair_plot(measured, comparison, threshold, scales[measured.name], own)
            what = f"{compared.arm} minus {compared.control}, {measured.titled}"
            blocks += [
                plot(f"{_agent(view)}Paired difference by task: {what}", drawn),
                bullets(list(comparison.words)),
                _pair_table(measured, comparison, own, what),
                _group_table(comparison, own, what),
            ]
    return Section("pairs", "Paired differences by task", tuple(blocks))


def _pair_table(measured: Measured, comparison: ArmComparison, links: Links, what: str) -> Block:
    rows = []
    for pair in sorted_pairs(measured, comparison):
        item = measured.by_task_and_arm[pair.task, comparison.arm]
        difference = (
            reason_of(pair.difference)
            if isinstance(pair.difference, NotEstimable)
            else signed_points(pair.difference.value)
        )
        sides = (
            (comparison.arm, pair.arm_mean, pair.arm_n),
            (comparison.control, pair.control_mean, pair.control_n),
        )
        rows.append(
            Row(
                (
                    Cell(pair.task),
                    *(Cell(words) for words in (item.family, item.contrast, comparison.agent_kind)),
                    *(num(maybe_points(mean), links.runs(pair.task, arm)) for arm, mean, _ in sides),
                    num(difference),
                    *(num(f"{count} of {pair.planned}") for _, _, count in sides),
                ),
                links.pair_place(pair.task, comparison.arm),
            )
        )
    arm, control = comparison.arm, comparison.control
    head = ("Task", "Family", "Right scope", "Agent", arm, control, "Difference", f"Scored: {arm}", control)
    return table(f"Paired differences by task: {what}", head, rows)


def _group_table(comparison: ArmComparison, links: Links, what: str) -> Block:
    groups: list[tuple[str, tuple[str, ...], PairedComparison]] = [("all tasks", (), comparison.overall)]
    groups += [(f"family {item.group}", item.tasks, item.result) for item in comparison.families]
    groups += [(f"scope {item.group}", item.tasks, item.result) for item in comparison.contrasts]
    rows = [
        (
            Cell(name, links=tuple(Link(task, links.pair(task, comparison.arm)) for task in tasks)),
            num(f"{item.tasks_paired} of {item.tasks_planned}"),
            num(maybe_points(item.mean, signed=True)),
            num(reason_of(item.interval) or interval_words(item.interval)),
            num(maybe_points(item.sd)),
            num(_share(item)),
            num(_bounds(item)),
        )
        for name, tasks, item in groups
    ]
    head = (
        *("Over", "Tasks paired", "Mean difference", "Interval", "SD between tasks", "Sign-flip share"),
        "If missing runs were worst or best",
    )
    return table(f"Mean differences over all tasks, by family and by scope: {what}", head, rows)


def _share(item: PairedComparison) -> str:
    if isinstance(item.sign_flip, SignFlipReference):
        return f"{item.sign_flip.two_sided_share:.4g}"
    return reason_of(item.sign_flip)


def _bounds(item: PairedComparison) -> str:
    if not item.missing_runs:
        return "nothing is missing"
    return f"{signed_points(item.bounds.low)} or {signed_points(item.bounds.high)}"


def runs_section(view: ReportView, links: Links) -> Section:
    """Every run, and how far runs of one task and arm lie apart."""
    blocks: list[Block] = [
        paragraph(
            "Each mark is one run; the line goes from the lowest to the highest, the long tick is the "
            "mean, and the bracket below reaches one sample standard deviation (SD) to both sides, as far "
            "as scores go. A run without a score is no mark: it is counted in words."
            + (" The dotted line is the untouched snapshot." if view.baseline else "")
        )
    ]
    if not links.lists_attempts:
        blocks.append(paragraph("So many runs: equal scores of a row are one mark, which counts them."))
    for measured in measures(view):
        baseline = view.baseline if measured.name == "checks" else None
        caption = f"{_agent(view)}Run-to-run spread by task and arm: {measured.titled}"
        blocks.append(plot(caption, runs_plot(measured, baseline, links.of(measured.name))))
    blocks += [_runs_table(measured, links.of(measured.name)) for measured in measures(view)]
    return Section("runs", "Every run", tuple(blocks))


def _runs_table(measured: Measured, links: Links) -> Block:
    """By arm, so that a figure over all tasks leads to the runs behind it."""
    groups = [
        (
            links.arm_place(scores.arm),
            [_runs_row(item, links) for item in measured.task_arms if item.arm == scores.arm],
        )
        for scores in measured.scores
    ]
    head = ("Task and arm", "Agent", "Runs, by repetition", "Scored", "Mean", "Lowest", "Highest", "SD")
    return grouped_table(f"Every run: {measured.titled}", head, groups)


def _runs_row(item: TaskArm, links: Links) -> Row:
    summary = item.summary
    return Row(
        (
            Cell(f"{item.task}, {item.arm}"),
            Cell(item.agent_kind),
            Cell(links=tuple(_run_link(run, links) for run in item.runs)),
            num(f"{summary.n} of {summary.planned}"),
            *(num(maybe_points(value)) for value in (summary.mean, summary.minimum, summary.maximum)),
            num(maybe_points(summary.sd)),
        ),
        links.runs_place(item.task, item.arm),
    )


def _run_link(run: Run, links: Links) -> Link:
    words = without_score(run) if run.score is None else points(run.score)
    return Link(words, links.attempt(run.attempt_id) if run.attempt_id else "")
