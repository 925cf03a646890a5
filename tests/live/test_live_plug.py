"""A foreign device as a host: here a pair of interfaces whose far end the test plays by hand, frame by frame."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
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
H1, H2 = "02000a000001", "02000a000002"


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


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
    folder = tmp_path_factory.mktemp("plug")
    with topology(SCENARIOS / "pingpong.toml", "--clock", "wall") as run_id:
        inside = ["mnexec", "-a", str(find(run_id).host_pid("h2"))]
        add = [*inside, "ip", "link", "add", "near", "type", "veth", "peer", "name", "far"]
        subprocess.run(add, check=True)
        for end in ("near", "far"):
            subprocess.run([*inside, "ip", "link", "set", "dev", end, "up"], check=True)
        log, far_log = folder / "plug", folder / "far"
        with background(
            "plug", "--run", run_id, "--host", "h2", "--interface", "near", "--json", log=log
        ) as plug:
            wait_for(lambda: "near is" in log.read_text() or plug.poll() is not None, "the device", 20)
            assert plug.poll() is None, log.read_text()
            with far_log.open("w") as out:
                far = subprocess.Popen(
                    [*inside, sys.executable, "-c", _FAR_END, "far"],
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
        report = json.loads(log.read_text().splitlines()[-1])
        assert report["from_device"] == 1 and report["malformed"] == 1, report
        assert report["to_device"] >= 1 and report["management_in"] >= 1, report


def ipv4(protocol: int, payload: bytes, source: str, destination: str) -> bytes:
    header = bytearray(20)
    header[0], header[8], header[9] = 0x45, 64, protocol
    header[2:4] = (20 + len(payload)).to_bytes(2, "big")
    header[12:16], header[16:20] = socket.inet_aton(source), socket.inet_aton(destination)
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, 20, 2))
    header[10:12] = (0xFFFF - (total % 0xFFFF or 0xFFFF)).to_bytes(2, "big")
    return bytes(header) + payload


def roce(bth_onwards: bytes) -> str:
    udp = (
        (0xC000).to_bytes(2, "big")
        + (4791).to_bytes(2, "big")
        + (8 + len(bth_onwards)).to_bytes(2, "big")
        + b"\0\0"
    )
    return H1 + H2 + "0800" + ipv4(17, udp + bth_onwards, "10.0.0.2", "10.0.0.1").hex()


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
    device.send("ffffffffffff" + H2 + "0806" + "0001080006040001" + H2 + "0a000002" + 12 * "0" + "0a000001")
    answer = wait_for(
        lambda: [f for f in device.frames() if f[24:28] == "0806" and f[:12] == H2], "an ARP reply"
    )
    assert answer[0][44:56] == H1  # the sender's MAC address is h1's


def test_roce_frames_enter_the_run_and_broken_ones_do_not(device: Device) -> None:
    bth = bytes([100, 0, 0xFF, 0xFF, 0, 0, 0, 1, 0, 0, 0, 0])  # a datagram to QP1, whose ICRC is wrong
    device.send(roce(bth + bytes(8 + 256 + 4)))
    device.send(roce(bth[:8]))
    stat = ("stat", "s1", "--run", device.run_id, "--json")
    wait_for(
        lambda: json.loads(command(*stat).stdout)["ports"]["s1-eth2"]["rx_frames"] == 1,
        "the frame at the switch",
    )
    assert device.counters("h2")["tx_packets"] == 1


def test_frames_to_the_host_reach_the_device(device: Device) -> None:
    asking = subprocess.Popen(
        [
            str(ROCELAB),
            "exec",
            "--run",
            device.run_id,
            "--host",
            "h1",
            "--",
            "rping",
            "-c",
            "-a",
            "10.0.0.2",
            "-C",
            "1",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )
    try:
        # A request for a connection: UDP port 4791, a datagram to QP1, from h1.
        found = wait_for(
            lambda: [f for f in device.frames() if f[:24] == H2 + H1 and f[72:76] == "12b7"], "a request", 30
        )
        assert found[0][84:86] == "64" and found[0][94:100] == "000001"
    finally:
        asking.kill()
        asking.wait()
