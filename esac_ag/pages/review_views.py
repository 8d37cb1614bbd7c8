"""What the templates of a review show. Every text of somebody else is escaped by the templates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from esac_ag.pages.diff_page import file_html
from esac_ag.pages.review_fields import CONTRADICTION, field_of, fields_of
from esac_ag.pages.review_site import PacketState, ReviewSite, Standing, revision
from esac_ag.pages.shown import environment
from esac_ag.study.diff import LineKind
from esac_ag.study.forms import Form, FormFault, Sureness, faults_of
from esac_ag.study.packets import WHOLE_DIFF, CommandShown, Packet
from esac_ag.study.scales import ANCHORS, SCALES

MOST_SUGGESTED: Final = 400
"""Places that a field suggests without a script."""

View = dict[str, object]


class ReviewViews:
    """Fills templates.

    Args:
        csrf: that forms send along.
    """

    def __init__(self, csrf: str) -> None:
        self._csrf = csrf
        self._templates = environment()
        self._templates.globals.update(scales=SCALES, anchors=ANCHORS, sureness=tuple(Sureness))

    def render(self, template: str, view: Mapping[str, object], *, root: str, reviewer: str) -> str:
        """A whole page."""
        found = self._templates.get_template(f"review/{template}")
        return found.render(**view, csrf=self._csrf, root=root, reviewer=reviewer)

    def index(self, site: ReviewSite, submitted: str) -> View:
        """Progress, and all packets."""
        standings = site.standings()
        return {
            "standings": standings,
            "done": sum(one.state is PacketState.SUBMITTED for one in standings),
            "next": _next(standings),
            "closing": site.closing(),
            "author": site.desk().author,
            "submitted": submitted if any(one.packet.label == submitted for one in standings) else "",
        }

    def packet(self, site: ReviewSite, packet: Packet, form: Form, *, root: str) -> View:
        """A packet, with the form as it is given."""
        desk = site.desk()
        labels = [one.label for one in desk.book.packets]
        at = labels.index(packet.label)
        return {
            "packet": packet,
            "number": at + 1,
            "packets": len(labels),
            "before": labels[at - 1] if at else "",
            "after": labels[at + 1] if at + 1 < len(labels) else "",
            "diff": site.diff(packet, f"{root}/packets/{packet.label}/files/"),
            "form": form,
            "fields": fields_of(form, packet),
            "critical_types": desk.book.critical_failures,
            "suggested": tuple(_suggested(packet)),
            "revision": revision(form),
            "editable": not desk.locked and not desk.author.provisional,
            "author": desk.author,
            "outcome": _outcome,
            "faults": (),
            "faults_at": {},
            "theirs": None,
            "saved": False,
        }

    def faults(self, site: ReviewSite, form: Form, packet: Packet, check: str) -> View:
        """What keeps a form from being submitted, if it was asked for: for the summary and for each field."""
        known = site.desk().book.critical_failures
        found: tuple[FormFault, ...] = ()
        if check == "contradiction":
            found = (CONTRADICTION,)
        elif check:
            found = faults_of(form, packet, known)
        by_field: dict[str, list[str]] = {}
        for fault in found:
            by_field.setdefault(field_of(fault), []).append(fault.what)
        summary = tuple((field_of(fault), _place(fault), fault.what) for fault in found)
        return {"faults": summary, "faults_at": by_field}

    def file(self, packet: Packet, number: int, start: int) -> View:
        """One file of a packet's diff."""
        html, after = file_html(packet.diff[number], start=start)
        return {
            "packet": packet,
            "path": packet.diff[number].path,
            "html": html,
            "number": number,
            "files": len(packet.diff),
            "start": start,
            "next_start": after,
        }

    def lock(self, site: ReviewSite) -> View:
        """Whether everything is submitted."""
        standings = site.standings()
        return {
            "standings": standings,
            "left": [one for one in standings if one.state is not PacketState.SUBMITTED],
            "closing": site.closing(),
            "unconfirmed": False,
        }

    def guesses(self, site: ReviewSite) -> View:
        """Packets, and the arms that there are."""
        return {"arms": site.arms(), "standings": site.standings()}


def _next(standings: Sequence[Standing]) -> Standing | None:
    return next((one for one in standings if one.state is not PacketState.SUBMITTED), None)


def _suggested(packet: Packet) -> Iterator[str]:
    """What evidence may point at: all but lines, then changed lines as far as a list can hold them."""
    yield WHOLE_DIFF
    yield from (command.id for command in packet.commands)
    yield from (claim.id for claim in packet.claims)
    yield from (check.id for check in packet.checks or ())
    left = MOST_SUGGESTED
    for file in packet.diff:
        for line in (line for hunk in file.hunks for line in hunk.lines if line.kind is not LineKind.CONTEXT):
            if left == 0:
                return
            left -= 1
            yield f"{file.path}:{line.new}" if line.new is not None else f"{file.path}:-{line.old}"


def _outcome(command: CommandShown) -> str:
    if command.timed_out:
        return "ran out of time"
    return "exit code unknown" if command.exit_code is None else f"exit code {command.exit_code}"


def _place(fault: FormFault) -> str:
    """A fault's field in words."""
    parts = fault.pointer.strip("/").split("/")
    if parts[0] == "scores":
        title = next(scale.title for scale in SCALES if scale.dimension == parts[1])
        return f"{title}, deduction {int(parts[3]) + 1}" if len(parts) > 3 else title  # noqa: PLR2004  (a row)
    if parts[0] == "critical":
        return (
            f"Critical failure {int(parts[1]) + 1}"
            if parts[1:2] and parts[1].isdecimal()
            else "Critical failures"
        )
    return "Uncertainty" if parts[0] == "uncertainty" else "Form"
