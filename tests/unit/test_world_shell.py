"""The mock shell where it differs from a real one: what it refuses, its limits, modes, binary files."""

from __future__ import annotations

import pytest

from esac_ag.suite.world import World
from esac_ag.suite.world import building as build
from tests.builders_world import HOME, a_workshop, shell


@pytest.mark.parametrize(
    "command",
    [
        "echo $HOME",
        'echo "${x}"',
        "echo $(ls)",
        "echo `ls`",
        "X=1 ls",
        "ls &",
        "ls |& cat",
        "(ls)",
        "{ ls; }",
        "! ls",
        "cat << END",
        "cat <<< text",
        "ls &> all",
        "ls 3> x",
        "if true; then ls; fi",
        "for x in a b; do ls; done",
        "[[ a = a ]]",
        "ls ~",
        "echo {a,b}",
        "echo $'a'",
    ],
)
def test_syntax_of_a_fuller_shell_is_refused_before_anything_runs(command: str) -> None:
    """A line that could mean something else in a real shell is not run at all, and says so."""
    world = World(a_workshop())
    before = world.digest()
    status, out, err = shell(world, f"echo first > made; {command}")
    assert (status, out) == (2, "")
    assert "not supported by this shell" in err
    assert world.digest() == before


@pytest.mark.parametrize(
    "command", ["echo 'a", 'echo "a', "| ls", "ls |", "ls &&", "ls ;; ls", "> ", "; ls", "  "]
)
def test_a_line_that_is_wrong_is_a_syntax_error(command: str) -> None:
    """Exit code 2, a message, and nothing has run."""
    status, out, err = shell(World(a_workshop()), command)
    assert (status, out) == (2, "")
    assert err.startswith("shell: ")


@pytest.mark.parametrize(
    "command", ["python3 -c 'print(1)'", "cd /tmp", "sed s/a/b/ x", "awk 1", "rg", "/bin/ls"]
)
def test_other_commands_are_not_found(command: str) -> None:
    """127, with the command's name."""
    status, _, err = shell(World(a_workshop()), command)
    assert (status, err) == (127, f"shell: {command.partition(' ')[0]}: command not found\n")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("ls --color", "ls: unrecognized option '--color'\n"),
        ("cat -z x", "cat: invalid option -- 'z'\n"),
        ("head -n", "head: option requires an argument -- 'n'\n"),
        ("find . -exec rm", "find: '-exec' is not supported\n"),
        ("find . -name", "find: missing argument to '-name'\n"),
        ("find . -type l", "find: -type takes f or d\n"),
        ("find . -o -name x", "find: nothing before '-o'\n"),
        ("find . -name x -o", "find: nothing after '-o'\n"),
        ("find . -size big", "find: invalid argument 'big' to '-size'\n"),
        ("grep", "grep: no pattern given\n"),
        ("grep -A x y fruit.txt", "grep: invalid number of lines: 'x'\n"),
        (r"grep '\(a\)\1' fruit.txt", "grep: Back-references are not supported\n"),
        ("grep '[[:vowel:]]' fruit.txt", "grep: Invalid character class name\n"),
        ("grep '[z-a]' fruit.txt", "grep: Invalid range end\n"),
        (r"grep 'a\' fruit.txt", "grep: Trailing backslash\n"),
        ("sort -k x fruit.txt", "sort: invalid key 'x'\n"),
        ("sort -t ab fruit.txt", "sort: multi-character tab 'ab'\n"),
        ("uniq a b", "uniq: an output file is not supported; use >\n"),
        ("test a -foo b", "test: -foo: binary operator expected\n"),
        ("test -q b", "test: -q: unary operator expected\n"),
        ("test a b c d e", "test: too many arguments\n"),
        ("cat < *.txt logs/*", "cat: logs/old: Is a directory\n"),
        ("cat < logs/*", "shell: logs/*: ambiguous redirect\n"),
        ("rm /", "rm: refusing to remove '/'\n"),
    ],
)
def test_what_a_command_does_not_do_it_says(command: str, message: str) -> None:
    """A failure has an exit code and a message that names the command."""
    status, _, err = shell(World(a_workshop()), command)
    assert status > 0
    assert err == message


def test_modes_are_kept_and_obeyed() -> None:
    """A read-only file cannot be written or removed, but for rm -f; an unreadable one cannot be read."""
    state = build.with_file(a_workshop(), f"{HOME}/fixed", "x\n", mode=0o444)
    state = build.with_file(state, f"{HOME}/private", "y\n", mode=0o200)
    state = build.with_file(state, f"{HOME}/vault/z", "z\n")
    state["fs"][f"{HOME}/vault"]["mode"] = "0555"
    world = World(state)
    for command, message in (
        ("echo a > fixed", "shell: fixed: Permission denied\n"),
        ("cp fruit.txt fixed", "cp: cannot cp 'fruit.txt' to 'fixed': Permission denied\n"),
        ("mv fruit.txt fixed", "mv: cannot mv 'fruit.txt' to 'fixed': Permission denied\n"),
        ("rm fixed", "rm: cannot remove 'fixed': Permission denied\n"),
        ("cat private", "cat: private: Permission denied\n"),
        ("touch vault/new", "touch: cannot touch 'vault/new': Permission denied\n"),
        ("rm -rf vault", "rm: cannot remove 'vault': Permission denied\n"),
    ):
        assert shell(world, command)[2] == message
    assert shell(world, "cp fixed copy; ls -l copy fixed vault; rm -f fixed; test -e fixed") == (
        1,
        "-r--r--r--        2 copy\n-r--r--r--        2 fixed\n\nvault:\n-rw-r--r--        2 z\n",
        "",
    )


