"""What each preset puts into the container and how it calls its agent."""

from __future__ import annotations

import json
import tomllib

import pytest

from esac_ag.agents.contract import AGENT_HOME
from esac_ag.agents.presets.choosing import preset_of
from esac_ag.agents.presets.contract import TOKEN_VARIABLE, ExitClass, Preparation
from esac_ag.errors import InputRefused
from esac_ag.manifest.agent_file import PresetName, WireProtocol
from tests.builders_presets import REQUEST, SKILL, a_bundle, an_agent_file, an_order, prepared, text_of

AGENTS = tuple(name.value for name in PresetName)
READERS = ("claude-code", "codex", "opencode")
"""Agents that read skills and instructions by themselves."""
SKILLS = {
    "claude-code": ".claude/skills",
    "codex": ".codex/skills",
    "opencode": ".config/opencode/skills",
    "mini-swe-agent": "skills",
}
INSTRUCTIONS = {
    "claude-code": ".claude/CLAUDE.md",
    "codex": ".codex/AGENTS.md",
    "opencode": ".config/opencode/AGENTS.md",
}


def home(preparation: Preparation) -> set[str]:
    """Paths of the files laid into HOME."""
    return {path.decode() for path in preparation.home.files()}


def everything(preparation: Preparation) -> str:
    """All that a launch consists of, as one text."""
    texts = [node.data.decode() for node in preparation.home.files().values()]
    return "\n".join([*preparation.argv, *preparation.environment.values(), *texts, *home(preparation)])


@pytest.mark.parametrize("name", AGENTS)
def test_the_request_is_no_part_of_any_argument(name: str) -> None:
    """Nothing in it can be taken for an option, a command or a template, and it may be of any length."""
    preparation = prepared(an_order(name, request=REQUEST * 10_000))
    assert REQUEST not in " ".join(preparation.argv)
    assert max(map(len, preparation.argv)) < 200


@pytest.mark.parametrize("name", READERS)
def test_the_request_is_read_from_a_file_word_by_word(name: str) -> None:
    """Standard input is that file, and ends with it."""
    preparation = prepared(an_order(name))
    assert preparation.argv[:4] == ("/bin/sh", "-c", 'exec "$@" <"$0"', f"{AGENT_HOME}/.esac-ag/request.md")
    assert preparation.argv[4] == an_agent_file(name).program_path
    assert text_of(preparation.home, ".esac-ag/request.md") == REQUEST


@pytest.mark.parametrize("name", AGENTS)
def test_the_dummy_key_stands_in_the_environment_alone(name: str) -> None:
    """No file and no argument holds it."""
    preparation = prepared(an_order(name, bundle=a_bundle()))
    assert [value for value in preparation.environment.values() if value == "dummy-token"] == ["dummy-token"]
    assert "dummy-token" not in " ".join(preparation.argv)
    assert [n for n in preparation.home.files().values() if b"dummy-token" in n.data] == []


@pytest.mark.parametrize("name", AGENTS)
def test_a_skill_goes_where_the_agent_looks(name: str) -> None:
    """Whole, byte for byte, in a folder of the arm's id."""
    preparation = prepared(an_order(name, bundle=a_bundle()))
    folder = f"{SKILLS[name]}/some-arm"
    assert text_of(preparation.home, f"{folder}/SKILL.md") == SKILL
    assert text_of(preparation.home, f"{folder}/notes/more.md") == "More.\n"
    assert preparation.placed == {
        b"SKILL.md": f"{AGENT_HOME}/{folder}/SKILL.md",
        b"notes/more.md": f"{AGENT_HOME}/{folder}/notes/more.md",
    }


@pytest.mark.parametrize("name", READERS)
def test_a_skill_is_mentioned_in_the_global_instructions_only_if_the_arm_says_so(name: str) -> None:
    """One line, with the path to read."""
    silent = prepared(an_order(name, bundle=a_bundle()))
    told = prepared(an_order(name, bundle=a_bundle(mention=True)))
    assert home(told) - home(silent) == {INSTRUCTIONS[name]}
    path = f"{AGENT_HOME}/{SKILLS[name]}/some-arm/SKILL.md"
    assert text_of(told.home, INSTRUCTIONS[name]) == f"Read {path} fully before you begin, and follow it.\n"


