"""A foreign device as a host: here a pair of interfaces whose far end the test plays by hand, frame by frame."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from live_runs import ROCELAB, ROOT, SCENARIOS, background, command, live, topology, wait_for
from rocelab.live.commands import find

pytestmark = live

# Runs on the host: what comes to the far end, as hex, a line each; what comes in on stdin goes out.
_FAR_END = """
import os, select, socket, sys
commands = os.fdopen(0, "rb", buffering=0)  # select() does not know of lines in a buffer
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind((sys.argv[1], 0))
print("ready", flush=True)
while True:
    for ready in select.select([s, commands], [], [])[0]:
        if ready is s:
            frame, address = s.recvfrom(65536)
            if address[2] != socket.PACKET_OUTGOING:
                print(frame.hex(), flush=True)
        else:
            line = commands.readline()
            if not line:
                sys.exit()
            s.send(bytes.fromhex(line.decode()))
"""


@dataclass
class Device:
    run_id: str
    far: subprocess.Popen[str]
    log: Path

    def send(self, frame: str) -> None:
        assert self.far.stdin
        self.far.stdin.write(frame + "\n")
        self.far.stdin.flush()

    def frames(self) -> list[str]:
        return self.log.read_text().split()[1:]

    def counters(self, host: str) -> dict[str, int]:
        stat = json.loads(command("stat", host, "--run", self.run_id, "--json").stdout)
        found: dict[str, int] = stat["nics"].get(f"{host}.0", {})
        return found


@contextmanager
def plugged(run_id: str, host: str, folder: Path, number: int = 0) -> Iterator[Device]:
    """Of the host, or of a NIC of one with several; `number` tells devices on one host apart."""
    inside = ["mnexec", "-a", str(find(run_id).host_pid(host))]
    near, far_end = f"near{number}", f"far{number}"
    add = [*inside, "ip", "link", "add", near, "type", "veth", "peer", "name", far_end]
    subprocess.run(add, check=True)
    for end in (near, far_end):
        subprocess.run([*inside, "ip", "link", "set", "dev", end, "up"], check=True)
    log, far_log = folder / f"plug{number}", folder / f"far{number}"
    with background("plug", "--run", run_id, "--host", host, "--interface", near, "--json", log=log) as plug:
        wait_for(lambda: f"{near} is" in log.read_text() or plug.poll() is not None, "the device", 20)
        assert plug.poll() is None, log.read_text()
        with far_log.open("w") as out:
            far = subprocess.Popen(
                [*inside, sys.executable, "-c", _FAR_END, far_end],
                stdin=subprocess.PIPE,
                stdout=out,
                text=True,
            )
        try:
            wait_for(lambda: "ready" in far_log.read_text(), "the far end", 20)
            yield Device(run_id, far, far_log)
        finally:
            far.kill()
            far.communicate()
    subprocess.run([*inside, "ip", "link", "del", near], check=True)
    report = json.loads(log.read_text().splitlines()[-1])
    assert report["from_device"] == 1 and report["malformed"] == 1, report
    assert report["to_device"] >= 1 and report["management_in"] >= 1, report


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
    with topology(SCENARIOS / "pingpong.toml", "--clock", "wall") as run_id:
        with plugged(run_id, "h2", tmp_path_factory.mktemp("plug")) as found:
            yield found


def ipv4(protocol: int, payload: bytes, source: str, destination: str) -> bytes:
    header = bytearray(20)
    header[0], header[8], header[9] = 0x45, 64, protocol
    header[2:4] = (20 + len(payload)).to_bytes(2, "big")
    header[12:16], header[16:20] = socket.inet_aton(source), socket.inet_aton(destination)
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, 20, 2))
    header[10:12] = (0xFFFF - (total % 0xFFFF or 0xFFFF)).to_bytes(2, "big")
    return bytes(header) + payload


def mac(number: int) -> str:
    """Of the NIC that has the address 10.0.0.`number`."""
    return f"02000a0000{number:02x}"


def roce(bth_onwards: bytes, source: int = 2, destination: int = 1) -> str:
    udp = (
        (0xC000).to_bytes(2, "big")
        + (4791).to_bytes(2, "big")
        + (8 + len(bth_onwards)).to_bytes(2, "big")
        + b"\0\0"
    )
    packet = ipv4(17, udp + bth_onwards, f"10.0.0.{source}", f"10.0.0.{destination}")
    return mac(destination) + mac(source) + "0800" + packet.hex()


def arp_request(source: int, destination: int) -> str:
    asker = mac(source) + f"0a0000{source:02x}"
    return (
        "f" * 12 + mac(source) + "0806" + "0001080006040001" + asker + 12 * "0" + f"0a0000{destination:02x}"
    )


# A datagram to QP1, whose ICRC is wrong.
BTH = bytes([100, 0, 0xFF, 0xFF, 0, 0, 0, 1, 0, 0, 0, 0])


def test_a_second_device_is_refused_and_the_host_stays_silent(device: Device) -> None:
    done = command("plug", "--run", device.run_id, "--host", "h2", "--tap", "wire1")
    assert done.returncode != 0 and "plugged in already" in done.stderr
    inside = ["mnexec", "-a", str(find(device.run_id).host_pid("h2"))]
    shown = subprocess.run([*inside, "ip", "-br", "addr"], capture_output=True, text=True, check=True).stdout
    assert "10.0.0.2" not in shown and "wire1" not in shown


def test_programs_cannot_use_the_hosts_nic_meanwhile(device: Device) -> None:
    done = command("exec", "--run", device.run_id, "--host", "h2", "--", "ibv_devinfo")
    assert "foreign device" in done.stderr


def test_traffic_other_than_roce_bypasses_the_nic(device: Device) -> None:
    device.send(arp_request(2, 1))
    answer = wait_for(
        lambda: [f for f in device.frames() if f[24:28] == "0806" and f[:12] == mac(2)], "an ARP reply"
    )
    assert answer[0][44:56] == mac(1)  # the sender's MAC address is h1's


def test_roce_frames_enter_the_run_and_broken_ones_do_not(device: Device) -> None:
    device.send(roce(BTH + bytes(8 + 256 + 4)))
    device.send(roce(BTH[:8]))
    stat = ("stat", "s1", "--run", device.run_id, "--json")
    wait_for(
        lambda: json.loads(command(*stat).stdout)["ports"]["s1-eth2"]["rx_frames"] == 1,
        "the frame at the switch",
    )
    assert device.counters("h2")["tx_packets"] == 1


@contextmanager
def asking(run_id: str, address: str) -> Iterator[None]:
    """h1's rping asks it for a connection."""
    program = ("rping", "-c", "-a", address, "-C", "1")
    rping = subprocess.Popen(
        [str(ROCELAB), "exec", "--run", run_id, "--host", "h1", "--", *program],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )
    try:
        yield
    finally:
        rping.kill()
        rping.wait()


