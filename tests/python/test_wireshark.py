"""The dissector of base/wire/wireshark over frames that are packed here, byte by byte, from the diagrams of base/wire/irn.h, shim.h and clcm.h."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "base/wire/wireshark/rocelab.lua"
CAPTURES = ROOT / "tests/data/captures"

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")


def frame(transport: bytes) -> bytes:
    """Ethernet, IPv4 and UDP to port 4791 around BTH.. and ICRC."""
    udp = struct.pack(">HHHH", 0xC000, 4791, 8 + len(transport) + 4, 0) + transport + b"\xaa\xbb\xcc\xdd"
    ip = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 104, 20 + len(udp), 0, 0x4000, 64, 17, 0, b"\x0a\0\0\x01", b"\x0a\0\0\x02"
    )
    ethernet = bytes.fromhex("020000000002" "020000000001" "0800")
    return (ethernet + ip + udp).ljust(60, b"\0")


def bth(opcode: int, psn: int, pad: int = 0, becn: bool = False) -> bytes:
    return struct.pack(">BBHI", opcode, pad << 4, 0xFFFF, (becn << 30) | 0x1234) + struct.pack(
        ">I", (1 << 31) | psn
    )


def word24(value: int) -> bytes:
    return struct.pack(">I", value)[1:]


RETH = struct.pack(">QII", 0x1122334455667788, 0xABCD, 4096)
ATOMIC = struct.pack(">QIQQ", 0x1000, 0xABCD, 5, 6)
AETH = b"\x1f" + word24(77)
BLOCKS = b"".join(b"\0" + word24(psn) for psn in (108, 110, 5, 7, 0, 0))

# name, opcode, what follows the BTH, fields that must be found
PACKETS: list[tuple[str, int, bytes, dict[str, str]]] = [
    (
        "SEND",
        0xC1,
        word24(3) + word24(9) + b"\0\0" + b"x" * 64,
        {"recv_wqe_sn": "3", "offset": "9", "payload_length": "64"},
    ),
    (
        "SEND imm",
        0xC5,
        word24(3) + word24(0) + b"\0\0" + b"\x01\x02\x03\x04",
        {"imm": "0x01020304", "payload_length": "0"},
    ),
    ("WRITE", 0xC7, RETH + b"y" * 1024, {"va": "0x1122334455667788", "rkey": "0x0000abcd", "dmalen": "4096"}),
    (
        "WRITE imm",
        0xCB,
        RETH + b"\0" + word24(8) + b"\0\0\0\x07" + b"z" * 8,
        {"wqe_sn": "8", "imm": "0x00000007", "payload_length": "8"},
    ),
    ("READ request", 0xCC, RETH + b"\0" + word24(11), {"wqe_sn": "11", "dmalen": "4096"}),
    ("READ response", 0xCF, AETH + b"r" * 12, {"msn": "77", "syndrome": "0x1f", "payload_length": "12"}),
    ("ACK", 0xD1, AETH, {"msn": "77"}),
    ("atomic ACK", 0xD2, AETH + struct.pack(">Q", 42), {"original": "0x000000000000002a"}),
    (
        "compare and swap",
        0xD3,
        ATOMIC + b"\0" + word24(2),
        {"swap_or_add": "0x0000000000000005", "compare": "0x0000000000000006", "wqe_sn": "2"},
    ),
    ("NACK", 0xD8, AETH + b"\0" + word24(105), {"sack": "105", "msn": "77"}),
    ("READ ACK", 0xD9, b"", {"payload_length": "0"}),
    ("READ NACK", 0xDA, b"\0" + word24(106), {"sack": "106"}),
    (
        "ACK blocks",
        0xDB,
        AETH + b"\0" + word24(109) + BLOCKS,
        {"trigger": "109", "block.first": "108,5", "block.end": "110,7", "msn": "77"},
    ),
    ("READ ACK blocks", 0xDE, b"\0" + word24(6) + BLOCKS, {"trigger": "6", "block.end": "110,7"}),
]


def write_pcap(path: Path, frames: list[bytes]) -> Path:
    data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for i, f in enumerate(frames):
        data += struct.pack("<IIII", i, 0, len(f), len(f)) + f
    path.write_bytes(data)
    return path


def fields(capture: Path, *names: str, scripted: bool = True) -> list[list[str]]:
    argv = ["tshark", "-r", str(capture), "-T", "fields", "-E", "separator=|"]
    if scripted:
        argv += ["-X", f"lua_script:{SCRIPT}"]
    for name in names:
        argv += ["-e", name]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "Error" not in done.stderr, done.stderr
    return [line.split("|") for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("name", "opcode", "rest", "wanted"), PACKETS, ids=[p[0] for p in PACKETS])
def test_every_irn_packet_shows_its_headers(
    tmp_path: Path, name: str, opcode: int, rest: bytes, wanted: dict[str, str]
) -> None:
    capture = write_pcap(tmp_path / "irn.pcap", [frame(bth(opcode, 0xFFFFF0) + rest)])
    names = ["irn.opcode", "irn.psn", "irn.destqp", "irn.icrc", *(f"irn.{field}" for field in wanted)]
    (found,) = fields(capture, *names)
    assert [found[0], int(found[1]), found[2], found[3]] == [hex(opcode), 0xFFFFF0, "0x001234", "0xaabbccdd"]
    assert dict(zip(wanted, found[4:])) == wanted


def test_pad_and_echoed_marks_are_read(tmp_path: Path) -> None:
    padded = frame(bth(0xC4, 1, pad=3) + word24(0) + word24(0) + b"\0\0" + b"abcde" + b"\0\0\0")
    marked = frame(bth(0xD1, 1, becn=True) + AETH)
    rows = fields(write_pcap(tmp_path / "c.pcap", [padded, marked]), "irn.payload_length", "irn.becn")
    assert rows[0][0] == "5" and rows[0][1] in ("0", "False") and rows[1][1] in ("1", "True")


def test_a_packet_that_ends_within_its_headers_is_malformed_and_not_an_error(tmp_path: Path) -> None:
    short = frame(bth(0xCC, 1) + RETH[:8])
    unknown = frame(bth(0xDF, 1))
    rows = fields(write_pcap(tmp_path / "c.pcap", [short, unknown]), "irn.malformed", "irn.psn")
    assert [bool(row[0]) for row in rows] == [True, True]


@pytest.mark.parametrize("inner", ["irn", "rc"])
def test_a_shim_is_shown_and_what_stands_behind_it_too(tmp_path: Path, inner: str) -> None:
    shim = bytes([0xE0 | 9, 2]) + struct.pack(">H", 0x1234) + b"12345678"
    behind = bth(0xD1 if inner == "irn" else 0x11, 99) + AETH
    capture = write_pcap(tmp_path / "c.pcap", [frame(shim + behind)])
    psn = "irn.psn" if inner == "irn" else "infiniband.bth.psn"
    ((kind, words, info, value, number),) = fields(
        capture,
        "rocelab_shim.part",
        "rocelab_shim.words",
        "rocelab_shim.info",
        "rocelab_shim.value",
        psn,
    )
    assert (kind, words, info, value, number) == ("9", "2", "0x1234", b"12345678".hex(), "99")


RECORDS = [(8, 0x123456, 0xABCDE, 0x9876), (10, 1, 2, 3)]


def part(number: int, info: int, value: bytes = b"") -> bytes:
    return struct.pack(">BBH", 0xE0 | number, len(value) // 4, info) + value


def records() -> bytes:
    return b"".join(
        struct.pack(">Q", rate << 60 | time << 36 | sent << 16 | queue) for rate, time, sent, queue in RECORDS
    )


@pytest.mark.parametrize(
    ("parts", "hops", "stamped"),
    [
        (part(1, 5), "5", 0),
        (part(2, 0x1234, records()), "", 1),
        (part(3, 0x1234, records()), "", 1),
        (part(5, 5), "5", 0),
        (part(1, 5) + part(2, 0x1234, records()), "5", 1),
        (part(2, 0x1234, records()) + part(1, 5), "5", 1),
        (part(1, 5) + part(2, 0x1234, records()) + part(3, 0x1234, records()) + part(5, 6), "5,6", 2),
    ],
    ids=["escape", "int", "echo", "announcement", "escape and int", "int and escape", "all"],
)
def test_parts_that_switches_put_into_a_shim_are_shown(
    tmp_path: Path, parts: bytes, hops: str, stamped: int
) -> None:
    capture = write_pcap(tmp_path / "c.pcap", [frame(parts + bth(0xC1, 99) + bytes(8))])
    names = ("escape_hops", "int.path", "int.rate", "int.time", "int.sent", "int.queue")
    ((*found, psn),) = fields(capture, *(f"rocelab_shim.{name}" for name in names), "irn.psn")
    assert psn == "99" and found[0] == hops
    columns = [["0x1234"], *([str(r[i]) for r in RECORDS] for i in range(4))]
    assert found[1:] == [",".join(column * stamped) for column in columns]


@pytest.mark.parametrize("schedule", [False, True])
def test_times_at_switches_are_shown(tmp_path: Path, schedule: bool) -> None:
    times = struct.pack(">QQQ", 1_000_000, 2_000_001, 0 if not schedule else 3_000_002)
    parts = part(6, 2, struct.pack(">qq", 7_000, -3_000)) + part(9, schedule << 15 | 2, times)
    capture = write_pcap(tmp_path / "c.pcap", [frame(parts + bth(0xC1, 99) + bytes(8))])
    names = ("slack.initial", "slack.current", "slack.waits", "hop_times.next", "hop_times.time")
    ((*found, flag, psn),) = fields(
        capture, *(f"rocelab_shim.{name}" for name in names), "rocelab_shim.hop_times.schedule", "irn.psn"
    )
    assert found == ["7000", "-3000", "2", "2", f"1000000,2000001,{3_000_002 if schedule else 0}"]
    assert (flag in ("1", "True"), psn) == (schedule, "99")


def test_unknown_parts_and_parts_twice_are_marked_and_the_packet_behind_them_is_shown(tmp_path: Path) -> None:
    shims = [part(11, 1), part(1, 5) + part(1, 6), part(4, 1) + part(1, 5), part(1, 5)]
    capture = write_pcap(tmp_path / "c.pcap", [frame(shim + bth(0xC1, 99) + bytes(8)) for shim in shims])
    found = fields(capture, "rocelab_shim.unknown", "rocelab_shim.twice", "irn.psn")
    assert [[bool(unknown), bool(twice), psn] for unknown, twice, psn in found] == [
        [True, False, "99"],
        [False, True, "99"],
        [True, False, "99"],
        [False, False, "99"],
    ]


def test_a_part_that_is_cut_short_is_no_shim(tmp_path: Path) -> None:
    capture = write_pcap(tmp_path / "c.pcap", [frame(part(1, 5) + b"\xe2\xff\0\0" + bytes(20))])
    assert fields(capture, "rocelab_shim.part") == [[""]]


def mac_control(rest: str) -> bytes:
    return bytes.fromhex("0180c2000001" "020000000009" "8808" + rest).ljust(60, b"\0")


def test_a_token_of_escape_shows_its_flow_and_why_it_comes_back(tmp_path: Path) -> None:
    asks = mac_control("0102" "0300" "0002" "0a000001" "0a000103" "00001011" "00000000")
    back = mac_control(
        "0102"
        "0301"
        "0002"
        "fe80000000000000020000fffe000001"
        "fe80000000000000020000fffe000103"
        "02001011"
        "00070002"
    )
    capture = write_pcap(tmp_path / "c.pcap", [asks, back])
    names = ["class", "hops", "source", "destination", "destination6", "mark", "destqp", "number"]
    found = fields(capture, *(f"etf.{name}" for name in names))
    assert found[0] == ["3", "2", "10.0.0.1", "10.0.1.3", "", "0", "0x001011", "0x00000000"]
    assert found[1] == ["3", "2", "", "", "fe80::200:ff:fe00:103", "2", "0x001011", "0x00070002"]


def test_a_message_of_loop_breaker_shows_its_fields_and_pfc_looks_as_without_the_script(
    tmp_path: Path,
) -> None:
    message = mac_control("0103" "0300" "0002" "00000007" "0123456789abcdef")
    pause = mac_control("0101" "0008" "000000000000ffff")
    capture = write_pcap(tmp_path / "c.pcap", [message, pause])
    names = ["clcm.opcode", "clcm.class", "clcm.hops", "clcm.round", "clcm.id"]
    found = fields(capture, *names)
    assert found[0] == ["0x0103", "3", "2", "7", "0x0123456789abcdef"]
    assert found[1] == [""] * 5
    shown = ["macc.opcode", "macc.cbfc.pause_time.c3", "_ws.col.Info"]
    assert fields(capture, *shown)[1] == fields(capture, *shown, scripted=False)[1]
    assert fields(capture, "macc.opcode")[1] == ["0x0101"]


def test_a_pause_of_bfc_shows_the_queues_that_it_pauses(tmp_path: Path) -> None:
    pause = mac_control(
        "0104" "0300" "8000000000000005" "0000000000000000" "0000000000000001" "4000000000000000"
    )
    capture = write_pcap(tmp_path / "c.pcap", [pause])
    names = ["_ws.col.Protocol", "_ws.col.Info", "bfc.opcode", "bfc.class", "bfc.queue"]
    found = fields(capture, *names)
    assert found[0] == ["BFC", "TC=3 pauses 5 queues", "0x0104", "3", "0,2,63,128,254"]


ROCC_HEADERS = "02000a000001" "02726c000002" "0800"
ROCC_FRAMES = [  # the bytes of base/wire/rocc_cnp_test.cc
    "45c000240000400040018405ac1000030a000001" "fd00e75b000001900a00000200001011",
    "45c0002c00004000400183fdac1000030a000001" "fd01d84900000fa00a0000020000101100000007000000fa",
    "45c0004c00004000400183ddac1000030a000001"
    "fd0229bd00000fa00a0000020000101100000007000000fa"
    "000000fa000001f4000002580000000a00000fa000004ccccccd000180000000",
]


def test_feedback_of_rocc_shows_its_flow_its_rate_and_what_its_form_adds(tmp_path: Path) -> None:
    frames = [bytes.fromhex(ROCC_HEADERS + rest).ljust(60, b"\0") for rest in ROCC_FRAMES]
    capture = write_pcap(tmp_path / "c.pcap", frames)
    names = ["form", "rate", "destination", "destqp", "period", "q_cur", "q_ref", "f_max", "alpha", "beta"]
    found = fields(capture, "_ws.col.Protocol", *(f"rocc.{name}" for name in names))
    assert found[0] == ["RoCC", "0", "400", "10.0.0.2", "0x001011", "", "", "", "", "", ""]
    assert found[1] == ["RoCC", "1", "4000", "10.0.0.2", "0x001011", "7", "250", "", "", "", ""]
    assert found[2][:9] == ["RoCC", "2", "4000", "10.0.0.2", "0x001011", "7", "250", "250", "4000"]
    assert [float(x) for x in found[2][9:]] == pytest.approx([0.3, 1.5])


def test_feedback_of_p4qcn_shows_its_flow_and_the_queue(tmp_path: Path) -> None:
    fbp = (
        "45c300240000400040018402ac1000030a000001" "fd03e8dc0000000c0a00000200001011"
    )  # of p4qcn_fbp_test.cc
    capture = write_pcap(tmp_path / "c.pcap", [bytes.fromhex(ROCC_HEADERS + fbp).ljust(60, b"\0")])
    names = ["_ws.col.Protocol", "p4qcn.depth", "p4qcn.destination", "p4qcn.destqp", "ip.dsfield.ecn"]
    assert fields(capture, *names) == [["P4QCN", "12", "10.0.0.2", "0x001011", "3"]]


def test_a_cnm_shows_its_feedback_and_the_frame_that_it_is_about(tmp_path: Path) -> None:
    frame = bytes.fromhex(  # of base/wire/cnm_test.cc
        "02000a00000102726c00000222e7"
        "0014ac100003000000030041fffd600002000a000002002a"
        "08004562043c000040004011224d0a0000010a000002000012b7042800000740ffff0000101180000005"
    )
    capture = write_pcap(tmp_path / "c.pcap", [frame])
    names = ["feedback", "cpid", "qoffset", "qdelta", "priority", "destination", "length"]
    found = fields(capture, "_ws.col.Protocol", *(f"qcn_cnm.{name}" for name in names))
    assert found == [["CNM", "20", "0xac10000300000003", "65", "-3", "3", "02:00:0a:00:00:02", "42"]]


def test_ping_and_control_frames_that_are_cut_short_look_as_without_the_script(tmp_path: Path) -> None:
    ip = bytes.fromhex(ROCC_HEADERS + "45000024000040004001" "0000" "0a0000020a000001")
    ping = (ip + bytes.fromhex("0800f7fa00010004") + bytes(8)).ljust(60, b"\0")
    unknown = bytearray(bytes.fromhex(ROCC_HEADERS + ROCC_FRAMES[0]).ljust(60, b"\0"))
    unknown[35] = 7
    token = mac_control("0102" "0300" "0002" "0a000001")[:24]
    capture = write_pcap(tmp_path / "c.pcap", [ping, bytes(unknown), token])
    shown = ["_ws.col.Protocol", "_ws.col.Info", "icmp.type", "macc.opcode"]
    assert fields(capture, *shown) == fields(capture, *shown, scripted=False)


def test_rc_captures_of_the_kernel_look_as_without_it() -> None:
    names = ["infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.aeth.msn", "_ws.col.Info"]
    capture = CAPTURES / "rc_write_imm.pcap"
    with_script, without = fields(capture, *names), fields(capture, *names, scripted=False)
    assert with_script == without and len(without) == 8
