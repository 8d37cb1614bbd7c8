"""Command-line agents: a program in the container, whose only way out is the model gateway."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from esac_ag.agents.command_run import CommandRun
from esac_ag.agents.command_settings import PROTOCOLS, CommandSettings
from esac_ag.agents.contract import AgentEnd, ArmBundle, Assignment, Attendance, Commission, Equipment
from esac_ag.agents.presets.choosing import preset_of
from esac_ag.agents.presets.contract import Order, Preparation
from esac_ag.errors import InputRefused
from esac_ag.gateway.plans import LanePlan
from esac_ag.gateway.server import Gateway
from esac_ag.manifest.agent_file import AgentFile
from esac_ag.manifest.plan import Model, ModelWayKind, Plan
from esac_ag.owner import temporary_folder
from esac_ag.sandbox.contract import Sandbox
from esac_ag.sandbox.model_way import model_way

MODEL_FOLDER = "model"
"""Of an attempt: the gateway's record of its calls."""
_NOWHERE = "http://127.0.0.1:1"


@dataclass(frozen=True, slots=True)
class CommandAgent:
    """An `Agent` of kind `command`."""

    file: AgentFile
    model: Model
    lane: LanePlan
    way: ModelWayKind = ModelWayKind.SOCKET

    @property
    def label(self) -> str:
        """Program and version, the model as the manifest names it, and the endpoint behind the gateway."""
        model = f"{self.model.name} {self.model.version} ({self.model.provider})"
        return f"{self.file.name} {self.file.version}: {model} at {self.lane.endpoint}"

    def secrets(self) -> Sequence[str]:
        """The API key, when there is one."""
        return (self.lane.key,) if self.lane.key else ()

    def equip(self, bundle: ArmBundle | None) -> Equipment:
        """What is laid into HOME, as far as it is the same in every attempt.

        Raises:
            InputRefused: the program cannot be given the bundle.
        """
        prepared = preset_of(self.file).prepare(self.order("", bundle, base_url=_NOWHERE, token="none"))  # noqa: S106
        return _equipment(prepared)

    def order(self, request: str, bundle: ArmBundle | None, *, base_url: str, token: str) -> Order:
        """What one attempt asks of the program."""
        return Order(
            file=self.file,
            request=request,
            model=self.model.name,
            base_url=base_url,
            token=token,
            bundle=bundle,
            reasoning=self.model.reasoning,
        )

    @contextmanager
    def attend(self, commission: Commission) -> Iterator[Attendance]:
        """Serve the model to one attempt: a gateway, a lane and a socket of its own.

        Raises:
            InputRefused: the program cannot be given the bundle or the request.
            InfrastructureFailure: the gateway cannot serve.
        """
        records = commission.folder.path / MODEL_FOLDER
        with temporary_folder("gateway") as private:
            socket = private / "gateway.sock"
            with (
                Gateway(socket_path=socket) as gateway,
                model_way(
                    self.way,
                    socket,
                    commission.engine,
                    image=commission.image,
                    study=commission.study,
                    attempt=commission.attempt_id,
                    deadline=commission.deadline,
                ) as way,
            ):
                lane = gateway.open(
                    commission.attempt_id, self.lane, folder=records, redactor=commission.redactor
                )
                order = self.order(
                    commission.request, commission.bundle, base_url=way.base_url, token=lane.token
                )
                preset = preset_of(self.file)
                prepared = preset.prepare(order)
                run = CommandRun(self.label, self.file, preset, prepared, way, lane, records)
                try:
                    yield Attendance(_equipment(prepared), run.act, way.placed)
                finally:
                    run.close()

    def act(self, sandbox: Sandbox, assignment: Assignment) -> AgentEnd:
        """Not without a gateway: see `attend`."""
        raise InputRefused(
            "a command-line agent acts only while its gateway serves",
            where=f"attempt of {assignment.cell.task} in {sandbox.container_id}",
        )


def make_command_agent(plan: Plan, file: AgentFile, environ: Mapping[str, str]) -> CommandAgent:
    """The agent that a manifest plans.

    Args:
        plan: the sealed plan.
        file: that its settings name.
        environ: the host's environment: the provider's address and key.

    Raises:
        InputRefused: wrong settings, or another version than the plan's.
        UsageError: the address or the key cannot be used.
    """
    settings = CommandSettings.read(plan.agent.settings)
    require_version(plan.agent.version, file)
    protocol = PROTOCOLS[preset_of(file).protocol]
    lane = settings.lane_plan(plan.model, plan.limits, plan.prices, protocol=protocol, environ=environ)
    return CommandAgent(file, plan.model, lane, settings.model_way)


def require_version(planned: str, file: AgentFile) -> None:
    """Refuse a plan for another version of the agent than the one that is pinned.

    Raises:
        InputRefused: it is another one.
    """
    if planned != file.version:
        raise InputRefused(
            f"The plan is for another version of {file.name} than the one that is pinned",
            where="/agent/version",
            expected=file.version,
            found=planned,
            remedy=f"plan the pinned version, or pin another one in runner/agents/{file.name}.json",
        )


def _equipment(prepared: Preparation) -> Equipment:
    return Equipment(home=prepared.home, loaded=tuple(prepared.placed.values()))
