"""Settings of command-line agents, read strictly from the manifest's `agent.settings`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, JsonValue, field_validator

from esac_ag.agents.settings import (
    BASE_URL_VARIABLE,
    plain_address,
    read_settings,
    usable_address,
    usable_key,
)
from esac_ag.gateway.plans import MOST_SILENCE_S, MOST_WAIT_S, LanePlan, ProviderTools
from esac_ag.gateway.protocols import KeyHeader, Protocol
from esac_ag.manifest.agent_file import WireProtocol
from esac_ag.manifest.plan import AgentKind, AgentPlan, Limits, Model, ModelWayKind, Prices
from esac_ag.record import Identifier, Record, VariableName

PROTOCOLS = {
    WireProtocol.MESSAGES: Protocol.MESSAGES,
    WireProtocol.RESPONSES: Protocol.RESPONSES,
    WireProtocol.CHAT: Protocol.CHAT,
}
"""What the gateway calls the protocol of an agent file."""

PROVIDERS = {
    Protocol.MESSAGES: ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    Protocol.RESPONSES: ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    Protocol.CHAT: ("https://api.openai.com/v1", "OPENAI_API_KEY"),
}
"""Address and variable of the key of the provider whose protocol it is."""


class CommandSettings(Record):
    """`agent.settings` of kind `command`."""

    agent: Identifier
    """Name of its file in `runner/agents/`."""
    base_url: str | None = None
    """The provider's address up to and without `/messages`, `/responses` or `/chat/completions`; by default
    `ESAC_AG_BASE_URL`, else the protocol's own provider."""
    api_key_env: VariableName | None = None
    """Environment variable of the host that holds the key; by default the protocol's own provider's."""
    key_header: Annotated[KeyHeader, Field(strict=False)] | None = None
    """How the key is sent; by default as the protocol's own provider expects it."""
    provider_tools: Annotated[ProviderTools, Field(strict=False)] = ProviderTools.STRIP
    """What becomes of tools that run at the provider."""
    silence_s: Annotated[float, Field(gt=0, le=86_400)] = MOST_SILENCE_S
    """Longest time without a byte from the provider."""
    attempts: Annotated[int, Field(ge=1, le=20)] = 5
    """How often the gateway sends one call at most when the service fails in a way that may pass."""
    max_wait_s: Annotated[float, Field(gt=0, le=600)] = MOST_WAIT_S
    """Cap on all waiting between the sends of one call."""
    model_way: Annotated[ModelWayKind, Field(strict=False)] = ModelWayKind.SOCKET
    """How the container reaches the gateway."""

    @field_validator("base_url")
    @classmethod
    def _plain_address(cls, value: str | None) -> str | None:
        return None if value is None else plain_address(value)

    @classmethod
    def read(cls, settings: Mapping[str, JsonValue]) -> Self:
        """The settings of a manifest.

        Raises:
            InputRefused: for unknown keys and wrong values, all named.
        """
        return read_settings(cls, settings, whose="command-line agent")

    @classmethod
    def agent_of(cls, plan: AgentPlan) -> str | None:
        """Name of the command-line agent of a plan; none for other kinds.

        Raises:
            InputRefused: its settings are wrong.
        """
        return cls.read(plan.settings).agent if plan.kind is AgentKind.COMMAND else None

    @classmethod
    def way_of(cls, plan: AgentPlan) -> ModelWayKind | None:
        """How the container of a plan's agent reaches the model gateway; not at all for other kinds.

        Raises:
            InputRefused: its settings are wrong.
        """
        return cls.read(plan.settings).model_way if plan.kind is AgentKind.COMMAND else None

    def lane_plan(
        self,
        model: Model,
        limits: Limits,
        prices: Prices | None,
        *,
        protocol: Protocol,
        environ: Mapping[str, str],
    ) -> LanePlan:
        """What the gateway is told of an attempt.

        Args:
            model: of the plan.
            limits: of the plan.
            prices: of the plan.
            protocol: that the agent speaks.
            environ: the host's environment.

        Raises:
            UsageError: the address or the key cannot be used, or the plan cannot be carried out.
        """
        address, variable = PROVIDERS[protocol]
        given = self.base_url or environ.get(BASE_URL_VARIABLE) or address
        made = LanePlan(
            protocol=protocol,
            base_url=usable_address(given, f"agent.settings.base_url, or the variable {BASE_URL_VARIABLE}"),
            key=usable_key(environ, self.api_key_env or variable),
            model=model.name,
            decoding=model.decoding,
            reasoning=model.reasoning,
            limits=limits,
            price=prices.per_million.get(model.name) if prices else None,
            provider_tools=self.provider_tools,
            key_header=self.key_header,
            silence_s=self.silence_s,
            attempts=self.attempts,
            max_wait_s=self.max_wait_s,
        )
        made.check()
        return made
