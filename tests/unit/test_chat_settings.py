"""What the chat agent takes from manifest and environment, and what it refuses."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from esac_ag.agents.chat import make_chat_agent
from esac_ag.agents.settings import ChatSettings
from esac_ag.errors import InputRefused, UsageError
from esac_ag.manifest.plan import Decoding, Limits, Prices, TokenPrice
from tests.builders_agents import a_manifest

ENVIRON = {"ESAC_AG_BASE_URL": "https://models.example/v1/", "OPENAI_API_KEY": "sk-0123456789"}


def test_the_environment_gives_address_and_key() -> None:
    """Without settings the documented variables count."""
    agent = make_chat_agent(a_manifest(), ENVIRON)
    assert agent.endpoint == "https://models.example/v1/chat/completions"
    assert agent.secrets() == ("sk-0123456789",)
    assert agent.label == "chat: m-1 2026-01 (test) at https://models.example/v1/chat/completions"


def test_the_manifest_precedes_the_environment() -> None:
    """A sealed address and a sealed name of the key's variable are used."""
    settings: dict[str, JsonValue] = {"base_url": "http://127.0.0.1:1/v1", "api_key_env": "MY_KEY"}
    agent = make_chat_agent(a_manifest(settings=settings), {**ENVIRON, "MY_KEY": " other-key-77\n"})
    assert agent.endpoint == "http://127.0.0.1:1/v1/chat/completions"
    assert agent.key == "other-key-77"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "models.example/v1",
        "ftp://x/v1",
        "https://user:pass@x/v1",
        "https://x/v1?key=k",
        "https:///v1",
        "https://x/v1/chat/completions",
        "https://x/v1/chat/completions/",
        "https://x/v1/responses",
        "https://x/v1/messages/",
        "https://x/v1/models",
        "https://x/v1/completions",
    ],
)
def test_an_address_that_cannot_be_used_is_a_usage_error_and_never_repeated(address: str) -> None:
    """The remedy names the variable, and what may be a secret is not printed."""
    with pytest.raises(UsageError) as caught:
        make_chat_agent(a_manifest(), {"ESAC_AG_BASE_URL": address})
    assert "ESAC_AG_BASE_URL" in caught.value.remedy
    assert "pass" not in str(caught.value)
    assert "key=k" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"base_ulr": "https://x"}, "base_ulr"),
        ({"attempts": 0}, "attempts"),
        ({"attempts": "5"}, "attempts"),
        ({"request_timeout_s": -1}, "request_timeout_s"),
        ({"output_tokens_field": "n"}, "output_tokens_field"),
        ({"base_url": "https://u:p@x/v1"}, "base_url"),
        ({"base_url": "https://x/v1/chat/completions"}, "/chat/completions at its end"),
        ({"base_url": "https://x/v1/responses/"}, "/responses at its end"),
        ({"api_key_env": "A B"}, "api_key_env"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(settings: dict[str, JsonValue], named: str) -> None:
    """Unknown and impossible settings are findings, not surprises in the middle of a study."""
    with pytest.raises(InputRefused) as caught:
        make_chat_agent(a_manifest(settings=settings), ENVIRON)
    assert named in caught.value.found


def test_a_key_that_no_header_carries_is_a_usage_error() -> None:
    """A key with a line break is told by its variable's name, without its value."""
    with pytest.raises(UsageError) as caught:
        make_chat_agent(a_manifest(), {**ENVIRON, "OPENAI_API_KEY": "sk-a\nb"})
    assert "OPENAI_API_KEY" in caught.value.where
    assert "sk-a" not in str(caught.value)


def test_a_cost_limit_without_a_price_is_refused() -> None:
    """A budget that could not be enforced is refused before the study begins."""
    with pytest.raises(InputRefused) as caught:
        make_chat_agent(a_manifest(limits=Limits(cost_usd=1.0)), ENVIRON)
    assert "m-1" in caught.value.expected


def test_a_cost_limit_in_another_currency_is_refused() -> None:
    """Dollars are not compared with a table in euros."""
    prices = Prices(
        source="x", currency="EUR", date="2026-01-01", version="1", per_million={"m-1": TokenPrice(input=1.0)}
    )
    with pytest.raises(InputRefused):
        make_chat_agent(a_manifest(limits=Limits(cost_usd=1.0), prices=prices), ENVIRON)


def test_a_seed_that_json_readers_would_round_is_refused() -> None:
    """What is sealed and what is sent must be the same number."""
    with pytest.raises(InputRefused):
        make_chat_agent(a_manifest(decoding=Decoding(seed=2**60)), ENVIRON)


def test_defaults_are_what_the_guide_says() -> None:
    """The defaults are a contract with sealed manifests that leave them out."""
    assert ChatSettings().model_dump(mode="json") == {
        "base_url": None,
        "api_key_env": "OPENAI_API_KEY",
        "output_tokens_field": "max_tokens",
        "attempts": 5,
        "max_wait_s": 300.0,
        "request_timeout_s": 600.0,
        "command_timeout_s": 120.0,
        "max_command_timeout_s": 600.0,
        "shown_output_bytes": 20_000,
    }
