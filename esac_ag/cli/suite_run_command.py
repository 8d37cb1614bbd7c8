"""`esac-ag suite run` and `esac-ag suite auto`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from esac_ag.cli.place import ConcurrencyOption, JsonOption, QuietOption, RootOption, workspace_at
from esac_ag.cli.suite_options import PoolName, PoolOption, SeedOption

WALL_CLOCK_S = 1800.0
PINNED_JUDGE = "xiaomi/mimo-v2.6-pro"
JUDGE_KEY_VARIABLE = "ESAC_AG_JUDGE_API_KEY"
MODEL_KEY_VARIABLE = "OPENAI_API_KEY"
REFERENCE = "reference"


class AgentName(StrEnum):
    """What can take the suite."""

    CHAT = "chat"
    SCRIPTED = "scripted"


ModelOption = Annotated[
    str | None, typer.Option("-m", "--model", help="The model's name at its endpoint.", show_default=False)
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        help="Its OpenAI-compatible endpoint, without /chat/completions; by default ESAC_AG_BASE_URL.",
        show_default=False,
    ),
]
ApiKeyEnvOption = Annotated[
    str, typer.Option("--api-key-env", help="Environment variable that holds the model's key.")
]
ItemsOption = Annotated[
    list[str] | None,
    typer.Option("--items", help="Ids of items, with commas; all by default.", show_default=False),
]
JudgeOption = Annotated[str, typer.Option("--judge", help="The judge's name at its endpoint.")]
JudgeBaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--judge-base-url",
        help="The judge's endpoint; by default ESAC_AG_JUDGE_BASE_URL, then the model's.",
        show_default=False,
    ),
]
JudgeKeyOption = Annotated[
    str, typer.Option("--judge-api-key-env", help="Environment variable that holds the judge's key.")
]
UnpinnedOption = Annotated[
    bool, typer.Option("--allow-unpinned-judge", help="Take another judge; the verdict is NOT VALID then.")
]
ArmOption = Annotated[
    list[str] | None,
    typer.Option(
        "--arm",
        help="Run with this instruction bundle too: ID=DIR, a folder, or an id in arms/. Repeatable.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="The run's folder; by default results/<id>.", show_default=False),
]


def run(
    ctx: typer.Context,
    *,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    api_key_env: ApiKeyEnvOption = MODEL_KEY_VARIABLE,
    pool: PoolOption = PoolName.PUBLIC,
    seed: SeedOption = None,
    items: ItemsOption = None,
    judge: JudgeOption = PINNED_JUDGE,
    judge_base_url: JudgeBaseUrlOption = None,
    judge_api_key_env: JudgeKeyOption = JUDGE_KEY_VARIABLE,
    allow_unpinned_judge: UnpinnedOption = False,
    arm: ArmOption = None,
    agent: Annotated[
        AgentName, typer.Option("-a", "--agent", help="A model by chat, or the suite's own policies.")
    ] = AgentName.CHAT,
    policy: Annotated[
        str, typer.Option("--policy", help="With -a scripted: `reference`, or the name of a shortcut.")
    ] = REFERENCE,
    temperature: Annotated[
        float | None, typer.Option("--temperature", min=0, max=2, help="Other than the suite's 0.")
    ] = None,
    top_p: Annotated[
        float | None, typer.Option("--top-p", min=0.000001, max=1, help="Other than the suite's 1.")
    ] = None,
    max_output_tokens: Annotated[
        int | None, typer.Option("--max-output-tokens", min=1, help="A cap in place of the items' own.")
    ] = None,
    provider_decoding: Annotated[
        bool,
        typer.Option("--provider-decoding", help="Send no temperature and top_p, where they are refused."),
    ] = False,
    reasoning: Annotated[
        str | None,
        typer.Option("--reasoning", help="Reasoning effort, sent as reasoning_effort.", show_default=False),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--setting",
            help="NAME=VALUE of the chat agent's settings (docs/agents.md). Repeatable.",
            show_default=False,
        ),
    ] = None,
    prices: Annotated[
        Path | None, typer.Option("--prices", help="A price table (docs/manifest.md).", show_default=False)
    ] = None,
    wall_clock_s: Annotated[
        float,
        typer.Option("--wall-clock-s", min=1, help="Longest time of one run of an item."),
    ] = WALL_CLOCK_S,
    n: ConcurrencyOption = 1,
    manifest: Annotated[
        Path | None,
        typer.Option("--manifest", help="Run this sealed plan in place of a new one.", show_default=False),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", help="Go on with the run in this folder.", show_default=False)
    ] = None,
    seal_only: Annotated[bool, typer.Option("--seal-only", help="Seal the plan, run nothing.")] = False,
    output: OutputOption = None,
    root: RootOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure a model on the suite: seals a plan, runs every item in a container, grades, reports.

    Exit code: 0 PASS, 1 FAIL, UNDECIDED or INCOMPLETE, 2 the infrastructure failed (resume it), 3 NOT VALID.
    """
    from esac_ag.cli.suite_request import SuiteOptions, decoding_of, refuse_without_effect
    from esac_ag.cli.suite_running import new_run, run_sealed, sealed_plan, show_sealed
    from esac_ag.manifest.plan import AgentKind

    workspace = workspace_at(root)
    plan = sealed_plan(manifest, resume, given=_given(ctx))
    if plan is None:
        refuse_without_effect(AgentKind(agent.value), _given(ctx))
        options = SuiteOptions(
            agent=AgentKind(agent.value),
            model=model,
            base_url=base_url,
            api_key_env=api_key_env,
            policy=policy,
            pool=pool.value,
            seed=seed,
            items=tuple(items or ()),
            judge=judge,
            judge_base_url=judge_base_url,
            judge_api_key_env=judge_api_key_env,
            allow_unpinned_judge=allow_unpinned_judge,
            decoding=decoding_of(temperature, top_p, max_output_tokens, provider_decoding=provider_decoding),
            reasoning=reasoning,
            settings=tuple(setting or ()),
            arms=tuple(arm or ()),
            prices=prices,
            wall_clock_s=wall_clock_s,
        )
        plan = new_run(options, output, workspace=workspace, root=root, quiet=quiet)
    if seal_only:
        show_sealed(plan, json=json)
        return
    code = run_sealed(
        plan,
        workspace=workspace,
        output=output,
        root=root,
        seed=seed,
        concurrency=n,
        json=json,
        quiet=quiet,
    )
    raise typer.Exit(code)


