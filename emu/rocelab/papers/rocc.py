"""The micro-benchmarks of RoCC's paper (Menikkumbura, 3.5) from scenarios/rocc, its numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping

from rocelab.model import Array
from rocelab.paper import open_choices, rocc_statements
from rocelab.paper.claims import AT_LEAST, AT_MOST, Claim, Rule, numbers
from rocelab.paper.harness import SCENARIOS, Experiment, Paper
from rocelab.paper.results import Results
from rocelab.paper.rocc_measures import EXPERIMENTS, SIZES
from rocelab.paper.rocc_statements import FILE, Means, tails
from rocelab.paper.tables import Figure, Table, plain
from rocelab.report import style

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
_FULL = {name: ('workload.flows.duration="50ms"',) for name in ("fct", "fct_authors", "unlimited")}
_COLUMNS = {
    "cnps": "CNPs",
    "cnps_taken": "taken in",
    "feedback_percent": "of the bytes, %",
    "pfc_pause_frames": "XOFF",
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
    for name in {"fct", "fct_authors"} & measured.keys():
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


def figures(results: Results) -> list[Figure]:
    """Of the first seed."""
    found = []
    for name in results.points:
        pictures: dict[str, dict[str, dict[str, Array]]] = {}
        for arrays in results.arrays(name).values():
            for key, array in arrays.items():
                title, interface, what = key.split("|")
                pictures.setdefault(title, {}).setdefault(interface, {})[what] = array
        if pictures:
            found.append(Figure(_picture(pictures), name))
    return found


def _picture(pictures: Mapping[str, Mapping[str, Mapping[str, Array]]]) -> str:
    """A row for each: fair rate left, queue right; a line per congestion point."""
    rows = len(pictures)
    fig, grid = style.figure(rows, 2, 10.6, 1.7 * rows + 0.4, gridspec_kw={"hspace": 0.75, "wspace": 0.2})
    for (left, right), (title, points) in zip(grid, pictures.items()):
        palette = style.colours(list(points))
        for interface, arrays in points.items():
            times = arrays["time_s"] * 1e3
            left.plot(times, arrays["rate_gbps"], color=palette[interface], label=interface)
            right.plot(times, arrays["queue_kb"], color=palette[interface])
        left.set(title=f"{title}: fair rate", ylabel="Gb/s", yscale="log")
        right.set(title=f"{title}: queue", ylabel="KB")
        if len(points) > 1:
            left.legend(loc="lower right")
        for axes in (left, right):
            axes.set_xlabel("time [ms]")
    return style.svg(fig, "Fair rates and queues over time")


PAPER = Paper(
    title="RoCC (D. Menikkumbura's thesis, chapter 3)",
    note=_NOTE,
    experiments=tuple(
        Experiment(
            name,
            SCENARIOS / "rocc" / f"{name}.toml",
            "rocelab.paper.rocc_measures:measure",
            full=_FULL.get(name, ()),
        )
        for name in EXPERIMENTS
    ),
    claims=claims,
    names=NAMES,
    tables=tables,
    figures=figures,
    choices=open_choices.ROCC,
)
