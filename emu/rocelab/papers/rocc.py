"""The micro-benchmarks of RoCC's paper (Menikkumbura, 3.5) from scenarios/rocc, its numbers beside ours."""

from __future__ import annotations

from rocelab.paper import open_choices, rocc_figures, rocc_statements
from rocelab.paper.claims import AT_LEAST, AT_MOST, Claim, Rule, numbers
from rocelab.paper.harness import SCENARIOS, Experiment, Paper
from rocelab.paper.results import Results
from rocelab.paper.rocc_measures import EXPERIMENTS, SIZES
from rocelab.paper.rocc_statements import FILE, Means, tails
from rocelab.paper.tables import Table, plain

NAMES = {
    "fair_rate": "fair rate",
    "queue": "queue",
    "queue_spread": "deviation of the queue over time",
    "settles": "settles after",
    "flow_rate": "rate per flow",
    "deviation": "deviation of the rates",
    "busy": "link busy",
    "average_fct": "average FCT",
    "p99_fct": "99th percentile of FCT",
    "least_tail": "99th percentile of FCT over RoCC's, the least by size",
    "most_tail": "99th percentile of FCT over RoCC's, the most by size",
    "drops": "drops",
    "late_drops": "drops in the second half",
}
_NOTE = """Rates and queues hold within 10 % of the paper's; times hold when they are not above it. Means are over the second half of the time in which the same flows are
active; a fair rate has settled when its mean over ten periods stays within a tenth of that."""
SETTLES = Rule(AT_MOST.demand, AT_MOST.holds, never=False)
_SEEDS = (1, 2, 3)
_FULL = {name: ('workload.flows.duration="50ms"',) for name in ("fct", "fct_authors", "unlimited")}
_FAST_SEEDS = {"fct_closed": (1,)}  # of its runs each takes a minute
_COLUMNS = {
    "cnps": "CNPs",
    "cnps_taken": "taken in",
    "feedback_percent": "of the bytes, %",
    "pfc_pause_frames": "XOFF frames",
    "activations ingress": "PFC activations, ingress",
    "activations core": "at core",
    "activations egress": "at egress",
    "activations later": "after the last flow began",
    "told_mbps": "told, Mb/s",
    "told_deviation": "their deviation",
    "drops": "drops",
    "longest_queue_kb": "longest queue, KB",
    "mean_queue_kb core": "mean queue, core, KB",
    "mean_queue_kb ingress": "ingress, KB",
    "mean_queue_kb egress": "egress, KB",
    "least_gbps": "least flow, Gb/s",
    "most_gbps": "most, Gb/s",
    "end_ms": "end, ms",
}
_BY_SIZE = {
    f"{what}_fct_ms {size}": f"{size}{', 99 %' if what == 'p99' else ''}"
    for size, *_ in SIZES
    for what in ("mean", "p99")
}


def claims(results: Results) -> list[Claim]:
    measured = {name: results.values(name) for name in results.points}
    for name in {"fct", "fct_authors", "fct_closed"} & measured.keys():
        measured[name] = {**measured[name], **tails(Means(measured[name], results.notes(name)))}
    rules = {"settles": SETTLES, "least_tail": AT_LEAST, "most_tail": AT_MOST}
    return [*numbers(FILE, measured, NAMES, rules), *rocc_statements.claims(results)]


def tables(results: Results) -> list[Table]:
    found = []
    for name in results.points:
        notes = results.notes(name)
        columns = {key: head for key, head in _COLUMNS.items() if any(key in n for n in notes.values())}
        found.append(plain(f"{name}: what happened in the runs", columns, notes, name))
        if any(key in n for key in _BY_SIZE for n in notes.values()):
            found.append(plain(f"{name}: mean FCT by size, ms", _BY_SIZE, notes, name))
    return found


PAPER = Paper(
    title="RoCC (D. Menikkumbura's thesis, chapter 3)",
    note=_NOTE,
    experiments=tuple(
        Experiment(
            name,
            SCENARIOS / "rocc" / f"{name}.toml",
            "rocelab.paper.rocc_measures:measure",
            fast_seeds=_FAST_SEEDS.get(name, _SEEDS),
            full=_FULL.get(name, ()),
            full_seeds=_SEEDS,
        )
        for name in EXPERIMENTS
    ),
    claims=claims,
    names=NAMES,
    tables=tables,
    figures=rocc_figures.figures,
    choices=open_choices.ROCC,
)
