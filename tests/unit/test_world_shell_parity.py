"""The mock shell against the real one: the same output, exit code and files, where both mean the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from esac_ag.suite.world import World
from tests.builders_world import FILES, HOME, a_workshop, shell

COMMANDS = (
    # Quoting and words
    """echo a  b 'c  d' "e  f" g\\ h ''""",
    """echo "a\\"b\\$c\\\\d" 'x\\y' \\; \\'""",
    "echo a'b'\"c\"d # comment",
    "echo a#b",
    "echo -n x; echo -e 'a\\tb\\\\n\\n'; echo -E 'a\\tb'; echo -ne 'q\\cz'; echo -x -",
    'echo one \\\n two; echo "three\\\nfour"',
    "echo $ 'a$b' \"a$\"",
    # Lists, pipes, redirections
    "test -f empty && echo yes || echo no",
    "test -f nope && echo yes || echo no",
    "cat nope || echo a && echo b; echo c",
    "cat fruit.txt | sort | uniq -c | sort -rn | head -n 2",
    "echo a > new; echo b >> new; cat < new; cat new | wc -l",
    "> made; ls made; echo x 2> err; cat err nope 2>> err; wc -l err",
    "cat nope 2>/dev/null; echo after",
    "ls nope > both 2>&1; wc -l < both",
    "echo hidden >&2; echo shown 1>/dev/null; echo ok",
    "sort fruit.txt > sorted; cat sorted; sort < sorted > fruit.txt; cat fruit.txt",
    "echo a2>b; cat b",
    "cat < nope; echo next",
    "cat empty fruit.txt >> fruit.txt || echo bad; cat fruit.txt; cat fruit.txt > fruit.txt; wc -c fruit.txt",
    "tail -c 0 fruit.txt empty; head -n 1 logs fruit.txt; tail -n 1 fruit.txt logs; grep -c x logs empty",
    "echo x > nope/file; echo next",
    "echo x > logs; echo next",
    "\n\necho a\n\necho b |\n cat &&\n echo c\n",
    "cat nope | wc -l",
    "false_command_that_is_not_there",
    # Globs
    "echo *",
    "echo .* l*s */*.log */*/ ./d*",
    "echo nothing*here '*' \"*\" \\* [a-e]* [!a-l]* [[:upper:]]* ?ruit.txt",
    "cat data/\\[odd\\]* 'data/[odd] name.txt' data/[[]*",
    "echo [ [a */. */..//*.txt //home/zzz*",
    "cat 'no newline' logs/*.log",
    "ls *.nope; echo end",
    "echo x > n*w; ls",
    # ls
    "ls; ls -a logs; ls -A; ls logs data fruit.txt; ls -d logs *.txt; ls -R; ls -1 logs; ls logs/",
    "ls nope fruit.txt; ls fruit.txt/",
    # cat, head, tail, wc
    "cat -n 'no newline' logs/a.log",
    "echo in | cat fruit.txt - empty",
    "head -n 1 fruit.txt; head -2 fruit.txt logs/a.log; head -c 4 fruit.txt; head -n -3 fruit.txt",
    (
        "tail -n 2 fruit.txt; tail -1 'no newline'; tail -n +4 fruit.txt; tail -c 3 fruit.txt; "
        "tail -c +20 fruit.txt"
    ),
    "head -q -n 1 fruit.txt empty; tail -n 1 logs/a.log nope empty; head -n 0 fruit.txt; head -n x fruit.txt",
    "cat fruit.txt | head -n1; cat fruit.txt | tail -n1; cat fruit.txt | head fruit.txt -",
    (
        "wc fruit.txt; wc -l fruit.txt; wc -lw fruit.txt logs/a.log; wc < fruit.txt; "
        "cat fruit.txt | wc; wc -c empty"
    ),
    "wc 'no newline' nope; wc logs; wc -m people.csv; cat empty | wc -w; wc -l *",
    # grep
    "grep apple fruit.txt; grep -n -i PLUM fruit.txt; grep -v apple fruit.txt; grep -c apple fruit.txt",
    "grep ERROR logs/*.log; grep -h ERROR logs/*.log; grep -l ERROR logs/*.log; grep -L ERROR logs/*.log",
    "grep zzz fruit.txt; echo",
    "grep -q apple fruit.txt && echo found; grep -q zzz fruit.txt || echo missing; grep x nope",
    "grep -s x nope; grep -s apple nope fruit.txt",
    "grep -o '[0-9]*' fruit.txt; grep -on 'p*' fruit.txt; grep -o -w 'a[a-z]*' fruit.txt",
    "grep -w Li people.csv; grep -x 'fig 2' fruit.txt; grep -w -v Li people.csv; grep -wo L people.csv",
    "grep -E '^(pear|fig) [0-9]$' fruit.txt; grep -E 'p{2}' fruit.txt; grep -E 'a+p?l' fruit.txt",
    (
        "grep '^\\(pear\\|fig\\)' fruit.txt; grep 'p\\{2\\}' fruit.txt; grep 'p\\+' fruit.txt; "
        "grep 'a|b' fruit.txt"
    ),
    (
        "grep -F '.' data/numbers; grep -F -e 10 -e 9 data/numbers; grep '[[:space:]]' data/spaced; "
        "grep '\\.' data/numbers"
    ),
    (
        "grep -c '' fruit.txt empty 'no newline'; grep '^$' data/spaced; grep -n '^ *b' data/spaced; "
        "grep -v '' fruit.txt"
    ),
    (
        "grep -m 1 apple fruit.txt; grep -A 1 pear fruit.txt; grep -B1 -n Plum fruit.txt; "
        "grep -C 1 fig fruit.txt"
    ),
    "grep -A1 -n ERROR logs/a.log logs/b.log; grep -n -A0 INFO logs/a.log; grep -B 1 -A 1 last 'no newline'",
    (
        "cat fruit.txt | grep -n apple; cat fruit.txt | grep -H fig -; grep -H fig fruit.txt; "
        "grep -e pear -- fruit.txt"
    ),
    (
        "grep -E '\\bAnn\\b' people.csv; grep '\\<Li\\>' people.csv; grep -E '\\w+@' people.csv; "
        "grep -E '[^0-9 a-z]' fruit.txt"
    ),
    "grep -E 'a{,2}p' fruit.txt; grep -E '(' fruit.txt; grep '[a' fruit.txt; grep 'a\\{2,1\\}' fruit.txt",
    (
        "grep '*a' fruit.txt; grep 'a*' empty; grep -E 'x|' fruit.txt; grep -i '[P-Q]' fruit.txt; "
        "grep 'a^b$c' fruit.txt"
    ),
    "grep root logs; grep -c ERROR logs/a.log nope",
    (
        "grep -xo 'fig 2' fruit.txt; grep '\\Bp' fruit.txt; grep -E 'r\\s\\w' fruit.txt; "
        "grep -E '\\S\\W1' fruit.txt"
    ),
    (
        "grep -E '(^|l)P?e?a' fruit.txt; grep -E 'a{1,}p|g{1}' fruit.txt; grep '^*' fruit.txt; "
        "grep -E '[]x]|[a-]3' *.csv"
    ),
    # find
    "find . | sort; find . -type f -name '*.log' | sort; find logs -maxdepth 1 | sort; find . -mindepth 3",
    (
        "find logs/ -name '?.log' | sort; find . -iname 'F*' -type f; find . -empty; "
        "find . ! -type d ! -name '*.log' | sort"
    ),
    (
        "find . -name a.log -o -name '*.csv' | sort; find . -path '*old*' | sort; "
        "find . -type f -size -1; find . -type f -size +30c | sort; find . -type f -size 1k | sort"
    ),
    "find nope; find fruit.txt; find . -name '.*' -type f; find logs -not -name '*.log' -a -type d | sort",
    # sort, uniq, cut
    (
        "sort fruit.txt; sort -r fruit.txt; sort -u fruit.txt; sort -f fruit.txt; "
        "sort 'no newline' empty logs/b.log"
    ),
    "sort -n data/numbers; sort -rn data/numbers; sort -nu data/numbers; sort data/numbers",
    (
        "sort -k 2 fruit.txt; sort -k2n fruit.txt; sort -k2,2nr -k1,1 fruit.txt; "
        "sort -t, -k3,3 -k2,2r people.csv"
    ),
    (
        "sort data/spaced; sort -b data/spaced; sort -k1,1 data/spaced; sort -k1b,1 data/spaced; "
        "sort -bk2,2n data/spaced"
    ),
    (
        "sort -t , -k 2.2,2.4 people.csv; sort -t, -nk1 people.csv; sort -k1.2 fruit.txt; sort nope; "
        "echo b | sort - fruit.txt"
    ),
    "sort -ru fruit.txt; sort -uk1,1 fruit.txt; sort -t, -k9 people.csv",
    (
        "uniq logs/b.log; uniq -c logs/b.log; uniq -d logs/b.log; uniq -u logs/b.log; "
        "sort fruit.txt | uniq; uniq nope"
    ),
    (
        "cut -d, -f2 people.csv; cut -d , -f 1,3 people.csv; cut -d' ' -f2- people.csv; "
        "cut -s -d: -f1 people.csv"
    ),
    (
        "cut -c1-3 fruit.txt; cut -c 2,4- fruit.txt; cut -f1 fruit.txt; cut -d, -f-2 people.csv; "
        "cut -b1 'no newline'"
    ),
    "cut -f0 people.csv; cut people.csv; cut -c3-1 people.csv",
    # Changes
    "cp fruit.txt copy; cp fruit.txt logs; cp fruit.txt people.csv data; ls . logs data; cat copy",
    "cp logs new; cp -r logs new; cp -r logs new; find new | sort; cp -n people.csv fruit.txt; cat fruit.txt",
    "cp fruit.txt fruit.txt; cp nope x; cp a b c; cp; cp fruit.txt; cp fruit.txt nope/x",
    "cp -r logs fruit.txt; cp empty logs/old/; ls logs/old; cp fruit.txt new/; ls",
    (
        "mv fruit.txt moved; mv moved logs; mv logs/moved logs/a.log data; ls . logs data; mv nope x; "
        "mv data data/in"
    ),
    (
        "mv logs data; ls data; mv empty people.csv; wc -c people.csv; mv data/logs/old .; ls old; "
        "mv -n people.csv .hidden"
    ),
    "mv logs fruit.txt; mv fruit.txt fruit.txt; mv fruit.txt nope/x; mv logs nope/; mv logs newname/; ls",
    "mkdir logs2 data/old; mv logs/old data; ls data/old logs",
    (
        "rm fruit.txt empty; ls; rm nope; rm -f nope; rm logs; rm -r logs; ls; rm -rf data nope; ls; "
        "rm .; rm; rm -f"
    ),
    (
        "mkdir one; mkdir one; mkdir two/three; mkdir -p two/three/four one; ls -R two; "
        "mkdir -p fruit.txt/x; mkdir a b"
    ),
    "touch t1 t2; touch fruit.txt; touch -c t3; ls; touch nope/t; cat t1; touch logs; touch x/",
    (
        "cat ''; mkdir ''; touch ''; mkdir; touch; ls ''; rm ''; cp fruit.txt ''; mv '' x; echo > ''; "
        "[ -e '' ]; find ''"
    ),
    (
        "mv; mv fruit.txt; cp a b nope; cp -r data fruit.txt new; cp fruit.txt newname/; "
        "mv -n fruit.txt empty; ls"
    ),
    # test
    (
        "test; test a; test ''; [ -n x ] && echo n; [ -z '' ] && echo z; [ a = a ] && echo eq; "
        "[ a != a ] || echo ne"
    ),
    (
        "[ 2 -lt 10 ] && echo lt; [ 2 -gt 10 ] || echo gt; [ 3 -eq 03 ] && echo e; [ 1 -ne 1 ]; "
        "[ 5 -ge 5 ] && [ 5 -le 5 ]"
    ),
    (
        "[ -e logs ] && [ -d logs ] && [ ! -f logs ] && echo dir; [ -s empty ] || echo small; "
        "[ -f 'no newline' ] && echo f"
    ),
    (
        "[ ! a = b ] && echo not; [ a -a b ] && echo and; [ '' -o b ] && echo or; "
        "[ ! '' ] && echo empty; [ -x logs ] && [ -r empty ] && [ -w logs ]"
    ),
    "[ a",
    "[ 1 -eq x ]",
    "[ a b ]",
    "[ a ? b ]",
)

