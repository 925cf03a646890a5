"""`./rocelab bench wall`: programs in real time (docs/reference/interface.md), over a veth between two namespaces made for it, and over shared memory.

Every number stands beside what a packet socket alone carries (`packet_bench`: the same frames, without a NIC), measured in turns with
it: on a machine that others use, only the ratio says something.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rocelab import paths, setup_build
from rocelab.bench.turns import in_turns
from rocelab.errors import RocelabError
from rocelab.live.interface import environment
from rocelab.live.veth_pair import DEVICE, End, veth_pair
from rocelab.setup_all import setup_lock
from rocelab.setup_progress import Step

_LIMIT_SECONDS = 90.0
_ROUNDS = 3
_LEAVE_SECONDS = 10.0  # for a server whose client is done
_PORT = 18515  # perftest's
_PERFTEST = ("-d", "rocelab0", "-x", "1", "-F")
_HEADERS = 14 + 20 + 8 + 12 + 4  # Ethernet, IPv4, UDP, BTH, ICRC: of a packet in the middle of a message
_WRITE_8 = _HEADERS + 16 + 8  # with a RETH
_BLAST_SECONDS, _SILENCE_SECONDS = "1.0", "0.3"
_PINGS = "20000"
# Interface MTU and the path MTU that it makes.
_MTUS = ((1500, 1024), (4300, 4096))
_QPS = (1, 16, 128, 1024)
_QP_MESSAGES = 65_536  # of 4 KiB, over all queue pairs
# Program, its words, the column of its table, and what that is.
_SHARED_MEMORY = (
    ("ib_write_bw", ("-s", "65536", "-n", "20000", "--report_gbits"), 3, "gbps"),
    ("ib_write_lat", ("-s", "8", "-n", "20000"), 4, "us"),
    ("ib_send_lat", ("-s", "8", "-n", "20000"), 4, "us"),
)
_SHARED_MEMORY_ROUNDS = 7


def bandwidth(step: Step) -> dict[str, Any]:
    """ib_write_bw of 64 KiB messages, Gb/s of payload, both modes; `over_bare`: by what single frames carry."""
    result = {}
    for interface_mtu, path_mtu in _MTUS:
        with veth_pair(interface_mtu) as ends:
            for transport in ("roce", "irn"):
                step.update(note=f"{transport}, MTU {path_mtu}")

                def bare() -> float:
                    return _blast(ends, _HEADERS + path_mtu) * path_mtu * 8 / 1e9

                def ours() -> float:
                    words = ("-s", "65536", "-n", "10000", "--report_gbits")
                    return _column(_perftest(ends, "ib_write_bw", words, transport)[0], 3)

                result[f"{transport}_mtu_{path_mtu}"] = in_turns(ours, {"bare": bare}, "gbps", _ROUNDS)
    return result


def latency(step: Step) -> dict[str, Any]:
    """Half of a round trip of 8 bytes, us: perftest's typical value over the median of one frame there and back by polling.

    `train`: of the two frames that ib_write_lat sends at a time, message and acknowledgement, without a NIC.
    """
    result = {}
    with veth_pair() as ends:
        for program in ("ib_write_lat", "ib_send_lat"):
            for transport in ("roce", "irn"):
                step.update(note=f"{program}, {transport}")

                def ours() -> float:
                    words = ("-s", "8", "-n", "20000")
                    return _column(_perftest(ends, program, words, transport)[0], 4)

                others = {"bare": lambda: _ping(ends, _WRITE_8)}
                if program == "ib_write_lat":
                    others["train"] = lambda: _ping_train(ends)
                result[f"{program}_{transport}"] = in_turns(ours, others, "us", _ROUNDS)
    return result


def message_rate(step: Step) -> dict[str, Any]:
    """ib_write_bw of 8 byte messages, millions per second; `over_bare`: by frames of that size."""
    result = {}
    with veth_pair() as ends:
        for transport in ("roce", "irn"):
            step.update(note=transport)

            def ours() -> float:
                words = ("-s", "8", "-n", "200000")
                return _column(_perftest(ends, "ib_write_bw", words, transport)[0], 4)

            bare = {"bare": lambda: _blast(ends, _WRITE_8) / 1e6}
            result[transport] = in_turns(ours, bare, "mpps", _ROUNDS)
    return result


def queue_pairs(step: Step) -> dict[str, Any]:
    """The same bytes over more queue pairs, and what a queue pair takes of a program's memory, perftest's own part included."""
    gbps: dict[str, float] = {}
    peak: dict[int, int] = {}
    with veth_pair() as ends:
        for qps in _QPS:
            step.update(note=f"{qps} queue pairs")
            words = ("-s", "4096", "-q", str(qps), "-t", "16", "-n", str(_QP_MESSAGES // qps))
            output, peak[qps] = _perftest(ends, "ib_write_bw", (*words, "--report_gbits"), "roce")
            gbps[str(qps)] = _column(output, 3)
    first, last = _QPS[0], _QPS[-1]
    return {
        "gbps": gbps,
        "peak_kib": {str(qps): kib for qps, kib in peak.items()},
        "kib_per_queue_pair": round((peak[last] - peak[first]) / (last - first), 2),
    }


def shared_memory(step: Step) -> dict[str, Any]:
    """Two programs of one machine, MTU 4096: ib_write_bw of 64 KiB, Gb/s, and half of a round trip of 8 bytes, us. `over_veth`: by the same on a veth.

    `best`: of the rounds, which on a busy machine is nearest to what the code can do.
    """
    result = {}
    with veth_pair(4300) as ends:
        here = (replace(ends[0], ipv4="127.0.0.1"),) * 2
        for program, words, column, unit in _SHARED_MEMORY:
            for transport in ("roce", "irn"):
                step.update(note=f"{program}, {transport}")

                def ours() -> float:
                    return _column(_perftest(here, program, words, transport, "shm:bench")[0], column)

                def veth() -> float:
                    return _column(_perftest(ends, program, words, transport)[0], column)

                measured = in_turns(ours, {"veth": veth}, unit, _SHARED_MEMORY_ROUNDS)
                best = max if unit == "gbps" else min
                measured["best"] = best(a for a, _ in measured["rounds"])
                result[f"{program}_{transport}"] = measured
    return result


# --- what is measured


def _packet_bench() -> Path:
    path = paths.RELEASE / "irn_provider" / "realtime" / "packet_bench"
    if not path.exists():
        with setup_lock(), Step("packet_bench") as step:
            setup_build.build("release", step, [path.name])
    return path


def _bare(
    ends: tuple[End, End], first: str, second: str, frames: tuple[str, str], last: str
) -> list[dict[str, float]]:
    """`first` at one end and `second` at the other, with the frames that each sends; what they print."""
    macs = [_mac(end) for end in ends]
    tool = str(_packet_bench())
    waiting = ends[0].start([tool, DEVICE, first, macs[1], frames[0], _SILENCE_SECONDS])
    time.sleep(0.1)  # it waits longer for a first frame than for others
    sending = ends[1].start([tool, DEVICE, second, macs[0], frames[1], last])
    try:
        return [
            json.loads(program.finished("packet_bench", _LIMIT_SECONDS)) for program in (waiting, sending)
        ]
    finally:
        for program in (waiting, sending):
            program.end()


def _blast(ends: tuple[End, End], frame: int) -> float:
    """Frames per second that arrive."""
    sink, _ = _bare(ends, "sink", "blast", (str(frame),) * 2, _BLAST_SECONDS)
    return sink["frames"] / sink["seconds"]


def _ping(ends: tuple[End, End], frame: int) -> float:
    return _ping_of(ends, (str(frame),) * 2)


def _ping_train(ends: tuple[End, End]) -> float:
    first, second = (end.ipv4 for end in ends)
    return _ping_of(ends, (f"{first},{second}", f"{second},{first}"))


def _ping_of(ends: tuple[End, End], frames: tuple[str, str]) -> float:
    _, ping = _bare(ends, "pong", "ping", frames, _PINGS)
    return ping["median_us"]


def _mac(end: End) -> str:
    shown = subprocess.run(
        end.inside("cat", f"/sys/class/net/{DEVICE}/address"), capture_output=True, text=True
    )
    return shown.stdout.strip()


def _perftest(
    ends: tuple[End, End], program: str, words: tuple[str, ...], transport: str, interface: str = DEVICE
) -> tuple[str, int]:
    """The client's output, and the most memory that the server has had, KiB."""
    if shutil.which(program) is None:
        raise RocelabError(f"{program} is not installed (Debian package perftest)")
    argv = [program, *_PERFTEST, *words]
    variables = environment(interface, transport)
    serving = ends[0].start(argv, variables)
    calling = None
    try:
        end = time.monotonic() + _LIMIT_SECONDS
        while not ends[0].listens(_PORT) and serving.running() and time.monotonic() < end:
            time.sleep(0.02)
        calling = ends[1].start([*argv, ends[0].ipv4], variables)
        peak = 0
        while calling.running() and time.monotonic() < end:
            peak = max(peak, _peak_kib(serving.process.pid))
            time.sleep(0.02)
        output = calling.finished(program, _LIMIT_SECONDS)
        serving.wait(_LEAVE_SECONDS)
        return output, peak
    finally:
        for started in (serving, calling):
            if started is not None:
                started.end()


def _peak_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def _column(output: str, number: int) -> float:
    """Of perftest's table: the line behind `#bytes`."""
    lines = output.splitlines()
    for header, row in zip(lines, lines[1:]):
        if header.lstrip().startswith("#bytes"):
            return float(row.split()[number])
    raise RocelabError("perftest printed no table")
