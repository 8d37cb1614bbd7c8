"""Whether an agent's container can be given the way to its model: a socket of this machine, mounted."""

from __future__ import annotations

import socket

from esac_ag.clock import Deadline
from esac_ag.errors import HarnessError, InfrastructureFailure
from esac_ag.owner import temporary_folder
from esac_ag.sandbox.contract import Engine, Role, SandboxSpec
from esac_ag.sandbox.doctor.findings import Check, ok, warning
from esac_ag.sandbox.model_path import NETWORK_REMEDY, model_path, relayed

_NAME = "model socket"
_LIMIT_S = 60.0


def prove_model_socket(engine: Engine, image: str) -> Check:
    """A check with a socket that is listened on, and a container made exactly as an agent's is.

    Args:
        engine: makes the container.
        image: the agent image.
    """
    try:
        with temporary_folder("doctor") as folder, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(folder / "s"))
            listener.listen()
            with model_path(folder / "s") as path:
                spec = SandboxSpec(
                    image=image,
                    role=Role.PROBE,
                    study="doctor",
                    attempt="model-socket",
                    argv=("sleep", "infinity"),
                    uid=10001,
                    gid=10001,
                    model_socket=path.socket_folder,
                    cpus=1.0,
                    memory_mib=128,
                    pids=24,
                )
                with engine.create(spec) as sandbox:
                    sandbox.start()
                    with relayed(sandbox, path, Deadline.after_s(_LIMIT_S)):
                        return ok(_NAME, "can be mounted into a container, and reached from it")
    except InfrastructureFailure as error:
        return warning(_NAME, error.found or error.what, f"{NETWORK_REMEDY}, for agents that need a model")
    except (HarnessError, OSError) as error:
        return warning(_NAME, f"could not be tried: {error}", NETWORK_REMEDY)
