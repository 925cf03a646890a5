"""The pictures of `./rocelab paper escape`: of each experiment the paper's number and ours, case by case."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from rocelab.paper.numbers import Row
from rocelab.report import style

_SIDE = 10.6  # inches
_LETTER = 0.075  # of the names at the side
_TITLES = 100  # letters that fit beside one another
_LEAVES_OUT = ("drops", "out_of_order")  # zeros


def picture(rows: Sequence[Row], names: Mapping[str, str]) -> str:
    """Of one experiment, an SVG text: a panel for each quantity, a line for each case; a ring where the paper has a number, a dot where we have. Empty: there is nothing to draw."""
    drawn = [row for row in rows if row.ours is not None and row.quantity not in _LEAVES_OUT]
    quantities = list(dict.fromkeys(row.quantity for row in drawn))
    if not quantities:
        return ""
    cases = list(dict.fromkeys(row.case for row in drawn))
    titles = {q: textwrap.fill(names[q], _TITLES // len(quantities)) for q in quantities}
    above = 0.14 * max(title.count("\n") for title in titles.values())
    height = 0.26 * len(cases) + 0.95 + above
    fig, (panels,) = style.figure(
        1, len(quantities), _SIDE, height, sharey=True, gridspec_kw={"wspace": 0.12}
    )
    fig.subplots_adjust(left=(0.35 + _LETTER * max(map(len, cases))) / _SIDE, top=1 - (0.3 + above) / height)
    for axes, quantity in zip(panels, quantities):
        mine = [row for row in drawn if row.quantity == quantity]
        for row in mine:
            _line(axes, cases.index(row.case), row)
        axes.set(title=titles[quantity], xlabel=mine[0].unit, ylim=(len(cases) - 0.5, -0.5))
        axes.title.set_size(8.5)
        _scale(axes, mine)
    panels[0].set_yticks(range(len(cases)), cases)
    panels[0].tick_params(axis="y", labelcolor=style.INK)
    return style.svg(fig, "The paper's numbers and ours")


def _line(axes: Axes, y: int, row: Row) -> None:
    assert row.ours is not None
    if row.paper is not None:
        axes.plot([row.paper, row.ours], [y, y], color=style.LINE, linewidth=2, zorder=1)
        axes.plot(
            [row.paper], [y], "o", markersize=7.5, markerfacecolor="none", color=style.SOFT, clip_on=False
        )
    colour = style.LOSS if row.holds is False else style.INK
    axes.plot([row.ours], [y], "o", markersize=4.5, color=colour, markeredgewidth=0, clip_on=False)


def _scale(axes: Axes, rows: Sequence[Row]) -> None:
    """Logarithmic where numbers differ much, none is zero and they are no shares."""
    values = [value for row in rows for value in (row.paper, row.ours) if value is not None]
    if not rows[0].unit.startswith("%") and min(values) > 0 and max(values) > 20 * min(values):
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=min(0.0, *values), right=1.08 * max(*values, 1e-9))
