"""What a lane may do: one model of one provider, by one protocol, within one budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urlsplit

from esac_ag.errors import UsageError
from esac_ag.gateway.protocols import ENDPOINTS, KEY_HEADERS, KeyHeader, Protocol
from esac_ag.manifest.plan import Decoding, Limits, TokenPrice

MOST_SILENCE_S = 600.0
SILENT_AFTER_S = 60.0
MOST_WAIT_S = 120.0
"""Agents' own clients wait some minutes for a reply to begin."""
MOST_CALLS_AT_ONCE = 64
MOST_CALLS_WAITING = 64
MOST_HELD_BYTES = 96 * 1024 * 1024
"""Of the requests of one lane that are under way."""


class ProviderTools(StrEnum):
    """What becomes of tools that run at the provider (web search, code execution, remote MCP servers)."""

    STRIP = "strip"
    """They are taken out of the request, and that is recorded."""
    REFUSE = "refuse"
    """The call is refused."""


@dataclass(frozen=True, slots=True)
class LanePlan:
    """The rules of one lane.

    Args:
        protocol: the only protocol that is spoken.
        base_url: the provider's address up to and without `/chat/completions`, `/responses` or `/messages`.
        key: the real key, read by the caller from the environment; empty for an endpoint that needs none.
        model: the only model that may be asked for.
        decoding: what the plan fixes is sent with every call; `max_output_tokens` is a cap.
        reasoning: effort that is sent with every call; null leaves it to the agent.
        limits: `turns` counts calls, and `input_tokens`, `output_tokens` and `cost_usd` are enforced too.
        price: the model's prices; null makes the cost unavailable.
        provider_tools: strip or refuse.
        key_header: how the key is sent; by default as the protocol's own provider expects.
        silence_s: longest time without a byte from the provider.
        attempts: how often a call is sent at most when the service fails in a way that may pass.
        max_wait_s: longest waiting, in all, between the sends of one call.
        silent_after_s: an agent that leaves after so long a silence left a service that failed.
    """

    protocol: Protocol
    base_url: str
    key: str = field(repr=False)
    model: str
    decoding: Decoding = field(default_factory=Decoding)
    reasoning: str | None = None
    limits: Limits = field(default_factory=Limits)
    price: TokenPrice | None = None
    provider_tools: ProviderTools = ProviderTools.STRIP
    key_header: KeyHeader | None = None
    silence_s: float = MOST_SILENCE_S
    attempts: int = 1
    max_wait_s: float = MOST_WAIT_S
    silent_after_s: float = SILENT_AFTER_S

    @property
    def endpoint(self) -> str:
        """Where calls are forwarded to."""
        return self.base_url.rstrip("/") + ENDPOINTS[self.protocol]

    @property
    def sent_key_header(self) -> KeyHeader:
        """How the key is sent."""
        return self.key_header or KEY_HEADERS[self.protocol]

    @property
    def is_metered(self) -> bool:
        """Whether a budget is counted in what replies tell of their usage."""
        counted = (self.limits.input_tokens, self.limits.output_tokens, self.limits.cost_usd)
        return any(limit is not None for limit in counted)

    def check(self) -> None:
        """Refuse a plan that cannot be carried out.

        Raises:
            UsageError: the address is none, the key cannot be sent, a cost limit has no price,
                or a seed is fixed that the protocol does not take.
        """
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc or parts.query:
            raise UsageError(
                "The gateway has no usable address of the model's provider",
                expected="an http or https address without credentials, such as https://api.example.com/v1",
            )
        if not self.key.isascii() or not self.key.isprintable() or self.key != self.key.strip():
            raise UsageError(
                "The model's key cannot be sent as a header",
                expected="printable ASCII without spaces at its ends",
                remedy="export the key again, without a line's end",
            )
        priced = self.price is not None and None not in (self.price.input, self.price.output)
        if self.limits.cost_usd is not None and not priced:
            raise UsageError(
                "A cost limit cannot be enforced without prices",
                where="limits.cost_usd",
                remedy="add the model's prices to the plan, or drop the limit",
            )
        if self.protocol is not Protocol.CHAT and self.decoding.seed is not None:
            raise UsageError(
                f"The protocol {self.protocol.value} takes no seed, so decoding.seed cannot be fixed",
                where="model.decoding.seed",
                remedy="set it to null",
            )
