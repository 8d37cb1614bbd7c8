"""What a new suite run is to measure, from the command line and the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from esac_ag import __version__, clock
from esac_ag.agents.item_agent import policy_named
from esac_ag.agents.judge_client import JUDGE_KEY_VARIABLE, refuse_unpinned
from esac_ag.agents.settings import BASE_URL_VARIABLE, ChatSettings, usable_address
from esac_ag.canonical import loads_strict
from esac_ag.cli.suite_bundles import arms_of
from esac_ag.conduct.suite_agents import POLICY_VERSION
from esac_ag.conduct.suite_programs import GRADER_LIMITS
from esac_ag.conduct.suite_sealing import SuiteRequest
from esac_ag.errors import UsageError
from esac_ag.manifest.plan import AgentKind, AgentPlan, Decoding, Limits, Model, Policies
from esac_ag.record import VARIABLE_PATTERN
from esac_ag.rooms.prices import read_prices
from esac_ag.rooms.workspace import Workspace
from esac_ag.suite.bank import bank, item_named
from esac_ag.suite.contract import Item
from esac_ag.suite.plan import JudgePlan
from esac_ag.suite.pools import DatasetSeed, instance_of

JUDGE_URL_VARIABLE: Final = "ESAC_AG_JUDGE_BASE_URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteOptions:
    """What the command line says of a new run; none is what it leaves out."""

    agent: AgentKind
    model: str | None
    base_url: str | None
    api_key_env: str
    policy: str
    pool: str
    seed: str | None
    items: tuple[str, ...]
    judge: str
    judge_base_url: str | None
    judge_api_key_env: str
    allow_unpinned_judge: bool
    decoding: Decoding
    reasoning: str | None
    settings: tuple[str, ...]
    """Further settings of the chat agent, each `NAME=VALUE`."""
    arms: tuple[str, ...]
    prices: Path | None
    wall_clock_s: float


MODEL_ONLY: Final = (
    *("model", "base_url", "api_key_env", "temperature", "top_p", "max_output_tokens"),
    *("provider_decoding", "reasoning", "setting"),
)
"""Names of the options that say how a model is asked."""


def refuse_without_effect(agent: AgentKind, given: Sequence[str]) -> None:
    """Refuse options that the agent pays no heed to.

    Args:
        agent: what takes the suite.
        given: names of all options on the command line.

    Raises:
        UsageError: there are some; all are named.
    """
    scripted = agent is AgentKind.SCRIPTED
    idle = [name for name in (MODEL_ONLY if scripted else ("policy",)) if name in given]
    if idle:
        raise UsageError(
            "Options are given that have no effect on this agent.",
            where=", ".join(f"--{name.replace('_', '-')}" for name in idle),
            expected="options of a policy" if scripted else "options of a model",
            found=f"--agent {agent.value}",
            remedy="leave them out, or " + ("leave -a scripted out" if scripted else "add -a scripted"),
        )


def decoding_of(
    temperature: float | None, top_p: float | None, max_output_tokens: int | None, *, provider_decoding: bool
) -> Decoding:
    """The suite's own decoding (temperature 0, top_p 1, each item's cap) unless others are given.

    Raises:
        UsageError: parameters are given and left to the provider as well.
    """
    if provider_decoding:
        if temperature is not None or top_p is not None:
            raise UsageError(
                "Decoding is left to the provider and given as well.",
                where="--provider-decoding",
                expected="no --temperature and no --top-p beside it",
            )
        return Decoding(max_output_tokens=max_output_tokens)
    return Decoding(
        temperature=0.0 if temperature is None else temperature,
        top_p=1.0 if top_p is None else top_p,
        max_output_tokens=max_output_tokens,
    )


def suite_request(
    options: SuiteOptions, dataset: DatasetSeed, *, workspace: Workspace, environ: Mapping[str, str]
) -> SuiteRequest:
    """The request that the options make.

    Raises:
        UsageError: something is missing, or the judge is not the pinned one.
        InputRefused: settings or the price table cannot be used.
    """
    items = _items(options.items)
    if options.agent is AgentKind.SCRIPTED:
        for item in items:
            policy_named(item, instance_of(item, dataset.seed), options.policy)
    agent = _agent(options, environ)
    return SuiteRequest(
        study_id=f"esac-ag-{options.pool}-{_stamp()}-{clock.opaque_id()[:4]}",
        model=_model(options),
        agent=agent,
        dataset=dataset,
        items=items,
        judge=_judge(options, items, str(agent.settings.get("base_url", "")), environ),
        limits=Limits(wall_clock_s=options.wall_clock_s, turns=None, tool_calls=None, grader=GRADER_LIMITS),
        policies=Policies(),
        prices=None if options.prices is None else read_prices(options.prices),
        arms=arms_of(options.arms, workspace, reads=options.agent is AgentKind.CHAT),
    )


def _stamp() -> str:
    """Date and time in digits, for an id."""
    return "".join(character for character in clock.now()[:19] if character.isdigit())


def _items(names: tuple[str, ...]) -> tuple[Item, ...]:
    wanted = [name.strip() for part in names for name in part.split(",") if name.strip()]
    if names and not wanted:
        raise UsageError(
            "No item is named.",
            where="--items",
            expected="ids with commas, such as tool-call-refund,planning-day",
            found="nothing",
            remedy="esac-ag suite list shows the ids; leave --items out for all of them",
        )
    return tuple(item_named(name) for name in dict.fromkeys(wanted)) if wanted else bank()


def _model(options: SuiteOptions) -> Model:
    if options.agent is AgentKind.SCRIPTED:
        return Model(
            name=f"none: policy {options.policy}", version="none", provider="none", decoding=Decoding()
        )
    if not options.model:
        raise UsageError(
            "No model is named.",
            where="-m/--model",
            expected="the model's name at its endpoint",
            remedy="esac-ag suite run -m MODEL --base-url URL",
        )
    return Model(
        name=options.model,
        version="unspecified",
        provider="unspecified",
        reasoning=options.reasoning,
        decoding=options.decoding,
    )


def _agent(options: SuiteOptions, environ: Mapping[str, str]) -> AgentPlan:
    if options.agent is AgentKind.SCRIPTED:
        return AgentPlan(kind=options.agent, version=POLICY_VERSION, settings={"policy": options.policy})
    address = usable_address(
        options.base_url or environ.get(BASE_URL_VARIABLE, ""),
        f"--base-url, or the environment variable {BASE_URL_VARIABLE}",
    )
    given_settings = {"base_url": address, "api_key_env": options.api_key_env, **_settings(options.settings)}
    settings = ChatSettings.read(given_settings)
    return AgentPlan(
        kind=options.agent,
        version=__version__,
        settings=settings.model_dump(mode="json", exclude_defaults=True),
    )


def _judge(
    options: SuiteOptions, items: tuple[Item, ...], model_base_url: str, environ: Mapping[str, str]
) -> JudgePlan | None:
    if not any(item.rubric for item in items):
        return None
    refuse_unpinned(options.judge, allow=options.allow_unpinned_judge)
    address = options.judge_base_url or environ.get(JUDGE_URL_VARIABLE) or model_base_url
    if not address:
        judged = ", ".join(item.id for item in items if item.rubric)
        raise UsageError(
            "Judged items need a judge, and no endpoint of one is named.",
            where=f"--judge-base-url, or the environment variable {JUDGE_URL_VARIABLE}",
            found=f"the judged items {judged}",
            remedy="--judge-base-url https://.../v1, or leave these items out with --items",
        )
    if re.fullmatch(VARIABLE_PATTERN, options.judge_api_key_env) is None:
        # It may be the key itself, which no plan is to hold and no message to show.
        raise UsageError(
            "The judge's key is not named by an environment variable.",
            where="--judge-api-key-env",
            expected="a variable's name: letters, digits and `_`",
            remedy=f"export {JUDGE_KEY_VARIABLE}=..., and leave the option out",
        )
    return JudgePlan(
        model=options.judge,
        base_url=usable_address(
            address, f"--judge-base-url, or the environment variable {JUDGE_URL_VARIABLE}"
        ),
        api_key_env=options.judge_api_key_env,
    )


def _settings(pairs: tuple[str, ...]) -> dict[str, JsonValue]:
    """Settings by name; a value is JSON where it can be read as such, and text otherwise."""
    found: dict[str, JsonValue] = {}
    for pair in pairs:
        name, given, value = pair.partition("=")
        if not given or name in {"base_url", "api_key_env"}:
            raise UsageError(
                "A setting is not one that can be given so.",
                where="--setting",
                expected="NAME=VALUE, such as output_tokens_field=max_completion_tokens",
                found=pair.partition("=")[0],
                remedy="--base-url and --api-key-env are options; docs/agents.md lists the settings",
            )
        try:
            found[name] = loads_strict(value.encode())
        except ValueError:
            found[name] = value
    return found
