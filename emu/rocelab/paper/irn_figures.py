"""Figures 4.1 to 4.12 of the IRN chapter from our runs, with the numbers that its tables and its text give: the figures themselves print none."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from rocelab.model import Array
from rocelab.paper import irn_cells
from rocelab.paper.harness import NUMBERS, spread_of
from rocelab.paper.irn_labels import CCS, METRICS, as_shown, with_cc
from rocelab.paper.results import Results
from rocelab.paper.tables import Figure
from rocelab.report import style

TEXT = NUMBERS / "irn_figures.csv"
_WIDTH, _ROW, _GAP = 10.6, 0.27, 0.62  # inches: of a figure, of a row, between its two grids of panels
_LETTER = 0.075  # inches, of the names at the side
_FAN_INS = (10, 20, 30, 40, 50)
_TRANSPORTS = ("irn", "irn+pfc", "roce+pfc")
_OURS = "Bars and dots are ours, with the 95 % interval over seeds."
_TITLES = {"none": "no congestion control", "timely": "TIMELY", "dcqcn": "DCQCN"}
_TABLES = """Rings are the paper's numbers in table 4.2 at 70 % load; those of RoCE+PFC and IRN+PFC come from its ratios. The paper prints IRN's mean FCT to 0.1 ms."""


@dataclass(frozen=True)
class _Bars:
    """A figure that compares transports, behind each of `ccs`. `ratios`: "of / over". `silent`: what the paper gives no number for."""

    number: str
    title: str
    ratios: tuple[str, ...]
    ccs: tuple[str, ...] = ("none",)
    metrics: tuple[str, ...] = tuple(METRICS)
    silent: str = ""

    @property
    def experiment(self) -> str:
        return f"figure{self.number}"

    @property
    def transports(self) -> list[str]:
        return list(dict.fromkeys(name for ratio in self.ratios for name in reversed(ratio.split(" / "))))


_FCT = ("avg_fct_s",)
_WITH_CC = ("timely", "dcqcn")
_NO_ROCE = "The paper has no number for RoCE without PFC but this ratio."
_NO_TAILS = """From the 90th to the 99.9th percentile, of all seeds together. The text gives no numbers: IRN is significantly better than RoCE, and does not require PFC."""
_NO_INCAST = "The paper draws IRN over RoCE with PFC; of IRN over IRN with PFC it says only that it looks very similar."
_FACTORS = """Of go-back-N and of no BDP-FC the text says only that they are worse than IRN, the former generally more so. The axis of the paper's figure ends at 3 ms."""
_FACTOR_RATIOS = (
    "irn-go-back-n / irn",
    "irn-no-bdp-fc / irn",
    "irn-no-sack / irn",
    "irn-dynamic-rto / irn",
    "irn / irn-go-back-n-backoff",
)
_RESILIENT = "The text says only that IRN is significantly better."
_IWARP = "Of IRN's mean and tail FCT the text says only that they are comparable."
BARS = (
    _Bars("4.1", "IRN and RoCE with PFC", ("roce+pfc / irn",)),
    _Bars("4.2", "IRN without and with PFC", ("irn+pfc / irn",)),
    _Bars("4.3", "RoCE without and with PFC", ("roce / roce+pfc",), silent=_NO_ROCE),
    _Bars("4.4", "IRN and RoCE with PFC, with congestion control", ("roce+pfc / irn",), _WITH_CC),
    _Bars("4.5", "IRN without and with PFC, with congestion control", ("irn+pfc / irn",), _WITH_CC),
    _Bars(
        "4.6",
        "RoCE without and with PFC, with congestion control",
        ("roce / roce+pfc",),
        _WITH_CC,
        silent=_NO_ROCE,
    ),
    _Bars(
        "4.7", "factor analysis of IRN, and the alternatives of 4.3.3", _FACTOR_RATIOS, CCS, _FCT, _FACTORS
    ),
    _Bars("4.10", "IRN and Resilient RoCE", ("roce+dcqcn / irn",), silent=_RESILIENT),
    _Bars("4.11", "IRN and iWARP", ("irn / iwarp", "irn+aimd / iwarp"), silent=_IWARP),
    _Bars("4.12", "IRN with worst-case overheads", ("irn-overheads / irn", "irn-overheads / roce+pfc")),
)


