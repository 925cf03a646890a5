"""The RC3 chapter (Mittal's thesis, chapter 2; NSDI 2014) from scenarios/rc3: TCP flows whose tails are sent ahead at lower priorities."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence

import numpy as np

from rocelab.model import Array
from rocelab.paper import rc3_model, rc3_settings
from rocelab.paper.claims import Claim, Rule, above, below, each, number, within
from rocelab.paper.harness import NUMBERS, SCENARIOS, Experiment, Paper
from rocelab.paper.rc3_flows import LARGE, SIZES, SMALL, Flows, reduction, reductions_by_size
from rocelab.paper.results import Results
from rocelab.paper.tables import Figure, Table, plain
from rocelab.report import style

FILE = NUMBERS / "rc3.csv"
FOLDER = SCENARIOS / "rc3"
NAMES = {"mean_fct": "mean FCT", "fct_per_byte": "mean FCT per byte"}
REDUCED = {f"reduced_{quantity}": f"{text}, reduction" for quantity, text in NAMES.items()}
_NOTE = """Flow completion times with the handshake, a round trip of each flow, which the authors' times contain and a queue pair that is connected already does not take: it is added. One packet of 1,460 bytes
is one of 1,024 here, with rates and buffers to match. TCP recovers by RFC 6675, the authors' by NewReno."""


def _rule(limit: str) -> Rule:
    if limit.endswith("points"):
        most = float(limit.split()[0])
        return Rule(f"within {most:g} points", lambda ours, paper: abs(ours - paper) <= most)
    share = float(limit)
    return Rule(f"within {share:.0%}", lambda ours, paper: abs(ours / paper - 1) <= share)


def _numbers(results: Results, name: str) -> list[Claim]:
    found = []
    with FILE.open(newline="") as opened:
        for row in csv.DictReader(opened):
            if row["experiment"] != name:
                continue
            label, quantity = row["label"], row["quantity"]
            ours = (
                reduction(results, name, "rc3", "iwarp", quantity.removeprefix("reduced_"))
                if quantity in REDUCED
                else Flows(results, name, label).mean(quantity)
            )
            found.append(
                number(
                    *(
                        name,
                        label,
                        quantity,
                        (NAMES | REDUCED)[quantity],
                        row["unit"],
                        float(row["number"]),
                        ours,
                    ),
                    source=row["source"],
                    rule=_rule(row["limit"]),
                    was_run=ours is not None,
                )
            )
    return found


def _table_2_1(results: Results, name: str) -> list[Claim]:
    ours = reductions_by_size(results, name)
    beside = {f"{n} packets": ours[n] - rc3_model.reduction(n) if n in ours else None for n in LARGE}
    small = {f"{n} packets": ours.get(n) for n in SMALL}
    return [
        *_numbers(results, name),
        each(
            name,
            "by size, reduction of the mean FCT less the model's, points",
            "-6 to 2",
            beside,
            within(-6, 2),
            source="figure 2.7",
            paper="near the model",
        ),
        each(
            name,
            "flows that the initial window holds are not slower: reduction, %",
            "at least -0.5",
            small,
            lambda v: v >= -0.5,
            source="figure 2.7",
            paper="0 or more",
        ),
    ]


def _loads(results: Results, name: str) -> list[Claim]:
    cases = ("10-percent", "30-percent", "50-percent")
    by = {c: reductions_by_size(results, name, f"rc3,{c}", f"iwarp,{c}") for c in cases}
    steps: dict[str, float | None] = {}
    for a, b in zip(cases, cases[1:]):
        for n in (1187, 2107):
            steps[f"{n} packets, {b} - {a}"] = by[b][n] - by[a][n] if n in by[a] and n in by[b] else None
    return [
        each(
            name,
            "of large flows the reduction falls with the load, points",
            "< 0",
            steps,
            below(0),
            source="figure 2.8 (a)",
        )
    ]


def _initial_window(results: Results, name: str) -> list[Claim]:
    said = {"iw-10": 13.0, "iw-50": 24.0}
    ours = {c: reduction(results, name, f"iwarp,{c}", "iwarp,iw-4", "mean_fct") for c in said}
    near = {c: None if (v := ours[c]) is None else v - said[c] for c in said}
    return [
        each(
            name,
            "a larger initial window: reduction of the mean FCT less the chapter's, points",
            "-4 to 4",
            near,
            within(-4, 4),
            source="figure 2.13 (a)",
            paper="13 and 24 %; RC3 44 %",
        )
    ]


