"""Where the records lie that a sealed manifest names by digest only."""

from __future__ import annotations

from pathlib import Path


def proof_path(manifest: Path, task_id: str) -> Path:
    """The record that proved a task when the manifest was frozen: `<manifest's stem>.proofs/<task>.json`.

    Its digest, `canonical.sha256_of` its JSON value, is the manifest's `proof_sha256`.
    """
    return manifest.parent / f"{manifest.stem}.proofs" / f"{task_id}.json"
