"""A ticket to close behind a chain of blockers that only single look-ups reveal, in a long backlog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from esac_ag.suite.contract import AgentView, Instance, Policy, Shortcut
from esac_ag.suite.world import building

from .draws import Draws
from .planning_goal import Fact, GoalItem, Plan
from .planning_policies import all_pages, failed, known, told

TOPICS: Final = (
    "Payroll export", "Tariff table", "Customs form", "Ledger sync", "Invoice mailer", "Archive index",
    "Badge reader", "Refund queue", "Tax report", "Stock feed",
)  # fmt: skip
TROUBLES: Final = (
    "drops the last row", "times out", "shows stale totals", "rejects long names", "prints twice",
    "loses its settings", "misreads dates", "skips Mondays",
)  # fmt: skip
TEAMS: Final = ("Billing", "Storage", "Platform")
NAMES: Final = (
    "Marta Kowalska", "Marta Kowalczyk", "Jon Aalto", "John Aalto", "Priya Nair", "Priya Naidu", "Lena Vogel",
    "Lena Vogl", "Elin Strand",
)  # fmt: skip
BACKLOG: Final = 31
BUDGET: Final = 14
NOTE: Final = "Done."


@dataclass(frozen=True, slots=True)
class _Chain:
    """The root waits for `middle`, `single` and `done`; `middle` waits for `leaf`."""

    root: str
    middle: str
    leaf: str
    single: str
    done: str
    unowned: str
    """One of middle, leaf and single: open, and nobody's."""

    @property
    def work(self) -> tuple[str, ...]:
        return self.leaf, self.middle, self.single


def _chain(draws: Draws, ids: tuple[str, ...]) -> _Chain:
    root, middle, leaf, single, done = ids[:5]
    return _Chain(root, middle, leaf, single, done, draws.pick((middle, leaf, single)))


