"""Settings of the chat agent, read strictly from the manifest's `agent.settings`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Self, TypeVar
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, JsonValue, ValidationError, field_validator

from esac_ag.errors import InputRefused, UsageError
from esac_ag.gateway.protocols import ENDPOINTS
from esac_ag.record import VARIABLE_PATTERN, Record, VariableName, faults_in

BASE_URL_VARIABLE = "ESAC_AG_BASE_URL"
ENDPOINT_ENDS = (*ENDPOINTS.values(), "/completions", "/models")
"""What people copy with an address; whoever asks adds it."""

Settings = TypeVar("Settings", bound=Record)
Seconds = Annotated[float, Field(gt=0, le=86_400)]


class OutputTokensField(StrEnum):
    """Name of the request's field that caps a reply."""

    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"


class ChatSettings(Record):
    """`agent.settings` of kind `chat`."""

    base_url: str | None = None
    """Address of the endpoint up to and without `/chat/completions`; by default `ESAC_AG_BASE_URL`."""
    api_key_env: VariableName = "OPENAI_API_KEY"
    """Environment variable of the host that holds the key; nothing is sent when it is unset."""
    output_tokens_field: Annotated[OutputTokensField, Field(strict=False)] = OutputTokensField.MAX_TOKENS
    """Which field carries the manifest's `max_output_tokens`."""
    attempts: Annotated[int, Field(ge=1, le=20)] = 5
    """How often one request is sent at most."""
    max_wait_s: Seconds = 300.0
    """Cap on all waiting between the attempts of one request."""
    request_timeout_s: Seconds = 600.0
    """Longest time for one reply, from sending to its last byte."""
    command_timeout_s: Seconds = 120.0
    """Time of one command when the model asks for none."""
    max_command_timeout_s: Seconds = 600.0
    """Longest time that the model may ask for."""
    shown_output_bytes: Annotated[int, Field(ge=200, le=1_000_000)] = 20_000
    """How much of one command's output the model is shown: head and tail."""

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
        return read_settings(cls, settings, whose="chat agent")

    def endpoint(self, environ: Mapping[str, str]) -> str:
        """Where requests go.

        Raises:
            UsageError: neither the manifest nor the environment names an address, or it is not usable.
        """
        address = self.base_url or environ.get(BASE_URL_VARIABLE, "")
        try:
            return plain_address(address) + "/chat/completions"
        except ValueError as error:
            raise UsageError(
                "The chat agent has no usable address of a model endpoint",
                where=f"agent.settings.base_url, or the environment variable {BASE_URL_VARIABLE}",
                expected="an http or https address, such as https://api.example.com/v1",
                found=str(error),
                remedy=f"export {BASE_URL_VARIABLE}=https://.../v1, without /chat/completions",
            ) from error


def read_settings(kind: type[Settings], settings: Mapping[str, JsonValue], *, whose: str) -> Settings:
    """An agent's settings from a manifest.

    Args:
        kind: of settings.
        settings: as the manifest has them.
        whose: the kind of agent, for the refusal.

    Raises:
        InputRefused: for unknown keys and wrong values, all named.
    """
    try:
        return kind.model_validate(dict(settings))
    except ValidationError as error:
        raise InputRefused(
            f"The settings of the {whose} are wrong",
            where="/agent/settings",
            found=faults_in(error),
            remedy=f"known settings: {', '.join(kind.model_fields)}",
        ) from error


def usable_key(environ: Mapping[str, str], variable: str) -> str:
    """The key in a variable; empty when there is none.

    Raises:
        UsageError: no HTTP header can carry it.
    """
    key = environ.get(variable, "").strip()
    if key.isascii() and (key.isprintable() or not key):
        return key
    raise UsageError(
        "The API key holds characters that no HTTP header can carry.",
        where=f"the environment variable {variable}",
        remedy="copy the key again, without line breaks",
    )


def refuse_no_variable(name: str, option: str) -> None:
    """Refuse what is no variable's name: it may be the key itself, which nothing is to show.

    Args:
        name: what was given.
        option: the option by which it was given.

    Raises:
        UsageError: it is none.
    """
    if re.fullmatch(VARIABLE_PATTERN, name) is None:
        raise UsageError(
            "A key is not named by an environment variable.",
            where=option,
            expected="a variable's name: letters, digits and `_`",
            remedy="export the key in a variable, and name that",
        )


def plain_address(value: str) -> str:
    """A base address: http(s), without credentials, query and fragment; a trailing slash is dropped.

    It ends before `/chat/completions`, `/responses` or `/messages`, one of which is added to it.

    Raises:
        ValueError: it is something else. The text never repeats the address, which may hold a secret.
    """
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not _has_a_usable_port(parts):
        raise ValueError("not an http or https address" if value else "nothing")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("an address with credentials, a query or a fragment")
    for end in ENDPOINT_ENDS:
        if parts.path.rstrip("/").endswith(end):
            raise ValueError(f"an address with {end} at its end, which is added: leave it out")
    return value.rstrip("/")


def usable_address(value: str, where: str) -> str:
    """As `plain_address`, for an address that somebody gave.

    Args:
        value: the address.
        where: where it was given: an option, or an option and a variable.

    Raises:
        UsageError: it is not usable.
    """
    try:
        return plain_address(value)
    except ValueError as error:
        raise UsageError(
            "There is no usable address of an endpoint.",
            where=where,
            expected="an http or https address, such as https://api.example.com/v1",
            found=str(error),
            remedy="give the address up to and without /chat/completions, /responses or /messages",
        ) from error


def _has_a_usable_port(parts: SplitResult) -> bool:
    """Whether the port is a number that a port can have, or left out."""
    try:
        return parts.port != 0
    except ValueError:
        return False
