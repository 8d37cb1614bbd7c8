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
    import webbrowser
    from contextlib import closing, suppress

    from esac_ag.cli.place import workspace_at
    from esac_ag.conduct.view_results import Results
    from esac_ag.pages.guard import Secrets
    from esac_ag.pages.serving import PageServer
    from esac_ag.pages.viewer import Viewer

    # Ctrl-C is how looking ends: nothing was interrupted.
    with closing(Results(results or workspace_at(root).results)) as shown, suppress(KeyboardInterrupt):
        shown.begin()
        application = Viewer(shown).application()
        with PageServer(application, Secrets(), port=port, reads_only=True) as server:
            stdout().print(server.url, soft_wrap=True, markup=False)
            stdout().print("read-only; Ctrl-C ends it. Whoever knows the address may look.", soft_wrap=True)
            if not no_browser:
                webbrowser.open(server.url)
            server.wait()
