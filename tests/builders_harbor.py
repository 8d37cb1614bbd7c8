"""Builders for tests of the import of Harbor tasks: three tasks as people write them, and changes to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

SETTINGS = """schema_version = "1.4"

[task]
name = "examples/NAME"
description = "DESCRIPTION"
authors = [{ name = "Somebody" }]

[agent]
timeout_sec = 300.0

[verifier]
timeout_sec = 60.0

[environment]
build_timeout_sec = 600.0
cpus = 1
memory_mb = 2048
network_mode = "public"
"""
FETCHING = """#!/bin/bash
apt-get update
apt-get install -y curl
curl -LsSf https://astral.sh/uv/0.9.7/install.sh | sh
source $HOME/.local/bin/env
if [ "$PWD" = "/" ]; then
  echo "no working directory"; exit 1
fi
uvx -p 3.13 -w pytest==8.4.1 --with pytest-json-ctrf==0.3.5 \\
  pytest --ctrf /logs/verifier/ctrf.json /tests/test_outputs.py -rA
if [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
"""
GREETING: Mapping[str, str] = {
    "task.toml": SETTINGS.replace("NAME", "Hello_World").replace("DESCRIPTION", "Greet the world"),
    "instruction.md": "Create a file /app/hello.txt that says `Hello, world!` in one line.\n",
    "environment/Dockerfile": "FROM ubuntu:24.04\n\nWORKDIR /app\n",
    "tests/test.sh": FETCHING,
    "tests/test_outputs.py": (
        "from pathlib import Path\n\n\n"
        "def test_greeting():\n    assert Path('/app/hello.txt').read_text().strip() == 'Hello, world!'\n"
    ),
    "solution/solve.sh": "#!/bin/bash\necho 'Hello, world!' > /app/hello.txt\n",
}
"""A file is to be made; test.sh fetches pytest, as most do."""

REPAIR: Mapping[str, str] = {
    "task.toml": SETTINGS.replace("NAME", "mean-repair").replace("DESCRIPTION", "Repair a mean")
    + '[environment.env]\nMODE = "strict"\nTOKEN = "${HOST_TOKEN}"\n'
    + '[metadata]\ndifficulty = "easy"\n',
    "instruction.md": "`mean` in stats/core.py is wrong for more than one number. Repair it.\n",
    "environment/Dockerfile": """FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends git
ENV LEVEL=2
WORKDIR /srv/stats
COPY stats ./stats
COPY --chown=root:root data/numbers.txt /srv/stats/data/
COPY data/numbers.txt /opt/reference/
RUN mkdir -p made && \\
    python3 -c "print('1 2 3')" > made/more.txt
RUN touch /opt/outside
USER nobody
CMD ["sleep", "infinity"]
""",
    "environment/stats/__init__.py": "",
    "environment/stats/core.py": "def mean(numbers):\n    return numbers[0]\n",
    "environment/data/numbers.txt": "4 5 6\n",
    "tests/test.sh": """#!/bin/bash
set -u
cd /srv/stats
[ "$MODE" = strict ] && [ "$LEVEL" = 2 ] || exit 3
python3 -m pytest -q /tests/test_mean.py && echo 1.0 > /logs/verifier/reward.txt
[ -e /logs/verifier/reward.txt ] || echo 0 > /logs/verifier/reward.txt
exit 7
""",
    "tests/test_mean.py": (
        "import sys\n\nsys.path.insert(0, '/srv/stats')\n\nfrom stats.core import mean\n\n\n"
        "def test_mean():\n    assert mean([2, 4]) == 3\n\n\n"
        "def test_files():\n    assert mean([int(x) for x in open('data/numbers.txt').read().split()]) == 5\n"
        "    assert open('made/more.txt').read() == '1 2 3\\n'\n"
    ),
    "solution/solve.sh": '#!/bin/sh\nsh "$(dirname "$0")/repair.sh"\n',
    "solution/repair.sh": "sed -i 's|return numbers.0.|return sum(numbers) / len(numbers)|' stats/core.py\n",
    "NOTES.md": "Notes.\n",
}
"""A bug is to be repaired; pytest imports the submission. Much of the Dockerfile cannot be kept."""

PARTS: Mapping[str, str] = {
    "task.toml": SETTINGS.replace("NAME", "parts").replace("DESCRIPTION", "Sort words")
    + '[verifier.env]\nEXTRA = "${NOT_THERE:-one}"\n',
    "instruction.md": "Write sorted.txt, the words of words.txt in order, and count.txt, their number.\n",
    "environment/Dockerfile": "FROM alpine\nWORKDIR /root/work\nCOPY words.txt .\n",
    "environment/words.txt": "pear\napple\nfig\n",
    "tests/test.sh": "python3 /tests/grade.py\n",
    "tests/grade.py": """import json, os, pathlib
here = pathlib.Path.cwd()
def has(name, text):
    path = here / name
    return float(path.exists() and path.read_text().split() == text.split())
rewards = {"sorted": has("sorted.txt", "apple fig pear"), "count": has("count.txt", "3")}
assert os.environ["EXTRA"] == "one"
pathlib.Path("/logs/verifier/reward.json").write_text(json.dumps(rewards))
""",
    "solution/solve.sh": (
        "#!/usr/bin/env python3\nwords = sorted(open('words.txt').read().split())\n"
        "open('sorted.txt', 'w').write(' '.join(words))\nopen('count.txt', 'w').write(str(len(words)))\n"
    ),
}
"""Two numbers in reward.json, and a home of root's as the working directory."""


def a_harbor_task(
    folder: Path, files: Mapping[str, str] = GREETING, changes: Mapping[str, str | None] | None = None
) -> Path:
    """A Harbor task on disk; `changes` replace files by path, or leave them out (None)."""
    for path, text in {**files, **(changes or {})}.items():
        if text is not None:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    return folder