def requests(device: Device, number: int) -> list[str]:
    """What has come for a connection manager at 10.0.0.`number`: UDP port 4791, datagrams to QP1."""
    found = [f for f in device.frames() if f[:12] == mac(number) and f[72:76] == "12b7"]
    return [f for f in found if f[84:86] == "64" and f[94:100] == "000001"]


def test_frames_to_the_host_reach_the_device(device: Device) -> None:
    with asking(device.run_id, "10.0.0.2"):
        found = wait_for(lambda: requests(device, 2), "a request", 30)
        assert found[0][12:24] == mac(1)


def _network_of(inside: list[str]) -> list[str]:
    """Addresses and routes, without those that a kernel makes by itself for a link."""
    shows = (("-br", "addr"), ("route", "show", "table", "all"), ("-6", "route", "show", "table", "all"))
    lines: list[str] = []
    for show in shows:
        done = subprocess.run([*inside, "ip", *show], capture_output=True, text=True, check=True)
        shown = (re.sub(r" fe80:\S*/64", "", " ".join(line.split())) for line in done.stdout.splitlines())
        lines += sorted(line for line in shown if not re.search("fe80:|ff00:", line))
    return lines


# NIC n of the second host has the address 10.0.0.3 + n, the first host's NICs have 1 and 2.
def test_each_nic_of_a_host_takes_a_device_of_its_own(tmp_path: Path) -> None:
    two_nics = ("--clock", "wall", "--set", "topology.nics_per_host=2")
    with topology(SCENARIOS / "pingpong.toml", *two_nics) as run_id, ExitStack() as stack:
        inside = ["mnexec", "-a", str(find(run_id).host_pid("h2"))]
        before = _network_of(inside)
        for how in (("--tap", "wire0"), ("--kernel",)):
            done = command("plug", "--run", run_id, "--host", "h2", *how)
            assert done.returncode != 0 and "h2.0, h2.1" in done.stderr, done.stderr
        devices = []
        for nic in (1, 0):  # the second NIC's alone first
            me, peer = 3 + nic, 1 + nic
            device = stack.enter_context(plugged(run_id, f"h2.{nic}", tmp_path, nic))
            devices.append((device, me))
            done = command("exec", "--run", run_id, "--host", "h2", "--", "ibv_devinfo")
            assert "foreign device" in done.stderr
            device.send(arp_request(me, peer))
            wait_for(
                lambda d=device, m=me: [f for f in d.frames() if f[24:28] == "0806" and f[:12] == mac(m)],
                "an ARP reply",
            )
            device.send(roce(BTH + bytes(8 + 256 + 4), me, peer))
            device.send(roce(BTH[:8], me, peer))
            wait_for(
                lambda d=device, n=nic: d.counters(f"h2.{n}").get("tx_packets") == 1, "the frame in the run"
            )
        stat = json.loads(command("stat", "s1", "--run", run_id, "--json").stdout)["ports"]
        assert [stat[f"s1-eth{port}"]["rx_frames"] for port in (3, 4)] == [1, 1]
        for device, me in devices:
            with asking(run_id, f"10.0.0.{me}"):
                wait_for(lambda d=device, m=me: requests(d, m), "a request", 30)
        for device, me in devices:  # each has its own alone
            assert not [n for n in (3, 4) if n != me and requests(device, n)]
        stack.close()
        assert _network_of(inside) == before
        done = command("exec", "--run", run_id, "--host", "h2", "--", "ibv_devices")
        assert "rocelab0" in done.stdout and "rocelab1" in done.stdout, done.stderr
