"""`./rocelab ui`."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import typer

from rocelab import paths
from rocelab.cli_options import NO_INSTALL, call, example
from rocelab.errors import UsageError
from rocelab.setup_all import set_up


def add(app: typer.Typer) -> None:
    app.command(epilog=example("ui --open"))(ui)


def ui(
    port: Optional[int] = typer.Option(
        None, show_default=False, min=1, max=65535, help="Default: 8899, or the next one that is free."
    ),
    open_browser: bool = typer.Option(False, "--open", help="Also open the pages in a browser."),
    results: Path = typer.Option(
        Path("out"), metavar="DIR", help="Where results are, and where runs write theirs."
    ),
    scenarios: Path = typer.Option(
        paths.ROOT / "scenarios", show_default=False, metavar="DIR", help="Default: rocelab's own."
    ),
    no_install: bool = NO_INSTALL,
) -> int:
    """Serve pages on this machine to run, watch and compare experiments, until ^C."""
    if not scenarios.is_dir():
        raise UsageError(f"--scenarios {scenarios}: no such folder")
    set_up(live=False)
    return call("rocelab.ui", "serve", port, open_browser, results, scenarios, install=not no_install)
