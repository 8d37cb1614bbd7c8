"""Whether a registry answers, asked through the engine: its proxies, mirrors and certificates count."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from esac_ag.errors import EngineUnavailable, ImageMissing, SandboxLost
from esac_ag.sandbox.docker import connect, translated

ANSWER_TIMEOUT_S = 5.0
"""A registry that is silent for longer counts as absent, so that closed networks do not hang a set-up."""


class RegistryState(StrEnum):
    """What a registry says about an image."""

    HAS_IT = "has it"
    KNOWS_NONE = "knows no such image"
    """It answers, and there is no image of that digest."""
    UNREACHABLE = "unreachable"
    """No answer in time, or none that tells anything of the image."""


@dataclass(frozen=True, slots=True)
class RegistryAnswer:
    """The state, and the engine's words on it."""

    state: RegistryState
    words: str = ""


def ask_registry(reference: str, timeout_s: float = ANSWER_TIMEOUT_S) -> RegistryAnswer:
    """Ask the registry of a `name@sha256:...` reference for that image, within a few seconds.

    Raises:
        EngineUnavailable: no engine answers at all.
    """
    client = connect(timeout_s)
    try:
        with translated("ask a registry", where=reference):
            client.inspect_distribution(reference)  # type: ignore[no-untyped-call]
    except ImageMissing as error:
        return RegistryAnswer(RegistryState.KNOWS_NONE, error.found)
    except SandboxLost as error:
        # Status 404 is the registry's own word; any other refusal comes from the way to it.
        known = "HTTP 404" in error.found
        return RegistryAnswer(RegistryState.KNOWS_NONE if known else RegistryState.UNREACHABLE, error.found)
    except EngineUnavailable:
        # `connect` has spoken to the engine just now: what ran out of time is the registry.
        return RegistryAnswer(RegistryState.UNREACHABLE, f"no answer within {timeout_s:g} s")
    finally:
        client.close()
    return RegistryAnswer(RegistryState.HAS_IT)