@dataclass(frozen=True)
class Said:
    """What the text says of a ratio: from `low` to `high`, which are equal for one number. "all" stands for every one."""

    ratio: str  # "of / over"
    cc: str
    metric: str
    low: float
    high: float
    source: str
    text: str

    def is_about(self, ratio: str, cc: str, metric: str) -> bool:
        return self.ratio == ratio and self.cc in ("all", cc) and self.metric in ("all", metric)


@dataclass(frozen=True)
class _Mark:
    """A number of ours, and the paper's: a number or a range."""

    ours: float | None
    ci95: float | None
    ring: float | None = None
    band: tuple[float, float] | None = None
    colour: str = style.INK

    @property
    def drawn(self) -> list[float]:
        return [value for value in (self.ours, self.ring, *(self.band or ())) if value is not None]


_Rows = Mapping[str, Sequence[_Mark]]  # by name, a mark for each metric
_Parts = tuple[Results, Sequence[Results]]  # all, and those of one seed each


def figures(results: Results) -> list[Figure]:
    """Those whose runs are there."""
    parts = (results, [results.only(seed) for seed in results.seeds])
    bars = [figure for spec in BARS for figure in _bars(spec, parts)]
    return [*bars, *_tails(results), *_incast(parts)]


def said(number: str) -> list[Said]:
    """The ratios that the text gives for that figure."""
    found = []
    with TEXT.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["figure"] == number:
                low, high = sorted(_ratio(row[end], row["unit"]) for end in ("low", "high"))
                names = {key: row[key] for key in ("ratio", "cc", "metric", "source", "text")}
                found.append(Said(**names, low=low, high=high))
    return found


def _ratio(text: str, unit: str) -> float:
    """`unit`: "x", or "% more" or "% less" than what it is over. Empty: there is no lower end."""
    if unit == "x" or not text:
        return float(text or 0)
    return 1 + {"% more": 0.01, "% less": -0.01}[unit] * float(text)


def default_case() -> dict[tuple[str, str], float]:
    """The paper's numbers of its default case, by label and metric, FCTs in seconds: IRN's, and what its ratios make of them."""
    with irn_cells.NUMBERS.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["table"], row["value"]) == ("4.2", "0.7")]
    number = {(row["quantity"], row["cc"], row["metric"]): float(row["number"]) for row in rows}
    found = {}
    for (quantity, cc, metric), value in number.items():
        over = irn_cells.OVER.get(quantity)
        label = with_cc(over or "irn", cc)
        found[label, metric] = number["irn", cc, metric] / value if over else value
    return found


