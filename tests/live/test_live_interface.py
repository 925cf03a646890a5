"""Programs straight on a network interface, in real time: two namespaces, a veth, no topology (docs/reference/interface.md)."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from interface_runs import RPING_RACE, SECONDS, finish, run_pair, shared_files, wait_for
from rocelab import native
from rocelab.live.interface import environment
from rocelab.live.veth_pair import DEVICE, End, veth_pair

_LIBRARY = native.hosts_build() / "irn_provider" / "verbs" / "librocelab_verbs.so"
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(not _LIBRARY.exists(), reason=f"{_LIBRARY} is not built: ./rocelab setup"),
]

_GID = ["-d", "rocelab0", "-g", "1"]
_PERFTEST = ["-d", "rocelab0", "-x", "1", "-F"]
_GID_PINGPONG = ["ibv_rc_pingpong", *_GID]
_PINGPONG = [*_GID_PINGPONG, "-n", "2000", "-c"]

# Joins a multicast group where the kernel takes no other filter for the device's packet socket.
_LOCKED_FILTER = """
import ctypes, os, socket, struct

verbs = ctypes.CDLL(None)
for name in ("ibv_get_device_list", "ibv_open_device", "ibv_alloc_pd", "ibv_create_cq", "ibv_create_qp"):
    getattr(verbs, name).restype = ctypes.c_void_p
device = ctypes.c_void_p.from_address(verbs.ibv_get_device_list(None))
context = ctypes.c_void_p(verbs.ibv_open_device(device))
cq = verbs.ibv_create_cq(context, 4, None, None, 0)
ud = struct.pack("PPPP5Iii", 0, cq, cq, 0, 1, 1, 1, 1, 0, 4, 0)
qp = ctypes.c_void_p(verbs.ibv_create_qp(ctypes.c_void_p(verbs.ibv_alloc_pd(context)), ud))
for fd in os.listdir("/proc/self/fd"):
    try:
        wire = socket.socket(fileno=os.dup(int(fd)))
    except OSError:
        continue
    if wire.family == socket.AF_PACKET:
        wire.setsockopt(socket.SOL_SOCKET, 44, 1)  # SO_LOCK_FILTER
group = bytes(10) + bytes([255, 255, 239, 1, 2, 3])
print("refused", verbs.ibv_attach_mcast(qp, group, 0), verbs.ibv_attach_mcast(qp, group, 0))
print("destroyed", verbs.ibv_destroy_qp(qp))  # as a member could not be
"""


# SENDs to the queue pair that is named on stdin, from an address that nobody has: from `device` to `mac` and `ipv4`.
_FORGER = """
import sys
from scapy.all import IP, UDP, Ether, Raw, sendp
from scapy.contrib.roce import BTH

device, mac, ipv4 = sys.argv[1:]
print("ready", flush=True)
qpn, psn = (int(word, 0) for word in sys.stdin.readline().split())
below = Ether(dst=mac) / IP(src="10.99.0.77", dst=ipv4, flags="DF") / UDP(sport=0xC123, dport=4791, chksum=0)
sendp([below / BTH(opcode=4, dqpn=qpn, psn=(psn + i) % (1 << 24), ackreq=1) / Raw(b"forged" * 100) for i in range(100)],
      iface=device, verbose=False)
"""


@pytest.fixture(scope="module")
def ends() -> Iterator[tuple[End, End]]:
    before = shared_files()
    with veth_pair() as pair:
        yield pair
    assert shared_files() <= before, "programs took away what they shared"


def _run_pair(
    ends: tuple[End, End], server: list[str], client: list[str], transport: str = "roce", port: int = 18515
) -> tuple[str, str]:
    return run_pair(ends, server, client, environment(DEVICE, transport), port)


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


def test_a_group_that_the_kernel_lets_no_filter_through_for_is_an_errno(ends: tuple[End, End]) -> None:
    argv = ["/usr/bin/python3", "-c", _LOCKED_FILTER]
    assert (
        finish(ends[0].start(argv, environment(DEVICE, "roce")))
        == f"refused {errno.EPERM} {errno.EPERM}\ndestroyed 0\n"
    )


@pytest.mark.parametrize("transport", ["roce", "irn"])
def test_multicast(ends: tuple[End, End], transport: str) -> None:
    group = ["mckey", "-m", "239.1.2.3", "-C", "20", "-S", "1000"]
    variables = environment(DEVICE, transport)
    receiving = ends[0].start([*group, "-b", ends[0].ipv4], variables)
    time.sleep(2)  # mckey does not say when it has joined
    sending = ends[1].start([*group, "-b", ends[1].ipv4, "-s"], variables)
    try:
        finish(sending)
        assert (
            "receiving data transfers" in (output := finish(receiving))
            and "data transfers complete" in output
        )
    finally:
        for program in (sending, receiving):
            program.end()


def test_a_thousand_queue_pairs_do_not_overrun_their_receiver(ends: tuple[End, End]) -> None:
    """What they have in flight together is more than the receiver's socket holds: it pauses the sender."""
    slow = ["-u", "20"]  # a busy machine may take longer than perftest's timeout of 67 ms
    argv = ["ib_write_bw", *_PERFTEST, *slow, "-s", "4096", "-q", "1024", "-t", "16", "-n", "32"]
    _, output = _run_pair(ends, argv, [*argv, ends[0].ipv4])
    assert [line for line in output.splitlines() if line.split()[1:2] == ["32768"]], output