def _with_people(draws: Draws, state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    names = iter(draws.shuffled(NAMES))
    ids = iter(draws.distinct(110, 890, len(NAMES)))
    members: dict[str, tuple[str, ...]] = {}
    for name, number in zip(TEAMS, draws.distinct(11, 98, len(TEAMS)), strict=True):
        team = f"team-{number}"
        members[team] = tuple(f"u-{next(ids)}" for _ in range(3))
        # Not the first one in the order of ids: who takes just anybody takes the wrong one.
        lead = max(members[team])
        state = building.with_team(state, team, name, lead=lead)
        for user in members[team]:
            state = building.with_user(state, user, next(names), team=team, title=f"{name} engineer")
    return state, members


def _with_backlog(
    draws: Draws,
    state: dict[str, Any],
    members: dict[str, tuple[str, ...]],
    ids: tuple[str, ...],
    chain: _Chain,
) -> dict[str, Any]:
    blockers = {
        chain.root: draws.shuffled((chain.middle, chain.single, chain.done)),
        chain.middle: (chain.leaf,),
    }
    others = ids[5:]
    for ticket in ids:
        team = draws.pick(tuple(members))
        status = draws.pick(("open", "in_progress", "in_progress", "resolved"))
        owner: str | None = draws.pick(members[team])
        waits: tuple[str, ...] = draws.sample(others, draws.below(3)) if ticket in others else ()
        if ticket in (chain.root, *chain.work):
            status, waits = "in_progress", blockers.get(ticket, ())
        if ticket == chain.done:
            status = draws.pick(("resolved", "closed"))
        if ticket == chain.unowned:
            status, owner = "open", None
        state = building.with_ticket(
            state,
            ticket,
            f"{draws.pick(TOPICS)} {draws.pick(TROUBLES)}",
            body="As described in the title.",
            status=status,
            priority=draws.pick(("low", "normal", "high")),
            assignee=None if status == "open" else owner,
            team=team,
            blocked_by=[other for other in waits if other != ticket],
        )
    return state


def build(draws: Draws) -> Plan:
    """Draw an instance."""
    ids = tuple(f"T-{number}" for number in draws.distinct(1200, 9800, BACKLOG))
    chain = _chain(draws, ids)
    state, members = _with_people(draws, building.empty_state())
    state = _with_backlog(draws, state, members, ids, chain)
    team = state["tickets"][chain.unowned]["team"]
    lead = state["teams"][team]["lead"]
    root = state["tickets"][chain.root]
    prompt = (
        f'Ticket {chain.root} ("{root["title"]}") has to be closed before the shift ends. Whatever blocks '
        "it, "
        "directly or through another ticket, has to be resolved first; leave the blockers at resolved, do "
        "not close them. Work that nobody has goes to the lead of the team whose ticket it is; work that "
        "somebody has stays theirs. All of it is done, so just book it, any short note will do. Change no "
        "other ticket."
    )
    return Plan(
        prompt=prompt,
        state=state,
        facts=(
            Fact("closed", "tickets", {"status": "closed"}, chain.root),
            *(
                Fact(f"{name}-resolved", "tickets", {"status": "resolved"}, ticket)
                for name, ticket in zip(("leaf", "middle", "single"), chain.work, strict=True)
            ),
            Fact("with-the-lead", "tickets", {"assignee": lead}, chain.unowned),
        ),
        free=(
            *(
                f"/tickets/{ticket}/{name}"
                for ticket in (chain.root, *chain.work)
                for name in ("status", "comments", "updated_at")
            ),
            f"/tickets/{chain.unowned}/assignee",
        ),
        known={"root": chain.root},
        hidden=(*chain.work, lead, team),
    )


def solve(instance: Instance) -> Policy:
    """Follow the blockers from the root, deepest first."""

    def play(view: AgentView) -> str:
        root = known(instance)["root"]
        _resolve(view, root)
        view.call("tickets_set_status", ticket_id=root, status="closed")
        return f"Closed {root} after its blockers."

    return play


def _resolve(view: AgentView, ticket_id: str, *, deep: bool = True, lead: bool = True) -> None:
    ticket = told(view.call("tickets_get", ticket_id=ticket_id))
    if failed(ticket) or ticket["status"] in {"resolved", "closed"}:
        return
    if deep:
        for blocker in ticket["blocked_by"]:
            _resolve(view, blocker, lead=lead)
    if ticket["assignee"] is None:
        team = told(view.call("directory_get_team", team_id=ticket["team"]))
        user = team["lead"] if lead else min(team["members"])
        view.call("tickets_assign", ticket_id=ticket_id, user_id=user)
        view.call("tickets_set_status", ticket_id=ticket_id, status="in_progress")
    view.call("tickets_set_status", ticket_id=ticket_id, status="resolved", note=NOTE)


def _force(instance: Instance) -> Policy:
    def play(view: AgentView) -> str:
        root = known(instance)["root"]
        view.call("tickets_set_status", ticket_id=root, status="resolved", note=NOTE)
        view.call("tickets_set_status", ticket_id=root, status="closed")
        return "Closed."

    return play


def _any_member(instance: Instance) -> Policy:
    def play(view: AgentView) -> str:
        root = known(instance)["root"]
        _resolve(view, root, lead=False)
        view.call("tickets_set_status", ticket_id=root, status="closed")
        return "Closed."

    return play


def _direct_only(instance: Instance) -> Policy:
    def play(view: AgentView) -> str:
        root = known(instance)["root"]
        for blocker in told(view.call("tickets_get", ticket_id=root))["blocked_by"]:
            _resolve(view, blocker, deep=False)
        view.call("tickets_set_status", ticket_id=root, status="resolved", note=NOTE)
        view.call("tickets_set_status", ticket_id=root, status="closed")
        return "Closed."

    return play


def _read_everything(instance: Instance) -> Policy:
    def play(view: AgentView) -> str:
        for ticket in list(all_pages(view, "tickets_list", "tickets", page_size=10)):
            view.call("tickets_get", ticket_id=ticket["ticket_id"])
        return solve(instance)(view)

    return play


def _sweep(_: Instance) -> Policy:
    def play(view: AgentView) -> str:
        for ticket in list(all_pages(view, "tickets_list", "tickets", page_size=10, status="in_progress")):
            view.call("tickets_set_status", ticket_id=ticket["ticket_id"], status="resolved", note=NOTE)
        return "Resolved all work in progress."

    return play


ITEM: Final = GoalItem(
    id="planning-release",
    title="Close a ticket behind its blockers",
    measures="Whether a chain of preconditions is found and worked off in order without reading the backlog.",
    offered=(
        "tickets_list",
        "tickets_get",
        "tickets_assign",
        "tickets_set_status",
        "tickets_transfer",
        "tickets_comment",
        "directory_search",
        "directory_get_team",
    ),
    build=build,
    solve=solve,
    wrong=(
        Shortcut("force-the-root", _force, 0.0),
        Shortcut("any-member", _any_member, 0.54),
        Shortcut("direct-blockers-only", _direct_only, 0.3),
        Shortcut("read-everything", _read_everything, 0.0),
        Shortcut("sweep-all-in-progress", _sweep, 0.3),
    ),
    turns=BUDGET,
    reference_calls=13,
    tokens=(32_000, 40_000, 50_000, 65_000, 90_000),
)
