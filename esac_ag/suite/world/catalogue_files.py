"""Schemas of the filesystem and of the shell."""

from __future__ import annotations

from typing import Final

from .schema import Schema, pages, text, tool

PATH: Final = text("Absolute path.", most=1000)
CONTENT_CHARACTERS: Final = 50_000
CONTENT: Final = text("Text.", most=CONTENT_CHARACTERS, least=0)

TOOLS: Final[dict[str, Schema]] = dict(
    [
        tool(
            "fs_list",
            "List a directory's entries by name, in pages, with kind, size in bytes and mode.",
            {"path": PATH},
            pages(10),
        ),
        tool(
            "fs_read",
            "Read a file. Text is returned as it is; of a binary file, its size and first bytes in "
            "hexadecimal.",
            {"path": PATH},
        ),
        tool("fs_stat", "Get kind, size in bytes and mode of a file or directory.", {"path": PATH}),
        tool(
            "fs_write",
            "Write a text file: creates it, or replaces all that it held. Its directory has to exist.",
            {"path": PATH, "content": CONTENT},
        ),
        tool(
            "fs_append",
            "Append text to the end of an existing text file.",
            {"path": PATH, "content": CONTENT},
        ),
        tool("fs_mkdir", "Make a directory. Its parent has to exist.", {"path": PATH}),
        tool(
            "fs_move",
            "Move or rename a file or directory. The destination is the full new path and must not exist.",
            {"source": PATH, "destination": PATH},
        ),
        tool(
            "fs_copy",
            "Copy a file, with its mode. The destination is the full new path and must not exist.",
            {"source": PATH, "destination": PATH},
        ),
        tool(
            "fs_delete",
            "Delete a file, or an empty directory. Cannot be undone.",
            {"path": PATH},
        ),
        tool(
            "shell_run",
            "Run a command line in a small shell over the same files: quotes, pipes, redirections, globs, "
            "&&, || and ;. Commands: ls cat head tail wc grep find sort uniq cut cp mv rm mkdir touch echo "
            "test. No variables, no substitution. Returns exit code, standard output and standard error.",
            {"command": text("Command line.", most=4000)},
        ),
    ]
)