@pytest.mark.parametrize("transport", ["roce", "irn"])
def test_rdma_cm(ends: tuple[End, End], transport: str) -> None:
    server = ["rping", "-s", "-C", "50", "-V", "-a", ends[0].ipv4]
    client = ["rping", "-c", "-C", "50", "-V", "-v", "-a", ends[0].ipv4]
    _, output = run_pair(ends, server, client, environment(DEVICE, transport), port=0, forgiven=RPING_RACE)
    assert output.count("ping data") == 50, output


def test_frames_from_others_than_the_peer_are_ignored(ends: tuple[End, End]) -> None:
    """It knows the queue pair's number and what PSN comes next or soon, and has a good ICRC."""
    pytest.importorskip("scapy.contrib.roce")
    link = json.loads(subprocess.check_output(ends[0].inside("ip", "-j", "link", "show", DEVICE)))
    words = ends[1].inside(sys.executable, "-c", _FORGER, DEVICE, link[0]["address"], ends[0].ipv4)
    variables = {**environment(DEVICE), "ROCELAB_DEBUG": "1"}
    pingpong = ["stdbuf", "-oL", *_GID_PINGPONG, "-n", "60000", "-c"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forger:
        assert forger.stdin and forger.stdout and forger.stdout.readline() == "ready\n"
        serving = ends[0].start(pingpong, variables)
        wait_for(ends[0], 18515)
        calling = ends[1].start([*pingpong, ends[0].ipv4], variables)
        try:
            remote = None
            while remote is None and serving.running():
                time.sleep(0.01)
                remote = re.search(r"remote address: .*PSN (0x\w+)", serving.output())
            local = re.search(r"local address: .*QPN (0x\w+)", serving.output())
            assert local and remote, serving.output()
            forger.stdin.write(f"{local[1]} {remote[1]}\n")
            forger.stdin.flush()
            assert forger.wait(SECONDS) == 0
            said = finish(serving), finish(calling)
        finally:
            serving.end(), calling.end()
    assert "rx_wrong_peer=100" in said[0] and "rx_wrong_peer" not in said[1], said


def test_an_acknowledgement_does_not_wait_for_a_program_that_computes(
    ends: tuple[End, End], tmp_path: Path
) -> None:
    """It waits for what the program posts next; another thread of it waits in the library, and knows of nothing."""
    program, source = tmp_path / "one_poll", Path(__file__).with_name("one_poll.c")
    subprocess.run(["cc", "-O1", "-o", program, source, "-libverbs", "-lpthread"], check=True)
    address = ends[0].ipv4
    argv = [[str(program), what, address] for what in ("serve", "call")]
    _, output = _run_pair(ends, argv[0], argv[1], port=18519)
    longest = re.search(r"longest ([0-9.]+) ms", output)
    assert longest and float(longest[1]) < 100.0, output


def test_two_programs_share_an_interface(ends: tuple[End, End]) -> None:
    """Each has queue pairs of its own, and hears nothing of the other's."""
    first, second = ([*_PINGPONG, "-n", "20000", "-p", str(port)] for port in (18515, 18516))
    variables = environment(DEVICE)
    programs = [ends[0].start(argv, variables) for argv in (first, second)]
    wait_for(ends[0], 18515, 18516)
    programs += [ends[1].start([*argv, ends[0].ipv4], variables) for argv in (first, second)]
    for program in programs:
        output = finish(program)
        assert "20000 iters in" in output and "invalid data" not in output, output
        program.end()


def test_programs_of_one_interface_reach_each_other(ends: tuple[End, End]) -> None:
    argv = [*_PINGPONG]
    outputs = _run_pair((ends[0], ends[0]), argv, [*argv, ends[0].ipv4])
    for output in outputs:
        assert "2000 iters in" in output and "invalid data" not in output, output


def test_a_killed_program_ends_its_peers_connection_and_leaves_nothing(ends: tuple[End, End]) -> None:
    argv = ["ib_write_bw", *_PERFTEST, "-D", "100"]  # seconds; its client always has WRITEs on their way
    variables = environment(DEVICE)
    serving = ends[0].start(argv, variables)
    wait_for(ends[0], 18515)
    calling = ends[1].start([*argv, ends[0].ipv4], variables)
    time.sleep(2.0)
    assert serving.running() and calling.running()
    serving.end()
    assert calling.wait(SECONDS) not in (0, None)
    assert "Failed status 12" in calling.output(), calling.output()  # IBV_WC_RETRY_EXC_ERR
    calling.end()
    test_ping_pong(ends, "roce", False, "1")  # its virtual function is free, and what it left is taken away


def test_a_carrier_that_goes_and_comes_back_is_told(ends: tuple[End, End]) -> None:
    """The peer's end of the veth goes down: the link has no carrier, which is seen within a second."""
    watching = ends[0].start(["ibv_asyncwatch"], environment(DEVICE))
    try:
        for state, event in (("down", "IBV_EVENT_PORT_ERR (10)"), ("up", "IBV_EVENT_PORT_ACTIVE (9)")):
            time.sleep(1.5)
            subprocess.run(ends[1].inside("ip", "link", "set", DEVICE, state), check=True)
            until = time.monotonic() + SECONDS
            while event not in watching.output() and watching.running() and time.monotonic() < until:
                time.sleep(0.1)
            assert event in watching.output(), watching.output()
            shown = finish(ends[0].start(["ibv_devinfo"], environment(DEVICE)))
            assert ("PORT_DOWN" if state == "down" else "PORT_ACTIVE") in shown, shown
    finally:
        subprocess.run(ends[1].inside("ip", "link", "set", DEVICE, "up"), check=True)
        watching.end()
        finish(ends[0].start(["ibv_devinfo"], environment(DEVICE)))  # takes away what a killed one has left


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("nosuch0", "interface nosuch0: there is none of that name in this network namespace"),
        ("lo", "interface lo: it is not Ethernet"),
    ],
)
def test_a_bad_interface_is_one_line(ends: tuple[End, End], device: str, said: str) -> None:
    program = ends[0].start(["ibv_devinfo"], environment(device))
    assert program.wait(SECONDS) not in (0, None)
    output = program.output()
    assert output.count("rocelab: ") == 1 and f"rocelab: {said}" in output, output
    program.end()


