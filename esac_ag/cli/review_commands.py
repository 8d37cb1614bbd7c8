"""`esac-ag review ...`: a blinded review, from packets to unblinded scores."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from esac_ag.cli.place import JsonOption, QuietOption, RootOption, print_json, stdout, teller, workspace_at
from esac_ag.cli.review_serve_command import serve
from esac_ag.plural import plural

review_app = typer.Typer(help="Blinded review: packets, forms, locking, scores.", no_args_is_help=True)
review_app.command()(serve)

StudyArgument = Annotated[Path, typer.Argument(help="A study's folder below results/.", show_default=False)]
ReviewerOption = Annotated[str, typer.Option("--reviewer", help="Whose forms.", show_default=False)]


class StrictnessName(StrEnum):
    """`study.scripted_review.Strictness`, for the command line alone: its import would cost every command."""

    LENIENT = "lenient"
    MODERATE = "moderate"
    STRICT = "strict"


@review_app.command()
def prepare(
    study: StudyArgument,
    reviewers: Annotated[
        str | None,
        typer.Option(
            "--reviewers", help="Names of those who will judge, with commas between.", show_default=False
        ),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(
            "--manifest", help="The sealed manifest, if it is not in manifests/.", show_default=False
        ),
    ] = None,
    root: RootOption = None,
    json: JsonOption = False,
) -> None:
    """Make each reviewer's packets of a finished study; a packet that would tell its arm stops it."""
    from esac_ag.conduct.review_prepare import prepare_review

    names = [name.strip() for name in (reviewers or "").split(",") if name.strip()]
    made = prepare_review(study, workspace=workspace_at(root), reviewers=names, manifest=manifest)
    if json:
        print_json(made)
        return
    checks = "shown" if made.shows_hidden_checks else "withheld"
    who = ", ".join(made.reviewers)
    _say(f"{plural(made.packets, 'packet')} for each of {who}; hidden checks are {checks}")
    _say(f"masked: {plural(made.masked, 'piece')} of text; the key is in {study}/review/key")


@review_app.command("export")
def export_command(
    study: StudyArgument,
    reviewer: ReviewerOption,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="A new .json or .csv file.", show_default=False)
    ],
    json: JsonOption = False,
) -> None:
    """Write a reviewer's forms to a file, and the packets as text beside it."""
    from esac_ag.conduct.review_exchange import export_forms

    exported = export_forms(study, reviewer, output)
    if json:
        print_json(exported)
        return
    _say(f"{exported.file}: {plural(exported.forms, 'form')}; packets to read: {exported.packets}")


@review_app.command("import")
def import_command(
    study: StudyArgument,
    file: Annotated[Path, typer.Argument(help="A .json or .csv file of forms.", show_default=False)],
    reviewer: ReviewerOption,
    json: JsonOption = False,
) -> None:
    """Take forms from a file, all or none; complete ones are submitted."""
    from esac_ag.cli.review_rendering import say_lacking
    from esac_ag.conduct.review_exchange import import_forms

    imported = import_forms(study, reviewer, file)
    if json:
        print_json(imported)
        return
    taken = f"{plural(imported.replaced, 'form')} taken"
    _say(f"{taken}, {imported.unchanged} unchanged, {imported.submitted} submitted")
    say_lacking(imported.incomplete, stdout())


@review_app.command()
def lock(study: StudyArgument, reviewer: ReviewerOption, json: JsonOption = False) -> None:
    """Lock a reviewer's forms, or the adjudicator's: complete, and unchangeable from here on."""
    from esac_ag.conduct.review_locking import lock_forms

    forms = lock_forms(study, reviewer)
    if json:
        print_json(forms)
        return
    mark = f"; {forms.author.kind}, {forms.author.mark}" if forms.author.mark else ""
    _say(f"locked: {plural(len(forms.forms), 'form')} of {reviewer}{mark}")
    _say("ask for guesses of the arms now: esac-ag review guess")


