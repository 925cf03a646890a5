"""`./rocelab bench wall`: UCX over our device beside UCX over the kernel's TCP, on the same veth."""

from __future__ import annotations

import shutil
import time
from typing import Any

from rocelab.bench.turns import in_turns
from rocelab.errors import RocelabError
from rocelab.live.interface import environment
from rocelab.live.veth_pair import DEVICE, End, veth_pair
from rocelab.setup_progress import Step

_LIMIT_SECONDS = 90.0
_LEAVE_SECONDS = 10.0  # for a server whose client is done
_PORT = 13339
_ROUNDS = 5
_TAG_LAT = ("ucx_perftest", "-t", "tag_lat", "-s", "8", "-n", "20000", "-w", "2000", "-p", str(_PORT))
_TYPICAL = 2  # of the last line's columns: word, iterations, median, average, overall, ...
# UCX's transports over verbs: reliable connections, and datagrams with UCX's own reliability.
_TRANSPORTS = ("rc_v", "ud_v")


def tag_latency(step: Step) -> dict[str, Any]:
    """ucx_perftest -t tag_lat of 8 bytes, us, half of a round trip, median: ours, in turns with UCX's `tcp` on the same two hosts. `over_tcp` below 1: ours is ahead."""
    tcp_words = {"UCX_TLS": "tcp", "UCX_NET_DEVICES": DEVICE}
    result = {}
    with veth_pair() as ends:
        for ucx in _TRANSPORTS:
            for transport in ("roce", "irn"):
                step.update(note=f"{ucx}, {transport}")
                device = {"UCX_TLS": ucx, "UCX_NET_DEVICES": "rocelab0:1"}

                def ours() -> float:
                    return _tag_lat(ends, {**environment(DEVICE, transport), **device})

                def tcp() -> float:
                    return _tag_lat(ends, tcp_words)

                result[f"{ucx}_{transport}"] = in_turns(ours, {"tcp": tcp}, "us", _ROUNDS)
    return result


def _tag_lat(ends: tuple[End, End], variables: dict[str, str]) -> float:
    if shutil.which(_TAG_LAT[0]) is None:
        raise RocelabError(f"{_TAG_LAT[0]} is not installed (Debian package ucx-utils)")
    serving = ends[0].start(_TAG_LAT, variables)
    calling = None
    try:
        end = time.monotonic() + _LIMIT_SECONDS
        while not ends[0].listens(_PORT) and serving.running() and time.monotonic() < end:
            time.sleep(0.02)
        calling = ends[1].start([*_TAG_LAT, ends[0].ipv4], variables)
        output = calling.finished(_TAG_LAT[0], _LIMIT_SECONDS)
        serving.wait(_LEAVE_SECONDS)
    finally:
        for started in (serving, calling):
            if started is not None:
                started.end()
    for line in reversed(output.splitlines()):
        if line.startswith("Final:"):
            return float(line.split()[_TYPICAL])
    raise RocelabError(f"{_TAG_LAT[0]} printed no result")
