"""What a publication is searched for: secrets of the environment, private texts, names of this machine."""

from __future__ import annotations

import base64
import getpass
import json
import os
import re
import socket
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from esac_ag.agents.command_settings import PROVIDERS
from esac_ag.artifacts.redaction import SHORTEST, forms_of
from esac_ag.conduct.publishing_material import Material
from esac_ag.conduct.secret_words import package_sources
from esac_ag.manifest.plan import Plan
from esac_ag.record import Record
from esac_ag.rooms.heldout import read_seed
from esac_ag.rooms.workspace import Workspace
from esac_ag.study.disclosure_scan import DisclosureScan, LocalName
from esac_ag.study.key_formats import FORMATS
from esac_ag.study.private_texts import PrivatePhrases, PrivateText
from esac_ag.suite.plan import SuitePlan
from esac_ag.suite.pools import ENVIRONMENT_NAME

_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_WORD: Final = re.compile(rb"[a-z0-9]+")
_SHORTEST_NAME: Final = 3
_SHALLOW: Final = 2
"""Parts of a path from which on it is no place that a container has, too: `/root` is one."""
_SOMEBODYS_HOME: Final = re.compile(r"(?<![\w.-])(?:/home|/Users)/[\w.-]+|\b[A-Za-z]:\\+Users\\+[\w.-]+")


_HOMES: Final = ("/home/", "/Users/", "\\Users\\")


@dataclass(frozen=True, slots=True)
class PrivateMaterial:
    """Texts that are private, texts that are not, and words that only private material has."""

    private: list[PrivateText] = field(default_factory=list)
    public: list[str] = field(default_factory=list)
    hidden_ids: dict[str, str] = field(default_factory=dict)


class Looked(Record):
    """How much a publication was searched for."""

    secret_values: int
    key_formats: int
    private_phrases: int
    hidden_ids: int
    local_names: int


@dataclass(frozen=True, slots=True)
class Search:
    """The scan, and how much it looks for."""

    scan: DisclosureScan
    looked: Looked


def search_of(
    material: Material,
    texts: PrivateMaterial,
    workspace: Workspace,
    environ: Mapping[str, str],
    people: Collection[str],
) -> Search:
    """The scan of a publication.

    Args:
        material: what is published.
        texts: private and public ones.
        workspace: whose seed is secret, and whose place is nobody's business.
        environ: the host's environment.
        people: names of reviewers that are not to be published.

    Raises:
        UsageError: others may read the held-out seed.
    """
    sources, words = _own_words()
    hidden_ids = {name: what for name, what in texts.hidden_ids.items() if name.encode() not in sources}
    secrets = _secrets(material.plan, workspace, environ, words)
    places = _places(material, workspace, environ)
    names = (*_local_names(places, words), *_names_of(people, words))
    phrases = PrivatePhrases.of(texts.private, texts.public)
    scan = DisclosureScan(
        secrets={form: what for what, value in secrets.items() for form in _forms(value)},
        phrases=phrases,
        names=names,
        hidden_ids=hidden_ids,
    )
    looked = Looked(
        secret_values=len(secrets),
        key_formats=len(FORMATS),
        private_phrases=phrases.size,
        hidden_ids=len(hidden_ids),
        local_names=len(names),
    )
    return Search(scan, looked)


@cache
def _own_words() -> tuple[bytes, frozenset[bytes]]:
    """All that ESAC-AG itself can write, and the words in it: none of them tells anything."""
    sources = b"\n".join(package_sources())
    return sources, frozenset(_WORD.findall(sources.lower()))


def _secrets(
    plan: Plan, workspace: Workspace, environ: Mapping[str, str], words: frozenset[bytes]
) -> dict[str, str]:
    """Values that must stand nowhere, by what they are."""
    named = {*_named_variables(plan), *(variable for _, variable in PROVIDERS.values()), ENVIRONMENT_NAME}
    found = {name: environ[name].strip() for name in sorted(named) if environ.get(name)}
    for name, value in sorted(environ.items()):
        # A variable that only sounds secret may hold a word or the path of a file.
        sounds = name not in found and _SECRET_NAME.search(name) and not os.path.lexists(value)
        if sounds and value.strip().lower().encode() not in words:
            found[name] = value.strip()
    secrets = {f"the value of the environment variable {name}": value for name, value in found.items()}
    if seed := read_seed(workspace.root):
        secrets["the held-out seed"] = seed.strip()
    return {what: value for what, value in secrets.items() if len(value) >= SHORTEST}


def _named_variables(plan: Plan) -> Iterator[str]:
    """Variables that the manifest names: for the model's key and for the judge's."""
    for name, value in _walk(plan.agent.settings):
        if name.endswith("_env") and isinstance(value, str):
            yield value
    if isinstance(plan, SuitePlan) and plan.judge is not None:
        yield plan.judge.api_key_env


def _walk(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    match value:
        case dict():
            for name, part in value.items():
                yield name, part
                yield from _walk(part)
        case list():
            for part in value:
                yield from _walk(part)
        case _:
            return


def _forms(secret: str) -> set[str]:
    """A secret as it may stand in a text: plain, escaped, in hex, within base64 at each of three offsets."""
    forms = {form.decode("utf-8", "replace") for form in forms_of(secret)}
    raw = secret.encode()
    forms |= {raw.hex(), raw.hex().upper()}
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + raw).decode()
        # What the bytes around would change is cut off: characters that hold bits of them.
        inner = encoded[(0, 2, 3)[offset] : (len(raw) + offset) * 8 // 6]
        if len(inner) >= SHORTEST:
            forms |= {inner, inner.translate(str.maketrans("+/", "-_"))}
    return forms


def _places(material: Material, workspace: Workspace, environ: Mapping[str, str]) -> dict[str, str]:
    """Folders of this machine, by path."""
    places = {
        str(workspace.root): "the path of the workspace",
        str(workspace.root.resolve()): "the path of the workspace",
        str(material.folder.path.absolute()): "the path of the study's folder",
        str(material.folder.path.resolve()): "the path of the study's folder",
    }
    home = environ.get("HOME", "")
    if home.startswith("/"):
        places |= {home.rstrip("/"): "the path of the home folder"}
    return {place: what for place, what in places.items() if place not in ("", "/")}


def _local_names(places: Mapping[str, str], words: frozenset[bytes]) -> Iterator[LocalName]:
    for place, what in places.items():
        shallow = len(Path(place).parts) <= _SHALLOW
        forms = {place, json.dumps(place)[1:-1]}
        pattern = "|".join(re.escape(form) for form in sorted(forms))
        yield LocalName(re.compile(rf"(?<![\w./-])(?:{pattern})(?![\w-])"), tuple(forms), what, shallow)
    yield LocalName(_SOMEBODYS_HOME, _HOMES, "the path of somebody's home folder", agents_may=True)
    for what, name in (("a user's name", _user()), ("the name of this machine", socket.gethostname())):
        if len(name) >= _SHORTEST_NAME and name.lower().encode() not in words:
            yield LocalName(_bounded(name), (name,), what, agents_may=False)


def _names_of(people: Collection[str], words: frozenset[bytes]) -> Iterator[LocalName]:
    for name in people:
        if len(name) >= _SHORTEST_NAME and name.encode() not in words:
            # In a program it is a word as any other.
            yield LocalName(_bounded(name), (name,), "the name of somebody who reviewed", agents_may=True)


def _bounded(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
