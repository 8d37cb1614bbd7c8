"""Studies of real command-line agents in real containers, before a scripted provider."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from esac_ag.agents.logs import LogFormat
from esac_ag.attempt import AttemptRecord, Cell, Grading
from esac_ag.canonical import sha256_of
from esac_ag.clock import opaque_id
from esac_ag.conduct.audit import AuditReport, audit
from esac_ag.conduct.collect import StudyRecords, read_study
from esac_ag.conduct.context import Stop, StudyContext
from esac_ag.conduct.judging import judge
from esac_ag.conduct.launch import launch
from esac_ag.conduct.opening import open_study
from esac_ag.conduct.reporting import write_report
from esac_ag.conduct.study import run_study
from esac_ag.conduct.work import OpenPlan
from esac_ag.manifest.plan import Limits, Network
from esac_ag.rooms.tasks import load_sealed_task
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Role
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.sandbox.images import ImageReport
from esac_ag.sandbox.options import LABEL_ROLE, LABEL_WORKSPACE
from tests.builders_conduct import Told
from tests.builders_docker import a_docker_study, an_engine_for
from tests.builders_gateway import KEY
from tests.builders_manifest import Study, probed_routes, write
from tests.builders_presets import an_agent_file
from tests.command_model import CommandModel, Scenario
from tests.command_replies import Said

AGENTS = tuple(format_.value for format_ in LogFormat)
MODEL = "m-1"
REQUEST = "The total is wrong. Please fix it."
"""The task's, as its builder writes it."""
ARM = "careful"
_READ = "cat ~/.*/skills/*/SKILL.md ~/.config/*/skills/*/SKILL.md 2>/dev/null"
COMMANDS = (
    f"{_READ}; sed -i \"s/'.*'/'right'/\" shop.py && cp shop.py fixed.txt",
    "python3 -c \"import shop; assert shop.NAME == 'right'; print('1 test passed')\"",
)
"""The model reads what skills there are, edits, and then tests; the grader looks for `fixed.txt`."""
TURNS = 5
SILENCE_S = 2
PRICES = {"input": 3.0, "cached_input": 0.3, "output": 15.0}
CACHE_WRITE_PRICE = 3.75
"""For the one provider that tells how much it wrote to a cache."""
OWN_WORDS = "as-this-person-likes-it-4711"
"""In every file that agents of the person at this machine would read."""
OWN_FILES = (
    ".claude.json",
    ".claude/CLAUDE.md",
    ".claude/settings.json",
    ".claude/skills/own/SKILL.md",
    ".codex/AGENTS.md",
    ".codex/config.toml",
    ".codex/skills/own/SKILL.md",
    ".agents/skills/own/SKILL.md",
    ".config/opencode/AGENTS.md",
    ".config/opencode/opencode.json",
    ".config/opencode/skills/own/SKILL.md",
    ".config/mini-swe-agent/.env",
)
SEARCHING_PROGRAM = Path(__file__).with_name("searching_program.py")


def a_persons_home(folder: Path) -> dict[str, str]:
    """The home of somebody who configured all four agents; variables that lead there, and to their words."""
    for name in OWN_FILES:
        write(folder / name, f"{OWN_WORDS}\n")
    return {
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
        "CODEX_HOME": str(folder / ".codex"),
        "OPENCODE_CONFIG_CONTENT": OWN_WORDS,
        "MSWEA_MODEL_NAME": OWN_WORDS,
        "ANTHROPIC_MODEL": OWN_WORDS,
    }


def a_command_study(
    folder: Path,
    images: ImageReport,
    name: str,
    *,
    wall_clock_s: float = 120,
    silence_s: float = 60,
) -> Study:
    """A sealed study of four tasks and two arms by a real agent, whose image is among those given."""
    file = an_agent_file(name)
    writes = {"cache_write": CACHE_WRITE_PRICE} if name == LogFormat.CLAUDE_CODE else {}
    limits: dict[str, Any] = {"wall_clock_s": wall_clock_s, "turns": TURNS, "tool_calls": None}
    study = a_docker_study(
        folder,
        agent={
            "kind": "command",
            "version": file.version,
            "settings": {"agent": name, "silence_s": silence_s},
        },
        model={"name": MODEL, "version": "1", "provider": "scripted"},
        network="model-gateway",
        limits=limits,
        repetitions=1,
        prices={
            "source": "a list",
            "currency": "USD",
            "date": "2026-01-01",
            "version": "1",
            "per_million": {MODEL: PRICES | writes},
        },
    )
    image = next(image for image in images.images if image.command_agent == f"{name} {file.version}")
    study.data["images"]["agent"] = {"reference": image.reference, "digest": image.digest}
    record = study.folder / "study.probe.json"
    routes = probed_routes(Network.MODEL_GATEWAY)
    probe = json.loads(record.read_text()) | {
        "images": {kind: found["digest"] for kind, found in study.data["images"].items()},
        "limits_sha256": sha256_of(Limits.model_validate(limits)),
        "network": "model-gateway",
        "model_way": "socket",
        "routes": routes,
        "result_sha256": sha256_of(routes),
    }
    record.write_text(json.dumps(probe))
    study.data["isolation"]["probe"]["sha256"] = sha256_of(probe)
    study.save()
    return study


def opened_before(study: Study, base_url: str, engine: DockerEngine) -> OpenPlan:
    """The study with the provider at an address, and the key in the host's environment."""
    workspace = Workspace(study.folder.parent)
    environ = {"ESAC_AG_BASE_URL": base_url, "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    return open_study(
        study.path,
        workspace=workspace,
        engine=engine,
        results=workspace.results,
        environ=environ,
        stop=Stop(),
    )


