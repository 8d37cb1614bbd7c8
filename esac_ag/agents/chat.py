"""The chat agent: our own tool loop over an OpenAI-compatible chat-completions endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from pydantic import JsonValue

from esac_ag import clock
from esac_ag.agents.chat_client import ChatClient, Patience
from esac_ag.agents.contract import AgentEnd, ArmBundle, Assignment, Attendance, Commission, Equipment
from esac_ag.agents.conversation import Conversation
from esac_ag.agents.endings import Ending
from esac_ag.agents.exchange import Exchange, request_frame
from esac_ag.agents.instructions import SYSTEM_MESSAGE_PLACE, equipment, placement, system_message
from esac_ag.agents.loaded import LoadedInstructions, SeenRequest, known_texts, loaded_instructions
from esac_ag.agents.presence import present_files
from esac_ag.agents.recorder import Recorder
from esac_ag.agents.settings import ChatSettings, usable_key
from esac_ag.agents.shell import Shell
from esac_ag.agents.tools import Toolbox, schemas
from esac_ag.artifacts.redaction import Redactor
from esac_ag.attempt import Outcome
from esac_ag.attempt.metering import Meter
from esac_ag.canonical import canonical_json
from esac_ag.errors import InputRefused
from esac_ag.manifest.plan import Model, Plan, TokenPrice
from esac_ag.sandbox.contract import Sandbox


@dataclass(frozen=True, slots=True)
class ChatAgent:
    """An `Agent` of kind `chat`."""

    model: Model
    settings: ChatSettings
    endpoint: str
    key: str
    price: TokenPrice | None
    sleep_s: Callable[[float], None] = clock.sleep_s

    @property
    def label(self) -> str:
        """The model as the manifest names it, and the endpoint that answers for it."""
        model = f"{self.model.name} {self.model.version} ({self.model.provider})"
        return f"chat: {model} at {self.endpoint}"

    def secrets(self) -> Sequence[str]:
        """The API key, when there is one."""
        return (self.key,) if self.key else ()

    def equip(self, bundle: ArmBundle | None) -> Equipment:
        """Files in HOME, and the bundle's main text in the system message.

        Raises:
            InputRefused: the bundle has no readable file to begin with.
        """
        base = equipment(bundle)
        if bundle is None:
            return base
        system_message(bundle)
        return Equipment(home=base.home, loaded=(*base.loaded, SYSTEM_MESSAGE_PLACE))

    def attend(self, commission: Commission) -> AbstractContextManager[Attendance]:
        """Nothing is needed on the host."""
        return nullcontext(Attendance(self.equip(commission.bundle), self.act))

    def act(self, sandbox: Sandbox, assignment: Assignment) -> AgentEnd:
        """Converse with the model about the request until an end.

        Raises:
            SandboxLost: the container or the engine went away.
        """
        started_s = clock.monotonic_s()
        recorder = Recorder(assignment, Redactor(self.secrets()))
        recorder.notice(self.label)
        bundle = assignment.bundle
        places = placement(bundle) if bundle else {}
        present = present_files(sandbox, bundle.files, places) if bundle else {}
        meter = Meter(assignment.limits, self.price)
        if not all(present.values()):
            ending = Ending(Outcome.INFRA, "The arm's files did not arrive in the container")
            return self._end(ending, meter, started_s, loaded_by(assignment, places, present, []))
        with self.client(assignment, recorder) as client:
            head = request_head(self.model, self.settings)
            exchange = Exchange(head, client, meter, recorder, assignment.deadline)
            shell = Shell(sandbox, recorder, assignment.deadline, assignment.limits.output_bytes)
            conversation = Conversation(exchange, Toolbox(shell, self.settings), meter, assignment)
            ending = conversation.run(system_message(bundle))
        recorder.notice(ending.reason)
        loaded = loaded_by(assignment, places, present, exchange.requests())
        return self._end(ending, meter, started_s, loaded)

    def client(self, assignment: Assignment, recorder: Recorder) -> ChatClient:
        """The wire of one attempt."""
        return ChatClient(
            self.endpoint,
            self.key,
            Patience(self.settings.attempts, self.settings.max_wait_s, self.settings.request_timeout_s),
            notice=recorder.notice,
            jitter=assignment.seeds.stream("backoff").random,
            cancelled=assignment.cancelled,
            sleep_s=self.sleep_s,
        )

    def _end(self, ending: Ending, meter: Meter, started_s: float, loaded: LoadedInstructions) -> AgentEnd:
        return AgentEnd(
            outcome=ending.outcome,
            # The reason may quote the provider, and a provider may quote the key.
            reason=Redactor(self.secrets()).text(ending.reason),
            limit=ending.limit,
            is_lasting=ending.is_lasting,
            costs=meter.costs(clock.monotonic_s() - started_s),
            loaded=loaded,
        )


def make_chat_agent(manifest: Plan, environ: Mapping[str, str]) -> ChatAgent:
    """The agent that a manifest plans.

    Raises:
        InputRefused: settings or limits that cannot be carried out.
        UsageError: no address of an endpoint.
    """
    settings = ChatSettings.read(manifest.agent.settings)
    prices = manifest.prices.per_million if manifest.prices else {}
    price = prices.get(manifest.model.name)
    if manifest.limits.cost_usd is not None and (
        price is None or manifest.prices is None or manifest.prices.currency != "USD"
    ):
        raise InputRefused(
            "A cost limit needs the model's price in US dollars",
            where="/limits/cost_usd",
            expected=f"/prices in USD with an entry {manifest.model.name!r}",
            remedy="add the price table, or leave the cost limit out",
        )
    try:
        canonical_json(request_head(manifest.model, settings))
    except ValueError as error:
        raise InputRefused(
            "The decoding parameters cannot be sent as they stand",
            where="/model/decoding",
            found=str(error),
            remedy="use a seed between -(2^53-1) and 2^53-1",
        ) from error
    return ChatAgent(
        model=manifest.model,
        settings=settings,
        endpoint=settings.endpoint(environ),
        key=usable_key(environ, settings.api_key_env),
        price=price,
    )


def request_head(model: Model, settings: ChatSettings) -> dict[str, JsonValue]:
    """Everything of a request but its messages: the same in every request of a study."""
    return request_frame(model, settings, schemas(settings))


def loaded_by(
    assignment: Assignment,
    places: Mapping[bytes, str],
    present: Mapping[bytes, bool],
    requests: Iterable[SeenRequest],
) -> LoadedInstructions:
    """What the requests of an attempt held of its arm's bundle and of the others'."""
    arm = assignment.cell.arm
    return loaded_instructions(
        arm,
        assignment.bundle.files if assignment.bundle else None,
        placed=places,
        present=present,
        others={other.arm_id: other.files for other in assignment.bundles if other.arm_id != arm},
        requests=requests,
        known=known_texts(assignment.request, assignment.snapshot),
        agent="chat",
    )
