"""Stand-ins for what Harbor's test.sh fetches, since no container has a network.

Most test.sh of Harbor install uv by curl and run pytest by it. Each stand-in does what our image can do, or
ends with exit code 127: none of them pretends that something was fetched which is needed later.
"""

from __future__ import annotations

import re

from esac_ag.rooms.harbor_report import Fate, Item
from esac_ag.tree import FileTree, RegularFile

_PYTEST = r"""#!/bin/sh
# Stands in for pytest: the one of the image, without the CTRF report.
seen=
for word in "$@"; do
    if [ -n "$seen" ]; then seen=; continue; fi
    case "$word" in
        --ctrf) seen=1; continue ;;
        --ctrf=*) continue ;;
    esac
    set -- "$@" "$word"
    kept=$((kept + 1))
done
while [ $# -gt "${kept:-0}" ]; do shift; done
exec python3 -m pytest -p no:cacheprovider "$@"
"""
_RUN = r"""
run() {
    while [ $# -gt 0 ]; do
        case "$1" in
            -p|--python|-w|--with|--from|--index-url|--with-requirements|--directory|--project) shift 2 ;;
            -*) shift ;;
            *) break ;;
        esac
    done
    case "$1" in
        pytest|pytest@*) shift; exec pytest "$@" ;;
        python|python3|python3.*) shift; exec python3 "$@" ;;
        *.py) exec python3 "$@" ;;
    esac
    echo "$1: not in the grader's image, and there is no network" >&2
    exit 127
}
"""
_UVX = "#!/bin/sh\n# Stands in for uvx: runs the image's pytest or Python.\n" + _RUN + 'run "$@"\n'
_UV = (
    "#!/bin/sh\n# Stands in for uv: its environment is the image's Python.\n"
    + _RUN
    + r"""
case "$1" in
    run) shift; run "$@" ;;
    tool) case "$2" in run) shift 2; run "$@" ;; esac ;;
    init|venv|sync|add|pip|lock|python|--version) exit 0 ;;
esac
echo "uv $1: not in the grader's image, and there is no network" >&2
exit 127
"""
)
_INSTALLER = r"""#!/bin/sh
# Stands in for a fetching program: only uv's installer is taken as done, because uv has a stand-in.
case "$*" in
    *astral.sh/uv*) exit 0 ;;
esac
echo "there is no network" >&2
exit 127
"""
_PACKAGES = r"""#!/bin/sh
# Stands in for a package manager: nothing is installed. What is missing then shows where it is used.
exit 0
"""
_TEXTS = {
    "apt": (_PACKAGES, "nothing is installed; what is missing shows where it is used"),
    "apt-get": (_PACKAGES, "nothing is installed; what is missing shows where it is used"),
    "curl": (_INSTALLER, "there is no network; uv's installer is taken as done, all else ends with 127"),
    "pip": (_PACKAGES, "nothing is installed; what is missing shows where it is used"),
    "pip3": (_PACKAGES, "nothing is installed; what is missing shows where it is used"),
    "uv": (_UV, "the image's Python 3.11 and pytest 7, whatever version was asked for"),
    "uvx": (_UVX, "the image's Python 3.11 and pytest 7, whatever version was asked for; no CTRF report"),
    "wget": (_INSTALLER, "there is no network; uv's installer is taken as done, all else ends with 127"),
}


def stand_ins(script: str) -> tuple[FileTree, tuple[Item, ...]]:
    """Programs for those that a test.sh names, and an item for each. `pytest` always has one."""
    files = {b"pytest": RegularFile(_PYTEST.encode(), executable=True)}
    items = []
    for name, (text, why) in _TEXTS.items():
        if re.search(rf"(?:^|[\s;&|(`]){re.escape(name)}(?:\s|$)", script, re.MULTILINE):
            files[name.encode()] = RegularFile(text.encode(), executable=True)
            items.append(Item(what=f"tests/test.sh: {name}", fate=Fate.CHANGED, why=f"a stand-in: {why}"))
    return FileTree(files), tuple(items)