def _quotient(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def _measured(parts: _Parts, ask: Callable[[Results], float | None]) -> tuple[float | None, float | None]:
    """The number and the half width of its interval over seeds."""
    every, seeds = parts
    samples = [value for value in map(ask, seeds) if value is not None]
    return ask(every), spread_of(samples).ci95


def _values(spec: _Bars, parts: _Parts) -> _Rows:
    paper = default_case()
    plain = {transport: transport.removesuffix("+dcqcn") for transport in spec.transports}
    palette = style.colours([*plain.values()])

    def mark(transport: str, label: str, metric: str) -> _Mark:
        def shown(value: float | None) -> float | None:
            return None if value is None else as_shown(metric, value)

        ours = _measured(parts, lambda part: shown(part.mean(spec.experiment, label, metric)))
        return _Mark(*ours, shown(paper.get((label, metric))), colour=palette[plain[transport]])

    labels = [(transport, with_cc(transport, cc)) for cc in spec.ccs for transport in spec.transports]
    return _there({label: [mark(t, label, metric) for metric in spec.metrics] for t, label in labels})


def _ratios(spec: _Bars, parts: _Parts, text: Sequence[Said]) -> _Rows:
    paper = default_case()

    def mark(ratio: str, cc: str, metric: str) -> _Mark:
        of, over = (with_cc(transport, cc) for transport in ratio.split(" / "))
        ours = _measured(parts, lambda part: part.ratio(spec.experiment, of, over, metric))
        said_of_it = next((each for each in text if each.is_about(ratio, cc, metric)), None)
        if said_of_it is not None and said_of_it.low == said_of_it.high:
            return _Mark(*ours, said_of_it.low)
        ring = _quotient(paper.get((of, metric)), paper.get((over, metric)))
        return _Mark(*ours, ring, None if said_of_it is None else (said_of_it.low, said_of_it.high))

    def name(ratio: str, cc: str) -> str:
        return ratio if cc == "none" else f"{ratio}, {cc}"

    cases = [(ratio, cc) for ratio in spec.ratios for cc in spec.ccs]
    return _there({name(*case): [mark(*case, metric) for metric in spec.metrics] for case in cases})


def _there(rows: _Rows) -> _Rows:
    """Without those that were not run."""
    return {name: marks for name, marks in rows.items() if any(m.ours is not None for m in marks)}


def _bars(spec: _Bars, parts: _Parts) -> list[Figure]:
    """Above a row for each label, below one for each ratio; a column for each metric."""
    text = said(spec.number)
    values, ratios = _values(spec, parts), _ratios(spec, parts, text)
    if not values:
        return []
    grid = [rows for rows in (values, ratios) if rows]
    inside = _ROW * sum(map(len, grid))
    height = inside + _GAP * (len(grid) - 1) + 0.75
    layout = {"height_ratios": [*map(len, grid)], "hspace": _GAP * len(grid) / inside, "wspace": 0.15}
    columns = len(spec.metrics)
    fig, panels = style.figure(len(grid), columns, _WIDTH, height, sharey="row", gridspec_kw=layout)
    names = max(len(name) for rows in grid for name in rows)
    fig.subplots_adjust(left=(0.35 + _LETTER * names) / _WIDTH)
    for line, rows, is_ratio in zip(panels, grid, (False, True)):
        by_metric = [*zip(*rows.values())]
        is_wide = any(_differ(marks, 8 if is_ratio else 30) for marks in by_metric)
        for axes, metric, marks in zip(line, spec.metrics, by_metric):
            _panel(axes, marks, is_ratio, is_wide)
            axes.set_title(f"{METRICS[metric].split(',')[0]} ratio" if is_ratio else METRICS[metric])
        line[0].set(yticks=range(len(rows)), yticklabels=list(rows), ylim=(len(rows) - 0.5, -0.5))
        line[0].tick_params(axis="y", labelcolor=style.INK)
    title = f"Figure {spec.number}: {spec.title}"
    has_rings = any(mark.ring is not None for marks in values.values() for mark in marks)
    return [Figure(style.svg(fig, title), spec.experiment, title, _note(text, has_rings, spec.silent))]


def _note(text: Sequence[Said], has_rings: bool, silent: str) -> str:
    parts = [_OURS, *([_TABLES] if has_rings else [])]
    for what, is_one in (("Shaded", False), ("Rings of ratios", True)):
        says = dict.fromkeys(f"{e.text} ({e.source})" for e in text if (e.low == e.high) == is_one)
        if says:
            parts.append(f"{what}, from the text: {'; '.join(says)}.")
    return " ".join([*parts, silent]).strip()


def _differ(marks: Iterable[_Mark], factor: float) -> bool:
    drawn = [value for mark in marks for value in mark.drawn]
    return bool(drawn) and 0 < factor * min(drawn) < max(drawn)


def _panel(axes: Axes, marks: Sequence[_Mark], is_ratio: bool, is_wide: bool) -> None:
    """Rows from top to bottom. Values are bars from 0; ratios, and values that differ much, are dots."""
    if is_ratio:
        axes.axvline(1, color=style.LIMIT, linewidth=1)
    for y, mark in enumerate(marks):
        if mark.band:
            axes.fill_betweenx([y - 0.42, y + 0.42], *mark.band, color=style.LINE, linewidth=0)
        if mark.ours is not None:
            if is_ratio or is_wide:
                axes.plot([mark.ours], [y], "o", markersize=5, color=mark.colour, markeredgewidth=0)
            else:
                axes.barh([y], [mark.ours], 0.62, color=mark.colour, alpha=0.5)
            if mark.ci95:
                ends = [mark.ours - mark.ci95, mark.ours + mark.ci95]
                axes.plot(ends, [y, y], color=style.INK, linewidth=1)
        if mark.ring is not None:
            axes.plot([mark.ring], [y], "o", markersize=7.5, markerfacecolor="none", color=style.INK)
    if is_wide:
        _logarithmic(axes)
    else:
        axes.set_xlim(left=max(0.0, axes.get_xlim()[0]) if is_ratio else 0.0)


def _logarithmic(axes: Axes) -> None:
    """With numbers that are read without powers of ten."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def _tails(results: Results) -> list[Figure]:
    """Figure 4.8. Recorded runs have no flows: no figure."""
    palette = style.colours(_TRANSPORTS)
    wanted = [(cc, transport) for cc in CCS for transport in _TRANSPORTS]
    asked = {(cc, transport): _single_packets(results, with_cc(transport, cc)) for cc, transport in wanted}
    found = {key: fct for key, fct in asked.items() if fct is not None}
    if not found:
        return []
    percents = np.linspace(90, 99.9, 100)
    fig, (panels,) = style.figure(1, len(CCS), _WIDTH, 3.0, sharey=True, gridspec_kw={"wspace": 0.1})
    for axes, cc in zip(panels, CCS):
        for (mine, transport), fct in found.items():
            if mine == cc:
                ranks = np.ceil(percents / 100 * len(fct) - 1e-9).astype(int) - 1  # nearest rank
                axes.plot(1e6 * fct[ranks], percents, color=palette[transport], label=transport)
                axes.legend(loc="lower right")
        _logarithmic(axes)
        axes.set(title=_TITLES[cc], xlabel="FCT [us]", ylim=(90, 100))
    panels[0].set_ylabel("percentile")
    title = "Figure 4.8: tail latency of single-packet messages"
    return [Figure(style.svg(fig, title), "figure4.8", title, _NO_TAILS)]


def _single_packets(results: Results, label: str) -> Array | None:
    fct = results.fct("figure4.8", label, most_packets=1)
    return fct if fct is not None and len(fct) else None


def _incast(parts: _Parts) -> list[Figure]:
    """Figure 4.9: ratios of request completion times by fan-in, a line for each congestion control."""

    def ratio(over: str, cc: str, fan_in: int) -> tuple[float | None, float | None]:
        of, under = (f"{with_cc(transport, cc)},m={fan_in}" for transport in ("irn", over))
        return _measured(parts, lambda part: part.ratio("figure4.9", of, under, "rct_s"))

    others, palette = ("roce+pfc", "irn+pfc"), style.colours(CCS)
    found = {(over, cc, m): ratio(over, cc, m) for over in others for cc in CCS for m in _FAN_INS}
    if all(ours is None for ours, _ in found.values()):
        return []
    text = said("4.9")
    fig, (panels,) = style.figure(1, len(others), _WIDTH, 3.0, sharey=True, gridspec_kw={"wspace": 0.06})
    for axes, over in zip(panels, others):
        for aside, cc in zip((-0.7, 0, 0.7), CCS):  # intervals beside one another
            points = [(m + aside, *found[over, cc, m]) for m in _FAN_INS]
            there = [(x, ours, half or 0.0) for x, ours, half in points if ours is not None]
            if there:
                x, y, half = zip(*there)
                axes.errorbar(x, y, half, fmt="o-", markersize=4, color=palette[cc], label=_TITLES[cc])
                axes.legend(loc="lower right", ncols=len(CCS), columnspacing=1)
        axes.axhline(1, color=style.LIMIT, linewidth=1)
        axes.set(title=f"RCT of IRN over {over}", xlabel="fan-in", xticks=_FAN_INS)
    panels[0].set_ylabel("ratio")
    bottom, top = panels[0].get_ylim()
    bottom = max(0.0, bottom - 0.18 * (top - bottom))  # room for the legend
    for axes, over in zip(panels, others):
        for each in text:
            if each.is_about(f"irn / {over}", "all", "rct_s"):
                band = (max(each.low, bottom), each.high)
                axes.axhspan(*band, color=style.LINE, alpha=0.6, linewidth=0, zorder=0)
                top = max(top, each.high)
    panels[0].set_ylim(bottom, top + 0.005)
    title = "Figure 4.9: incast, ratios of the request completion time (RCT)"
    return [Figure(style.svg(fig, title), "figure4.9", title, _note(text, False, _NO_INCAST))]
