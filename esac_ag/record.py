"""The base of every record that is written, read or passed between layers."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""64 lower-case hexadecimal digits."""

VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
VariableName = Annotated[str, StringConstraints(pattern=VARIABLE_PATTERN)]
"""An environment variable's name. A key that is given in its place by mistake hardly ever passes for one."""

Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,99}$")]
"""An id that is safe as a file name and in a label: lower case, digits, `.`, `_`, `-`."""


class Record(BaseModel):
    """Frozen, strict, without unknown keys. Read JSON with `model_validate_json`."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )


def faults_in(error: ValidationError) -> str:
    """Everything that is wrong with a record's values, for `found`: each place, and what is wrong there."""
    return "; ".join(f"{'/'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
