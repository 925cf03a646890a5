"""A sketch of the topology: switches in tiers, hosts below them or around them, the receivers of flows marked."""

from __future__ import annotations

import networkx as nx
from matplotlib.axes import Axes

from rocelab import layout
from rocelab.model import RunPlan
from rocelab.report import style
from rocelab.report.style import Chart

_MANY_HOSTS = 24


@style.looks()
def topology(plan: RunPlan) -> Chart:
    graph = layout.graph_of(plan)
    positions = layout.positions(graph)
    sinks = {f.dst for f in plan.flows}
    many = len(plan.hosts) > _MANY_HOSTS
    fig, ((axes,),) = style.figure(1, 1, 5.0, 3.4)
    fig.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.99)
    axes.axis("off")
    nx.draw_networkx_edges(graph, positions, ax=axes, edge_color=style.LINE, width=0.6 if many else 1.0)
    several = {(a, b): f"{n} links" for a, b, n in graph.edges(data="links") if n > 1}
    nx.draw_networkx_edge_labels(graph, positions, several, ax=axes, font_size=7)
    switches = [s.name for s in plan.switches]
    hosts = [h.name for h in plan.hosts]
    shade = ["#c8443c" if h in sinks and len(sinks) < len(hosts) else "#7b8794" for h in hosts]
    nx.draw_networkx_nodes(
        graph, positions, hosts, ax=axes, node_size=22 if many else 170, node_color=shade, edgecolors="white"
    )
    nx.draw_networkx_nodes(
        graph,
        positions,
        switches,
        ax=axes,
        node_shape="s",
        node_size=90 if many else 380,
        node_color=style.INK,
        edgecolors="white",
    )
    if many:
        _name_tiers(axes, [hosts, switches], positions)
    else:
        _name_each(axes, hosts, switches, positions)
    axes.margins(0.08, 0.16)
    return Chart(fig, "Topology")


def _name_each(
    axes: Axes, hosts: list[str], switches: list[str], positions: dict[str, tuple[float, float]]
) -> None:
    for name in hosts:
        offset = (0, -13 if positions[name][1] <= 0 else 13)
        axes.annotate(
            name,
            positions[name],
            xytext=offset,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=8,
        )
    for name in switches:
        axes.annotate(name, positions[name], ha="center", va="center", fontsize=8, color="white")


def _name_tiers(axes: Axes, groups: list[list[str]], positions: dict[str, tuple[float, float]]) -> None:
    """Names of the first and last node of each tier above it: there is no room for all."""
    for group in groups:
        for height in sorted({positions[n][1] for n in group}):
            tier = sorted((n for n in group if positions[n][1] == height), key=lambda n: positions[n][0])
            middle = (positions[tier[0]][0] + positions[tier[-1]][0]) / 2
            below = height == 0
            text = f"{tier[0]} … {tier[-1]}"
            offset = (0, -14 if below else 13)
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.85}
            axes.annotate(
                text,
                (middle, height),
                xytext=offset,
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=8,
                bbox=box,
            )
