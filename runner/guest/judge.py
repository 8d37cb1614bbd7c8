"""First process of the grader's container: runs the hidden checks and writes one record for each.

In Docker: `python3 -I -S -B /esac/judge.py`, as root with SETUID, SETGID and KILL only. `/grade` (owned by
the user `grader`, mode 0700) holds `judge.json`, `private/`, `submission/`, `snapshot/` and the empty
`out/`; `/subject` is a memory file system that belongs to the user `subject`. The result is
`/grade/out/result.json`; standard output is a log and nothing else.

Outside Docker, for the authors of checks, as root on Linux (names given are read, never written):

    python3 -I runner/guest/judge.py --dev --grader graders/ID --snapshot tasks/ID/public \
        [--submission DIR] [--patch graders/ID/references/X.patch] [--seed S] [--only CHECK_ID]

makes the same two users, processes and places in namespaces of its own (`unshare`), prints a line per
check, and exits 0 when all passed, 1 when one failed, 2 when the grading is invalid. Without
`--submission` the snapshot itself is judged; `--patch` is applied to what is judged. It runs on the
system's /usr/bin/python3, which needs `python3-pytest` where a check runs pytest.
"""

import os
import sys

# With -I the script's own folder is not importable, and it must never be the current directory.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

if __name__ == "__main__":
    if "--dev" in sys.argv:
        from judge_dev import main
    else:
        from judge_supervisor import main
    sys.exit(main(sys.argv[1:]))