def _levels(results: Results, name: str) -> list[Claim]:
    more = {metric: reduction(results, name, "rc3,3-levels", "rc3,1-level", metric) for metric in NAMES}
    return [
        *_numbers(results, name),
        each(
            name,
            "three levels against one, with a tenth of the buffer: reduction, %",
            "> 0",
            more,
            above(0),
            source="figure 2.10",
            paper="12.7, 10.9",
        ),
    ]


def _loss(results: Results, name: str) -> list[Claim]:
    cases = ("0.02-percent", "0.06-percent", "0.1-percent")
    gain = {c: reduction(results, name, f"rc3,{c}", f"iwarp,{c}", "fct_per_byte") for c in cases}
    steps = {
        f"{b} - {a}": None if (x := gain[a]) is None or (y := gain[b]) is None else y - x
        for a, b in zip(cases, cases[1:])
    }
    return [
        each(
            name,
            "losses cost TCP more than RC3: reduction of the FCT per byte, %",
            "> 0",
            gain,
            above(0),
            source="figure 2.9",
        ),
        each(
            name,
            "the more losses, the larger the reduction, points",
            "> 0",
            steps,
            above(0),
            source="figure 2.9",
        ),
    ]


def _critical(results: Results, name: str) -> list[Claim]:
    def change(label: str, base: str, group: str) -> float | None:
        a = Flows(results, name, label, group).mean("mean_fct")
        b = Flows(results, name, base, group).mean("mean_fct")
        return None if a is None or b is None else 100 * (1 - a / b)

    base = "iwarp,alike"
    critical = {
        "priority": change("iwarp,first", base, "critical"),
        "RC3": change("rc3,alike", base, "critical"),
    }
    others = {"priority": change("iwarp,first", base, "flows"), "RC3": change("rc3,alike", base, "flows")}
    said = {"priority": 100 * (1 - 0.119 / 0.126), "RC3": 100 * (1 - 0.078 / 0.126)}
    return [
        each(
            name,
            "flows that matter: reduction of their mean FCT less the chapter's, points",
            "-4 to 4",
            {k: None if (v := critical[k]) is None else v - said[k] for k in said},
            within(-4, 4),
            source="figure 2.13 (b)",
            paper="5.6 and 38.1 %",
        ),
        each(
            name,
            "the others hardly notice: reduction of their mean FCT, %",
            "-2 to 2",
            others,
            within(-2, 2),
            source="figure 2.13 (b)",
            paper="less than 2 % worse, less than 1 % better",
        ),
    ]


def _partial(results: Results, name: str) -> list[Claim]:
    """Against TCP, which knows one class only."""
    by = {c: reductions_by_size(results, name, f"rc3,{c}", "rc3,tcp") for c in ("20-percent", "50-percent")}
    fifth = {f"{n} packets": by["20-percent"].get(n) for n in SIZES}
    half = {f"{n} packets": by["50-percent"].get(n) for n in (1187, 2107)}
    small = {f"{n} packets": by["50-percent"].get(n) for n in SMALL}
    source = "2.4.2, partial priority support"
    return [
        each(
            name,
            "a fifth of the switches: flows of all sizes are faster, reduction of the mean FCT, %",
            "> 0",
            fifth,
            above(0),
            source=source,
        ),
        each(
            name,
            "half of the switches: large flows, %",
            "62 to 84",
            half,
            within(62, 84),
            source=source,
            paper="70 to 76",
        ),
        each(
            name,
            "half of the switches: small flows, %",
            "-15 to 2",
            small,
            within(-15, 2),
            source=source,
            paper="-6 to -7",
        ),
    ]


def _mixed(results: Results, name: str) -> list[Claim]:
    groups = {"with RC3": "flows", "without": "others"}

    def gain(group: str) -> float | None:
        a = Flows(results, name, "rc3", group).mean("mean_fct")
        b = Flows(results, name, "iwarp", group).mean("mean_fct")
        return None if a is None or b is None else 100 * (1 - a / b)

    return [
        each(
            name,
            "RC3 at half of the hosts: flows of both kinds are faster, reduction of the mean FCT, %",
            "> 0",
            {text: gain(group) for text, group in groups.items()},
            above(0),
            source="2.4.2, deployment",
        )
    ]