def _given(ctx: typer.Context) -> list[str]:
    """Names of the options that the command line itself gives."""
    source = "COMMANDLINE"
    return [name for name in ctx.params if getattr(ctx.get_parameter_source(name), "name", "") == source]


def auto(
    ctx: typer.Context,
    *,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    api_key_env: ApiKeyEnvOption = MODEL_KEY_VARIABLE,
    pool: Annotated[
        PoolName | None, typer.Option("--pool", help="Which seed the instances are drawn from.")
    ] = None,
    judge: JudgeOption = PINNED_JUDGE,
    judge_base_url: JudgeBaseUrlOption = None,
    judge_api_key_env: JudgeKeyOption = JUDGE_KEY_VARIABLE,
    allow_unpinned_judge: UnpinnedOption = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Ask nothing: take what is known.")] = False,
    n: ConcurrencyOption = 1,
    output: OutputOption = None,
    root: RootOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Ask for model, judge and pool, then do as `suite run`; --yes asks nothing."""
    from esac_ag.cli.suite_asking import Known, ask

    known = ask(
        Known(
            model=model,
            base_url=base_url,
            api_key_env=api_key_env,
            judge=judge,
            judge_base_url=judge_base_url,
            judge_api_key_env=judge_api_key_env,
            pool=None if pool is None else pool.value,
        ),
        yes=yes,
    )
    run(
        ctx,
        model=known.model,
        base_url=known.base_url,
        api_key_env=known.api_key_env,
        pool=PoolName(known.pool or PoolName.PUBLIC),
        judge=known.judge,
        judge_base_url=known.judge_base_url,
        judge_api_key_env=known.judge_api_key_env,
        allow_unpinned_judge=allow_unpinned_judge,
        n=n,
        output=output,
        root=root,
        json=json,
        quiet=quiet,
    )