@pytest.mark.parametrize("name", READERS)
def test_instructions_become_the_agent_s_global_ones(name: str) -> None:
    """The file that the agent is used to counts; the others are listed with their paths."""
    bundle = a_bundle("instructions", {"AGENTS.md": "For agents.\n", "CLAUDE.md": "For Claude.\n"})
    preparation = prepared(an_order(name, bundle=bundle))
    own, other = ("CLAUDE.md", "AGENTS.md") if name == "claude-code" else ("AGENTS.md", "CLAUDE.md")
    text = text_of(preparation.home, INSTRUCTIONS[name])
    assert text.startswith(f"{bundle.files.files()[own.encode()].data.decode()}\n")
    assert text.endswith(f"\n- {AGENT_HOME}/instructions/some-arm/{other}\n")
    assert set(preparation.placed) == {b"AGENTS.md", b"CLAUDE.md"}


@pytest.mark.parametrize("name", READERS)
def test_a_folder_is_listed_in_the_global_instructions(name: str) -> None:
    """No agent looks for plain folders by itself."""
    preparation = prepared(an_order(name, bundle=a_bundle("folder", {"a.txt": "x"})))
    assert f"{AGENT_HOME}/bundles/some-arm/a.txt" in text_of(preparation.home, INSTRUCTIONS[name])


@pytest.mark.parametrize("name", AGENTS)
def test_the_control_differs_from_an_arm_by_the_arm_alone(name: str) -> None:
    """Command, environment and configuration are the same, and hold nothing of an arm."""
    control, arm = prepared(an_order(name)), prepared(an_order(name, bundle=a_bundle()))
    assert (control.argv, control.environment) == (arm.argv, arm.environment)
    assert control.placed == {}
    added = home(arm) - home(control)
    assert added == {f"{SKILLS[name]}/some-arm/SKILL.md", f"{SKILLS[name]}/some-arm/notes/more.md"}
    assert "some-arm" not in everything(control)
    if name in READERS:
        assert control.home.items() <= arm.home.items()


def test_mini_swe_agent_is_told_of_the_arm_after_the_request() -> None:
    """It reads no skills: the text of the arm is all that reaches it."""
    preparation = prepared(an_order("mini-swe-agent", bundle=a_bundle()))
    settings = json.loads(text_of(preparation.home, ".config/mini-swe-agent/run.yaml"))
    assert settings["run"]["task"].startswith(f"{REQUEST}\n\n")
    assert SKILL.strip() in settings["run"]["task"]
    assert f"{AGENT_HOME}/skills/some-arm/notes/more.md" in settings["run"]["task"]
    assert preparation.log == f"{AGENT_HOME}/mini-swe-agent.traj.json"


@pytest.mark.parametrize(
    "text", ["\x7f\x85\xa0", "\u2028\u2029\ufeff", "\ufffe\uffff", "\N{GRINNING FACE}\n\t\\"]
)
def test_mini_swe_agent_s_settings_are_yaml_and_json_at_once(text: str) -> None:
    """What YAML takes for an end of a line or refuses is escaped; other characters stand as they are."""
    preparation = prepared(an_order("mini-swe-agent", request=text))
    settings = text_of(preparation.home, ".config/mini-swe-agent/run.yaml")
    assert json.loads(settings)["run"]["task"] == text
    assert {"\x7f", "\x85", "\xa0", "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff"}.isdisjoint(settings)
    assert "\\ud8" not in settings


def test_mini_swe_agent_s_defaults_are_named_by_their_whole_path() -> None:
    """A `mini.yaml` in the workspace would be taken first."""
    argv = prepared(an_order("mini-swe-agent")).argv
    assert "/opt/agents/mini-swe-agent/site/minisweagent/config/mini.yaml" in argv


def test_mini_swe_agent_s_log_is_named_by_its_option() -> None:
    """The option has a default of its own, which wins over every configuration."""
    preparation = prepared(an_order("mini-swe-agent"))
    assert preparation.argv[preparation.argv.index("-o") + 1] == preparation.log


