"""What acts in a comparison, and what of it is missing: the agent, its address, its key, its prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

import esac_ag
from esac_ag.agents.command_settings import PROTOCOLS, PROVIDERS
from esac_ag.agents.presets.choosing import preset_of
from esac_ag.agents.settings import BASE_URL_VARIABLE, refuse_no_variable, usable_address, usable_key
from esac_ag.conduct.faults import Faults
from esac_ag.errors import InputRefused, UsageError
from esac_ag.manifest.agent_file import WireProtocol
from esac_ag.manifest.findings import shown_text
from esac_ag.manifest.plan import AgentKind, AgentPlan, ModelWayKind
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.agent_files import KnownAgent, agent_names, read_agent

CHAT: Final = "chat"
PROVIDER_NAMES: Final = {
    WireProtocol.MESSAGES: "anthropic",
    WireProtocol.RESPONSES: "openai",
    WireProtocol.CHAT: "openai",
}
"""Names for reports; addresses and keys are the agent's own settings' matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActingAgent:
    """What acts, and how it reaches its model."""

    name: str
    plan: AgentPlan
    provider: str
    """By default: the protocol's own; `unspecified` at another address."""
    address: str | None
    """None is the provider's own."""
    key_variable: str
    key_is_set: bool
    image_of: KnownAgent | None
    """Whose image is needed beside the agent's and the grader's."""


def acting_agent(
    name: str,
    *,
    base_url: str | None,
    api_key_env: str | None,
    model_way: str | None,
    workspace: Workspace,
    environ: Mapping[str, str],
    faults: Faults,
) -> ActingAgent | None:
    """What acts; none when it cannot.

    Args:
        name: an agent of `runner/agents/`, or `chat`.
        base_url: the model's address; by default `ESAC_AG_BASE_URL`, then the protocol's own provider.
        api_key_env: the variable that holds the key; by default the protocol's own.
        model_way: how its container reaches the gateway; None leaves it to the setting's default.
        workspace: whose agents there are.
        environ: where address and key are looked up.
        faults: takes what is missing.
    """
    known = None
    if name != CHAT:
        try:
            known = read_agent(workspace.runner, name)
        except UsageError:
            faults.found.append(_no_such_agent(name, workspace))
            return None
        except InputRefused as error:
            faults.found.append(error)
            return None
    protocol = WireProtocol.CHAT if known is None else preset_of(known.file).protocol
    address, variable = None, api_key_env or PROVIDERS[PROTOCOLS[protocol]][1]
    with faults.taken():
        address = _address(base_url or environ.get(BASE_URL_VARIABLE) or None, needed=known is None)
    key = ""
    with faults.taken():
        refuse_no_variable(variable, "--api-key-env")
        key = usable_key(environ, variable)
        if not key and address is None and known is not None:
            raise UsageError(
                "The model's key is not set.",
                where=f"the environment variable {variable}",
                expected=f"a key of {PROVIDER_NAMES[protocol]}",
                found="nothing",
                remedy=f"export {variable}=..., or name a server of your own with --base-url",
            )
    settings: dict[str, JsonValue] = {} if known is None else {"agent": name}
    if address is not None:
        settings["base_url"] = address
    if api_key_env:
        settings["api_key_env"] = api_key_env
    if model_way is not None:
        with faults.taken():
            settings["model_way"] = _way(model_way, needed=known is not None)
    kind = AgentKind.CHAT if known is None else AgentKind.COMMAND
    return ActingAgent(
        name=name,
        plan=AgentPlan(
            kind=kind,
            version=esac_ag.__version__ if known is None else known.file.version,
            settings=settings,
        ),
        provider=PROVIDER_NAMES[protocol] if address is None else "unspecified",
        address=address,
        key_variable=variable,
        key_is_set=bool(key),
        image_of=known,
    )


def _way(given: str, *, needed: bool) -> str:
    """How the container reaches the gateway.

    Raises:
        UsageError: there is no such way, or the agent has none.
    """
    if not needed:
        raise UsageError(
            "The chat agent asks its model from the host: its container has no way to one.",
            where="--model-way",
            remedy="leave the option out",
        )
    if given not in list(ModelWayKind):
        raise UsageError(
            "There is no such way to the model gateway.",
            where="--model-way",
            expected=" or ".join(ModelWayKind),
            found=shown_text(given),
        )
    return given


def _no_such_agent(name: str, workspace: Workspace) -> UsageError:
    return UsageError(
        "There is no such agent.",
        where="-a/--agent",
        expected=", ".join((*agent_names(workspace.runner), CHAT)),
        found=shown_text(name),
        remedy="name one of these, or describe it in runner/agents/ (docs/agents.md)",
    )


def _address(value: str | None, *, needed: bool) -> str | None:
    where = f"--base-url, or the environment variable {BASE_URL_VARIABLE}"
    if value is None and not needed:
        return None
    return usable_address(value or "", where)
