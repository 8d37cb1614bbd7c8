"""The requests of an attempt as they went over the wire, for the proof of the treatment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from esac_ag.agents.loaded import SeenRequest
from esac_ag.gateway.bodies import read_body
from esac_ag.gateway.calls import CallRecord
from esac_ag.manifest.agent_file import strings_in


def seen_requests(folder: Path, calls: Sequence[CallRecord]) -> Iterator[SeenRequest]:
    """The forwarded calls in the order of their numbers, each with all text that its body held."""
    for call in sorted(calls, key=lambda call: call.number):
        if call.request_file is not None and call.request_sha256 is not None:
            body = json.loads(read_body(folder / call.request_file))
            yield SeenRequest(call.number, call.request_sha256, "\n".join(strings_in(body)))
