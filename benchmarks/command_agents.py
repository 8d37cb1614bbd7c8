"""What the harness adds to a command-line agent: whole launches against the same command in bare Docker.

A scripted provider on loopback, in a process of its own, plays a model that edits a file, runs a test and is
done at once: of a real run only the model's own time is missing, so the ratio is the worst that can be. Ours
is one attempt's launch: gateway, lane, container without network, relay, the agent, its log as a transcript,
the record of its requests, freeze, export, patch, archive. Bare: the SDK alone, with a container of the same
image, limits and files on the host's network; it creates, starts, puts the files in, executes the same
command, and removes. One process alternates both, so that a noisy machine meets both alike.

usage: python -m benchmarks.command_agents [--pairs 9] [--agent NAME] [--json]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import docker

from benchmarks.overhead import timed
from esac_ag import clock
from esac_ag.agents.command import CommandAgent
from esac_ag.agents.contract import AGENT_ROOT, AGENT_UID
from esac_ag.agents.presets.choosing import preset_of
from esac_ag.archive import pack
from esac_ag.attempt import Cell, Outcome
from esac_ag.conduct.context import StudyContext
from esac_ag.conduct.launch import agent_spec, launch
from esac_ag.rooms.commits import fresh_repository
from esac_ag.rooms.tasks import LoadedTask, load_sealed_task
from esac_ag.sandbox.contract import Role
from esac_ag.sandbox.docker import DockerEngine, ImageStore
from esac_ag.sandbox.images import ImageReport, build_images
from esac_ag.sandbox.options import container_request
from esac_ag.tree import Directory, FileTree
from tests.builders_command_agents import COMMANDS, a_command_study, opened_before
from tests.builders_docker import REPOSITORY, an_engine_for
from tests.builders_gateway import KEY
from tests.command_model import CommandModel, Scenario

MOST_RATIO = 1.3
AGENTS = ("claude-code", "codex")
SPAWN = multiprocessing.get_context("spawn")


def provide(pipe: Connection) -> None:
    """The provider's process."""
    with CommandModel(Scenario.WORKS, KEY, COMMANDS) as server:
        pipe.send(server.base_url)
        pipe.recv()


@contextmanager
def a_provider() -> Iterator[str]:
    """The address of a provider, as long as the block lasts."""
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=provide, args=(there,))
    process.start()
    there.close()  # so that its end is seen here
    base_url = here.recv()
    try:
        yield base_url
    finally:
        here.send(None)
        process.join()


class Ours:
    """Launches of one agent by the harness."""

    def __init__(self, folder: Path, images: ImageReport, name: str, base_url: str) -> None:
        self.engine = an_engine_for(folder)
        site = opened_before(a_command_study(folder, images, name), base_url, self.engine).site
        assert isinstance(site, StudyContext)
        self.context = site
        self.reference = site.manifest.tasks[0]
        self._repetition = 0

    def task(self) -> LoadedTask:
        """The task, verified and read as for every attempt."""
        return load_sealed_task(self.context.manifest_folder, self.reference)

    def run(self) -> None:
        """One attempt's launch."""
        self._repetition += 1
        cell = Cell(task=self.reference.id, arm="neutral", repetition=self._repetition)
        made = launch(self.context, self.task(), cell, clock.opaque_id(), 1)
        if made.record.outcome is not Outcome.COMPLETED:
            raise RuntimeError(f"the agent did not work: {made.record.reason}")

    def close(self) -> None:
        """Remove what is left."""
        self.engine.clean(self.context.workspace.label)
        self.engine.close()


class Bare:
    """The same command with the SDK's low-level client and nothing else."""

    def __init__(self, ours: Ours, base_url: str) -> None:
        # Some of the SDK's methods have no types.
        self._client: Any = docker.APIClient(version="auto", timeout=300)
        context = ours.context
        agent = context.agent
        assert isinstance(agent, CommandAgent)
        task = ours.task()
        order = agent.order(task.request, None, base_url=base_url.removesuffix("/v1"), token=KEY)
        self._prepared = preset_of(agent.file).prepare(order)
        spec = agent_spec(
            image=context.agent_image,
            limits=context.manifest.limits,
            study="bare",
            attempt="bare",
            role=Role.AGENT,
            environment=(),
        )
        made: Any = container_request(spec, context.workspace.label, "bare-agent", None)
        made["HostConfig"]["NetworkMode"] = "host"
        self._request = {**made, "NetworkDisabled": False, "Hostname": ""}
        files = FileTree({b"home": Directory(), b"workspace/.git/refs/tags": Directory()})
        for part in (
            task.snapshot.under(b"workspace"),
            fresh_repository(task.snapshot).under(b"workspace/.git"),
            self._prepared.home.under(b"home"),
        ):
            files = files.merged(part)
        self._archive = pack(files, uid=AGENT_UID, gid=AGENT_UID, root_mode=0o755)

    def run(self) -> None:
        """One container's life."""
        client = self._client
        container = client.create_container_from_config(self._request)["Id"]
        try:
            client.start(container)
            client.put_archive(container, AGENT_ROOT, self._archive)
            made = client.exec_create(
                container,
                list(self._prepared.argv),
                workdir=f"{AGENT_ROOT}/workspace",
                environment=dict(self._prepared.environment),
            )["Id"]
            output = client.exec_start(made)
            if client.exec_inspect(made)["ExitCode"] != 0:
                raise RuntimeError(f"the agent did not work: {output.decode(errors='replace')[-1000:]}")
        finally:
            client.remove_container(container, v=True, force=True)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def measured(images: ImageReport, name: str, pairs: int) -> dict[str, float]:
    """Median seconds of both, and the median of their ratios."""
    ours_s, bare_s = [], []
    with tempfile.TemporaryDirectory(prefix="esac-ag-bench-") as folder, a_provider() as base_url:
        ours = Ours(Path(folder), images, name, base_url)
        bare = Bare(ours, base_url)
        try:
            ours.run()
            bare.run()
            for number in range(pairs):
                if number % 2:
                    bare_s.append(timed(bare.run))
                    ours_s.append(timed(ours.run))
                else:
                    ours_s.append(timed(ours.run))
                    bare_s.append(timed(bare.run))
        finally:
            bare.close()
            ours.close()
    return {
        "ours_s": statistics.median(ours_s),
        "bare_s": statistics.median(bare_s),
        "ratio": statistics.median(mine / theirs for mine, theirs in zip(ours_s, bare_s, strict=True)),
    }


def built(names: tuple[str, ...]) -> ImageReport:
    """The agents' images, built if they are missing."""
    engine, store = DockerEngine("benchmarks"), ImageStore()
    try:
        return build_images(
            store,
            engine,
            REPOSITORY / "runner",
            agents=names,
            progress=lambda line: print(line, file=sys.stderr),
        )
    finally:
        store.close()
        engine.close()


def main() -> int:
    """Measure and compare with the bound; 1 when it is passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--agent", action="append", choices=AGENTS, help="one of them only")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    names = tuple(options.agent or AGENTS)
    images = built(names)
    found = {name: measured(images, name, options.pairs) for name in names}
    if options.json:
        print(json.dumps(found))
    else:
        for name, figures in found.items():
            print(
                f"{name}: ours {figures['ours_s']:.2f} s, bare {figures['bare_s']:.2f} s, "
                f"median ratio {figures['ratio']:.2f} over {options.pairs} pairs"
            )
    kept = all(figures["ratio"] <= MOST_RATIO for figures in found.values())
    print(f"bound: ratio {MOST_RATIO}: {'kept' if kept else 'EXCEEDED'}", file=sys.stderr)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
