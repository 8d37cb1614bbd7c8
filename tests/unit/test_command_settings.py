"""Settings of command-line agents: where calls go, which key they carry, what cannot be carried out."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from esac_ag.agents.command_settings import PROVIDERS, CommandSettings
from esac_ag.agents.settings import BASE_URL_VARIABLE
from esac_ag.errors import InputRefused, UsageError
from esac_ag.gateway.plans import LanePlan
from esac_ag.gateway.protocols import Protocol
from esac_ag.manifest.plan import Decoding, Limits, Model, Prices, TokenPrice

MODEL = Model(name="m-1", version="1", provider="p")


def a_lane(
    settings: dict[str, JsonValue] | None = None,
    *,
    protocol: Protocol = Protocol.RESPONSES,
    environ: dict[str, str] | None = None,
    limits: Limits | None = None,
    prices: Prices | None = None,
    model: Model = MODEL,
) -> LanePlan:
    """The lane that follows from settings, plan and environment."""
    read = CommandSettings.read({"agent": "codex", **(settings or {})})
    return read.lane_plan(model, limits or Limits(), prices, protocol=protocol, environ=environ or {})


@pytest.mark.parametrize("protocol", list(Protocol))
def test_without_an_address_calls_go_to_the_protocols_own_provider(protocol: Protocol) -> None:
    """An agent's users have its provider's key in its provider's variable."""
    address, variable = PROVIDERS[protocol]
    lane = a_lane(protocol=protocol, environ={variable: "sk-real-key", "OTHER_KEY": "sk-other"})
    assert (lane.base_url, lane.key, lane.protocol) == (address, "sk-real-key", protocol)


def test_the_plans_address_comes_before_the_environments() -> None:
    """What is sealed cannot be changed by a variable."""
    environ = {BASE_URL_VARIABLE: "http://127.0.0.1:1/v1", "MY_KEY": "sk-mine"}
    assert a_lane(environ=environ).base_url == "http://127.0.0.1:1/v1"
    sealed = a_lane({"base_url": "http://127.0.0.1:2/v1", "api_key_env": "MY_KEY"}, environ=environ)
    assert (sealed.base_url, sealed.key) == ("http://127.0.0.1:2/v1", "sk-mine")


def test_a_price_is_the_models_own() -> None:
    """Another model's price is none."""
    prices = Prices(
        source="s", currency="USD", date="2026-01-01", version="1", per_million={"m-1": TokenPrice(input=1.0)}
    )
    assert a_lane(prices=prices).price == TokenPrice(input=1.0)
    assert a_lane(prices=prices, model=MODEL.model_copy(update={"name": "m-2"})).price is None


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"speed": 2}, "speed"),
        ({"base_url": "ftp://x"}, "base_url"),
        ({"base_url": "https://x/v1?key=1"}, "base_url"),
        ({"provider_tools": "allow"}, "provider_tools"),
        ({"silence_s": 0}, "silence_s"),
        ({"key_header": "cookie"}, "key_header"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings: dict[str, JsonValue], told: str) -> None:
    """A setting that is not understood is never passed over."""
    with pytest.raises(InputRefused) as refusal:
        a_lane(settings)
    assert told in refusal.value.found


def test_a_cost_limit_without_prices_is_refused_before_anything_runs() -> None:
    """The gateway could not enforce it."""
    with pytest.raises(UsageError, match="without prices"):
        a_lane(limits=Limits(cost_usd=1.0))


def test_a_seed_that_the_protocol_does_not_take_is_refused() -> None:
    """Only chat completions have one."""
    model = MODEL.model_copy(update={"decoding": Decoding(seed=1)})
    assert a_lane(protocol=Protocol.CHAT, model=model).decoding.seed == 1
    with pytest.raises(UsageError, match="seed"):
        a_lane(model=model)


def test_the_address_in_a_variable_is_judged_like_the_plans() -> None:
    """And the refusal says where it stands."""
    with pytest.raises(UsageError) as refusal:
        a_lane(environ={BASE_URL_VARIABLE: "nowhere"})
    assert BASE_URL_VARIABLE in refusal.value.where