@pytest.mark.parametrize("model", ["m-1", 'a "b" \\ c', "org/model:free", "delete\x7f"])
def test_codex_s_configuration_names_model_and_gateway(model: str) -> None:
    """It is TOML whatever the model's name is, with bundled skills, plugins, apps and the web off."""
    preparation = prepared(an_order("codex", model=model))
    settings = tomllib.loads(text_of(preparation.home, ".codex/config.toml"))
    assert settings["model"] == model
    gateway = settings["model_providers"][settings["model_provider"]]
    assert gateway["base_url"] == "http://127.0.0.1:8080/v1"
    assert gateway["wire_api"] == "responses"
    assert preparation.environment[gateway["env_key"]] == "dummy-token"
    assert (gateway["request_max_retries"], gateway["stream_max_retries"]) == (1, 1)
    off = settings["features"]
    assert set(off.values()) == {False}
    assert set(off) == {"plugins", "apps", "unbounded_connection_retries"}
    assert settings["skills"]["bundled"]["enabled"] is False
    assert settings["web_search"] == "disabled"
    assert settings["analytics"]["enabled"] is False


def test_codex_s_home_lies_in_home_and_not_in_a_folder_of_temporary_files() -> None:
    """It refuses to work from one."""
    environment = prepared(an_order("codex")).environment
    assert environment["CODEX_HOME"] == f"{AGENT_HOME}/.codex"


def test_opencode_s_configuration_names_model_and_gateway() -> None:
    """Small requests go to the same model; the key is named by its variable; the web is denied."""
    preparation = prepared(an_order("opencode", model="org/model"))
    settings = json.loads(text_of(preparation.home, ".config/opencode/opencode.json"))
    assert settings["model"] == settings["small_model"] == "gateway/org/model"
    options = settings["provider"]["gateway"]["options"]
    assert options == {"baseURL": "http://127.0.0.1:8080/v1", "apiKey": f"{{env:{TOKEN_VARIABLE}}}"}
    assert (settings["permission"]["webfetch"], settings["permission"]["*"]) == ("deny", "allow")
    assert (settings["share"], settings["autoupdate"]) == ("disabled", False)


def test_claude_code_s_tools_and_models_are_named() -> None:
    """No default of a later version adds a tool, a bundled skill or another model."""
    preparation = prepared(an_order())
    argv, environment = preparation.argv, preparation.environment
    assert argv[argv.index("--tools") + 1] == "Bash,Edit,Glob,Grep,Read,Skill,Write"
    models = {value for key, value in environment.items() if key.endswith("_MODEL")}
    assert models == {argv[argv.index("--model") + 1]} == {"m-1"}
    assert environment["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8080"
    assert environment["ANTHROPIC_API_KEY"] == "dummy-token"
    assert environment["CLAUDE_CODE_DISABLE_BUNDLED_SKILLS"] == "1"


@pytest.mark.parametrize("name", AGENTS)
def test_a_skill_without_its_first_file_is_refused(name: str) -> None:
    """No agent would find it where there is one to be found."""
    bundle = a_bundle("instructions", {"README.md": "x"})
    with pytest.raises(InputRefused):
        prepared(an_order(name, bundle=bundle))


@pytest.mark.parametrize("name", AGENTS)
def test_the_plan_s_reasoning_is_passed_on_and_nothing_when_it_says_nothing(name: str) -> None:
    """A word that a plan seals has to reach the model."""
    assert "extra-hard" in everything(prepared(an_order(name, reasoning="extra-hard")))
    assert "effort" not in everything(prepared(an_order(name))).lower()


def test_each_agent_speaks_its_own_protocol() -> None:
    """The gateway has to know which."""
    assert {name: preset_of(an_agent_file(name)).protocol for name in AGENTS} == {
        "claude-code": WireProtocol.MESSAGES,
        "codex": WireProtocol.RESPONSES,
        "opencode": WireProtocol.CHAT,
        "mini-swe-agent": WireProtocol.CHAT,
    }


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (0, ExitClass.ENDED),
        (1, ExitClass.FAILED),
        (3, ExitClass.UNKNOWN),
        (126, ExitClass.NOT_STARTED),
        (127, ExitClass.NOT_STARTED),
        (128, ExitClass.UNKNOWN),
        (137, ExitClass.KILLED),
        (143, ExitClass.KILLED),
        (255, ExitClass.UNKNOWN),
    ],
)
def test_an_exit_code_is_classed_and_an_unknown_one_is_no_success(
    name: str, code: int, kind: ExitClass
) -> None:
    """Only 0 says that the program is done."""
    assert preset_of(an_agent_file(name)).exit_class(code) is kind


@pytest.mark.parametrize("name", ["codex", "mini-swe-agent"])
def test_wrong_arguments_have_a_code_of_their_own_where_the_program_has_one(name: str) -> None:
    """That is the harness's fault, never the model's."""
    assert preset_of(an_agent_file(name)).exit_class(2) is ExitClass.MISUSED
