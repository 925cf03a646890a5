"""What captures of BFC's runs say, whichever engine ran: data name queues of the node that they come from, and every pause is on the wire, as tshark reads it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rocelab.model import RunOutcome
from test_wireshark import fields

SCENARIO = Path(__file__).resolve().parents[1] / "same" / "scenarios" / "bfc.toml"
LABEL = "roce+bfc"
_QUEUES = 4  # of a switch port there
_NAMES = (
    "frame.interface_name",
    "frame.packet_flags_direction",
    "rocelab_shim.bfc.queue",
    "bfc.opcode",
    "bfc.queue",
)


def expect_queues_and_pauses(folder: Path, outcome: RunOutcome) -> None:
    counters = outcome.port_counters
    hosts = {p.interface for p in outcome.plan.ports if p.peer_is_host}
    data: Counter[bool] = Counter()
    for switch in outcome.plan.switches:
        capture = folder / "pcap" / outcome.plan.name / f"{switch.name}.pcapng"
        pauses: Counter[str] = Counter()
        for interface, direction, queue, opcode, paused in fields(capture, *_NAMES):
            outbound = int(direction, 0) == 2
            if opcode:
                assert opcode == "0x0104"
                pauses[interface] += 1
                if not (outbound and interface in hosts):
                    assert all(int(q) < _QUEUES for q in paused.split(",") if q), paused
            if queue:
                data[outbound] += 1
                if outbound or interface not in hosts:
                    assert int(queue) < _QUEUES, f"{interface}: a switch has no queue {queue}"
        mine = [p.interface for p in outcome.plan.ports if p.switch == switch.name]
        said = {i: counters[i]["bfc_pauses_sent"] + counters[i]["bfc_pauses_received"] for i in mine}
        assert {i: pauses[i] for i in mine} == said, switch.name
    assert data[False] == data[True] > 1000, "every data frame comes and goes"
    assert any(counters[i]["bfc_pauses_sent"] for i in hosts), "NICs are paused"
    assert any(counters[i]["bfc_pauses_received"] for i in counters if i not in hosts), "and switches"
