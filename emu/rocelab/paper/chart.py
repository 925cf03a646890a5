"""The figure of an experiment: the paper's numbers and ours, case by case."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from rocelab.paper.claims import OURS, Claim
from rocelab.report import style

_SIDE = 10.6  # inches
_LETTER = 0.075  # of the names at the side
_TITLES = 100  # letters that fit beside one another


@style.looks()
def numbers_chart(claims: Sequence[Claim], names: Mapping[str, str]) -> str:
    """Claims of one experiment, an SVG text: a panel for each quantity, a line for each case; a ring where the paper has a number, a dot where we have, a bar for our
    interval. Quantities that are 0 everywhere are left out. Empty: there is nothing to draw."""
    there = [c for c in claims if c.only is not None]
    zero = {c.quantity for c in there} - {c.quantity for c in there if c.only or c.expected}
    drawn = [c for c in there if c.quantity not in zero]
    quantities = list(dict.fromkeys(c.quantity for c in drawn))
    if not quantities:
        return ""
    cases = list(dict.fromkeys(c.case for c in drawn))
    titles = {q: textwrap.fill(names.get(q, q), _TITLES // len(quantities)) for q in quantities}
    above = 0.14 * max(title.count("\n") for title in titles.values())
    height = 0.26 * len(cases) + 0.95 + above
    fig, (panels,) = style.figure(
        1, len(quantities), _SIDE, height, sharey=True, gridspec_kw={"wspace": 0.12}
    )
    fig.subplots_adjust(left=(0.35 + _LETTER * max(map(len, cases))) / _SIDE, top=1 - (0.3 + above) / height)
    for axes, quantity in zip(panels, quantities):
        mine = [c for c in drawn if c.quantity == quantity]
        for claim in mine:
            _line(axes, cases.index(claim.case), claim)
        axes.set(title=titles[quantity], xlabel=mine[0].unit, ylim=(len(cases) - 0.5, -0.5))
        axes.title.set_size(8.5)
        _scale(axes, mine)
    panels[0].set_yticks(range(len(cases)), cases)
    panels[0].tick_params(axis="y", labelcolor=style.INK)
    return style.svg(fig, "The paper's numbers and ours")


def _line(axes: Axes, y: int, claim: Claim) -> None:
    ours, paper = claim.only, claim.expected
    assert ours is not None
    if paper is not None:
        axes.plot([paper, ours], [y, y], color=style.LINE, linewidth=2, zorder=1)
        axes.plot([paper], [y], "o", markersize=7.5, markerfacecolor="none", color=style.SOFT, clip_on=False)
    colour = style.LOSS if claim.holds is False else style.INK
    spread = claim.spreads.get(OURS)
    if spread is not None and spread.ci95:
        axes.plot([ours - spread.ci95, ours + spread.ci95], [y, y], color=colour, linewidth=1)
    axes.plot([ours], [y], "o", markersize=4.5, color=colour, markeredgewidth=0, clip_on=False)


def _scale(axes: Axes, claims: Sequence[Claim]) -> None:
    """Logarithmic where numbers differ much, none is zero and they are no shares."""
    values = [value for c in claims for value in (c.expected, c.only) if value is not None]
    if not claims[0].unit.startswith("%") and min(values) > 0 and max(values) > 20 * min(values):
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=min(0.0, *values), right=1.08 * max(*values, 1e-9))