WITH_MESSAGES = {"err", "both"}
"""Files that hold error messages, of which the wording differs."""


def real(folder: Path, command: str) -> tuple[int, str]:
    """What bash makes of a command line."""
    done = subprocess.run(
        ["/bin/bash", "--norc", "--noprofile", "-c", command],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    return done.returncode, done.stdout.decode()


def real_files(folder: Path) -> dict[str, str | None]:
    """Files with their content, and directories, below a folder."""
    return {
        path.relative_to(folder).as_posix(): None if path.is_dir() else path.read_text()
        for path in folder.rglob("*")
        if path.name not in WITH_MESSAGES
    }


def mock_files(world: World) -> dict[str, str | None]:
    """The same of the world's files below the agent's home."""
    home = f"{HOME}/"
    return {
        path.removeprefix(home): node.get("text")
        for path, node in world.snapshot()["fs"].items()
        if path.startswith(home) and path.rpartition("/")[2] not in WITH_MESSAGES
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_the_mock_shell_does_what_bash_does(command: str, tmp_path: Path) -> None:
    """Standard output, exit code and files afterwards are the same."""
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    world = World(a_workshop())
    status, out, _ = shell(world, command)
    assert (status, out) == real(tmp_path, command)
    assert mock_files(world) == real_files(tmp_path)
