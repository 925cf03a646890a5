"""What the columns of a result's frames mean: (name, unit, meaning). docs/tutorial/python.md has them as tables (rocelab.generated).

A unit that a name ends in is that of the values: `_s` seconds, `_ps` picoseconds of experiment time, `_bps` bit/s.
"""

from __future__ import annotations

from collections.abc import Mapping

from rocelab import metrics

Column = tuple[str, str, str]

_RUN: tuple[Column, ...] = (("run", "", "the run: its row in `runs`"),)
COLUMNS: Mapping[str, tuple[Column, ...]] = {  # of `runs` without the metrics
    "runs": (
        ("label", "", "transport, and case and axes behind it"),
        ("seed", "", "of all random numbers"),
        ("complete", "", "whether the run came to its end"),
        ("error", "", "if not, why"),
        ("trace_hash", "", "equal hashes mean equal runs, frame by frame"),
        ("bottleneck_port", "", "interface that `bottleneck_utilization` is of"),
        ("verified", "flows", "flows of which the receiver compared every byte (live engine)"),
        ("bdp_cap", "packets", "that IRN has in flight at most; 0: no cap"),
        ("wall_s", "s", "wall time that the run took"),
        ("cpu_s", "s", "processor time that it took"),
        ("max_rss_bytes", "bytes", "memory of its largest process"),
        ("events", "records", "that `trace_hash` is made of"),
        ("end_s", "s", "experiment time at its end"),
        ("fidelity", "", "`exact` or why not: docs/explanation/fidelity.md"),
    ),
    "flows": (
        *_RUN,
        ("label", "", "the run's label"),
        ("seed", "", "the run's seed"),
        ("flow", "", "its number in the run, from 1"),
        ("group", "", "name of its workload"),
        ("src", "", "host that sends"),
        ("dst", "", "host that receives; of a READ `dst` asks `src`"),
        ("op", "", "`send`, `write` or `read`"),
        ("size", "bytes", "payload"),
        ("message_size", "bytes", "payload of one work request"),
        ("start_ps", "ps", "when it was planned to start"),
        ("qps", "", "queue pairs that its messages go over in turn"),
        ("packets", "packets", "packets with payload, without retransmissions"),
        ("dst_port", "", "destination port in other simulators' files"),
        ("service", "", "`rc`, `uc` or `ud`"),
        (
            "request",
            "",
            "of a periodic incast: which request; of a collective: iteration x groups + group; of RPCs: which",
        ),
        ("step", "", "of a collective, from 0; of an RPC: 0 of the request, 1 of the response"),
        ("posted_ps", "ps", "when its first work request was posted"),
        ("placed_ps", "ps", "when its last byte was in the receiver's memory"),
        ("cqe_ps", "ps", "when the sender had its last completion"),
        ("completed", "", "whether all of it arrived without an error"),
        ("status", "", "`ibv_wc_status` of its first completion that was no success; 0: none"),
        ("bytes", "bytes", "payload that arrived"),
        ("verified", "", "whether the receiver compared every byte (live engine)"),
        ("stopped", "", "whether its `stop` ended it"),
        ("sent", "messages", "messages sent, where they are counted (streams, UC, UD)"),
        ("delivered", "messages", "of these, messages that arrived"),
        ("fct_s", "s", "flow completion time: `placed_ps` - `posted_ps`; missing of a stream"),
        ("alone_s", "s", "the same on an idle network"),
        ("slowdown", "", "`fct_s` / `alone_s`"),
        ("data_drops", "packets", "its packets that were dropped on the way"),
        ("retransmitted", "packets", "its packets that were retransmitted"),
        ("timeout_retransmitted", "packets", "of these, in recovery that a timer began"),
    ),
    "link_bytes": (
        *_RUN,
        ("label", "", "the run's label"),
        ("seed", "", "the run's seed"),
        ("kind", "", "of the frames: docs/reference/metrics.md, bytes of links"),
        ("frames", "frames", "that NICs and switch ports have sent, once for each link"),
        ("bytes", "bytes", "that they took on the wire, 24 a frame added"),
        ("share", "", "of all bytes that links carried"),
    ),
    "samples": (
        *_RUN,
        (
            "time_ps",
            "ps",
            "since when the values hold, until the next row of the same port and class, or flow",
        ),
        ("node", "", "switch or host"),
        ("what", "", "`queue`: of a switch port and class; `flow`: of a flow's receiver"),
        ("port", "", "interface of the switch, of a queue"),
        ("tc", "", "traffic class, of a queue"),
        ("flow", "", "number of the flow, of a flow"),
        ("bytes", "bytes", "bytes in the egress queue; of a flow: frame bytes received so far"),
        ("ingress_bytes", "bytes", "bytes in the switch that came in by this port, of a queue"),
        ("pause", "", "bit 0: the neighbour has paused this port; bit 1: this port has paused the neighbour"),
    ),
    "events": (
        *_RUN,
        ("time_ps", "ps", "when it happened"),
        (
            "kind",
            "",
            "what happened: docs/reference/metrics.md, kinds of events; so for `mark`, `psn`, `peer`",
        ),
        ("mark", "", "by kind"),
        ("port", "", "number of the port, from 0"),
        ("flow", "", "queue pair number: at a host its own, at a switch the receiver's"),
        ("bytes", "bytes", "by kind, most often of the frame"),
        ("psn", "", "packet sequence number, or by kind"),
        ("peer", "", "by kind, most often the other port"),
        ("node", "", "switch or host"),
        ("of_flow", "", "number of the flow that it is about, where that is known"),
    ),
    "counters": (
        *_RUN,
        ("node", "", "switch or host"),
        ("unit", "", "`vf0`: first program of a host; of a switch: the port's interface"),
        ("name", "", "of the counter: docs/reference/metrics.md"),
        ("value", "", "at the run's end; those that are 0 are left out"),
    ),
}


def names(frame: str) -> list[str]:
    return [name for name, _, _ in COLUMNS[frame]]


def of(frame: str) -> tuple[Column, ...]:
    """All columns of a frame, metrics of `runs` in SI units."""
    found = COLUMNS[frame]
    return (*found, *_metrics()) if frame == "runs" else found


def _metrics() -> tuple[Column, ...]:
    units = {"_s": "s", "_bps": "bit/s"}

    def unit(name: str, shown: str) -> str:
        return next((u for end, u in units.items() if name.endswith(end)), "" if shown == "%" else shown)

    return tuple((m.name, unit(m.name, m.unit), m.text) for m in metrics.table())
