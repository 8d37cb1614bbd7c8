"""Style sheets and scripts of the pages: files of this package, under `static/`."""

from __future__ import annotations

from starlette.routing import Mount
from starlette.staticfiles import StaticFiles


def assets() -> Mount:
    """The route of the package's files."""
    return Mount("/static", StaticFiles(packages=[("esac_ag.pages", "static")]), name="static")
