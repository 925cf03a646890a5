"""Round trips of RC3's networks, in seconds, by flow: what the authors' completion times contain as the handshake and ours do not."""

from __future__ import annotations

from collections import deque
from functools import cache

import numpy as np

from rocelab.model import Array
from rocelab.paper.harness import SCENARIOS

_HOSTS_PER_SWITCH, _FIRST_SWITCH = 10, 100  # of the file


@cache
def core_links() -> Array:
    """Between each two of the ten switches of internet2.txt: links of the shortest path."""
    neighbours: dict[int, list[int]] = {}
    for line in (SCENARIOS / "rc3" / "internet2.txt").read_text().splitlines()[2:]:
        a, b = (int(word) - _FIRST_SWITCH for word in line.split()[:2])
        if a >= 0:
            neighbours.setdefault(a, []).append(b)
            neighbours.setdefault(b, []).append(a)
    links = np.full((len(neighbours),) * 2, -1)
    for start in neighbours:
        links[start, start] = 0
        waiting = deque([start])
        while waiting:
            at = waiting.popleft()
            for other in neighbours[at]:
                if links[start, other] < 0:
                    links[start, other] = links[start, at] + 1
                    waiting.append(other)
    return links


def _numbers(flows: dict[str, Array], end: str) -> Array:
    """Of the hosts at that end: h57 is 57."""
    numbers = np.array([int(str(name)[1:]) for name in flows["host_names"]])
    chosen: Array = numbers[flows[end]]
    return chosen


def _internet2(flows: dict[str, Array], times: float) -> Array:
    """2 ms of access links and 10 ms for each link between switches, one way."""
    links = core_links()[
        _numbers(flows, "src") // _HOSTS_PER_SWITCH, _numbers(flows, "dst") // _HOSTS_PER_SWITCH
    ]
    rtt: Array = 2 * times * (2e-3 + 10e-3 * links)
    return rtt


def _fat_tree(flows: dict[str, Array]) -> Array:
    """Of arity 6: 10 us a link; three hosts at an edge switch, nine in a pod."""
    src, dst = _numbers(flows, "src") - 1, _numbers(flows, "dst") - 1
    links = 2 + 2 * (src // 3 != dst // 3) + 2 * (src // 9 != dst // 9)
    rtt: Array = 2 * 10e-6 * links
    return rtt


def round_trips(experiment: str, label: str, flows: dict[str, Array]) -> Array:
    if experiment == "datacenter":
        return _fat_tree(flows)
    if experiment == "linux":
        return np.full(len(flows["src"]), 20e-3)
    return _internet2(flows, 10 if ",400ms" in label else 1)
