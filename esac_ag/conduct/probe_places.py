"""Where the isolation probe's canary lies: on the host, in a grader's container, and in a neighbour's run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from pydantic import TypeAdapter, ValidationError

from esac_ag.agents.contract import AGENT_HOME, AGENT_ROOT, AGENT_UID
from esac_ag.clock import Deadline
from esac_ag.conduct.launch import agent_spec
from esac_ag.errors import SandboxLost
from esac_ag.grading.container import GRADER_GID, GRADER_UID, PRIVATE_FOLDER, grader_spec
from esac_ag.manifest.plan import Limits, ModelWayKind
from esac_ag.owner import temporary_folder
from esac_ag.record import Record
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Dialogue, Engine, Role, Sandbox, SandboxSpec
from esac_ag.tree import FileTree, RegularFile

NEIGHBOUR = "probe-neighbour"
"""The attempt that the neighbour's container is labelled with."""
NEIGHBOUR_PROGRAM = ("python3", "-I", "-S", "-B", f"{AGENT_HOME}/probe_neighbour.py")
ABSTRACT = "esac-ag-probe-neighbour"
"""Name of the neighbour's socket that has no file."""
PLAIN_FILE = "notes.txt"
SHORT_ID = 12
START_S = 60.0
_ANSWER_BYTES = 100_000


@contextmanager
def on_the_host(canary: str, workspace: Workspace) -> Iterator[tuple[str, ...]]:
    """The canary in files of the host, and in a process's environment and arguments; the files' paths."""
    workspace.state.mkdir(exist_ok=True)
    with temporary_folder("probe") as elsewhere, temporary_folder("probe", inside=workspace.state) as beside:
        for folder in (elsewhere, beside):
            for name in (f"{canary}.txt", PLAIN_FILE):
                path = folder / name
                path.write_text(canary)
                path.chmod(0o644)
            folder.chmod(0o755)
        # It lives as long as its input is open: a killed harness leaves no process behind.
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", "import sys; sys.stdin.read()", canary],
            env={**os.environ, "ESAC_AG_CANARY": canary},
            stdin=subprocess.PIPE,
        )
        try:
            yield tuple(str(folder.resolve() / PLAIN_FILE) for folder in (elsewhere, beside))
        finally:
            process.communicate()


@contextmanager
def in_a_grader(engine: Engine, canary: str, study_id: str, image: str, limits: Limits) -> Iterator[None]:
    """A grader's container that holds the canary where hidden checks lie, while the probe looks."""
    spec = grader_spec(
        image=image, limits=limits.grader, study=study_id, attempt="probe", role=Role.PROBE
    ).model_copy(update={"argv": ("sleep", "infinity")})
    private = FileTree(
        {
            b"checks.py": RegularFile(f"# {canary}\n".encode()),
            f"{canary}.txt".encode(): RegularFile(canary.encode()),
        }
    )
    with engine.create(spec) as sandbox:
        sandbox.put(private, PRIVATE_FOLDER, uid=GRADER_UID, gid=GRADER_GID, mode=0o700)
        sandbox.start()
        yield


class Count(Record):
    """What the neighbour says of its visitors."""

    own: bool
    """Whether it heard itself."""
    arrivals: tuple[str, ...]


class Neighbour:
    """Another run's container that serves the canary.

    Args:
        sandbox: of the run.
        dialogue: with the program in it.
    """

    def __init__(self, sandbox: Sandbox, dialogue: Dialogue) -> None:
        self._where = sandbox.container_id
        self.names = (sandbox.container_id[:SHORT_ID],)
        """What an engine's resolver calls it on a network that it is on."""
        self._dialogue = dialogue
        word, _, rest = self._line().partition(" ")
        port, _, addresses = rest.partition(" ")
        if word != "ready" or not port.isdecimal():
            raise self._lost(f"{word} {rest}")
        self.port = int(port)
        self.addresses = tuple(address for address in addresses.strip().split(",") if address)
        """Beside loopback; none without a network."""

    def heard(self) -> tuple[str, ...]:
        """What everybody said who came, but for the neighbour's own knock.

        Raises:
            SandboxLost: it does not answer, or does not hear even itself.
        """
        self._dialogue.send(b"tell\n", Deadline.after_s(START_S))
        line = self._line()
        try:
            count = TypeAdapter(Count).validate_json(line)
        except ValidationError as error:
            raise self._lost(line) from error
        if not count.own:
            raise self._lost("a listener that does not hear its own container")
        return count.arrivals

    def _line(self) -> str:
        line = self._dialogue.line(Deadline.after_s(START_S), limit_bytes=_ANSWER_BYTES)
        if line is None:
            raise self._lost(self._dialogue.errors().decode(errors="replace")[-500:])
        return line.decode(errors="replace")

    def _lost(self, found: str) -> SandboxLost:
        return SandboxLost(
            "the isolation probe's neighbour does not answer",
            where=self._where,
            expected="its port, and who came",
            found=found,
            remedy="run `esac-ag doctor`; give the agent's container more time or memory",
        )


@contextmanager
def in_a_neighbour(
    engine: Engine,
    canary: str,
    study_id: str,
    image: str,
    limits: Limits,
    workspace: Workspace,
    way: ModelWayKind | None,
) -> Iterator[Neighbour]:
    """Another run's container: the canary in its volume, scratch, environment, arguments and listeners.

    Where runs have networks it has one of its own, without a relay.
    """
    spec = agent_spec(
        image=image,
        limits=limits,
        study=study_id,
        attempt=NEIGHBOUR,
        role=Role.PROBE,
        environment=(("NOTE", canary),),
    )
    program = (workspace.runner / "guest" / "probe_neighbour.py").read_bytes()
    text = RegularFile(canary.encode())
    contents = FileTree(
        {
            b"home/probe_neighbour.py": RegularFile(program),
            b"home/.notes": text,
            b"workspace/notes.txt": text,
            f"workspace/{canary}.txt".encode(): text,
        }
    )
    with ExitStack() as stack:
        if way is ModelWayKind.NETWORK:
            network = stack.enter_context(engine.network(study=study_id, attempt=NEIGHBOUR))
            spec = SandboxSpec.model_validate({**dict(spec), "peer_network": network})
        sandbox = stack.enter_context(engine.create(spec))
        sandbox.start()
        sandbox.put(contents, AGENT_ROOT, uid=AGENT_UID, gid=AGENT_UID, mode=0o755)
        argv = (*NEIGHBOUR_PROGRAM, canary, ABSTRACT)
        yield Neighbour(sandbox, stack.enter_context(sandbox.open(argv)))
