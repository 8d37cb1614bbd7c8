"""`suite auto`: what it asks, what it takes from the environment, and what an endpoint's list may do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner, Result

from esac_ag.agents.settings import BASE_URL_VARIABLE
from esac_ag.cli import main
from esac_ag.cli.suite_asking import (
    MODEL_VARIABLE,
    MOST_LIST_BYTES,
    MOST_SHOWN,
    Known,
    Offered,
    ask,
    models_at,
)
from esac_ag.cli.suite_request import JUDGE_URL_VARIABLE
from esac_ag.errors import UsageError
from esac_ag.suite.constitution import PINNED_JUDGE
from tests.model_server import ModelServer, Scripted, never, refuses
from tests.playing_server import MODEL, PlayingServer

URL = "http://127.0.0.1:9/v1"
JUDGE_URL = "http://127.0.0.1:9/judge"
KEY = "sk-asked-4711-4711"
UNKNOWN = Known(
    model=None,
    base_url=None,
    api_key_env="OPENAI_API_KEY",
    judge=PINNED_JUDGE,
    judge_base_url=None,
    judge_api_key_env="ESAC_AG_JUDGE_API_KEY",
    pool=None,
)
GIVEN = replace(UNKNOWN, model="m", base_url=URL)


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """No endpoint, model or key in the environment."""
    for name in (
        BASE_URL_VARIABLE,
        MODEL_VARIABLE,
        JUDGE_URL_VARIABLE,
        "OPENAI_API_KEY",
        "ESAC_AG_JUDGE_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)


def listing(*names: object) -> Scripted:
    """A list of models as endpoints give it."""
    return Scripted(json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode())


def asked(known: Known, *answers: str) -> tuple[Known | None, Result]:
    """What a person makes known by these answers, and what was shown."""
    found: list[Known] = []
    app = typer.Typer()

    @app.command()
    def go() -> None:
        found.append(ask(known, yes=False))

    result = CliRunner().invoke(app, [], input="".join(f"{answer}\n" for answer in answers))
    return (found[0] if found else None), result


def offered(*replies: Scripted) -> tuple[str, ...]:
    """The names that an endpoint with these replies lists."""
    with ModelServer(replies) as server:
        return models_at(server.base_url, KEY).names


def test_without_an_endpoint_yes_is_refused() -> None:
    """Exit code 64, with both ways to give one."""
    with pytest.raises(UsageError) as caught:
        ask(replace(UNKNOWN, model="m"), yes=True)
    assert caught.value.exit_code == 64
    assert BASE_URL_VARIABLE in caught.value.expected
    assert "--base-url" in caught.value.expected
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (listing(), "no list of models at the endpoint: the list is empty"),
        (listing("a", "b"), "2 models at the endpoint"),
        (refuses(401), "no list of models at the endpoint: it answered HTTP 401, so it wants a key"),
        (refuses(500), "no list of models at the endpoint: it answered HTTP 500"),
        (
            Scripted(b"<html>"),
            (
                "no list of models at the endpoint: the answer is not JSON; "
                "a web page has another address than the API"
            ),
        ),
    ],
)
def test_without_a_model_yes_is_refused_unless_there_is_one(reply: Scripted, found: str) -> None:
    """None is guessed."""
    with ModelServer([reply]) as server, pytest.raises(UsageError) as caught:
        ask(replace(UNKNOWN, base_url=server.base_url), yes=True)
    assert caught.value.exit_code == 64
    assert caught.value.found == found
    assert MODEL_VARIABLE in caught.value.expected
    assert "--model" in caught.value.expected


def test_the_command_refuses_with_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    """`suite auto --yes` on the command line."""
    assert main(["suite", "auto", "--yes"]) == 64
    said = capsys.readouterr().err
    assert "No endpoint is known" in said
    assert "remedy:" in said


def test_the_only_model_of_an_endpoint_is_taken() -> None:
    """With the public pool; judge and its address stay as they are."""
    with PlayingServer() as server:
        known = ask(replace(UNKNOWN, base_url=server.base_url), yes=True)
    assert known == replace(UNKNOWN, base_url=server.base_url, model=MODEL, pool="public")
    assert [request.path for request in server.requests] == ["/v1/models"]


def test_what_is_given_is_kept_and_nothing_is_asked_of_the_endpoint() -> None:
    """A model by name needs no list."""
    assert ask(replace(GIVEN, pool="held-out"), yes=True) == replace(GIVEN, pool="held-out")


def test_the_environment_fills_in_what_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options come first; an empty variable is none."""
    monkeypatch.setenv(BASE_URL_VARIABLE, URL)
    monkeypatch.setenv(MODEL_VARIABLE, "from-the-environment")
    known = ask(UNKNOWN, yes=True)
    assert (known.base_url, known.model) == (URL, "from-the-environment")
    assert ask(GIVEN, yes=True).model == "m"
    monkeypatch.setenv(BASE_URL_VARIABLE, "")
    with pytest.raises(UsageError):
        ask(UNKNOWN, yes=True)


