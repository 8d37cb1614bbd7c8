"""Calls into the submission and encodes the answer as plain values (docs/graders.md).

Values are encoded by their exact type, so that no `__eq__`, `__class__` or subclass of a builtin type
passes for what it is not.
"""

from __future__ import annotations

import marshal
import os
import sys

try:
    from _json import encode_basestring_ascii as _quoted
except ImportError:  # another Python; json itself costs more than the rest of this program
    from json.encoder import encode_basestring_ascii as _quoted

TYPE_CHECKING = False  # importing typing costs as much as a check
if TYPE_CHECKING:
    from collections.abc import Callable

DEPTH = 60
NODES = 500_000
DIGITS = 4_000
"""Whole numbers with more digits are opaque: reading them back would be refused."""


class Refused(Exception):
    """The answer cannot be encoded within the limits."""


def answer() -> None:
    """Read the request, act, answer, and end the process at once."""
    # fd 0 is the request; the submission gets an empty standard input.
    with os.fdopen(os.dup(0), "rb") as stream:
        request = marshal.loads(stream.read())  # noqa: S302  (from the judge)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    # Children of the submission do not hold the answer's descriptor open.
    os.set_inheritable(3, False)
    sys.path[:0] = [os.getcwd()]
    sys.path += _site_folders()
    sys.argv = [""]
    phase = "call"
    try:
        if "source" in request:
            # A real module: dataclasses and pickle look their classes' modules up.
            driver = sys.modules["driver"] = type(sys)("driver")
            exec(compile(request["source"], "<driver>", "exec"), driver.__dict__)  # noqa: S102  (the check's text)
            value = driver.main(request["args"])
        else:
            phase = "import"
            function = _resolve(request["module"], request["attribute"])
            phase = "call"
            value = function(*request["args"], **request["kwargs"])
        document = {"value": Encoder().plain(value, DEPTH)}
    except Refused as refused:
        document = {"refused": str(refused)}
    except BaseException as error:  # noqa: BLE001  (SystemExit too is an answer)
        document = _raised(error, phase)
    _finish(document)


def _site_folders() -> list[str]:
    """Folders of installed packages; `.pth` files and `sitecustomize` stay out of the game."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folders = [
        f"/usr/local/lib/{version}/dist-packages",
        f"/usr/local/lib/{version}/site-packages",
        "/usr/lib/python3/dist-packages",
    ]
    return [folder for folder in folders if os.path.isdir(folder)]


def _resolve(module: str, attribute: str) -> Callable[..., object]:
    __import__(module)
    found = sys.modules[module]
    for name in attribute.split("."):
        found = getattr(found, name)
    return found


def _raised(error: BaseException, phase: str) -> dict[str, object]:
    kind = type(error)
    bases = [base.__name__ for base in type.mro(kind)[1:] if base is not object]
    try:
        message = str(error)[:1000]
    except BaseException:  # noqa: BLE001  (its own __str__ failed)
        message = "(its text cannot be had)"
    return {"raised": kind.__name__, "bases": bases, "message": "" + message, "phase": phase}


def _finish(document: dict[str, object]) -> None:
    data = text_of(document).encode()
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105  (importing contextlib costs as much as the call)
            stream.flush()
        except BaseException:  # noqa: BLE001, S110  (the submission may have replaced it with anything)
            pass
    while data:
        data = data[os.write(3, data) :]
    # Neither exit handlers nor threads of the submission have a say after the answer.
    os._exit(0)


class Encoder:
    """Turns values into plain ones; counts what it makes."""

    def __init__(self) -> None:
        self.nodes = 0

    def plain(self, value: object, depth: int) -> object:
        """The plain form of a value."""
        self.nodes += 1
        if self.nodes > NODES:
            raise Refused(f"the answer has more than {NODES} values")
        if depth <= 0:
            raise Refused("the answer is nested too deeply, or contains itself")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if value.bit_length() < DIGITS * 3 else opaque(value)
        if kind is float:
            return value if value - value == 0 else {"$float": repr(value)}
        if kind is list or kind is tuple:
            return [self.plain(item, depth - 1) for item in value]
        if kind is dict:
            return self._mapping(value, depth)
        if kind is bytes or kind is bytearray:
            return {"$bytes": value.hex()}
        if kind is set or kind is frozenset:
            items = [self.plain(item, depth - 1) for item in value]
            return {"$set": sorted(items, key=text_of)}
        return self._other(value, kind, depth)

    def _mapping(self, value: dict[object, object], depth: int) -> dict[str, object]:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: self.plain(item, depth - 1) for key, item in value.items()}
        pairs = [[self.plain(k, depth - 1), self.plain(v, depth - 1)] for k, v in value.items()]
        return {"$map": pairs}

    def _other(self, value: object, kind: type, depth: int) -> object:
        if kind is _known("decimal", "Decimal"):
            return {"$decimal": str(value)}
        for name in ("datetime", "date", "time"):
            if kind is _known("datetime", name):
                return {"$" + name: value.isoformat()}
        names = type.__dict__["__dict__"].__get__(kind).get("__dataclass_fields__")
        if type(names) is dict:
            fields = {
                name: self.plain(object.__getattribute__(value, name), depth - 1)
                for name, field in names.items()
                if "ClassVar" not in str(getattr(field, "type", ""))
            }
            return {"$object": str(kind.__name__), "fields": fields}
        return opaque(value)


def _known(module: str, name: str) -> object:
    """A class of the standard library, if it was ever imported."""
    return getattr(sys.modules.get(module), name, None)


def text_of(value: object) -> str:
    """JSON of a plain value; the subject's `json` may be anything, and importing ours takes long."""
    if value is None:
        return "null"
    kind = type(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is str:
        return _quoted(value)
    if kind is int or kind is float:
        return repr(value)
    if kind is list:
        return "[" + ", ".join(map(text_of, value)) + "]"
    return "{" + ", ".join(f"{_quoted(key)}: {text_of(item)}" for key, item in value.items()) + "}"


def opaque(value: object) -> dict[str, str]:
    """What stands for a value that is not plain; equals nothing that a check expects."""
    kind = type(value)
    return {"$opaque": f"{kind.__module__}.{kind.__qualname__}"}
