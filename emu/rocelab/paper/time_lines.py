"""Lines over time in a paper's report: values that are thinned before they are kept, and a grid of panels with a limit and marks in
each. Measures import this, so that matplotlib comes only with the first picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rocelab.model import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 600  # points of a line: two for each pixel of its panel
_WIDTH, _ROW, _LEGEND = 10.6, 1.75, 0.3  # inches
_ROOM = 1.4  # of a panel's highest value: above it stand the words of limit and marks
_LETTERS = 0.14  # height of a line of them, of the panel's


@dataclass(frozen=True)
class Line:
    """Each value holds until the next time."""

    name: str
    times: Array
    values: Array


@dataclass(frozen=True)
class Panel:
    """`limit`: a level, with its words. `marks`: instants, by what begins there. `log`: of the scale of values, which else begins at 0."""

    title: str
    unit: str
    lines: Sequence[Line]
    limit: tuple[float, str] | None = None
    marks: Mapping[str, float] = field(default_factory=dict)
    log: bool = False


def thin(times: Array, values: Array, most: int = MOST) -> tuple[Array, Array]:
    """At most `most` of these points: the first, the last, and the lowest and the highest of each stretch between, so that no peak is lost."""
    if len(times) <= most:
        return times, values
    kept = {0, len(times) - 1}
    for stretch in np.array_split(np.arange(len(times)), (most - 2) // 2):
        kept |= {int(stretch[np.argmin(values[stretch])]), int(stretch[np.argmax(values[stretch])])}
    chosen = np.array(sorted(kept))
    return times[chosen], values[chosen]


def picture(panels: Sequence[Panel], columns: int, time: str, description: str) -> str:
    """An SVG text. Panels stand in rows of `columns`, those of a row with the same time; a name has one colour in all of them."""
    from rocelab.report import style

    rows = -(-len(panels) // columns)
    height = _ROW * rows + 0.4 + _LEGEND
    fig, grid = style.figure(
        rows, columns, _WIDTH, height, sharex="row", gridspec_kw={"hspace": 0.75, "wspace": 0.18}
    )
    fig.subplots_adjust(top=1 - (0.3 + _LEGEND) / height)
    palette = style.colours(list(dict.fromkeys(line.name for panel in panels for line in panel.lines)))
    places = [axes for row in grid for axes in row]
    for axes, panel in zip(places, panels):
        _draw(axes, panel, palette)
        axes.set(title=panel.title, xlabel=f"time [{time}]", ylabel=panel.unit)
    for axes in places[len(panels) :]:
        axes.remove()
    drawn = {line.get_label(): line for axes in places[: len(panels)] for line in axes.get_lines()}
    fig.legend(
        [drawn[name] for name in palette], list(palette), loc="upper right", ncols=max(len(palette), 1)
    )
    return style.svg(fig, description)


def _draw(axes: Axes, panel: Panel, palette: Mapping[str, str]) -> None:
    from rocelab.report import style

    for line in panel.lines:
        axes.plot(
            line.times,
            line.values,
            drawstyle="steps-post",
            color=palette[line.name],
            label=line.name,
            linewidth=0.8,
        )
    top = max((float(line.values.max(initial=0)) for line in panel.lines), default=0.0)
    if panel.limit is not None:
        level, words = panel.limit
        top = max(top, level)
        axes.axhline(level, color=style.SOFT, linewidth=1, linestyle="--")
        axes.text(1, 1, words, transform=axes.transAxes, ha="right", va="top", color=style.SOFT, fontsize=8)
    for row, (words, instant) in enumerate(sorted(panel.marks.items(), key=lambda mark: mark[1])):
        axes.axvline(instant, color=style.LOSS, linewidth=1)
        axes.annotate(
            f" {words}",
            (instant, 1 - _LETTERS * row),
            xycoords=("data", "axes fraction"),
            va="top",
            color=style.LOSS,
            fontsize=8,
        )
    if panel.log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, _ROOM * top or 1)
