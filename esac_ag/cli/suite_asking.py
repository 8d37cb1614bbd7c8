"""`suite auto`: fills in what is not known yet, by asking a person or from the environment."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from typing import Final

import httpx
import typer

from esac_ag.agents.judge_client import judge_key
from esac_ag.agents.settings import BASE_URL_VARIABLE, refuse_no_variable, usable_address, usable_key
from esac_ag.cli.asking import agreed, line
from esac_ag.cli.place import stderr
from esac_ag.cli.suite_request import JUDGE_URL_VARIABLE
from esac_ag.errors import UsageError
from esac_ag.report.escaping import visible
from esac_ag.suite.constitution import Pool

MODEL_VARIABLE: Final = "ESAC_AG_MODEL"
LIST_TIMEOUT_S: Final = 10.0
MOST_SHOWN: Final = 30
MOST_LIST_BYTES: Final = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a run needs; none is what is not known."""

    model: str | None
    base_url: str | None
    api_key_env: str
    judge: str
    judge_base_url: str | None
    judge_api_key_env: str
    pool: str | None


def ask(known: Known, *, yes: bool) -> Known:
    """Everything that a run needs, asked for unless `yes`.

    Raises:
        UsageError: with `yes`, something is neither given nor to be found; or what is given is not usable.
        typer.Exit: a person does not want the run.
    """
    refuse_no_variable(known.api_key_env, "--api-key-env")
    refuse_no_variable(known.judge_api_key_env, "--judge-api-key-env")
    known = replace(known, base_url=known.base_url or os.environ.get(BASE_URL_VARIABLE) or None)
    known = replace(known, model=known.model or os.environ.get(MODEL_VARIABLE) or None)
    if known.base_url is None:
        if yes:
            raise _missing("endpoint", f"--base-url, or {BASE_URL_VARIABLE}")
        known = replace(known, base_url=_prompt("Base URL of the model's endpoint"))
    if known.model is None:
        known = replace(known, model=_model(known, yes=yes))
    if yes:
        return replace(known, pool=known.pool or Pool.PUBLIC.value)
    model_key = _tell_key(known)
    proposed = known.judge_base_url or os.environ.get(JUDGE_URL_VARIABLE) or known.base_url
    judge_base_url = _prompt("Base URL of the judge's endpoint", proposed)
    known = replace(known, judge=_prompt("Judge", known.judge), judge_base_url=judge_base_url)
    _tell_judge_key(known, model_key)
    pools = "/".join(pool.value for pool in Pool)
    pool = known.pool or _prompt(f"Pool ({pools})", Pool.PUBLIC.value)
    if pool not in list(Pool):
        raise UsageError("There is no such pool.", expected=pools, found=visible(pool))
    if not agreed("Start the run?"):
        stderr().print("nothing was started")
        raise typer.Exit(0)
    return replace(known, pool=pool)


def _prompt(question: str, default: str | None = None) -> str:
    """An answer that is not empty; questions go to standard error, for standard output is the report's."""
    shown = question if default is None else f"{question} [{visible(default)}]"
    while True:
        answer = line(f"{shown}: ") or default or ""
        if answer:
            return answer


def _tell_key(known: Known) -> str:
    """Tell whether the model's key is set; the key."""
    key = usable_key(os.environ, known.api_key_env)
    _tell("the model", known.api_key_env, "is set" if key else "is not set: nothing is sent")
    return key


def _tell_judge_key(known: Known, model_key: str) -> None:
    """Tell which key the judge's endpoint gets, as `judge_key` decides."""
    sent = judge_key(
        os.environ,
        variable=known.judge_api_key_env,
        judge_base_url=known.judge_base_url or "",
        model_base_url=known.base_url or "",
        model_key=model_key,
    )
    if usable_key(os.environ, known.judge_api_key_env):
        state = "is set"
    elif sent:
        state = f"is not set: the model's key ({known.api_key_env}) is sent, as both addresses are the same"
    else:
        state = "is not set: nothing is sent"
    _tell("the judge", known.judge_api_key_env, state)


def _tell(whose: str, variable: str, state: str) -> None:
    stderr().print(f"key of {whose}: {variable} {state}", soft_wrap=True, markup=False)


def _model(known: Known, *, yes: bool) -> str:
    """The only model that the endpoint has, or the one that a person chooses."""
    offered = models_at(known.base_url or "", usable_key(os.environ, known.api_key_env))
    names = offered.names
    if yes:
        if len(names) == 1:
            return names[0]
        found = f"{len(names)} models at the endpoint" if names else offered.words
        raise _missing("model", f"-m/--model, {MODEL_VARIABLE}, or an endpoint of one model", found)
    if not names:
        stderr().print(offered.words, soft_wrap=True, markup=False)
    for name in names[:MOST_SHOWN]:
        stderr().print(f"  {visible(name)}", soft_wrap=True, markup=False)
    return _prompt("Model", names[0] if len(names) == 1 else None)


@dataclass(frozen=True, slots=True)
class Offered:
    """What an endpoint tells of its models."""

    names: tuple[str, ...]
    why: str = ""
    """Why there are none."""

    @property
    def words(self) -> str:
        """Why there are none, for people."""
        return f"no list of models at the endpoint: {self.why}"


def models_at(base_url: str, key: str) -> Offered:
    """Names of the models that an endpoint lists (`GET /models`); none when it does not tell.

    Raises:
        UsageError: the address is not usable.
    """
    address = usable_address(base_url, "--base-url") + "/models"
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        with httpx.stream(
            "GET", address, headers=headers, timeout=LIST_TIMEOUT_S, follow_redirects=False
        ) as answer:
            if not answer.is_success:
                return Offered((), _refusal(answer.status_code, key))
            return _read(_capped(answer))
    except httpx.TimeoutException:
        return Offered((), f"it did not answer within {LIST_TIMEOUT_S:g} s")
    except httpx.HTTPError:
        return Offered((), "it cannot be reached, or broke off")
    except (httpx.InvalidURL, ValueError):
        return Offered((), "no request can carry the address or the key")


def _refusal(status: int, key: str) -> str:
    if status not in {401, 403}:
        return f"it answered HTTP {status}"
    return f"it answered HTTP {status}, so " + ("the key is wrong there" if key else "it wants a key")


def _read(body: bytes | None) -> Offered:
    """The names in a body; none of a body that is too large."""
    if body is None:
        return Offered((), "the answer is too large")
    try:
        listed = json.loads(body)
    except (ValueError, RecursionError):
        return Offered((), "the answer is not JSON; a web page has another address than the API")
    data = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(data, list):
        return Offered((), "the answer has no list")
    names = [entry.get("id") for entry in data if isinstance(entry, dict)]
    found = tuple(sorted({name for name in names if isinstance(name, str) and name}))
    return Offered(found, "" if found else "the list is empty")


def _capped(answer: httpx.Response) -> bytes | None:
    """The body of a list; none when it is larger than any list."""
    body = bytearray()
    for piece in answer.iter_bytes():
        body += piece
        if len(body) > MOST_LIST_BYTES:
            return None
    return bytes(body)


def _missing(what: str, expected: str, found: str = "none") -> UsageError:
    return UsageError(
        f"No {what} is known, and --yes asks for none.",
        expected=expected,
        found=found,
        remedy="give it, or run without --yes",
    )
