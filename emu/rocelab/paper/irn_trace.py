"""In which order packets came to the receiver of an incast: what the trace of the IRN authors' simulator tells, and the same of our runs."""

from __future__ import annotations

from rocelab import frames
from rocelab.model import RunOutcome
from rocelab.paper.claims import Claim, numbers
from rocelab.paper.harness import NUMBERS
from rocelab.paper.results import Results
from rocelab.sweep.work import Found, check_complete, reads

EXPERIMENT = "authors_incast"
FILE = NUMBERS / "irn_trace.csv"
NAMES = {
    "repaired": "packets that came by repair, of all arrivals",
    "out_of_order": "arrivals behind a gap",
    "duplicates": "arrivals of packets that were there already",
}
_Times = dict[tuple[int, int], int]  # by flow and PSN


@reads("retransmit", "drop", columns=("time_ps", "kind", "port", "peer", "flow", "psn"))
def measure(outcome: RunOutcome) -> Found:
    """Per cent of the packets that arrive at the flows' sinks, to which nothing else comes. On a single path a packet comes behind a later one where its first
    transmission was dropped. Raises RocelabError where the run did not end."""
    check_complete(outcome)
    sinks = {flow.dst for flow in outcome.plan.flows}
    counters = [c for (host, _), c in outcome.nic_counters.items() if host in sinks]
    arrivals, gaps, copies = (
        sum(c[name] for c in counters)
        for name in ("rx_packets", "out_of_sequence", "spurious_retransmissions")
    )
    dropped, again = _first_drops(outcome), _first_retransmissions(outcome)
    repaired = sum(time < again.get(packet, time + 1) for packet, time in dropped.items())
    shares = {"repaired": repaired, "out_of_order": gaps, "duplicates": copies}
    case = outcome.plan.label.rpartition("=")[2]
    return Found({(case, name): 100 * n / arrivals for name, n in shares.items()})


def _first_drops(outcome: RunOutcome) -> _Times:
    index = frames.FlowIndex(outcome)
    first: _Times = {}
    for switch, records in frames.by_node(outcome, frames.switches(outcome.plan)).items():
        for r in records[records["kind"] == frames.DROP]:
            flow = index.at_switch(switch, int(r["port"]), int(r["peer"]), int(r["flow"]))
            if flow is not None:
                packet = flow, int(r["psn"])
                first[packet] = min(first.get(packet, int(r["time_ps"])), int(r["time_ps"]))
    return first


def _first_retransmissions(outcome: RunOutcome) -> _Times:
    index = frames.FlowIndex(outcome)
    first: _Times = {}
    for host, records in frames.by_node(outcome, frames.hosts(outcome.plan)).items():
        for r in records[records["kind"] == frames.RETRANSMIT]:
            flow = index.at_source(host, int(r["flow"]))
            if flow is not None:
                first.setdefault((flow, int(r["psn"])), int(r["time_ps"]))
    return first


def claims(results: Results) -> list[Claim]:
    """The authors' shares beside ours."""
    measured = {EXPERIMENT: results.values(EXPERIMENT)} if EXPERIMENT in results.points else {}
    return numbers(FILE, measured, NAMES)
