"""JSON Schemas (2020-12) of records, and findings of data that does not follow them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError as SchemaError
from pydantic import BaseModel, JsonValue

from esac_ag.manifest.collector import Collector
from esac_ag.manifest.findings import PathPart, shown

Schema = dict[str, Any]
REMEDY = "Correct the value; the schema is in manifests/schema/."


@cache
def schema_of(record: type[BaseModel], name: str) -> Schema:
    """The published schema of a record; not to be changed, for it is kept."""
    schema = record.model_json_schema(mode="validation")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:esac-ag:schema:{name}",
        **schema,
    }


def report_schema_faults(data: JsonValue, schema: Schema, out: Collector) -> bool:
    """Report everything in which the data does not follow the schema; whether there was anything."""
    before = len(out.findings)
    for error in _plain(list(Draft202012Validator(schema).iter_errors(data))):
        _report(error, out)
    return len(out.findings) > before


def _plain(errors: Sequence[SchemaError]) -> Iterator[SchemaError]:
    """The errors without those that follow from another: a value of a wrong type is none of the words."""
    mistyped = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    for error in errors:
        if error.validator == "type" or tuple(error.absolute_path) not in mistyped:
            yield error


def _report(error: SchemaError, out: Collector) -> None:
    at: tuple[PathPart, ...] = tuple(error.absolute_path)
    found = shown(error.instance)
    rule: Any = error.validator_value
    instance: Any = error.instance
    match error.validator:
        case "required":
            for key in (key for key in rule if key not in instance):
                out.error(at, "missing-key", f"The key `{key}` is missing.", key, "nothing", f"Add `{key}`.")
        case "additionalProperties":
            for key in sorted(set(instance) - set(_properties(error))):
                what = "The key is not one that is known."
                known = ", ".join(_properties(error)) or "no keys"
                out.error(
                    (*at, key), "unknown-key", what, known, ascii(key), "Remove it, or correct its spelling."
                )
        case "anyOf" | "oneOf":
            _report_branch(error, out)
        case "enum":
            expected = "one of " + ", ".join(shown(value) for value in rule)
            out.error(at, "value", "The value is not one that is known.", expected, found, REMEDY)
        case keyword:
            what, expected = _WORDS.get(str(keyword), ("The value breaks a rule.", "{keyword} {rule}"))
            words = expected.format(rule=rule if isinstance(rule, str) else shown(rule), keyword=keyword)
            out.error(at, "type" if keyword == "type" else "value", what, words, found, REMEDY)


_WORDS: Mapping[str, tuple[str, str]] = {
    "type": ("The value has the wrong type.", "{rule}"),
    "const": ("The value is not the one that is allowed.", "{rule}"),
    "pattern": ("The text does not have the right form.", "text that matches {rule}"),
    "minimum": ("The number is too small.", "{rule} or more"),
    "exclusiveMinimum": ("The number is too small.", "more than {rule}"),
    "maximum": ("The number is too large.", "{rule} or less"),
    "exclusiveMaximum": ("The number is too large.", "less than {rule}"),
    "minItems": ("The list is too short.", "{rule} items or more"),
}


def _properties(error: SchemaError) -> list[str]:
    schema: Any = error.schema
    return list(schema.get("properties", {}))


def _report_branch(error: SchemaError, out: Collector) -> None:
    """Of alternatives, report the one that was meant: that whose type fits, or else all types."""
    branches: dict[PathPart, list[SchemaError]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.relative_schema_path[0], []).append(inner)
    meant = [faults for faults in branches.values() if not any(_is_type_of_whole(f) for f in faults)]
    if meant:
        for fault in _plain(meant[0]):
            _report(fault, out)
        return
    types = " or ".join(dict.fromkeys(_types(branches)))
    out.error(
        tuple(error.absolute_path),
        "type",
        "The value has the wrong type.",
        types,
        shown(error.instance),
        REMEDY,
    )


def _is_type_of_whole(fault: SchemaError) -> bool:
    return fault.validator == "type" and not fault.relative_path


def _types(branches: Mapping[PathPart, list[SchemaError]]) -> Iterator[str]:
    for faults in branches.values():
        yield from (str(fault.validator_value) for fault in faults if fault.validator == "type")
