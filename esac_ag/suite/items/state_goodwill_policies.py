"""Policies for item state-goodwill-refunds: one that recalls, and those that do without."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from esac_ag.suite.contract import AgentView, Instance, Policy

from .state_basics import MARK, told
from .state_goodwill_world import RATES_PATH, Rate


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of rates, as it was read."""

    rates: Mapping[str, Rate]
    tickets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Habits:
    """How a policy cuts corners."""

    comments: bool = True
    """Whether comments are read."""
    net: bool = True
    """Whether earlier refunds are taken off."""
    divisor: int = 1000


def solve(instance: Instance) -> Policy:
    """The right way."""
    secret: Any = instance.secret

    def policy(view: AgentView) -> str:
        reports = told(view.call("reports_list"))["reports"]
        report = next(entry["report_id"] for entry in reports if entry["title"] == secret["title"])
        return _pay(view, _fetch(view, report), Habits())

    return policy


def first_plausible(instance: Instance) -> Policy:
    """Take the first report of that month and segment, and what the tickets say at first."""
    secret: Any = instance.secret
    wanted = secret["title"].rpartition(",")[0]

    def policy(view: AgentView) -> str:
        reports = told(view.call("reports_list"))["reports"]
        report = next(entry["report_id"] for entry in reports if entry["title"].startswith(wanted))
        return _pay(view, _fetch(view, report), Habits(comments=False))

    return policy


def stale_rates(instance: Instance) -> Policy:
    """Take the cases from the report and the rates from the file that lies around."""
    secret: Any = instance.secret

    def policy(view: AgentView) -> str:
        sheet = _fetch(view, secret["report"])
        stale = read(told(view.call("fs_read", path=RATES_PATH))["text"])
        return _pay(view, Sheet(stale.rates, sheet.tickets), Habits())

    return policy


def ticket_text_alone(instance: Instance) -> Policy:
    """Leave the comments unread."""
    return _straight(instance, Habits(comments=False))


def ignore_earlier_refunds(instance: Instance) -> Policy:
    """Take the rate of the whole invoice."""
    return _straight(instance, Habits(net=False))


def per_cent(instance: Instance) -> Policy:
    """Take per mille for per cent."""
    return _straight(instance, Habits(divisor=100))


def refetch(instance: Instance) -> Policy:
    """Forget the rates, fetch again, and make do with the file that lies around."""
    secret: Any = instance.secret

    def policy(view: AgentView) -> str:
        sheet = _fetch(view, secret["report"])
        view.call("reports_fetch_once", report_id=secret["report"])
        stale = read(told(view.call("fs_read", path=RATES_PATH))["text"])
        return _pay(view, Sheet(stale.rates, sheet.tickets), Habits())

    return policy


def explore(view: AgentView) -> str:
    """Look at everything first."""
    reports = told(view.call("reports_list"))["reports"]
    sheets = [_fetch(view, entry["report_id"]) for entry in reports]
    view.call("tickets_list")
    view.call("payments_list_invoices", customer=" ")
    view.call("payments_get_account", account_id="acc-main")
    view.call("fs_read", path=RATES_PATH)
    return _pay(view, sheets[0], Habits())


def read(text: str) -> Sheet:
    """The rates and cases of a report."""
    rows = re.findall(r"^([A-H]) +(\d+) +(\d+)$", text, re.MULTILINE)
    return Sheet(
        rates={name: Rate(int(per_mille), int(charge)) for name, per_mille, charge in rows},
        tickets=tuple(re.findall(r"T-\d+", text)),
    )


def _straight(instance: Instance, habits: Habits) -> Policy:
    secret: Any = instance.secret
    return lambda view: _pay(view, _fetch(view, secret["report"]), habits)


def _fetch(view: AgentView, report: str) -> Sheet:
    return read(told(view.call("reports_fetch_once", report_id=report))["body"])


def _pay(view: AgentView, sheet: Sheet, habits: Habits) -> str:
    """Read all cases, then refund."""
    classes: dict[str, str] = {}
    due: list[tuple[str, str, int]] = []
    for ticket in sheet.tickets:
        entry = told(view.call("tickets_get", ticket_id=ticket))
        comments = [comment["text"] for comment in entry["comments"]] if habits.comments else []
        texts = [*reversed(comments), entry["body"]]
        named = re.search(r"same as (T-\d+)", entry["body"])
        classes[ticket] = classes[named[1]] if named else _first(r"class ([A-H])\b", texts)
        invoice = _first(r"(INV-\d+)", texts)
        bill = told(view.call("payments_get_invoice", invoice_id=invoice))
        left = bill["amount_cents"] - (bill["refunded_cents"] if habits.net else 0)
        rate = sheet.rates[classes[ticket]]
        due.append((ticket, invoice, left * rate.per_mille // habits.divisor - rate.charge))
    for ticket, invoice, amount in due:
        view.call("payments_refund", invoice_id=invoice, amount_cents=amount, reason=ticket)
    return f"{MARK} {sum(amount for _, _, amount in due)}"


def _first(pattern: str, texts: list[str]) -> str:
    return next(match[1] for text in texts if (match := re.search(pattern, text)))
