"""The chat agent in a real container, with a scripted model on the host."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from esac_ag.agents.chat import make_chat_agent
from esac_ag.agents.contract import AGENT_WORKSPACE, AgentEnd
from esac_ag.attempt import LimitKind, Outcome
from esac_ag.clock import Deadline
from esac_ag.sandbox.contract import TreeLimits
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.transcript import EntryKind
from esac_ag.tree import FileTree
from tests.builders_agents import (
    OBEDIENT,
    Written,
    a_bundle,
    a_manifest,
    an_agent_spec,
    an_assignment,
    set_up,
)
from tests.model_server import ModelServer, Scripted, calls, submits

pytestmark = pytest.mark.docker

KEY = "sk-host-only-4711"
SNAPSHOT = FileTree.of_text(
    {
        "calc.py": "def add(a, b):\n    return a - b\n",
        "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    }
)
BUNDLE = a_bundle(SKILL__md="---\nname: the-skill\n---\nBe careful.\n", more__md="More about care.\n")


def conversed(
    engine: DockerEngine, image: str, script: Sequence[Scripted], *, deadline: Deadline | None = None
) -> tuple[AgentEnd, Written, ModelServer, dict[str, str]]:
    """Let a model converse by a script about the snapshot, under an arm with a skill."""
    assignment, written = an_assignment(arm="some-arm", bundle=BUNDLE, deadline=deadline)
    with ModelServer(script) as server, engine.create(an_agent_spec(image, argv=OBEDIENT)) as sandbox:
        environ = {"ESAC_AG_BASE_URL": server.base_url, "OPENAI_API_KEY": KEY}
        agent = make_chat_agent(a_manifest(), environ)
        set_up(sandbox, SNAPSHOT, agent.equip(BUNDLE).home)
        end = agent.act(sandbox, assignment)
        tree = sandbox.get(AGENT_WORKSPACE, TreeLimits()).tree
    left = {path.decode(): node.data.decode("utf-8", "replace") for path, node in tree.files().items()}
    return end, written, server, left


def told(written: Written) -> list[str]:
    """What the model was told after each of its calls."""
    return [entry.text for entry in written.of_kind(EntryKind.TOOL_RESULT)]


def test_a_whole_run_edits_tests_and_submits(docker_engine: DockerEngine, agent_image: str) -> None:
    """The model reads the code, sees the test fail, repairs it, sees it pass, and submits."""
    tests = ("bash", {"command": "python3 -B -m pytest -q -p no:cacheprovider"})
    fixed = "def add(a, b):\n    return a + b\n"
    end, written, _, left = conversed(
        docker_engine,
        agent_image,
        [
            calls(("read_file", {"path": "calc.py"}), tests),
            calls(("write_file", {"path": "calc.py", "content": fixed}), tests),
            submits("add adds"),
        ],
    )
    assert (end.outcome, end.reason) == (Outcome.COMPLETED, "The model submitted its work")
    texts = told(written)
    assert texts[0] == "def add(a, b):\n    return a - b"
    assert "1 failed" in texts[1]
    assert texts[1].endswith("[exit code 1]")
    assert "1 passed" in texts[3]
    assert texts[3].endswith("[exit code 0]")
    assert left["calc.py"] == fixed
    assert end.costs.tool_calls == 5
    assert end.costs.usage.input_tokens == 300


def test_the_arms_files_are_proved_present_and_readable(
    docker_engine: DockerEngine, agent_image: str
) -> None:
    """Both files lay in HOME byte for byte when the agent began, and the second was read when asked for."""
    end, _, _, _ = conversed(
        docker_engine,
        agent_image,
        [calls(("read_file", {"path": "/agent/home/skills/some-arm/more.md"})), submits()],
    )
    assert end.loaded is not None
    by_path = {file.path: file for file in end.loaded.files}
    assert [file.present_at_start for file in end.loaded.files] == [True, True]
    skill, more = by_path["SKILL.md"].in_full_in, by_path["more.md"].in_full_in
    assert skill is not None
    assert more is not None
    assert (skill.request, more.request) == (1, 2)


def test_the_key_is_nowhere_in_the_container(docker_engine: DockerEngine, agent_image: str) -> None:
    """Neither environment, processes nor files hold it, and the model is told so by its own search."""
    search = "env; cat /proc/*/environ /proc/*/cmdline; grep -r sk-host /agent /tmp; true"
    _, written, server, _ = conversed(
        docker_engine, agent_image, [calls(("bash", {"command": search})), submits()]
    )
    # The search's own words are part of a command line; the key's last part is not among them.
    sent = b"".join(request.body for request in server.requests).decode()
    assert "HOME=/agent/home" in told(written)[0]
    assert "only-4711" not in sent
    assert "only-4711" not in written.everything()


def test_a_command_that_is_out_of_time_ends_alone(docker_engine: DockerEngine, agent_image: str) -> None:
    """Its whole group is ended, ignored signals or not, and the next command runs."""
    slow = "trap '' TERM; sleep 300 & echo begun; wait; sleep 300"
    end, written, _, _ = conversed(
        docker_engine,
        agent_image,
        [
            calls(("bash", {"command": slow, "timeout_s": 1})),
            calls(("bash", {"command": "echo next"})),
            submits(),
        ],
    )
    assert end.outcome is Outcome.COMPLETED
    texts = told(written)
    assert texts[0].startswith("begun\n[the time limit was reached")
    assert "next" in texts[1]
    assert [line["timed_out"] for line in written.commands] == [True, False]


def test_a_process_in_the_background_does_not_hold_the_model_up(
    docker_engine: DockerEngine, agent_image: str
) -> None:
    """A server that keeps the output open goes on while the model does, and can be used."""
    script = [
        calls(("bash", {"command": "python3 -m http.server 8000 & sleep 1; echo up"})),
        calls(
            (
                "bash",
                {
                    "command": "python3 -c 'import urllib.request as r;"
                    'print(r.urlopen("http://127.0.0.1:8000/calc.py").status)\''
                },
            )
        ),
        submits(),
    ]
    end, written, _, _ = conversed(docker_engine, agent_image, script)
    assert end.outcome is Outcome.COMPLETED
    assert "up" in told(written)[0]
    assert "200" in told(written)[1]


def test_what_was_done_before_the_deadline_is_left_to_grade(
    docker_engine: DockerEngine, agent_image: str
) -> None:
    """A command that outlasts the attempt ends it as a limit, and the workspace can be taken out."""
    end, _, _, left = conversed(
        docker_engine,
        agent_image,
        [
            calls(
                ("write_file", {"path": "done.txt", "content": "done"}),
                ("bash", {"command": "sleep 600"}),
            )
        ],
        deadline=Deadline.after_s(4),
    )
    assert (end.outcome, end.limit) == (Outcome.LIMIT, LimitKind.WALL_CLOCK)
    assert left["done.txt"] == "done"


@pytest.mark.parametrize(
    ("prepared", "wanted", "answer"),
    [
        ("mkfifo pipe", {"path": "pipe"}, "there is no file /agent/workspace/pipe"),
        ("true", {"path": "/agent"}, "/agent is a directory"),
        ("true", {"path": "-n"}, "there is no file /agent/workspace/-n"),
        ("echo x > a; chmod 0 a", {"path": "a"}, "/agent/workspace/a is not readable"),
        ("seq 9 > ./-n", {"path": "-n", "offset": 3, "limit": 2}, "3\n4"),
        ("printf 'a\\377b' > a", {"path": "a"}, "a\ufffdb"),
        ("ln -s /nowhere a", {"path": "a"}, "there is no file /agent/workspace/a"),
    ],
)
def test_files_of_every_kind_are_read_or_refused(
    docker_engine: DockerEngine, agent_image: str, prepared: str, wanted: dict[str, object], answer: str
) -> None:
    """Reading never hangs, never reads as another user, and takes odd names for names."""
    _, written, _, _ = conversed(
        docker_engine,
        agent_image,
        [calls(("bash", {"command": prepared}), ("read_file", wanted)), submits()],
    )
    assert told(written)[1].removesuffix("\n[exit code 1]") == answer


def test_writing_follows_the_agents_own_rights(docker_engine: DockerEngine, agent_image: str) -> None:
    """A planted link leads to where the agent itself may write, and no further; content is exact."""
    content = "Größe 'x' \"y\" $HOME `id`\n\\n" + "0123456789" * 20_000
    end, written, _, left = conversed(
        docker_engine,
        agent_image,
        [
            calls(
                ("bash", {"command": "ln -s /etc/passwd evil; ln -s inner.txt good"}),
                ("write_file", {"path": "evil", "content": "root::0:0::/:/bin/sh\n"}),
                ("write_file", {"path": "good", "content": "through"}),
                ("write_file", {"path": "new/deep/file.txt", "content": content}),
            ),
            submits(),
        ],
    )
    assert end.outcome is Outcome.COMPLETED
    assert "[exit code 1]" in told(written)[1]
    assert left["inner.txt"] == "through"
    assert left["new/deep/file.txt"] == content


def test_a_model_that_ends_its_container_is_scored(docker_engine: DockerEngine, agent_image: str) -> None:
    """It buys no free retry."""
    end, _, _, _ = conversed(
        docker_engine, agent_image, [calls(("bash", {"command": "kill -TERM 1; sleep 60"})), submits()]
    )
    assert end.outcome is Outcome.AGENT_ERROR


def test_endless_output_is_cut_and_the_work_goes_on(docker_engine: DockerEngine, agent_image: str) -> None:
    """A megabyte is kept, the model is shown its head and tail, and the rest is drained."""
    end, written, _, _ = conversed(
        docker_engine,
        agent_image,
        [calls(("bash", {"command": "yes | head -c 200000000"})), submits()],
    )
    assert end.outcome is Outcome.COMPLETED
    assert "[further output was dropped]" in told(written)[0]
    assert len(told(written)[0]) < 21_000
    assert written.commands[0]["output_bytes"] == 1_000_000