_CLAIMS: dict[str, Callable[[Results, str], list[Claim]]] = {
    "table2.1": _table_2_1,
    "load": _loads,
    "initial_window": _initial_window,
    "levels": _levels,
    "loss": _loss,
    "critical": _critical,
    "partial": _partial,
    "mixed": _mixed,
} | rc3_settings.CLAIMS


def claims(results: Results) -> list[Claim]:
    return [claim for name in results.points for claim in _CLAIMS[name](results, name)]


_COUNTS = {
    "data_drops": "dropped",
    "retransmitted_packets": "retransmitted",
    "low_priority_packets": "low priority",
    "low_priority_repeated": "repeated",
    "timeouts": "timeouts",
}


def tables(results: Results) -> list[Table]:
    found = []
    for name in results.points:
        rows: dict[str, dict[str, float]] = {}
        for label in results.labels(name):
            flows = Flows(results, name, label)
            row = {m: flows.mean(m) for m in NAMES} | {m: results.mean(name, label, m) for m in _COUNTS}
            rows[label] = {key: value for key, value in row.items() if value is not None}
        found.append(
            plain(f"{name}: what came about", {m: f"{t}, s" for m, t in NAMES.items()} | _COUNTS, rows, name)
        )
    return found


def _cdf(values: Array) -> tuple[Array, Array]:
    return np.sort(values), np.arange(1, len(values) + 1) / len(values)


def _by_size(ours: dict[int, float]) -> Figure:
    title = "Reduction of the mean FCT by size (figure 2.7)"
    fig, ((axes,),) = style.figure(1, 1, 8.0, 3.0)
    colours = style.colours(["RC3", "model"])
    axes.plot(list(ours), list(ours.values()), "o-", color=colours["RC3"], label="RC3")
    axes.plot(
        SIZES, [rc3_model.reduction(n) for n in SIZES], "--", color=colours["model"], label="model (2.2)"
    )
    axes.set(xscale="log", xlabel="packets of the flow", ylabel="reduction [%]")
    axes.legend(loc="best")
    return Figure(style.svg(fig, title), "table2.1", title)


def _distributions(results: Results, sizes: Sequence[int]) -> Figure:
    title = "Completion times of flows of 5 and of 1,187 packets (figure 2.11)"
    fig, (row,) = style.figure(1, 2, 8.0, 3.0)
    colours = style.colours(["iwarp", "rc3"])
    for axes, n in zip(row, sizes):
        for label, colour in colours.items():
            flows = Flows(results, "table2.1", label)
            x, y = _cdf(flows.fct[flows.packets == n])
            axes.plot(x, y, color=colour, label=label)
        axes.set(xlabel=f"{n} packets: FCT [s]", ylabel="share of flows")
        axes.legend(loc="best")
    return Figure(style.svg(fig, title), "table2.1", title)


def figures(results: Results) -> list[Figure]:
    ours = reductions_by_size(results, "table2.1")
    return [_by_size(ours), _distributions(results, (5, 1187))] if ours else []


# With --full: the authors' flows, which start within 2 to 5 s, over as many runs as theirs have where the interval is theirs (figure 2.7); of settings of their own, all of them.
_COUNTED = ("engine.warmup=2s", "engine.measure=3s")
_FULL = {
    name: (*_COUNTED, "workload.flows.duration=5s", f"workload.{other}.duration=5s")
    for name, other in (("critical", "critical"), ("mixed", "others"))
} | {name: () for name in ("rttbw", "chunks", "datacenter", "linux")}
PAPER = Paper(
    title="RC3: recursively cautious congestion control (R. Mittal's thesis, chapter 2)",
    note=_NOTE,
    experiments=tuple(
        Experiment(
            name,
            FOLDER / f"{name}.toml",
            full=_FULL.get(name, (*_COUNTED, "workload.flows.duration=5s")),
            full_seeds=tuple(range(1, 11 if name == "table2.1" else 4)),
        )
        for name in _CLAIMS
    ),
    claims=claims,
    names=NAMES | REDUCED,
    tables=tables,
    figures=figures,
)
