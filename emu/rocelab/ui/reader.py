"""Reads scenarios in a process of its own, with limits: their text is not trusted, and one that asks for a million hosts must not take the server with it.

Started as a program it reads paths from standard input, one a line, and writes a line of JSON for each.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocelab import paths

if TYPE_CHECKING:
    from rocelab.model import Scenario

_MEMORY = 3 << 30
_SECONDS = 120
_MOST_DRAWN = 4000  # nodes
_MOST_MARKED = 32  # hosts: of more, receivers cannot be told apart in a small picture
_PLACE = re.compile(r"^(?P<file>.*?):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<text>.*)$", re.S)


def read(files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """What each file says, as describe() gives it; of one that cannot be read an `error`. Blocks while the reader works."""
    left = list(files)
    while left:
        argv = [sys.executable, "-m", "rocelab.ui.reader"]
        done = 0
        with subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=paths.ROOT,
            env={"PYTHONPATH": str(paths.ROOT / "emu"), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            text=True,
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("".join(f"{file}\n" for file in left))
            process.stdin.close()
            for line in process.stdout:
                done += 1
                yield json.loads(line)
        if done == len(left):
            return
        # It has not survived this one.
        yield {
            "file": str(left[done]),
            "error": {"line": 1, "column": 1, "text": "takes too much memory or time to read"},
        }
        left = left[done + 1 :]


def describe(file: Path) -> dict[str, Any]:
    """Title, labels, seeds and warnings, and `drawn`, the topology; or `error`: line, column and text, the reader's own."""
    from rocelab.errors import RocelabError
    from rocelab.scenario import read_scenario

    try:
        scenario = read_scenario(file)
        drawn = draw(scenario)
    except RocelabError as e:
        return {"file": str(file), "error": place_of(str(e))}
    return {
        "file": str(file),
        "drawn": drawn,
        "name": scenario.name,
        "title": scenario.title,
        "labels": list(scenario.labels),
        "seeds": list(scenario.seeds),
        "warnings": list(scenario.warnings),
    }


def place_of(message: str) -> dict[str, Any]:
    found = _PLACE.match(message)
    if found is None:
        return {"line": 1, "column": 1, "text": message}
    return {"line": int(found["line"]), "column": int(found["column"] or 1), "text": found["text"]}


def draw(scenario: Scenario) -> dict[str, Any]:
    """Nodes with their places, and links, of the first label: names, x, y; pairs of indices and how many links they are. `sinks`: hosts to which
    flows go, of a small topology. No plan is made: routes and flows of a large scenario take a second."""
    from rocelab import layout

    label = scenario.labels[0]
    found = scenario.native.topology(label)
    hosts, switches = found["hosts"], found["switches"]
    names = [*hosts, *switches]
    machines = {name.partition(".")[0] for name in hosts}  # NICs of one host have its name and a number
    size = {"hosts": len(machines), "switches": len(switches)}
    if len(names) > _MOST_DRAWN:
        return {**size, "nodes": [], "links": []}
    graph = layout.graph(hosts, switches, [(names[b], names[a]) for a, b in found["links"]])
    at = layout.positions(graph)
    index = {name: i for i, name in enumerate(names)}
    return {
        **size,
        "sinks": _sinks(scenario, label) if len(hosts) <= _MOST_MARKED else [],
        "nodes": [[name, round(float(at[name][0]), 3), round(float(at[name][1]), 3)] for name in names],
        "links": [[index[a], index[b], n] for a, b, n in graph.edges(data="links")],
    }


def _sinks(scenario: Scenario, label: str) -> list[int]:
    """Empty: a flow cannot be drawn, which the run will say."""
    from rocelab import native

    try:
        sinks: list[int] = scenario.native.sinks(label, scenario.seeds[0])
    except native.runner.ScenarioError:
        return []
    return sinks


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        try:
            said = describe(Path(line.rstrip("\n")))
        except MemoryError:
            return 1
        print(json.dumps(said), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
