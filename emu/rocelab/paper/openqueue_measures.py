"""What single runs of `./rocelab paper openqueue` show: what arrives of each group, how long the bottleneck's queue is, and what the queues of a program counted."""

from __future__ import annotations

import numpy as np

from rocelab import frames
from rocelab.model import RunOutcome
from rocelab.sweep.work import Found, check_complete

_HEADERS = 70  # of a datagram's frame without FCS: Ethernet, IPv4, UDP, BTH, DETH, immediate data, ICRC
_INNER = ("cross", "output")  # queues of crossbar.oq that are behind its internal ports


def measure(outcome: RunOutcome) -> Found:
    """Rates count from 0 to the planned stop. A run with flows that lose datagrams is complete."""
    check_complete(outcome)
    values: dict[str, float | None] = {}
    for group in dict.fromkeys(f.group for f in outcome.plan.flows):
        mine = {f.id: f for f in outcome.plan.flows if f.group == group}
        records = [r for r in outcome.flows if r.id in mine]
        values[f"{group}_bytes"] = float(sum(r.bytes for r in records))
        delivered = sum(r.delivered for r in records)
        if delivered:
            values[f"{group}_latency_us"] = sum(r.latency_sum_ps for r in records) / delivered / 1e6
    ports = outcome.port_counters.values()
    values["dropped"] = float(sum(c["drops"] for c in ports))
    values["lossless_drops"] = float(sum(c["lossless_drops"] for c in ports))
    values["marked"] = float(sum(c["ecn_marked"] for c in ports))
    values["xoff"] = float(sum(c["xoff_sent_prio3"] for c in ports))
    values["requeued"] = float(sum(c["policy_requeued"] for c in ports))
    values["packets"] = _mean_packets(outcome)
    values["end_us"] = outcome.end_ps / 1e6
    values |= _of_policies(outcome)
    return Found({(outcome.plan.label, quantity): value for quantity, value in values.items()})


def _of_policies(outcome: RunOutcome) -> dict[str, float | None]:
    queues = [queue for policy in outcome.policies.values() for queue in policy["queues"]]
    changes = [p for policy in outcome.policies.values() for p in policy["policies"]]
    inner = [q for q in queues if q["queue"].rpartition(" ")[2].startswith(_INNER)]
    return {
        "policies": float(len(changes)),
        "total": float(sum(q["total"] for q in queues)),
        "left": float(sum(q["curr"] for q in queues)),
        "policy_dropped": float(sum(q["dropped"] for q in queues)),
        "inner_total": float(sum(q["total"] for q in inner)),
        "inner_dropped": float(sum(q["dropped"] for q in inner)),
    }


def _mean_packets(outcome: RunOutcome) -> float | None:
    """Mean length of the longest queue of all ports, in packets, from the first sample to the last arrival."""
    samples = frames.samples_frame([outcome])
    ends = [f.last_ps for f in outcome.flows if f.last_ps is not None]
    sizes = {f.message_size for f in outcome.plan.flows}
    if samples.empty or not ends or len(sizes) != 1:
        return None
    end, frame = max(ends), sizes.pop() + _HEADERS
    longest = 0.0
    for _, port in samples[samples["what"] == "queue"].groupby("port"):
        waiting = np.zeros(0)
        for _, queue in port.groupby("tc"):
            times = np.append(np.minimum(queue["time_ps"].to_numpy(float), end), end)
            waiting = np.append(waiting, float(np.sum(queue["bytes"].to_numpy(float) * np.diff(times))))
        longest = max(longest, float(waiting.sum()) / end)
    return longest / frame


def weighted(high: float, low: float) -> float:
    """Bytes by value, 63 and 1 (2.5.4 does not say which; a ToS of 63 is the chapter's)."""
    return 63 * high + low
