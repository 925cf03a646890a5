"""A kernel that takes a host's place, one for all tests here; the helpers of the live tests are theirs, too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))

from kept_hosts import Hosts  # noqa: E402
from kernel_world import World  # noqa: E402
from live_runs import background, topology, wait_for  # noqa: E402
from rocelab.guest import kernel  # noqa: E402
from rocelab.guest.console import Console  # noqa: E402
from rocelab.live.commands import find, guest_folder  # noqa: E402


def _compiled(name: str, folder: Path) -> Path:
    options = ["-O2", "-Wall", "-Wextra", "-Werror"]
    source, program = HERE / f"{name}.c", folder / name
    subprocess.run(["cc", *options, "-o", str(program), str(source), "-libverbs"], check=True)
    return program


@pytest.fixture(scope="session")
def operations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """operations.c, compiled; both ends run it."""
    return _compiled("operations", tmp_path_factory.mktemp("operations"))


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """mixed.c."""
    return _compiled("mixed", tmp_path_factory.mktemp("mixed"))


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory, operations: Path, mixed: Path) -> Iterator[World]:
    try:
        kernel.ensure()
    except kernel.NotOffered as e:
        pytest.skip(str(e))  # a system that is not Debian
    log = tmp_path_factory.mktemp("guest") / "plug"
    with topology(HERE / "kernel.toml") as run_id:
        programs = ("--program", operations, "--program", mixed)
        with background(
            "plug", "--run", run_id, "--host", "h2", "--kernel", *programs, "--json", log=log
        ) as plug:
            wait_for(lambda: "rxe0" in log.read_text() or plug.poll() is not None, "the kernel", 150)
            assert plug.poll() is None, log.read_text()
            console = Console(guest_folder(find(run_id), "h2") / "control")
            yield World(Hosts(find(run_id), "roce"), console)
            console.close()
        report = json.loads(log.read_text().splitlines()[-1])
        assert report["from_device"] > 100 and report["to_device"] > 100, report
        assert report["malformed"] == report["overruns"] == report["socket_drops"] == 0, report
