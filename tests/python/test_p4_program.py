"""docs/papers/p4qcn.p4: its constants are those of the switch model, and where p4c-bm2-ss and simple_switch are installed it answers the same frames with the same bytes."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rocelab.scenario import read_scenario

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "docs" / "papers" / "p4qcn.p4"
TEXT = PROGRAM.read_text()
CONSTANTS = {name: int(value, 0) for name, value in re.findall(r"const bit<\d+> (\w+) = (\w+);", TEXT)}


def of_header(name: str, constant: str) -> int:
    """A constant of the C++ sources, which says it once."""
    found = re.findall(rf"\b{constant} = (0x[0-9a-f]+|\d+)[,;]", (ROOT / name).read_text())
    assert len(found) == 1, (name, constant, found)
    return int(found[0], 0)


def test_the_congestion_point_has_the_values_of_the_preset_paper() -> None:
    scenario = read_scenario(ROOT / "scenarios" / "p4qcn_testbed.toml", ['transport="irn+p4qcn"'])
    ((parameters),) = (dict(s["parameters"]) for s in scenario.native.settings)
    assert parameters["congestion_control.p4qcn.preset"] == '"paper"'
    assert parameters["switch.p4qcn.count"] == '"frames"'
    assert CONSTANTS["Q_MIN"] == int(parameters["switch.p4qcn.frames_min"])
    assert CONSTANTS["Q_MAX"] == int(parameters["switch.p4qcn.frames_max"])
    assert f'"{CONSTANTS["GAP_US"]}us"' == parameters["switch.p4qcn.gap"]
    assert CONSTANTS["FLOWS"] == int(parameters["switch.p4qcn.flows"])
    assert CONSTANTS["FEEDBACK_DSCP"] == int(parameters["switch.p4qcn.dscp"])
    assert float(parameters["switch.p4qcn.p_max"]) == 1  # the program knows no other


def test_the_feedback_packet_has_the_layout_of_the_switch_model() -> None:
    icmp = "base/wire/icmp_feedback.h"
    assert CONSTANTS["FEEDBACK_TYPE"] == of_header(icmp, "kType")
    assert CONSTANTS["ICMP"] == of_header(icmp, "kIcmp")
    assert CONSTANTS["CP_NETWORK"] == of_header(icmp, "kCpNetwork")
    assert CONSTANTS["FEEDBACK_CODE"] == of_header("base/wire/p4qcn_fbp.h", "kCode")
    body = re.search(r"header feedback_t \{(.*?)\n\}", TEXT, re.DOTALL)
    assert body is not None
    fields = [(name, int(bits)) for bits, name in re.findall(r"bit<(\d+)> (\w+);", body[1])]
    want = "kind code checksum depth destination reserved dest_qp".split()
    assert [name for name, _ in fields] == want
    assert [bits for _, bits in fields] == [8, 8, 16, 32, 32, 8, 24]
    icmp_bytes = sum(bits for _, bits in fields) // 8
    assert icmp_bytes == of_header(icmp, "kSize")
    assert CONSTANTS["FEEDBACK_TOTAL_LENGTH"] == 20 + icmp_bytes
    padding = re.search(r"header padding_t \{ bit<(\d+)> zeros; \}", TEXT)
    assert padding is not None and 14 + 20 + icmp_bytes + int(padding[1]) // 8 == CONSTANTS["FEEDBACK_FRAME"]


# --- the program itself

_TOOLS = ("p4c-bm2-ss", "simple_switch", "simple_switch_CLI")
_MISSING = [tool for tool in _TOOLS if shutil.which(tool) is None]
_FRAMES = 20
_SOURCE, _SINK = bytes([2, 0, 10, 0, 0, 1]), bytes([2, 0, 10, 0, 0, 2])
_SOURCE_IP, _SINK_IP = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
_QPN = 0x1011
_PORT = 1  # of the sink


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ipv4(tos: int, length: int, protocol: int, source: bytes, destination: bytes) -> bytes:
    head = struct.pack(">BBHHHBB", 0x45, tos, length, 0, 0x4000, 64, protocol)
    return head + struct.pack(">H", checksum(head + b"\0\0" + source + destination)) + source + destination


def data_frame(opcode: int, psn: int) -> bytes:
    roce = struct.pack(">BBHIBBH", opcode, 0, 0xFFFF, _QPN, 0, psn >> 16, psn & 0xFFFF) + bytes(64 + 4)
    udp = struct.pack(">HHHH", 49152, 4791, 8 + len(roce), 0)
    packet = ipv4(26 << 2 | 2, 28 + len(roce), 17, _SOURCE_IP, _SINK_IP)
    return _SINK + _SOURCE + b"\x08\x00" + packet + udp + roce


def feedback_frame(depth: int) -> bytes:
    point = CONSTANTS["CP_NETWORK"] + 1 + _PORT
    tail = struct.pack(">I", depth) + _SINK_IP + struct.pack(">I", _QPN)
    icmp = struct.pack(">BBH", 253, 3, checksum(struct.pack(">BBH", 253, 3, 0) + tail)) + tail
    head = _SOURCE + (CONSTANTS["CP_MAC"] + 1 + _PORT).to_bytes(6, "big") + b"\x08\x00"
    return (head + ipv4(48 << 2 | 3, 36, 1, point.to_bytes(4, "big"), _SOURCE_IP) + icmp).ljust(60, b"\0")


def write_pcap(path: Path, frames: list[bytes]) -> None:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    path.write_bytes(head + b"".join(struct.pack("<IIII", 0, 0, len(f), len(f)) + f for f in frames))


def read_pcap(path: Path) -> list[bytes]:
    data, frames, at = path.read_bytes(), [], 24
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16 : at + 16 + size])
        at += 16 + size
    return frames


@contextmanager
def switch(folder: Path) -> Iterator[None]:
    """It begins to read its ports' files after five seconds, by when it has its tables and its slow queue."""
    subprocess.run(["p4c-bm2-ss", str(PROGRAM), "-o", "p4qcn.json"], cwd=folder, check=True)
    command = ["simple_switch", "--use-files", "5", "-i", "0@source", "-i", "1@sink", "p4qcn.json"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as process:
        try:
            time.sleep(2)
            commands = f"""mirroring_add {CONSTANTS["SESSION"]} 0
table_add route forward 10.0.0.1/32 => 0
table_add route forward 10.0.0.2/32 => {_PORT}
set_queue_depth 100 {_PORT}
set_queue_rate 1 {_PORT}
"""
            subprocess.run(["simple_switch_CLI"], input=commands, text=True, check=True, cwd=folder)
            yield
        finally:
            process.terminate()


@pytest.mark.skipif(bool(_MISSING), reason=f"not installed: {', '.join(_MISSING)} (p4lang's p4c and bmv2)")
@pytest.mark.parametrize("opcode, answered", [(0x24, True), (0x11, False)])  # SEND of UC; an acknowledgement
def test_the_program_answers_the_frames_that_the_switch_model_answers(
    opcode: int, answered: bool, tmp_path: Path
) -> None:
    write_pcap(tmp_path / "source_in.pcap", [data_frame(opcode, n) for n in range(_FRAMES)])
    write_pcap(tmp_path / "sink_in.pcap", [])
    with switch(tmp_path):
        time.sleep(5 + _FRAMES + 5)  # one packet a second leaves
    assert len(read_pcap(tmp_path / "sink_out.pcap")) == _FRAMES
    found = read_pcap(tmp_path / "source_out.pcap")
    # Frame n finds n in the queue, or one less: whether the first has left by then is bmv2's threads' affair.
    depths = range(CONSTANTS["Q_MAX"], _FRAMES - 1)
    more = feedback_frame(_FRAMES - 1)
    assert found in (
        [[feedback_frame(d) for d in depths], [*(feedback_frame(d) for d in depths), more]]
        if answered
        else [[]]
    )