@review_app.command()
def guess(
    study: StudyArgument,
    reviewer: ReviewerOption,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", help="A CSV with the columns label and arm; asks without.", show_default=False
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Take a reviewer's guess of each packet's arm, after locking: the blinding's own check."""
    from esac_ag.cli.review_rendering import ask_guesses
    from esac_ag.conduct.review_exchange import read_guesses
    from esac_ag.conduct.review_locking import record_guesses

    guesses = ask_guesses(study, reviewer) if file is None else read_guesses(file)
    recorded = record_guesses(study, reviewer, guesses)
    if json:
        print_json(recorded)
        return
    named = sum(arm is not None for arm in recorded.guesses.values())
    _say(f"{named} of {plural(len(recorded.guesses), 'arm')} guessed by {reviewer}; recorded")


@review_app.command("adjudicate")
def adjudicate_command(
    study: StudyArgument,
    adjudicator: Annotated[
        str, typer.Option("--adjudicator", help="A third person's name.", show_default=False)
    ],
    json: JsonOption = False,
) -> None:
    """Look for material disagreement, and make the adjudicator's packets of it."""
    from esac_ag.conduct.review_locking import adjudicate

    found = adjudicate(study, adjudicator)
    if json:
        print_json(found)
        return
    _say(f"material disagreement on {found.cases} of {plural(found.submissions, 'submission')}")
    if found.cases:
        _say(f"{adjudicator} has a packet for each, with all opinions: use --reviewer {adjudicator}")


@review_app.command("unblind")
def unblind_command(study: StudyArgument, json: JsonOption = False) -> None:
    """Join scores and arms once all is locked, for ever on record; writes review/scores.json."""
    from esac_ag.cli.review_rendering import print_scores
    from esac_ag.conduct.review_unblinding import unblind

    scores = unblind(study)
    if json:
        print_json(scores)
        return
    print_scores(scores, stdout())
    _say(f"scores: {study / 'review' / 'scores.json'}")


@review_app.command()
def judge(
    study: StudyArgument,
    reviewer: ReviewerOption,
    model: Annotated[
        str, typer.Option("--judge", help="The model's name at its endpoint.", show_default=False)
    ],
    base_url: Annotated[
        str,
        typer.Option(
            "--judge-base-url", envvar="ESAC_AG_JUDGE_BASE_URL", help="Its endpoint.", show_default=False
        ),
    ],
    api_key_env: Annotated[
        str, typer.Option("--judge-api-key-env", help="Environment variable that holds its key.")
    ] = "ESAC_AG_JUDGE_API_KEY",
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Have a model fill in a reviewer's forms; whatever rests on them is provisional."""
    from esac_ag.agents.judge_client import Judge, JudgeEndpoint
    from esac_ag.agents.settings import usable_key
    from esac_ag.clock import Seeds, opaque_id
    from esac_ag.conduct.review_judging import judge_packets

    endpoint = JudgeEndpoint.at(model, base_url, usable_key(os.environ, api_key_env))
    client = Judge(endpoint, jitter=Seeds(opaque_id()).stream("judge").random)
    done = judge_packets(study, reviewer, client, tell=teller(quiet=quiet))
    if json:
        print_json(done)
        return
    forms = f"{plural(done.judged, 'form')} of {reviewer}"
    _say(f"PROVISIONAL: {forms} filled in by {done.model}, {done.before} before")


@review_app.command()
def rehearse(
    study: StudyArgument,
    reviewer: ReviewerOption,
    strictness: Annotated[
        StrictnessName,
        typer.Option("--strictness", help="How many points what is found costs.", show_default=False),
    ],
    json: JsonOption = False,
) -> None:
    """Have a script fill in a reviewer's forms by fixed rules: a rehearsal, no evidence."""
    from esac_ag.conduct.review_rehearsing import rehearse as rehearse_review
    from esac_ag.study.scripted_review import Strictness

    done = rehearse_review(study, reviewer, Strictness(strictness.value))
    if json:
        print_json(done)
        return
    forms = f"{plural(done.filled_in, 'form')} of {reviewer}"
    _say(f"{done.author.mark}: {forms} filled in by the {done.author.label} script, {done.before} before")


@review_app.command()
def status(
    study: StudyArgument,
    reviewer: Annotated[
        str | None,
        typer.Option("--reviewer", help="Tell what this person's forms still lack.", show_default=False),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Tell how far the review is; it tells no arm."""
    from esac_ag.cli.review_rendering import print_status
    from esac_ag.conduct.review_status import review_status

    found = review_status(study, reviewer)
    if json:
        print_json(found)
        return
    print_status(found, stdout())


def _say(text: str) -> None:
    stdout().print(text, soft_wrap=True, markup=False)
