"""What tests of reach share: listeners of their own, on the host and in a neighbour, and who knocks."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from esac_ag.clock import Deadline, opaque_id, sleep_s
from esac_ag.sandbox.contract import Sandbox
from esac_ag.sandbox.options import LABEL_WORKSPACE
from tests.builders_sandbox import run

START_S = 60
IPV6 = socket.has_dualstack_ipv6()

ASK = """
import hashlib, json, urllib.request
def ask(path, body=None):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(base_url + path, body, 60) as answer:
        return answer.read()
"""


def told(sandbox: Sandbox, script: str, **names: object) -> Any:  # noqa: ANN401  (whatever JSON it prints)
    """What a Python program in the container prints as JSON; `names` are its first variables."""
    head = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    done = run(sandbox, "python3", "-c", head + script)
    assert done.exit_code == 0, done.output.decode()
    return json.loads(done.output)


@contextmanager
def listening_on_the_host() -> Iterator[tuple[int, socket.socket, socket.socket]]:
    """TCP and UDP on every address of this machine, on one port."""
    family = socket.AF_INET6 if IPV6 else socket.AF_INET
    anywhere = "::" if IPV6 else "0.0.0.0"  # noqa: S104  (to be reached if anything can)
    with (
        socket.create_server((anywhere, 0), family=family, dualstack_ipv6=IPV6) as tcp,
        socket.socket(family, socket.SOCK_DGRAM) as udp,
    ):
        with suppress(OSError):
            udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        udp.bind((anywhere, port := tcp.getsockname()[1]))
        for listener in (tcp, udp):
            listener.settimeout(START_S)
        yield port, tcp, udp


LISTEN = """
import socket
both = socket.create_server(("0.0.0.0", 8000))
print("listening", flush=True)
while True:
    with both.accept()[0] as client:
        print("heard", client.recv(100).decode(), flush=True)
"""


class Neighbour:
    """A container on the default bridge that prints what it hears."""

    def __init__(self, client: Any, container: str, name: str) -> None:  # noqa: ANN401  (the SDK's)
        self._client = client
        self._container = container
        self.name = name
        facts = client.inspect_container(container)["NetworkSettings"]["Networks"]["bridge"]
        self.address = str(facts["IPAddress"])
        self.gateway = str(facts["Gateway"])
        """The bridge's own address, which is the host's."""

    def said(self, lines: int) -> list[str]:
        """Its output, once it has so many lines."""
        deadline = Deadline.after_s(START_S)
        while not deadline.has_passed():
            output: list[str] = self._client.logs(self._container).decode().splitlines()
            if len(output) >= lines:
                return output
            sleep_s(0.05)
        raise AssertionError("the neighbour says nothing")


@contextmanager
def a_neighbour(client: Any, image: str, label: str) -> Iterator[Neighbour]:  # noqa: ANN401  (the SDK's)
    """One that listens on port 8000."""
    name = f"esac-ag-neighbour-{opaque_id()}"
    argv, labels = ["python3", "-c", LISTEN], {LABEL_WORKSPACE: label}
    made = client.create_container(image, argv, name=name, labels=labels)["Id"]
    try:
        client.start(made)
        yield Neighbour(client, made, name)
    finally:
        client.remove_container(made, force=True, v=True)


def addresses_of_the_host(bridge: str) -> list[str]:
    """Addresses of this machine: loopback, the default bridge's, and that of its way out if it has one."""
    found = {"127.0.0.1", bridge, *(["::1"] if IPV6 else [])}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("192.0.2.1", 9))
        found.add(str(probe.getsockname()[0]))
    return sorted(found)


KNOCK = """
import json, socket
reached = []
for host, port in targets:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            for family, _, _, _, address in socket.getaddrinfo(host, port, type=kind):
                with socket.socket(family, kind) as knocking:
                    knocking.settimeout(3)
                    knocking.connect(address)
                    knocking.send(b"from the agent")
                    # A datagram to a loopback where nobody listens is sent, and lost.
                    if kind == socket.SOCK_STREAM or address[0] not in ("127.0.0.1", "::1"):
                        reached.append([host, port, str(kind)])
        except OSError:
            pass
print(json.dumps(reached))
"""
