"""What a draft lacks beyond what its validation tells: images, and an agent that can act on every task.

Nothing here needs a key or an endpoint: agents' settings are read by the agents' own readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import assert_never

from pydantic import JsonValue

from esac_ag.agents.command_settings import CommandSettings
from esac_ag.agents.contract import ArmBundle
from esac_ag.agents.instructions import equipment, system_message
from esac_ag.agents.script_book import ScriptedSettings
from esac_ag.agents.settings import ChatSettings
from esac_ag.canonical import canonical_json
from esac_ag.conduct.drafted_bundles import drafted_bundles
from esac_ag.conduct.opening import read_book
from esac_ag.errors import HarnessError, ImageMissing, InputRefused, UsageError
from esac_ag.manifest.draft_sections import DraftSections
from esac_ag.manifest.findings import Finding, PathPart, Severity, pointer, shown_text
from esac_ag.manifest.plan import AgentKind, Model
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Engine
from esac_ag.sandbox.images import agent_reference, grader_reference


def missing_images(
    path: Path, data: dict[str, JsonValue] | None, workspace: Workspace, engine: Engine
) -> Iterator[Finding]:
    """A finding for each image that is not built; `data` are the draft's contents, if they are sound."""
    name = _command_agent(data)
    try:
        references = (agent_reference(workspace.runner, name), grader_reference(workspace.runner))
    except (InputRefused, UsageError) as error:
        yield _finding(path, (), "image-missing", error)
        return
    for reference in references:
        try:
            engine.image_digest(reference)
        except ImageMissing:
            which = f" --agent {name}" if name and reference == references[0] else ""
            refusal = InputRefused(
                f"the image {reference} is not built", remedy=f"esac-ag images build{which}"
            )
            yield _finding(path, (), "image-missing", refusal)


def _command_agent(data: dict[str, JsonValue] | None) -> str | None:
    """The command-line agent that a draft names, if it can be read at all."""
    plan = None if data is None else DraftSections.of(data).agent
    try:
        return None if plan is None else CommandSettings.agent_of(plan)
    except InputRefused:
        return None  # `unfit_agent` tells it


def unfit_agent(
    path: Path, data: dict[str, JsonValue], workspace: Workspace, *, folder: Path
) -> Iterator[Finding]:
    """Findings of an agent's settings, its script, and the bundles that it could not be equipped with.

    Args:
        path: the draft, as findings show it.
        data: its contents; parts that are malformed are passed over, because validation tells them.
        workspace: where a script book's patches lie.
        folder: what the draft's paths are relative to.
    """
    parts = DraftSections.of(data)
    if parts.agent is None:
        return
    kind, settings = parts.agent.kind, parts.agent.settings
    match kind:
        case AgentKind.SCRIPTED:
            tasks = [task.id for task in parts.tasks or () if task]
            yield from _unfit_script(path, settings, tasks, workspace, folder)
        case AgentKind.CHAT:
            yield from _unfit_chat(path, settings, parts.model)
        case AgentKind.COMMAND:
            # The gateway, which knows what it can carry out, costs a tenth of a second.
            from esac_ag.conduct.command_fitness import unfit_command  # noqa: PLC0415

            for at, code, error in unfit_command(parts, parts.agent, workspace.runner, folder=folder):
                yield _finding(path, at, code, error)
            return
        case _:
            assert_never(kind)
    for index, bundle in drafted_bundles(parts, folder):
        try:
            _equip(kind, bundle)
        except InputRefused as error:
            yield _finding(path, ("arms", index, "bundle"), "bundle-unfit", error)


def _unfit_script(
    path: Path, settings: dict[str, JsonValue], tasks: list[str], workspace: Workspace, folder: Path
) -> Iterator[Finding]:
    try:
        known = ScriptedSettings.read(settings)
    except InputRefused as error:
        yield _finding(path, ("agent", "settings"), "agent-settings", error)
        return
    at = ("agent", "settings", "script")
    try:
        book = known.accept(read_book(settings, folder, workspace))
    except InputRefused as error:
        yield _finding(path, at, "script", error)
        return
    for task in dict.fromkeys(tasks):
        try:
            book.script_for(task)
        except InputRefused as error:
            yield _finding(path, at, "script", error)


def _unfit_chat(path: Path, settings: dict[str, JsonValue], model: Model | None) -> Iterator[Finding]:
    try:
        known = ChatSettings.read(settings)
    except InputRefused as error:
        yield _finding(path, ("agent", "settings"), "agent-settings", error)
        return
    if model is None:
        return
    # httpx and what it brings cost a tenth of a second that scripted studies need not pay.
    from esac_ag.agents.chat import request_head  # noqa: PLC0415

    try:
        canonical_json(request_head(model, known))
    except ValueError as error:
        refusal = InputRefused("The model's parameters cannot be sent as they stand.", found=str(error))
        yield _finding(path, ("model",), "decoding", refusal)


def _equip(kind: AgentKind, bundle: ArmBundle) -> None:
    """What an agent does with a bundle before it acts.

    Raises:
        InputRefused: it cannot load the bundle.
    """
    match kind:
        case AgentKind.SCRIPTED:
            equipment(bundle)
        case AgentKind.CHAT:
            system_message(bundle)
        case AgentKind.COMMAND:
            raise AssertionError("command-line agents are told by `unfit_command`")
        case _:
            assert_never(kind)


def _finding(path: Path, at: tuple[PathPart, ...], code: str, error: HarnessError) -> Finding:
    return Finding(
        severity=Severity.ERROR,
        file=shown_text(str(path)),
        pointer=pointer(*at),
        code=code,
        what=shown_text(error.what),
        expected=shown_text(error.expected),
        found=shown_text(error.found),
        remedy=shown_text(error.remedy or "correct the draft"),
    )
