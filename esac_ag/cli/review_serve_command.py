"""`esac-ag review serve`: the page on which a reviewer fills in the forms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from esac_ag.cli.place import stdout


def serve(
    study: Annotated[Path, typer.Argument(help="A study's folder below results/.", show_default=False)],
    reviewer: Annotated[str, typer.Option("--reviewer", help="Whose forms.", show_default=False)],
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="Of 127.0.0.1; by default a free one.")
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Serve a reviewer's packets and forms as a page for this machine's browser, until Ctrl-C."""
    from esac_ag.pages.browsing import browsing
    from esac_ag.pages.guard import Secrets
    from esac_ag.pages.review_app import review_application
    from esac_ag.pages.review_site import ReviewSite
    from esac_ag.pages.serving import PageServer

    site, secrets = ReviewSite(study, reviewer), Secrets()
    with PageServer(review_application(site, secrets.csrf), secrets, port=port) as server:
        _say(f"{reviewer}'s packets: {server.url}")
        _say("Whoever knows this address can fill in the forms. Ctrl-C ends it; what is saved is kept.")
        try:
            with browsing(server.url, wanted=not no_browser):
                server.wait()
        except KeyboardInterrupt:
            _say(f"\nended; every form that was saved is in {study / 'review'}")


def _say(text: str) -> None:
    stdout().print(text, soft_wrap=True, markup=False)