def test_binary_files_pass_through_pipes_unharmed() -> None:
    """Bytes that are no text survive cat and redirection, and are shown with replacement characters."""
    data = bytes(range(256))
    world = World(build.with_file(a_workshop(), f"{HOME}/blob", data))
    assert shell(world, "cat blob | cat > copy; wc -c copy; grep -c a copy; grep a copy") == (
        0,
        "256 copy\n1\ngrep: copy: binary file matches\n",
        "",
    )
    files = world.snapshot()["fs"]
    assert files[f"{HOME}/copy"] == files[f"{HOME}/blob"]
    assert "\ufffd" in shell(world, "head -c 200 blob")[1]


def test_recursive_grep_walks_by_name() -> None:
    """Files come in the order of their names; without an operand, names have no prefix."""
    world = World(a_workshop())
    assert shell(world, "grep -rc INFO logs")[1] == "logs/a.log:2\nlogs/b.log:0\nlogs/old/c.log:1\n"
    assert shell(world, "grep -rl INFO --include='c*'")[1] == "logs/old/c.log\n"
    assert shell(world, "grep -rh old .")[1] == "INFO old\n"


@pytest.mark.parametrize(
    "command",
    [
        f"cat {'big ' * 600}",
        f"grep -E '(x*)*(y|x)*{'(x|y|z)*' * 40}w' big",
        "cat big | grep -ow 'x*y'",
    ],
)
def test_work_and_output_of_a_line_are_limited(command: str) -> None:
    """A line that would take or write too much ends by itself, always at the same point."""
    state = build.with_file(a_workshop(), f"{HOME}/big", "x" * 20_000)
    worlds = [World(state) for _ in range(2)]
    outcomes = [shell(world, command) for world in worlds]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == 126
    assert "work or output limit reached" in outcomes[0][2]
    assert worlds[0].digest() == worlds[1].digest()


def test_files_are_limited_in_size_and_number() -> None:
    """A full filesystem is an error of the command, not of the world."""
    state = build.with_file(a_workshop(), f"{HOME}/big", "x" * 200_000)
    world = World(state)
    status, _, err = shell(world, "cat big big > two")
    assert (status, err) == (1, "shell: two: No space left on device\n")
    assert shell(world, "cat big big | wc -c")[1] == "400000\n"


def test_long_output_is_cut_and_says_so() -> None:
    """A reply shows at most 20,000 characters of a stream."""
    world = World(build.with_file(a_workshop(), f"{HOME}/big", "x" * 20_001))
    reply = world.call("shell_run", {"command": "cat big"})
    assert reply.text.endswith('"truncated": true}')
    assert reply.text.count("x") == 20_000 + 1


def test_a_line_without_commands_but_with_a_redirection_makes_a_file() -> None:
    """As in a real shell; and a comment alone is nothing to run."""
    world = World(a_workshop())
    assert shell(world, "> made") == (0, "", "")
    assert world.snapshot()["fs"][f"{HOME}/made"]["text"] == ""
    assert shell(world, "# nothing")[0] == 2


def test_what_cannot_be_read_is_told_by_every_command() -> None:
    """A directory that may not be listed; a file without a name; a directory in place of a file."""
    state = a_workshop()
    state["fs"][f"{HOME}/logs"]["mode"] = "0300"
    world = World(state)
    assert shell(world, "ls logs") == (2, "", "ls: cannot open directory 'logs': Permission denied\n")
    assert shell(world, "echo logs/*") == (0, "logs/*\n", "")
    assert shell(world, "cat ''")[2] == "cat: : No such file or directory\n"
    assert shell(world, "sort data")[2] == "sort: read failed: data: Is a directory\n"
    assert shell(world, "cp -r data fruit.txt")[2] == (
        f"cp: cannot overwrite non-directory '{HOME}/fruit.txt' with directory '{HOME}/data'\n"
    )


def test_a_path_that_is_too_long_is_an_error_of_its_command() -> None:
    """Whether it is an argument or the target of a redirection."""
    world = World(a_workshop())
    long = "x" * 256
    for command, status in (
        (f"cat {long}", 1),
        (f"cat < {long}", 1),
        (f"ls {long}", 2),
    ):
        code, _, err = shell(world, command)
        assert code == status
        assert "Invalid path" in err


def test_arguments_of_a_command_are_limited() -> None:
    """Patterns that stand for too many paths are refused before the command runs."""
    nodes = {f"/tmp/{number}": {"kind": "directory", "mode": "0755"} for number in range(2000)}
    state = a_workshop()
    world = World({**state, "fs": {**state["fs"], **nodes}})
    status, out, err = shell(world, "echo" + " /tmp/*" * 6)
    assert (status, out, err) == (126, "", "shell: Argument list too long\n")
