"""The figure of the IRN paper's tables: its ratios and ours, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence

from rocelab.paper.irn_cells import OVER, Cell
from rocelab.paper.tables import Figure
from rocelab.report import style

_NOTE = """Each dot is a ratio of a table: the paper's to the right, ours upwards. On the diagonal they are equal; in the shaded quarters ours is on the other side of 1."""


def figures(cells: Sequence[Cell]) -> list[Figure]:
    """A panel for each ratio; nothing where there are none."""
    ratios = [c for c in cells if c.is_ratio and c.ours is not None]
    if not ratios:
        return []
    fig, (panels,) = style.figure(1, len(OVER), 8.6, 4.0, gridspec_kw={"wspace": 0.25})
    values = [value for c in ratios for value in (c.paper, c.ours) if value is not None]
    low, high = min(values) / 1.1, max(values) * 1.1
    palette = style.colours(list(dict.fromkeys(c.table for c in ratios)))
    for axes, (quantity, over) in zip(panels, OVER.items()):
        mine = [c for c in ratios if c.quantity == quantity]
        axes.fill_between([low, 1], [1, 1], [high, high], color=style.LINE, alpha=0.4, linewidth=0)
        axes.fill_between([1, high], [low, low], [1, 1], color=style.LINE, alpha=0.4, linewidth=0)
        axes.plot([low, high], [low, high], color=style.SOFT, linewidth=1)
        for table, colour in palette.items():
            of_table = [c for c in mine if c.table == table]
            axes.plot(
                [c.paper for c in of_table],
                [c.ours for c in of_table],
                "o",
                markersize=4,
                markeredgewidth=0,
                color=colour,
                label=f"table {table}",
            )
        axes.set(title=f"IRN / {over}", xlabel="the paper's", xscale="log", yscale="log")
        axes.set(xlim=(low, high), ylim=(low, high))
    panels[0].set_ylabel("ours")
    panels[-1].legend(loc="upper left", labelspacing=0.2)
    return [Figure(style.svg(fig, "Ratios of tables 4.2 to 4.8"), title="Tables 4.2 to 4.8", note=_NOTE)]
