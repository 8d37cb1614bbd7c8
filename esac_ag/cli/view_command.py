"""`esac-ag view`: the folder of results in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from esac_ag.cli.place import RootOption, stdout


def view(
    results: Annotated[
        Path | None,
        typer.Argument(
            help="Folder of results, or one study's folder; by default results/ of the workspace.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port of 127.0.0.1; 0 takes a free one.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
    root: RootOption = None,
) -> None:
    """Show studies, attempts and their files in a browser, read-only, until Ctrl-C."""
    from contextlib import closing

    from esac_ag.cli.place import workspace_at
    from esac_ag.conduct.view_results import Results
    from esac_ag.pages.browsing import browsing
    from esac_ag.pages.guard import Secrets
    from esac_ag.pages.serving import PageServer
    from esac_ag.pages.viewer import Viewer

    console = stdout()
    with closing(Results(results or workspace_at(root).results)) as shown:
        application = Viewer(shown).application()
        with PageServer(application, Secrets(), port=port, reads_only=True) as server:
            console.print(f"results in {shown.path}: {server.url}", soft_wrap=True, markup=False)
            console.print("Whoever knows this address can read them. Ctrl-C ends it.", soft_wrap=True)
            shown.begin()
            try:
                with browsing(server.url, wanted=not no_browser):
                    server.wait()
            except KeyboardInterrupt:
                console.print("\nended; nothing was written")
