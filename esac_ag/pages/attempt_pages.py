"""Pages of one attempt: its facts, and its transcript, commands and diff page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from esac_ag.conduct.view_attempt import PATCH, AttemptLook, attempt_look, patch_of, place_of
from esac_ag.conduct.view_files import open_shown
from esac_ag.conduct.view_lines import CutLine, LinePager
from esac_ag.conduct.view_look import Launch, StudyLook
from esac_ag.errors import HarnessError, InputRefused, UsageError
from esac_ag.pages.attempt_table import PageOf, page_of, paged
from esac_ag.pages.diff_page import diff_html, file_html
from esac_ag.pages.query_numbers import whole_number
from esac_ag.pages.rendering import page, study_address
from esac_ag.pages.transcript_page import shown_command, shown_entry
from esac_ag.pages.view_words import cost_rows, moment, seconds_between
from esac_ag.plural import plural
from esac_ag.report.numbers import NO_VALUE
from esac_ag.study.diff import read_diff
from esac_ag.suite.bank import item_named
from esac_ag.suite.contract import CheckResult
from esac_ag.suite.replication import run_fraction

TRANSCRIPT: Final = "transcript.jsonl"
COMMANDS: Final = "commands.jsonl"
LINES_PER_PAGE: Final = 40

Shown = TypeVar("Shown")


class _Lines(NamedTuple):
    """A page of a file of lines."""

    at: PageOf
    size_bytes: int
    lines: tuple[CutLine, ...]


_NONE: Final = _Lines(PageOf(1, 1, 0, 0), 0, ())


class AttemptPages:
    """Answers requests for pages of attempts.

    Args:
        looked: gives a look at the study of a name, or raises `HTTPException`.
    """

    def __init__(self, looked: Callable[[str], StudyLook]) -> None:
        self._looked = looked
        self._pager = LinePager(LINES_PER_PAGE)

    def attempt(self, request: Request) -> Response:
        """Everything of an attempt, with the beginning of what is long."""
        look, launch = self._found(request)
        attempt = attempt_look(look, launch)
        record = attempt.record.record
        entries = self._lines(look, launch, TRANSCRIPT, 1) if attempt.has(TRANSCRIPT) else _NONE
        commands = self._lines(look, launch, COMMANDS, 1) if attempt.has(COMMANDS) else _NONE
        patch = patch_of(look, launch.attempt_id)
        return self._page(
            request,
            look,
            "attempt.html",
            {
                "attempt": attempt,
                "facts": _fact_rows(look, attempt),
                "problems": [one for one in (attempt.record.problem, attempt.grading.problem) if one],
                "findings": record.submission.findings if record and record.submission else (),
                "item_score": _item_score(attempt),
                "item_checks": tuple(_item_checks(attempt)),
                "patch_problem": "" if patch.record else patch.problem,
                "diff": diff_html(
                    read_diff(patch.record.text) if patch.record else (),
                    elsewhere=partial(self._file_at, request),
                ),
                "entries": [shown_entry(line) for line in entries.lines],
                "entries_at": entries.at,
                "commands": [shown_command(line) for line in commands.lines],
                "commands_at": commands.at,
                "costs": cost_rows(record.costs, look.plan.sealed.prices) if record else [],
            },
            title=f"Attempt {launch.attempt_id}",
        )

    def transcript(self, request: Request) -> Response:
        """A page of the transcript."""
        return self._lines_page(request, TRANSCRIPT, "Transcript")

    def commands(self, request: Request) -> Response:
        """A page of the record of commands."""
        return self._lines_page(request, COMMANDS, "Commands")

    def diff(self, request: Request) -> Response:
        """One file of the patch, a part at a time."""
        look, launch = self._found(request)
        patch = patch_of(look, launch.attempt_id)
        if patch.record is None:
            raise HTTPException(404, f"{PATCH}: {patch.problem}")
        files = read_diff(patch.record.text)
        number, start = (_whole(request, name) for name in ("file", "start"))
        if number >= len(files):
            raise HTTPException(404, "The patch has fewer files.")
        shown, next_row = file_html(files[number], start=start)
        return self._page(
            request,
            look,
            "diff.html",
            {
                "diff": shown,
                "number": number,
                "count": len(files),
                "start": start,
                "next_row": next_row,
            },
            title=f"Diff of attempt {launch.attempt_id}",
            part="Diff",
        )

    def _lines_page(self, request: Request, file: str, part: str) -> Response:
        look, launch = self._found(request)
        found = self._lines(look, launch, file, page_of(request.query_params))
        is_talk = file == TRANSCRIPT
        return self._page(
            request,
            look,
            "lines.html",
            {
                "file": file,
                "at": found.at,
                "size_bytes": found.size_bytes,
                "pages": lambda number: f"?page={number}",
                "entries": [shown_entry(line) for line in found.lines] if is_talk else None,
                "commands": [] if is_talk else [shown_command(line) for line in found.lines],
            },
            title=f"{part} of attempt {launch.attempt_id}",
            part=part,
        )

    def _page(
        self,
        request: Request,
        look: StudyLook,
        template: str,
        values: Mapping[str, object],
        *,
        title: str,
        part: str = "",
    ) -> Response:
        name, attempt_id = request.path_params["study"], request.path_params["attempt"]
        own = study_address(request, name, "attempts", attempt_id) + "/"
        above = ((name, study_address(request, name)), (attempt_id, own))
        shared = {"name": name, "attempt_id": attempt_id, "look": look}
        path = (*above, (part, "")) if part else above
        return page(request, template, {**shared, **values}, title=title, path=path)

    def _found(self, request: Request) -> tuple[StudyLook, Launch]:
        look = self._looked(request.path_params["study"])
        launch = look.launch(request.path_params["attempt"])
        if launch is None:
            raise HTTPException(404, "The ledger names no such attempt.")
        return look, launch

    def _lines(self, look: StudyLook, launch: Launch, name: str, number: int) -> _Lines:
        try:
            file = open_shown(look, place_of(launch.attempt_id, name))
        except InputRefused as error:
            raise HTTPException(404, f"{name}: {error.found}") from error
        with file:
            pages = self._pager.pages(file)
            at = paged(pages.lines, number, LINES_PER_PAGE)
            return _Lines(at, pages.size_bytes, tuple(self._pager.lines(file, at.page)))

    @staticmethod
    def _file_at(request: Request, number: int) -> str:
        name, attempt_id = request.path_params["study"], request.path_params["attempt"]
        return study_address(request, name, "attempts", attempt_id, "diff") + f"/?file={number}"


def _whole(request: Request, name: str) -> int:
    """A number of an address, from 0."""
    text = request.query_params.get(name) or "0"
    number = whole_number(text)
    if number is None:
        raise UsageError("This is no number.", where=name, expected="a number from 0 on", found=text)
    return number


def _fact_rows(look: StudyLook, attempt: AttemptLook) -> list[tuple[str, str]]:
    launch, record = attempt.launch, attempt.record.record
    rows = [
        (look.plan.unit_word, launch.unit),
        ("arm", launch.arm),
        ("repetition", str(launch.repetition)),
        ("launch of its cell", str(launch.ordinal)),
        ("outcome", launch.outcome.value if launch.outcome else "not told"),
        ("state", launch.state.value),
        ("why it ended", launch.reason or NO_VALUE),
        ("began", moment(record.started_at if record else launch.started_at)),
        ("took", seconds_between(launch.started_at, launch.ended_at)),
    ]
    if record is None:
        return rows
    return [
        *rows,
        ("acted", f"{record.agent_label} ({record.agent_kind.value})"),
        ("limit reached", record.limit.value if record.limit else "none"),
        ("exit code", NO_VALUE if record.exit_code is None else str(record.exit_code)),
        ("bundle digest", record.arm_sha256 or "no bundle"),
        ("submission", "none" if record.submission is None else plural(record.submission.files, "file")),
    ]


def _item_score(attempt: AttemptLook) -> float | None:
    graded = attempt.item_grading.record
    if graded is None:
        return None
    try:
        return 100.0 * run_fraction(item_named(graded.cell.task), graded.result)
    except HarnessError:
        return None


def _item_checks(attempt: AttemptLook) -> Iterator[tuple[str, tuple[CheckResult, ...]]]:
    graded = attempt.item_grading.record
    if graded is not None:
        yield "check", graded.result.checks
        for number, judgment in enumerate(graded.result.judgments, start=1):
            yield f"judgment {number}", judgment
