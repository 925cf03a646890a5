"""Programs straight on a network interface, in real time: two namespaces, a veth, no topology (docs/interface.md)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rocelab import native
from rocelab.live.interface import environment
from rocelab.live.veth_pair import DEVICE, End, veth_pair

_LIBRARY = native.build_directory() / "irn_provider" / "verbs" / "librocelab_verbs.so"
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(not _LIBRARY.exists(), reason=f"{_LIBRARY} is not built: ./rocelab setup"),
]

_SECONDS = 60.0
_GID = ["-d", "rocelab0", "-g", "1"]
_PERFTEST = ["-d", "rocelab0", "-x", "1", "-F"]
_PINGPONG = ["ibv_rc_pingpong", *_GID, "-n", "2000", "-c"]


@pytest.fixture(scope="module")
def ends() -> Iterator[tuple[End, End]]:
    with veth_pair() as pair:
        yield pair
    left = [path.name for path in Path("/dev/shm").glob("rocelab-interface-*")]
    assert not left, "programs took away what they shared"


def _finish(process: subprocess.Popen[str]) -> str:
    try:
        output, _ = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        pytest.fail(f"not done after {_SECONDS:.0f} s: {output}")
    assert process.returncode == 0, output
    return output


def _listens(end: End, port: int) -> bool:
    shown = subprocess.run(
        end.inside("ss", "-Hltn", f"sport = :{port}"), capture_output=True, text=True, check=True
    )
    return bool(shown.stdout.strip())


def _run_pair(
    ends: tuple[End, End], server: list[str], client: list[str], transport: str = "roce", port: int = 18515
) -> tuple[str, str]:
    """The server's and the client's output. `port`: where the server listens by TCP; 0: not by TCP."""
    variables = environment(DEVICE, transport)
    serving = ends[0].start(server, variables)
    end = time.monotonic() + _SECONDS
    while port != 0 and not _listens(ends[0], port) and serving.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    if port == 0:
        time.sleep(1.0)
    calling = ends[1].start(client, variables)
    try:
        return _finish(serving), _finish(calling)
    finally:
        for process in (serving, calling):
            process.kill()
            process.wait()


@pytest.mark.parametrize("transport", ["roce", "irn"])
@pytest.mark.parametrize("events", [False, True])
@pytest.mark.parametrize("gid", ["0", "1"])
def test_ping_pong(ends: tuple[End, End], transport: str, events: bool, gid: str) -> None:
    argv = ["ibv_rc_pingpong", "-d", "rocelab0", "-g", gid, "-n", "2000", "-c", *(["-e"] if events else [])]
    outputs = _run_pair(ends, argv, [*argv, ends[0].ipv4], transport)
    for output in outputs:
        assert "2000 iters in" in output and "invalid data" not in output, output


@pytest.mark.parametrize("transport", ["roce", "irn"])
@pytest.mark.parametrize("program", ["ib_write_bw", "ib_send_lat", "ib_read_bw", "ib_write_lat"])
def test_perftest(ends: tuple[End, End], transport: str, program: str) -> None:
    argv = [program, *_PERFTEST, "-n", "1000"]
    _, output = _run_pair(ends, argv, [*argv, ends[0].ipv4], transport)
    rows = [line.split() for line in output.splitlines() if line.split()[1:2] == ["1000"]]
    assert len(rows) == 1, output


@pytest.mark.parametrize("transport", ["roce", "irn"])
def test_rdma_cm(ends: tuple[End, End], transport: str) -> None:
    server = ["rping", "-s", "-C", "50", "-V", "-a", ends[0].ipv4]
    client = ["rping", "-c", "-C", "50", "-V", "-v", "-a", ends[0].ipv4]
    _, output = _run_pair(ends, server, client, transport, port=0)
    assert output.count("ping data") == 50, output


def test_two_programs_share_an_interface(ends: tuple[End, End]) -> None:
    """Each has queue pairs of its own, and hears nothing of the other's."""
    first, second = ([*_PINGPONG, "-n", "20000", "-p", str(port)] for port in (18515, 18516))
    variables = environment(DEVICE)
    servers = [ends[0].start(argv, variables) for argv in (first, second)]
    end = time.monotonic() + _SECONDS
    while not (_listens(ends[0], 18515) and _listens(ends[0], 18516)) and time.monotonic() < end:
        time.sleep(0.05)
    clients = [ends[1].start([*argv, ends[0].ipv4], variables) for argv in (first, second)]
    outputs = [_finish(process) for process in (*servers, *clients)]
    for output in outputs:
        assert "20000 iters in" in output and "invalid data" not in output, output