@pytest.mark.parametrize(
    ("reply", "names"),
    [
        (listing("one"), ("one",)),
        (listing("b", "a", "b"), ("a", "b")),
        (listing(), ()),
        (listing("", None, 7, ["x"], "a"), ("a",)),
        (Scripted(b'{"data": [7, null, "x", {"name": "y"}, {"id": "a"}]}'), ("a",)),
        (Scripted(b'{"data": {"id": "a"}}'), ()),
        (Scripted(b'{"models": []}'), ()),
        (Scripted(b'[{"id": "a"}]'), ()),
        (Scripted(b"null"), ()),
        (Scripted(b"<html>"), ()),
        (Scripted(b""), ()),
        (Scripted(b"\xff\xfe\xfd"), ()),
        (Scripted(b"[" * 100_000), ()),
        (Scripted(b'{"data": [{"id": "' + b"x" * MOST_LIST_BYTES + b'"}]}'), ()),
        (Scripted(b"x", missing_bytes=100), ()),
        (refuses(401), ()),
        (refuses(404), ()),
        (refuses(500), ()),
    ],
)
def test_whatever_an_endpoint_lists_is_names_or_nothing(reply: Scripted, names: tuple[str, ...]) -> None:
    """One, many, none, garbage, cut off, too deep, too large, refused."""
    assert offered(reply) == names


def test_an_endpoint_that_does_not_answer_lists_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one that is silent nor one that is not there."""
    monkeypatch.setattr("esac_ag.cli.suite_asking.LIST_TIMEOUT_S", 0.2)
    assert offered(never()) == ()
    assert models_at(URL, KEY) == Offered((), "it cannot be reached, or broke off")


def test_whoever_is_asked_for_a_model_learns_why_none_is_listed() -> None:
    """The name can be typed all the same; the key that was refused is told apart from one that lacks."""
    known, shown = asked(replace(UNKNOWN, base_url=URL), "typed", "", "", "", "")
    assert known is not None
    assert known.model == "typed"
    assert "no list of models at the endpoint: it cannot be reached" in shown.stderr
    with ModelServer([refuses(401)]) as server:
        assert models_at(server.base_url, KEY).why.endswith("the key is wrong there")


def test_redirects_are_not_followed() -> None:
    """The key goes to the endpoint that was named, and nowhere else."""
    with ModelServer([listing("elsewhere")]) as other:
        place = (("location", f"{other.base_url}/models"),)
        assert offered(Scripted(b"", 302, place)) == ()
        assert other.requests == []


@pytest.mark.parametrize(("key", "header"), [(KEY, f"Bearer {KEY}"), ("", None)])
def test_the_key_is_sent_when_there_is_one(key: str, header: str | None) -> None:
    """To `/models` below the base address, with or without a slash at its end."""
    with ModelServer([listing("a"), listing("a")]) as server:
        assert models_at(server.base_url, key) == models_at(server.base_url + "/", key) == Offered(("a",))
    assert [request.path for request in server.requests] == ["/v1/models"] * 2
    assert {request.headers.get("authorization") for request in server.requests} == {header}


@pytest.mark.parametrize("key", ["sk\nline", "schlüssel", "sk\x00"])
def test_a_key_that_no_header_can_carry_lists_nothing(key: str) -> None:
    """And whoever is asked for a model is told why."""
    assert models_at(URL, key).names == ()


def test_a_key_that_no_header_can_carry_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no endpoint without a list."""
    monkeypatch.setenv("OPENAI_API_KEY", "schlüssel")
    with pytest.raises(UsageError) as caught:
        ask(replace(UNKNOWN, base_url=URL), yes=True)
    assert "OPENAI_API_KEY" in caught.value.where


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ftp://x/v1",
        "localhost:8080",
        "http://",
        "http://me:pw-4711@x/v1",
        "http://x/v1?key=pw-4711",
        "http://x:99999/v1",
        "http://x:pw-4711/v1",
        "http://[::1/v1",
    ],
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    """Exit code 64; what may be a secret in it is not repeated."""
    with pytest.raises(UsageError) as caught:
        models_at(address, "")
    assert caught.value.exit_code == 64
    assert caught.value.where == "--base-url"
    assert "pw-4711" not in str(caught.value)


@pytest.mark.parametrize("address", ["http://x/\x01", "http://a b/v1", "http://x/" + "a" * 100_000])
def test_an_address_that_no_request_can_carry_lists_nothing(address: str) -> None:
    """It is no fault of the harness."""
    assert models_at(address, "").names == ()


def test_a_person_answers_everything() -> None:
    """Endpoint, model, judge's endpoint, judge, pool, and the start."""
    with ModelServer([listing("b", "a")]) as server:
        known, shown = asked(UNKNOWN, server.base_url, "a", JUDGE_URL, "", "held-out", "y")
    assert known == Known(
        model="a",
        base_url=server.base_url,
        api_key_env="OPENAI_API_KEY",
        judge=PINNED_JUDGE,
        judge_base_url=JUDGE_URL,
        judge_api_key_env="ESAC_AG_JUDGE_API_KEY",
        pool="held-out",
    )
    assert shown.exit_code == 0
    assert "Base URL" not in shown.stdout
    assert "  a\n  b\n" in shown.stderr


