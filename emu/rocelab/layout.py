"""Where nodes of a topology are drawn: the same in report.html and in the pages of `./rocelab ui`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import networkx as nx
import numpy as np

from rocelab.model import RunPlan

_NARROW = 0.3  # of the distance that switches of a tier would have if they stood evenly


def graph_of(plan: RunPlan) -> nx.Graph:
    """Hosts and switches; an edge's `links` is how many links there are between two nodes."""
    interface = {p.interface: p.switch for p in plan.ports}
    links = [
        (port.switch, port.peer if port.peer_is_host else interface[port.peer])
        for port in plan.ports
        if port.peer_is_host or port.interface < port.peer  # each link once
    ]
    return graph([h.name for h in plan.hosts], [s.name for s in plan.switches], links)


def graph(hosts: Sequence[str], switches: Sequence[str], links: Iterable[tuple[str, str]]) -> nx.Graph:
    found = nx.Graph()
    found.add_nodes_from(hosts, kind="host")
    found.add_nodes_from(switches, kind="switch")
    for a, b in links:
        several = found.edges[a, b]["links"] if found.has_edge(a, b) else 0
        found.add_edge(a, b, links=several + 1)
    return found


def positions(graph: nx.Graph) -> dict[str, tuple[float, float]]:
    """One switch: hosts on an arc around it. More: tiers by distance from the hosts, each above the middle of what hangs below it."""
    hosts = [name for name, kind in graph.nodes(data="kind") if kind == "host"]
    switches = [name for name, kind in graph.nodes(data="kind") if kind == "switch"]
    if len(switches) == 1:
        angles = (
            np.linspace(np.pi * 0.97, np.pi * 2.03, len(hosts))
            if len(hosts) < 7
            else np.linspace(0, 2 * np.pi, len(hosts), endpoint=False)
        )
        around = {h: (float(np.cos(a)), float(np.sin(a))) for h, a in zip(hosts, angles)}
        return {switches[0]: (0.0, 0.0), **around}
    positions: dict[str, tuple[float, float]] = {h: (float(i), 0.0) for i, h in enumerate(hosts)}
    distance = nx.multi_source_dijkstra_path_length(graph, set(hosts))
    for tier in sorted({d for n, d in distance.items() if n not in positions}):
        names = [s for s in switches if distance[s] == tier]
        centres = {
            n: [positions[m][0] for m in graph[n] if m in positions and distance[m] < tier] for n in names
        }
        spread = {n: float(np.mean(c)) for n, c in centres.items()}
        gaps = np.diff(sorted(spread.values()))
        # Above the same middle, as spines are, or nearly, as the rails of hosts with several NICs.
        if len(names) > 1 and gaps.min() < _NARROW * len(hosts) / len(names):
            spread = dict(zip(names, np.linspace(0.08, 0.92, len(names)) * (len(hosts) - 1)))
        positions |= {n: (spread[n], float(tier) * len(hosts) * 0.35) for n in names}
    return positions
