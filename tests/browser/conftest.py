"""A browser, and the server of `./rocelab ui` over a few small results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))

import site_of_results  # noqa: E402
import ui_server  # noqa: E402
from pages import Pages  # noqa: E402


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ui")
    site_of_results.make(root)
    return root


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[ui_server.Server]:
    words = [
        str(ROOT / "rocelab"),
        "ui",
        "--results",
        str(folder / "results"),
        "--scenarios",
        str(folder / "scenarios"),
    ]
    with ui_server.started(folder, folder / "results", folder / "scenarios", words) as running:
        yield running


@pytest.fixture(scope="session")
def browser(server: ui_server.Server, folder: Path) -> Iterator[Pages]:
    pages = Pages(server, folder / "downloads")
    yield pages
    pages.quit()


@pytest.fixture
def pages(browser: Pages) -> Iterator[Pages]:
    """In the light scheme and a window of a laptop; a test during which the browser complains has failed."""
    browser.reset()
    yield browser
    assert browser.complaints() == []