@dataclass(frozen=True, slots=True)
class Played:
    """One attempt in one scenario."""

    record: AttemptRecord
    grading: Grading | None
    """Of an attempt that is graded."""
    root: Path
    """Of its workspace."""
    folder: Path
    """The attempt's."""
    asked: int
    """Requests that reached the provider with the key."""
    strangers: int
    """Requests that reached it without."""


def play(
    root: Path,
    images: ImageReport,
    engine: DockerEngine,
    name: str,
    server: CommandModel,
    *,
    deadline_s: float,
) -> Played:
    """One launch of an agent before a provider that plays a scenario, and its grading if it counts."""
    study = a_command_study(root, images, name, wall_clock_s=deadline_s, silence_s=SILENCE_S)
    context = opened_before(study, server.base_url, engine).site
    assert isinstance(context, StudyContext)
    reference = context.manifest.tasks[0]
    task = load_sealed_task(context.manifest_folder, reference)
    attempt_id = opaque_id()
    made = launch(context, task, Cell(task=reference.id, arm=ARM, repetition=1), attempt_id, 1)
    grading = None
    if made.record.submission is not None:
        grading, _ = judge(context, reference, task, attempt_id)
    strangers = len(server.strangers)
    folder = context.folder.attempt(attempt_id).path
    return Played(made.record, grading, root, folder, len(server.requests) - strangers, strangers)


@dataclass(frozen=True, slots=True)
class Search:
    """What a search of a running container found."""

    searched: tuple[str, ...]
    """Processes, as their arguments name them."""
    places: dict[bytes, tuple[str, ...]]
    """Where each needle was."""
    inspected: str
    """What the engine tells of the container."""


def searched_in(
    engine: DockerEngine, label: str, needles: Sequence[bytes], role: Role = Role.AGENT
) -> Search:
    """Search the one running container of a role, from one beside it that may trace its processes."""
    client: Any = engine._client
    filters = {"label": [f"{LABEL_WORKSPACE}={label}", f"{LABEL_ROLE}={role}"]}
    (subject,) = client.containers(filters=filters)
    made = client.create_container(
        subject["Image"],
        ["python3", "-I", "-c", SEARCHING_PROGRAM.read_text()],
        user="0:0",
        environment={"NEEDLES": ",".join(needle.hex() for needle in needles)},
        labels={LABEL_WORKSPACE: label},
        network_disabled=True,
        host_config=client.create_host_config(
            pid_mode=f"container:{subject['Id']}", cap_add=["SYS_PTRACE"], network_mode="none"
        ),
    )["Id"]
    try:
        client.start(made)
        status = client.wait(made)["StatusCode"]
        output = client.logs(made, stdout=True, stderr=status != 0)
    finally:
        client.remove_container(made, force=True, v=True)
    assert status == 0, output.decode(errors="replace")
    told = json.loads(output)
    return Search(
        searched=tuple(told["searched"]),
        places={bytes.fromhex(needle): tuple(at) for needle, at in told["places"].items()},
        inspected=json.dumps(client.inspect_container(subject["Id"])),
    )


@dataclass(frozen=True, slots=True)
class Worked:
    """The first cells of a study in which the model worked: a task with and without the arm."""

    root: Path
    records: StudyRecords
    said: tuple[Said, ...]
    strangers: int
    search: Search
    """Of the first attempt's container, while its agent waited for its model."""
    audit: AuditReport
    left: tuple[str, ...]
    """Containers and volumes that were left behind."""

    def attempt(self, arm: str) -> AttemptRecord:
        """The attempt of an arm."""
        (found,) = (a for a in self.records.attempts.values() if a.cell.arm == arm)
        return found

    def folder(self, arm: str) -> Path:
        """Its folder."""
        return self.records.folder.attempt(self.attempt(arm).attempt_id).path

    def transcript(self, arm: str) -> list[dict[str, Any]]:
        """Its lines."""
        text = (self.folder(arm) / "transcript.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]


def work(root: Path, images: ImageReport, name: str) -> Worked:
    """Run, grade and report the two cells of a task, and look for the key on the way.

    The agent waits for its model meanwhile, which takes long on a busy machine.
    """
    study = a_command_study(root, images, name, wall_clock_s=900, silence_s=600)
    engine = an_engine_for(root)
    label = Workspace(root).label
    search: Future[Search] = Future()
    needles = tuple(words.encode() for words in (KEY, REQUEST, OWN_WORDS))

    def look() -> None:
        try:
            search.set_result(searched_in(engine, label, needles))
        except Exception as error:
            search.set_exception(error)
            raise

    with CommandModel(Scenario.WORKS, KEY, COMMANDS, meanwhile=look) as server:
        run_study(opened_before(study, server.base_url, engine), concurrency=1, watcher=Told(), limit=2)
    left = tuple(engine.leftovers(label))
    engine.close()
    path = root / "results" / "study-1"
    write_report(path)
    said, strangers = tuple(server.said), len(server.strangers)
    return Worked(root, read_study(path), said, strangers, search.result(0), audit(path), left)


def contents_below(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file by its name, with what lies packed and compressed in it."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield from _unpacked(path.name, path.read_bytes())


def _unpacked(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    yield name, data
    if name.endswith(".zst"):
        whole = zstandard.ZstdDecompressor().decompressobj().decompress(data)
        yield from _unpacked(name.removesuffix(".zst"), whole)
    elif name.endswith(".tar"):
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                file = archive.extractfile(member)
                if file is not None:
                    yield from _unpacked(member.name, file.read())