def test_programs_of_one_interface_reach_each_other(ends: tuple[End, End]) -> None:
    argv = [*_PINGPONG]
    outputs = _run_pair((ends[0], ends[0]), argv, [*argv, ends[0].ipv4])
    for output in outputs:
        assert "2000 iters in" in output and "invalid data" not in output, output


def test_a_killed_program_ends_its_peers_connection_and_leaves_nothing(ends: tuple[End, End]) -> None:
    argv = ["ibv_rc_pingpong", *_GID, "-n", "100000000"]
    variables = environment(DEVICE)
    serving = ends[0].start(argv, variables)
    end = time.monotonic() + _SECONDS
    while not _listens(ends[0], 18515) and time.monotonic() < end:
        time.sleep(0.05)
    calling = ends[1].start([*argv, ends[0].ipv4], variables)
    time.sleep(1.0)
    assert serving.poll() is None and calling.poll() is None
    os.kill(serving.pid, signal.SIGKILL)
    serving.communicate()
    output, _ = calling.communicate(timeout=_SECONDS)
    assert calling.returncode != 0 and "transport retry counter exceeded" in output, output
    test_ping_pong(ends, "roce", False, "1")  # its virtual function is free, and what it left is taken away


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("nosuch0", "interface nosuch0: there is none of that name in this network namespace"),
        ("lo", "interface lo: it is not Ethernet"),
    ],
)
def test_a_bad_interface_is_one_line(ends: tuple[End, End], device: str, said: str) -> None:
    process = ends[0].start(["ibv_devinfo"], environment(device))
    output, _ = process.communicate(timeout=_SECONDS)
    assert process.returncode != 0
    assert output.count("rocelab: ") == 1 and f"rocelab: {said}" in output, output


def test_the_command_line_runs_programs_on_an_interface(ends: tuple[End, End]) -> None:
    tool = Path(__file__).resolve().parents[2] / "rocelab"
    argv = [str(tool), "exec", "--interface", DEVICE, "--transport", "irn", "--", "ibv_devinfo", "-v"]
    output = _finish(ends[1].start(argv))
    assert "rocelab0" in output and "active_mtu:\t\t1024" in output and "10.99.0.2" in output, output


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_what_is_on_the_wire_is_roce(ends: tuple[End, End], tmp_path: Path) -> None:
    """As tshark reads it, and with the ICRC that another implementation computes: single frames, as the kernel cuts them."""
    scapy = pytest.importorskip("scapy.contrib.roce")
    for end in ends:
        subprocess.run(end.inside("ethtool", "-K", DEVICE, "tx-udp-segmentation", "off"), check=True)
    capture = tmp_path / "wire.pcap"
    taking = ends[0].start(
        ["tshark", "-q", "-i", DEVICE, "-F", "pcap", "-w", str(capture), "-f", "udp port 4791"]
    )
    time.sleep(2.0)
    try:
        _run_pair(ends, [*_PINGPONG, "-n", "100"], [*_PINGPONG, "-n", "100", ends[0].ipv4])
        time.sleep(1.0)
    finally:
        taking.send_signal(signal.SIGINT)
        taking.wait(timeout=_SECONDS)
    from scapy.utils import rdpcap

    frames = [frame for frame in rdpcap(str(capture)) if scapy.BTH in frame]
    assert max(len(frame) for frame in frames) < 1200
    assert len(frames) >= 1000  # 100 messages each way, of several packets, and what acknowledges them
    for frame in frames:
        bth = frame[scapy.BTH]
        sent = bytes(frame)[-4:]
        assert bth.compute_icrc(bytes(bth)[:-4]) == sent, frame.show(dump=True)
