"""The in-memory sandbox: the shipped fake of the Docker engine, held to the same contract suite.

A run takes well below a millisecond. Programs are Python functions, found by the longest match of the
argument list's beginning; what containers leave behind lives as long as the engine object.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from esac_ag.canonical import sha256_of_bytes
from esac_ag.errors import HarnessError, ImageMissing
from esac_ag.sandbox.contract import Role, Sandbox, SandboxSpec
from esac_ag.sandbox.memory_process import Program
from esac_ag.sandbox.memory_programs import BUILTINS
from esac_ag.sandbox.memory_sandbox import InMemorySandbox
from esac_ag.sandbox.model_socket import require_only_a_socket
from esac_ag.sandbox.peer_network import PeerNetworks, network_name

OPERATIONS = (
    "create",
    "put",
    "start",
    "execute",
    "wait",
    "freeze",
    "get",
    "remove",
    "image_digest",
    "network",
)
"""What `fail_next` can be told to fail; `execute` is `open`, too."""


class InMemoryEngine:
    """An engine without containers; safe to use from several threads.

    Args:
        programs: functions by the beginning of an argument list, either as words joined by a space
            (`python3 /judge.py`) or as a tuple; the longest match wins, built-in programs come last.
        images: content digests by reference; None lets every reference exist.
        workspace: label of what is made.
    """

    def __init__(
        self,
        programs: Mapping[str, Program] | Mapping[tuple[str, ...], Program] | None = None,
        *,
        images: Mapping[str, str] | None = None,
        workspace: str = "memory",
    ) -> None:
        given = {(tuple(k.split(" ")) if isinstance(k, str) else k): p for k, p in (programs or {}).items()}
        self._programs = {tuple(key.split(" ")): program for key, program in BUILTINS.items()} | given
        self._longest = max(map(len, self._programs))
        self._images = images
        self._workspace = workspace
        self._lock = threading.Lock()
        self._faults: dict[str, deque[HarnessError]] = defaultdict(deque)
        self._sandboxes: dict[str, InMemorySandbox] = {}
        self._made = 0
        self._networks: dict[str, tuple[str, str]] = {}
        """Studies and attempts by name."""
        self._peers = PeerNetworks()
        self.specs: list[SandboxSpec] = []
        """The specs of all sandboxes that were made, in order."""

    @contextmanager
    def create(self, spec: SandboxSpec) -> Iterator[Sandbox]:
        """A created, not yet started sandbox; leaving the block removes it."""
        if spec.model_socket is not None:
            require_only_a_socket(spec.model_socket)
        with self._peers.joined(spec), self._made_from(spec) as sandbox:
            yield sandbox

    @contextmanager
    def _made_from(self, spec: SandboxSpec) -> Iterator[Sandbox]:
        self.digest_of(spec.image)
        self.check_fault("create")
        with self._lock:
            self._made += 1
            sandbox = InMemorySandbox(self, spec, f"{self._made:064x}")
            self._sandboxes[sandbox.container_id] = sandbox
            self.specs.append(spec)
        try:
            yield sandbox
        except BaseException:
            with suppress(HarnessError):
                sandbox.remove()
            raise
        sandbox.remove()

    @contextmanager
    def network(self, *, study: str, attempt: str) -> Iterator[str]:
        """A name that two sandboxes can join; programs that listen do so on this machine's loopback."""
        self.check_fault("network")
        name = network_name()
        with self._lock:
            self._networks[name] = (study, attempt)
        try:
            with self._peers.opened(name):
                yield name
        finally:
            self._forget_network(name)

    def _forget_network(self, name: str) -> None:
        with self._lock:
            self._networks.pop(name, None)

    def image_digest(self, reference: str) -> str:
        """`sha256:` content digest of an image."""
        self.check_fault("image_digest")
        return self.digest_of(reference)

    def image_id(self, reference: str) -> str:
        """An immutable name of an image: here, its reference."""
        self.digest_of(reference)
        return reference

    def describe(self) -> str:
        """What kind of engine this is."""
        return "in-memory fake"

    def studies(self, workspace: str) -> tuple[str, ...]:
        """Studies of a workspace that still have containers or networks, in order."""
        with_containers = {sandbox.spec.study for sandbox in self._left(workspace, None)}
        with_networks = {self._networks[name][0] for name in self._left_networks(workspace, None).values()}
        return tuple(sorted(with_containers | with_networks))

    def leftovers(self, workspace: str, study: str | None = None) -> Iterator[str]:
        """Descriptions of containers and networks that this workspace made and that still exist."""
        yield from (_described(sandbox) for sandbox in self._left(workspace, study))
        yield from self._left_networks(workspace, study)

    def _left(self, workspace: str, study: str | None) -> list[InMemorySandbox]:
        with self._lock:
            left = list(self._sandboxes.values()) if workspace == self._workspace else []
        return [sandbox for sandbox in left if study in {None, sandbox.spec.study}]

    def _left_networks(self, workspace: str, study: str | None) -> dict[str, str]:
        """Names of networks by their descriptions."""
        with self._lock:
            left = dict(self._networks) if workspace == self._workspace else {}
        return {
            f"network {name[-12:]} (role {Role.RELAY}, study {of}, attempt {attempt})": name
            for name, (of, attempt) in left.items()
            if study in {None, of}
        }

    def clean(self, workspace: str, study: str | None = None) -> tuple[str, ...]:
        """Remove what `leftovers` tells, and tell what was removed."""
        left, networks = self._left(workspace, study), self._left_networks(workspace, study)
        for sandbox in left:
            sandbox.remove()
        for name in networks.values():
            self._forget_network(name)
        return (*(_described(sandbox) for sandbox in left), *networks)

    def fail_next(self, operation: str, error: HarnessError, times: int = 1) -> None:
        """Let the next calls of an operation (one of `OPERATIONS`) raise an error instead of acting."""
        if operation not in OPERATIONS:
            raise ValueError(f"{operation!r} is none of {', '.join(OPERATIONS)}")
        with self._lock:
            self._faults[operation].extend([error] * times)

    def kill(self, container_id: str) -> None:
        """End a container from outside, as somebody else with access to the engine could."""
        with self._lock:
            sandbox = self._sandboxes[container_id]
        sandbox.kill_from_outside()

    def check_fault(self, operation: str) -> None:
        """Raise what `fail_next` asked for."""
        with self._lock:
            error = self._faults[operation].popleft() if self._faults[operation] else None
        if error is not None:
            raise error

    def digest_of(self, reference: str) -> str:
        """The digest of an image, without injected faults."""
        if self._images is None:
            return "sha256:" + sha256_of_bytes(reference.encode())
        if reference not in self._images:
            raise ImageMissing("An image is missing.", where=reference, remedy="esac-ag images build")
        return self._images[reference]

    def program(self, argv: Sequence[str]) -> Program | None:
        """The program for an argument list, None when there is none."""
        for length in range(min(self._longest, len(argv)), 0, -1):
            program = self._programs.get(tuple(argv[:length]))
            if program is not None:
                return program
        return None

    def forget(self, container_id: str) -> None:
        """A container is gone."""
        with self._lock:
            self._sandboxes.pop(container_id, None)


def _described(sandbox: InMemorySandbox) -> str:
    spec = sandbox.spec
    owner = f"role {spec.role}, study {spec.study}, attempt {spec.attempt}"
    return f"container {sandbox.container_id[-12:]} ({owner})"
