"""How the report's pictures look: one palette, one hand. Figures come out as inline SVG whose text is text."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

INK, SOFT, LINE, PAPER = "#1f2933", "#616e7c", "#d5dae1", "#ffffff"
PAUSE, LOSS, LIMIT = "#c98a1b", "#b3261e", "#8795a1"
_KNOWN = {"roce": "#c8443c", "roce+pfc": "#c98a1b", "irn": "#0f7b8a", "irn+pfc": "#4257b2"}
_OTHERS = ("#7b4fa3", "#3f7d3f", "#a3466b", "#5c5c5c", "#8a6d3b", "#2f6f9f")

matplotlib.rcParams.update(
    {
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
)


def colours(labels: Sequence[str]) -> dict[str, str]:
    """The same colour for the same label in every report, as far as labels are known."""
    spare = iter(_OTHERS * (1 + len(labels) // len(_OTHERS)))
    return {label: _KNOWN.get(label) or next(spare) for label in labels}


def figure(
    rows: int, columns: int, width: float, height: float, **options: object
) -> tuple[Figure, list[list[Axes]]]:
    """Inches; rows x columns of axes inside fixed margins (fitting them to the text would draw everything twice)."""
    fig, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False, **options)
    fig.subplots_adjust(left=0.6 / width, right=1 - 0.3 / width, bottom=0.45 / height, top=1 - 0.3 / height)
    return fig, [list(row) for row in axes]


def svg(fig: Figure, description: str) -> str:
    """The figure as an <svg> element that scales with the page."""
    buffer = io.StringIO()
    fig.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(fig)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'(<svg\b[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(
        r'(<svg\b[^>]*?) height="[^"]*"', rf'\1 role="img" aria-label="{description}"', text, count=1
    )
    return re.sub(r" {2,}|\n", " ", text)


def time_scale(end_s: float) -> tuple[float, str]:
    """Factor from seconds and name of the unit in which `end_s` reads well."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if end_s * factor >= 2:
            return factor, unit
    return 1e6, "µs"
