"""QEMU's live migration over RDMA, unmodified: a tiny guest moves from one host to another and goes on where it was. Through Open
vSwitch, in experiment time, and on an interface, in real time. The row of docs/reference/compatibility.md that names QEMU."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import program_table
import pytest
from interface_runs import shared_files
from live_runs import HERE, SCENARIOS, background, command, live, topology, wait_for
from rocelab.live.interface import environment
from rocelab.live.veth_pair import DEVICE, veth_pair

pytestmark = [
    live,
    pytest.mark.skipif(
        shutil.which("qemu-system-x86_64") is None, reason="qemu-system-x86 is not installed: ./rocelab setup"
    ),
]
_LETTERS = "abcdefghijklmnop"
_PORT = 4444


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    image = tmp_path_factory.mktemp("guest") / "disk"
    words = ["-m32", "-nostdlib", "-static", "-Wl,-Ttext=0x7c00,--oformat=binary,--build-id=none"]
    subprocess.run(["gcc", *words, "-o", str(image), str(HERE / "migrated_guest.S")], check=True)
    with image.open("r+b") as file:
        file.truncate(1_474_560)  # a floppy disk
    return image


class Machine:
    """One of QEMU's processes, by its monitor."""

    def __init__(self, name: str, folder: Path, disk: Path) -> None:
        self._monitor, self._serial = folder / f"{name}.monitor", folder / f"{name}.serial"
        self.words = [
            *("qemu-system-x86_64", "-nodefaults", "-display", "none", "-accel", "tcg", "-m", "32"),
            *("-drive", f"if=floppy,format=raw,readonly=on,file={disk}", "-serial", f"file:{self._serial}"),
            *("-qmp", f"unix:{self._monitor},server=on,wait=off"),
        ]

    def said(self) -> str:
        return self._serial.read_text() if self._serial.exists() else ""

    @contextmanager
    def monitor(self) -> Iterator[Callable[..., Any]]:
        def connected() -> bool:
            return self._monitor.exists() and stream.connect_ex(str(self._monitor)) == 0

        def ask(what: str, **arguments: Any) -> Any:
            lines.write(json.dumps({"execute": what, "arguments": arguments}) + "\n")
            lines.flush()
            while "event" in (answer := json.loads(lines.readline())):
                pass
            assert "return" in answer, answer
            return answer["return"]

        with socket.socket(socket.AF_UNIX) as stream:
            wait_for(connected, "QEMU's monitor")
            stream.settimeout(30)
            with stream.makefile("rw") as lines:
                lines.readline()
                ask("qmp_capabilities")
                yield ask


def _migrate(source: Machine, target: Machine, address: str, running: bool) -> None:
    """The guest moves, either while it runs or stopped meanwhile, and the letters of both ends make one sequence."""
    with source.monitor() as here, target.monitor() as there:
        wait_for(lambda: len(source.said()) >= 5, "the guest runs")
        if not running:
            here("stop")
        here("migrate", uri=f"rdma:{address}:{_PORT}")
        ended = wait_for(
            lambda: (s := here("query-migrate")["status"]) in ("completed", "failed") and s, "migration"
        )
        assert ended == "completed"
        if not running:
            assert not there("query-status")["running"]
            there("cont")
        wait_for(lambda: len(target.said()) >= 8 or "!" in source.said() + target.said(), "the guest goes on")
        assert "!" not in source.said() + target.said(), "the guest found memory that is not its own"
        assert (here("query-status")["status"], there("query-status")["status"]) == ("postmigrate", "running")
        here("quit")
        there("quit")
    said = source.said() + target.said()
    assert said == (_LETTERS * len(said))[: len(said)]


def test_the_table_names_it() -> None:
    (row,) = (row for row in program_table.rows() if row.source == "QEMU")
    assert (row.text, row.modes) == ("qemu-system-x86_64 -incoming rdma:", ("roce", "irn"))


@pytest.mark.parametrize("label", ["roce", "irn"])
def test_between_emulated_hosts(label: str, disk: Path, tmp_path: Path) -> None:
    source, target = Machine("source", tmp_path, disk), Machine("target", tmp_path, disk)
    incoming = ["-incoming", f"rdma:10.0.0.1:{_PORT}"]
    with topology(SCENARIOS / "pingpong.toml", "--label", label) as run_id, ExitStack() as stack:
        words = ("exec", "--run", run_id, "--host")
        processes = [
            stack.enter_context(background(*words, host, "--", *rest, log=tmp_path / host))
            for host, rest in (("h1", [*target.words, *incoming]), ("h2", source.words))
        ]
        _migrate(source, target, "10.0.0.1", running=False)
        assert [process.wait(30) for process in processes] == [0, 0]
        counted = command("stat", "--run", run_id)
        sent = next(
            line.split()[2] for line in counted.stdout.splitlines() if line.split()[:1] == ["tx_bytes"]
        )
        assert int(sent) > 65_536  # the guest's words; what is zero goes as a note


@pytest.mark.parametrize("transport", ["roce", "irn"])
def test_a_running_guest_migrates_over_an_interface(transport: str, disk: Path, tmp_path: Path) -> None:
    source, target = Machine("source", tmp_path, disk), Machine("target", tmp_path, disk)
    before = shared_files()
    with veth_pair(4300) as (first, second):
        variables = environment(DEVICE, transport)
        incoming = ["-incoming", f"rdma:{first.ipv4}:{_PORT}"]
        programs = [
            first.start([*target.words, *incoming], variables),
            second.start(source.words, variables),
        ]
        try:
            _migrate(source, target, first.ipv4, running=True)
            assert [program.wait(30) for program in programs] == [0, 0], [p.output() for p in programs]
        finally:
            for program in programs:
                program.end()
    assert shared_files() <= before
