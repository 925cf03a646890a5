"""`./rocelab ui`: pages on this machine to run, watch and compare experiments. README.md says what is where."""

from __future__ import annotations

from pathlib import Path


def serve(port: int | None, open_browser: bool, results: Path, scenarios: Path, install: bool) -> int:
    """Until ^C. RocelabError: the pages' libraries cannot be installed, or the port is taken."""
    from rocelab.ui import bundle, server

    pages = bundle.ensure(install)
    return server.serve(server.Settings(pages, results.resolve(), scenarios.resolve(), port, open_browser))