def test_the_command_line_runs_programs_on_an_interface(ends: tuple[End, End]) -> None:
    tool = Path(__file__).resolve().parents[2] / "rocelab"
    argv = [str(tool), "exec", "--interface", DEVICE, "--transport", "irn", "--", "ibv_devinfo", "-v"]
    output = finish(ends[1].start(argv))
    assert "rocelab0" in output and "active_mtu:\t\t1024" in output and "10.99.0.2" in output, output


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_frames_on_the_wire_are_roce(ends: tuple[End, End], tmp_path: Path) -> None:
    """As tshark reads it, and with the ICRC that another implementation computes: single frames, as the kernel cuts them."""
    scapy = pytest.importorskip("scapy.contrib.roce")
    for end in ends:
        subprocess.run(end.inside("ethtool", "-K", DEVICE, "tx-udp-segmentation", "off"), check=True)
    capture = tmp_path / "wire.pcap"
    taking = ends[0].start(
        ["tshark", "-q", "-i", DEVICE, "-F", "pcap", "-w", str(capture), "-f", "udp port 4791"]
    )
    begun = time.monotonic()
    while not (capture.exists() and capture.stat().st_size > 0):  # the file's header: it is capturing
        assert time.monotonic() < begun + SECONDS, "tshark does not capture"
        time.sleep(0.1)
    try:
        _run_pair(ends, [*_PINGPONG, "-n", "100"], [*_PINGPONG, "-n", "100", ends[0].ipv4])
        time.sleep(1.0)
    finally:
        taking.process.send_signal(signal.SIGINT)
        taking.wait(SECONDS)
        taking.end()
    from scapy.utils import rdpcap

    frames = [frame for frame in rdpcap(str(capture)) if scapy.BTH in frame]
    assert max(len(frame) for frame in frames) < 1200
    assert len(frames) >= 1000  # 100 messages each way, of several packets, and what acknowledges them
    for frame in frames:
        bth = frame[scapy.BTH]
        sent = bytes(frame)[-4:]
        assert bth.compute_icrc(bytes(bth)[:-4]) == sent, frame.show(dump=True)
