"""Frames of programs on a kept topology: `up --pcap` and `capture`, into files and pipes, as other programs read them. And Open vSwitch's own
tools, which `env` of a switch lets find it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from live_runs import (
    ROCELAB,
    ROOT,
    SCENARIOS,
    background,
    command,
    error_of,
    live,
    server_and_client,
    topology,
    wait_for,
)

pytestmark = live

_SCENARIO = SCENARIOS / "pingpong.toml"
_ITERATIONS = 20
_SIZE = 1000  # one packet


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A topology, and the folder with its switch's capture."""
    out = tmp_path_factory.mktemp("out")
    with topology(_SCENARIO, "--label", "roce+pfc", "--pcap", "--out", str(out)) as run_id:
        yield run_id, out / "pcap" / run_id


def _exchange(run_id: str) -> None:
    words = ["ibv_rc_pingpong", "-d", "rocelab0", "-g", "1", "-s", str(_SIZE), "-n", str(_ITERATIONS)]
    server_and_client(run_id, words, [*words, "10.0.0.1"], refused="Couldn't connect")


def _sends(capture: Path | bytes) -> Counter[str]:
    """SEND ONLY frames of a capture, by source; tshark finds it whole."""
    reads = ["-r", str(capture)] if isinstance(capture, Path) else ["-r", "-"]
    done = subprocess.run(
        ["tshark", *reads, "-Y", "infiniband.bth.opcode == 4", "-T", "fields", "-e", "ip.src"],
        input=None if isinstance(capture, Path) else capture,
        capture_output=True,
    )
    assert b"cut short" not in done.stderr, done.stderr
    return Counter(done.stdout.decode().split())


_ONCE = {"10.0.0.1": _ITERATIONS, "10.0.0.2": _ITERATIONS}
_TWICE = {source: 2 * frames for source, frames in _ONCE.items()}  # in and out of the switch


@contextmanager
def _capturing(run_id: str, *words: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with background("capture", *words, "--run", run_id, log=log) as capturing:
        wait_for(lambda: b"^C ends it" in log.read_bytes() or capturing.poll() is not None, "a capture")
        yield capturing


def test_a_capture_of_a_host_and_one_of_a_switch_have_the_programs_frames(
    kept: tuple[str, Path], tmp_path: Path
) -> None:
    host, switch = tmp_path / "h1.pcapng", tmp_path / "s1.pcapng"
    with (
        _capturing(kept[0], "h1", "-w", str(host), log=tmp_path / "h1.log") as of_host,
        _capturing(kept[0], "s1", "-w", str(switch), log=tmp_path / "s1.log") as of_switch,
    ):
        _exchange(kept[0])
        for capturing in (of_host, of_switch):
            capturing.send_signal(signal.SIGINT)
            assert capturing.wait(30) == 0
    _exchange(kept[0])
    assert _sends(host) == _ONCE, "as they cross its link, and no later ones"
    assert _sends(switch) == _TWICE


def test_a_pipe_has_the_frames_while_programs_run(kept: tuple[str, Path], tmp_path: Path) -> None:
    """tshark shows them as they come, and ends with their number; then the capture ends."""
    words = [str(ROCELAB), "capture", "s1:h2", "-w", "-", "--run", kept[0]]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as capturing:
        assert capturing.stdout and capturing.stderr
        assert b"^C ends it" in capturing.stderr.readline()
        reader = ["tshark", "-l", "-i", "-", "-Y", "infiniband.bth.opcode == 4"]
        with subprocess.Popen(
            reader, stdin=capturing.stdout, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as reading:
            capturing.stdout.close()
            _exchange(kept[0])
            assert reading.stdout
            for _ in range(2 * _ITERATIONS):
                assert b"RC Send Only" in reading.stdout.readline()
            assert capturing.poll() is None
            reading.terminate()
        try:
            assert capturing.wait(30) in (0, 141), "its reader has gone"
        finally:
            capturing.kill()


def test_a_capture_whose_command_was_killed_ends(kept: tuple[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "killed.pcapng"
    with _capturing(kept[0], "h1", "-w", str(file), log=tmp_path / "log") as capturing:
        capturing.kill()
        capturing.wait()
    before = wait_for(lambda: file.stat().st_size, "the file's beginning")
    wait_for(lambda: _is_free(kept[0], file), "the end of the capture")
    _exchange(kept[0])
    assert file.stat().st_size == before


def _is_free(run_id: str, file: Path) -> bool:
    """No capture of the switch's goes there."""
    descriptors = Path("/proc", str(_switch(run_id)), "fd").iterdir()
    return not any(os.readlink(d) == str(file) for d in descriptors if d.is_symlink())


def _switch(run_id: str) -> int:
    return int(Path(f"/tmp/rocelab.{run_id}/ovs/ovs-vswitchd.pid").read_text())


def test_a_capture_that_cannot_be_is_one_clear_line(kept: tuple[str, Path], tmp_path: Path) -> None:
    assert "no node h3: there are h1, h2, s1" in error_of(command("capture", "h3", "--run", kept[0]))
    missing = str(tmp_path / "none" / "x.pcapng")
    assert missing in error_of(command("capture", "h1", "-w", missing, "--run", kept[0]))


def test_up_captures_every_switch_from_the_first_frame_to_the_last(tmp_path: Path) -> None:
    with topology(_SCENARIO, "--pcap", "--out", str(tmp_path)) as run_id:
        _exchange(run_id)
    assert _sends(tmp_path / "pcap" / run_id / "s1.pcapng") == _TWICE


def test_files_of_up_can_be_read_while_the_topology_is_there(kept: tuple[str, Path]) -> None:
    before = _sends(kept[1] / "s1.pcapng")
    _exchange(kept[0])
    wait_for(lambda: _sends(kept[1] / "s1.pcapng") - before == _TWICE, "the frames of the last exchange", 10)


_TOOLS = {  # and what each says, among other things
    "ovs-vsctl show": "type: lossless",
    "ovs-vsctl list-ports s1": "s1-eth1\ns1-eth2\n",
    "ovs-ofctl -O OpenFlow13 dump-flows s1": "actions=",
    "ovs-appctl dpctl/show": "s1-eth2",
    "ovs-appctl lossless/show s1": "lossless",
    "ovs-appctl -t ovsdb-server ovsdb-server/list-dbs": "Open_vSwitch",
}


def test_open_vswitchs_own_tools_find_it(kept: tuple[str, Path]) -> None:
    environment = command("env", "s1", "--run", kept[0]).stdout
    for tool, said in _TOOLS.items():
        done = subprocess.run(["sh", "-c", f"{environment}{tool}"], capture_output=True, text=True)
        assert done.returncode == 0 and said in done.stdout, f"{tool}: {done.stdout}{done.stderr}"


def test_exec_says_where_frames_are_to_who_looks_on_a_host(kept: tuple[str, Path]) -> None:
    done = command("exec", "--run", kept[0], "--host", "h1", "--", "tshark", "--version")
    assert done.returncode == 0 and "./rocelab capture h1 shows them" in done.stderr
    assert "rocelab" not in done.stdout


def test_a_program_that_is_not_there_is_one_clear_line(kept: tuple[str, Path]) -> None:
    done = command("exec", "--run", kept[0], "--host", "h1", "--", "env", "UCX_TLS=rc_v", "no_such_program")
    assert error_of(done) == "no_such_program: there is no such program; is it in PATH?"