def test_a_person_takes_what_is_proposed() -> None:
    """The only model, the model's endpoint for the judge, the pinned judge, the public pool."""
    with PlayingServer() as server:
        known, _ = asked(replace(UNKNOWN, base_url=server.base_url), "", "", "", "", "")
    assert known is not None
    assert (known.model, known.judge_base_url, known.judge) == (MODEL, server.base_url, PINNED_JUDGE)
    assert known.pool == "public"


def test_the_judges_endpoint_of_the_environment_is_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `suite run` takes it: the option, then the variable, then the model's endpoint."""
    monkeypatch.setenv(JUDGE_URL_VARIABLE, JUDGE_URL)
    known, _ = asked(GIVEN, "", "", "", "")
    assert known is not None
    assert known.judge_base_url == JUDGE_URL
    known, _ = asked(replace(GIVEN, judge_base_url="http://127.0.0.1:9/given"), "", "", "", "")
    assert known is not None
    assert known.judge_base_url == "http://127.0.0.1:9/given"


def test_keys_are_told_by_their_state_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they are set."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    _, shown = asked(GIVEN, JUDGE_URL, "", "", "")
    assert "key of the model: OPENAI_API_KEY is set" in shown.output
    assert "key of the judge: ESAC_AG_JUDGE_API_KEY is not set: nothing is sent" in shown.output
    assert KEY not in shown.output


def test_the_models_key_that_the_judge_gets_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where both addresses are the same, a slash apart; the judge's own key goes before it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for address in ("", f"{URL}/"):
        _, shown = asked(GIVEN, address, "", "", "")
        assert "ESAC_AG_JUDGE_API_KEY is not set: the model's key (OPENAI_API_KEY) is sent" in shown.stderr
    monkeypatch.setenv("ESAC_AG_JUDGE_API_KEY", KEY)
    _, shown = asked(GIVEN, "", "", "", "")
    assert "key of the judge: ESAC_AG_JUDGE_API_KEY is set" in shown.stderr


@pytest.mark.parametrize("option", ["api_key_env", "judge_api_key_env"])
def test_a_key_in_place_of_its_variable_is_not_shown(option: str) -> None:
    """It is refused before anything is asked."""
    known, shown = asked(replace(GIVEN, **{option: KEY}))
    assert known is None
    assert isinstance(shown.exception, UsageError)
    assert KEY not in shown.output + str(shown.exception)


@pytest.mark.parametrize("answer", ["n", "No", "what\nno"])
def test_whoever_says_no_starts_nothing(answer: str) -> None:
    """It is told, and is no failure."""
    known, shown = asked(GIVEN, "", "", "", answer)
    assert known is None
    assert shown.exit_code == 0
    assert "nothing was started" in shown.stderr


def test_questions_and_an_early_end_leave_standard_output_empty() -> None:
    """It is the report's."""
    known, shown = asked(GIVEN, "", "")
    assert known is None
    assert shown.exit_code != 0
    assert shown.stdout == ""


def test_a_question_without_a_default_is_asked_again() -> None:
    """An empty line is no answer."""
    known, shown = asked(replace(UNKNOWN, model="m"), "", URL, "", "", "", "y")
    assert known is not None
    assert known.base_url == URL
    assert shown.stderr.count("Base URL of the model's endpoint") == 2


def test_a_pool_that_does_not_exist_is_refused() -> None:
    """With those that do."""
    known, shown = asked(GIVEN, "", "", "secret", "y")
    assert known is None
    assert isinstance(shown.exception, UsageError)
    assert (shown.exception.expected, shown.exception.found) == ("public/held-out", "secret")


def test_a_pool_that_is_given_is_not_asked_for() -> None:
    """The answers end one earlier."""
    known, shown = asked(replace(GIVEN, pool="held-out"), "", "", "y")
    assert known is not None
    assert known.pool == "held-out"
    assert "Pool" not in shown.output


def shown_names(names: Sequence[str]) -> str:
    """What a person sees of a list of models."""
    with ModelServer([listing(*names)]) as server:
        _, shown = asked(replace(UNKNOWN, base_url=server.base_url), "a", "", "", "", "y")
    return shown.output


def test_names_of_models_cannot_steer_a_terminal() -> None:
    """What an endpoint lists is shown with its control characters escaped."""
    text = shown_names(["\x1b[31mred", "[bold]loud[/bold]"])
    assert "\x1b" not in text
    assert "[31mred" in text
    assert "[bold]loud[/bold]" in text


def test_a_long_list_of_models_is_shown_in_part() -> None:
    """A screen of it; any name can be typed."""
    text = shown_names([f"model-{number:03}" for number in range(200)])
    assert text.count("model-") == MOST_SHOWN
