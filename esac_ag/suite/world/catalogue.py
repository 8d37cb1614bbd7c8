"""All tools of the world by name; an instance offers a subset."""

from __future__ import annotations

from typing import Final

from . import catalogue_files, catalogue_goods, catalogue_people, catalogue_work
from .schema import Schema

TOOLS: Final[dict[str, Schema]] = {
    **catalogue_people.TOOLS,
    **catalogue_work.TOOLS,
    **catalogue_goods.TOOLS,
    **catalogue_files.TOOLS,
}
"""Name -> `{"name", "description", "parameters"}`, an OpenAI function schema."""
