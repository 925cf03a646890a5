"""How the report's pictures look: one palette, one hand. Figures come out as inline SVG whose text is text.

Nothing of a user's matplotlib is changed: figures are made without pyplot, and their looks() hold while they are drawn.
"""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, SOFT, LINE, PAPER = "#1f2933", "#616e7c", "#d5dae1", "#ffffff"
PAUSE, LOSS, LIMIT = "#c98a1b", "#b3261e", "#8795a1"
_KNOWN = {"roce": "#c8443c", "roce+pfc": "#c98a1b", "irn": "#0f7b8a", "irn+pfc": "#4257b2"}
_OTHERS = ("#7b4fa3", "#3f7d3f", "#a3466b", "#5c5c5c", "#8a6d3b", "#2f6f9f")

_LOOKS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "rocelab",  # equal results give equal files
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.labelcolor": SOFT,
    "axes.edgecolor": LINE,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e8ebef",
    "grid.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": PAPER,
    "lines.linewidth": 1.3,
}
_SERIES, _KEY = (
    "series:",
    "key:",
)  # before a label in the identity of what is drawn of it, and of its entry in a legend


@contextmanager
def looks() -> Iterator[None]:
    """Around all that makes a figure and writes it; also a decorator."""
    with matplotlib.rc_context(_LOOKS):
        yield


def colours(labels: Sequence[str]) -> dict[str, str]:
    """The same colour for the same label in every report, as far as labels are known."""
    spare = iter(_OTHERS * (1 + len(labels) // len(_OTHERS)))
    return {label: _KNOWN.get(label) or next(spare) for label in labels}


def figure(
    rows: int, columns: int, width: float, height: float, **options: object
) -> tuple[Figure, list[list[Axes]]]:
    """Inches; rows x columns of axes inside fixed margins (fitting them to the text would draw everything twice)."""
    fig = Figure(figsize=(width, height))
    axes = fig.subplots(rows, columns, squeeze=False, **options)
    fig.subplots_adjust(left=0.6 / width, right=1 - 0.3 / width, bottom=0.45 / height, top=1 - 0.3 / height)
    return fig, [list(row) for row in axes]


def belongs(label: str, *artists: Artist) -> None:
    """They show the label: report.js hides them with it, and says their values under the pointer."""
    for artist in artists:
        artist.set_gid(_SERIES + label)


def legend(axes: Axes, owners: Sequence[str] = (), **options: object) -> None:
    """`owners`: the label that each entry stands for, so that a click on it hides that; default: the entry's own words."""
    made = axes.legend(**options)
    for text, label in zip(made.get_texts(), owners or [t.get_text() for t in made.get_texts()]):
        text.set_gid(_KEY + label)


def svg(fig: Figure, description: str) -> str:
    """The figure as an <svg> element that scales with the page."""
    for axes in fig.axes:
        axes.set_gid("axes")
    buffer = io.StringIO()
    fig.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'(<svg\b[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(
        r'(<svg\b[^>]*?) height="[^"]*"', rf'\1 role="img" aria-label="{description}"', text, count=1
    )
    scales = iter([_scales(fig, axes) for axes in fig.axes])
    text = re.sub(r'<g id="axes">', lambda _: f"<g class=\"axes\" data-scales='{next(scales)}'>", text)
    text = re.sub(rf'<g id="{_SERIES}([^"]*)">', r'<g class="series" data-label="\1">', text)
    text = re.sub(rf'<g id="{_KEY}([^"]*)">', r'<g class="key" data-label="\1">', text)
    return re.sub(r" {2,}|\n", " ", text)


@dataclass(frozen=True)
class Chart:
    """A picture of a result. A notebook shows it; `figure` is matplotlib's, for changes of one's own before save()."""

    figure: Figure
    description: str

    @property
    def svg(self) -> str:
        """An <svg> element whose text is text."""
        with looks():
            return svg(self.figure, self.description)

    def save(self, path: Path | str, **options: Any) -> Path:
        """Writes it as the ending says: .svg, .pdf, .png. `options` are savefig()'s, such as dpi."""
        with looks():
            self.figure.savefig(path, **options)
        return Path(path)

    def _repr_html_(self) -> str:
        return f'<div style="max-width: 1000px; background: #fff">{self.svg}</div>'

    def __repr__(self) -> str:
        return f"<rocelab chart: {self.description}; .save(PATH) writes it>"


def _scales(fig: Figure, axes: Axes) -> str:
    """What report.js needs to tell values from places: limits, kind and title of both scales, and where they lie in the picture (points from its top left)."""
    width, height = fig.get_size_inches() * 72
    box = axes.get_position()
    scales = [
        [*limits, kind, title]
        for limits, kind, title in (
            (axes.get_xlim(), axes.get_xscale(), axes.get_xlabel()),
            (axes.get_ylim(), axes.get_yscale(), axes.get_ylabel()),
        )
    ]
    place = [box.x0 * width, (1 - box.y1) * height, box.x1 * width, (1 - box.y0) * height]
    text = json.dumps([*scales, [round(value, 3) for value in place]], ensure_ascii=False, default=float)
    return html.escape(text, quote=False).replace("'", "&#39;")


def time_scale(end_s: float) -> tuple[float, str]:
    """Factor from seconds and name of the unit in which `end_s` reads well."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if end_s * factor >= 2:
            return factor, unit
    return 1e6, "µs"
