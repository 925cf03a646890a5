"""Reads scenarios in a process of its own, with limits: their text is not trusted, and one that asks for a million hosts must not take the server with it.

Started as a program it reads paths from standard input, one a line, and writes a line of JSON for each: first what reading gives, of all of them,
then, with --sketch, the topology of each.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rocelab import paths

_MEMORY = 3 << 30
_SECONDS = 120
_MOST_DRAWN = 4000  # nodes
_PLACE = re.compile(r"^(?P<file>.*?):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<text>.*)$", re.S)


def read(files: Sequence[Path], sketch: bool = False) -> Iterator[dict[str, Any]]:
    """What each file says, as describe() and draw() give it; of one that cannot be read an `error`. Blocks while the reader works."""
    left = list(files)
    while left:
        argv = [sys.executable, "-m", "rocelab.ui.reader", *(["--sketch"] if sketch else [])]
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
    """Title, labels, seeds and warnings; or `error`: line, column and text, the reader's own."""
    from rocelab.errors import RocelabError
    from rocelab.scenario import read_scenario

    try:
        scenario = read_scenario(file)
    except RocelabError as e:
        return {"file": str(file), "error": place_of(str(e))}
    return {
        "file": str(file),
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


def draw(file: Path) -> dict[str, Any]:
    """Nodes with their places, and links, of the first label: names, x, y; pairs of indices and how many links they are."""
    from rocelab import layout
    from rocelab.errors import RocelabError
    from rocelab.scenario import plan_of, read_scenario

    try:
        scenario = read_scenario(file)
        plan = plan_of(scenario, scenario.labels[0], scenario.seeds[0])
    except RocelabError as e:
        return {"file": str(file), "error": place_of(str(e))}
    graph = layout.graph_of(plan)
    if len(graph) > _MOST_DRAWN:
        return {
            "file": str(file),
            "hosts": len(plan.machines),
            "switches": len(plan.switches),
            "nodes": [],
            "links": [],
        }
    at = layout.positions(plan, graph)
    names = [h.name for h in plan.hosts] + [s.name for s in plan.switches]
    index = {name: i for i, name in enumerate(names)}
    return {
        "file": str(file),
        "hosts": len(plan.machines),
        "switches": len(plan.switches),
        "flows": len(plan.flows),
        "sinks": sorted({index[f.dst] for f in plan.flows}),
        "nodes": [[name, round(float(at[name][0]), 3), round(float(at[name][1]), 3)] for name in names],
        "links": [[index[a], index[b], n] for a, b, n in graph.edges(data="links")],
    }


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    look = draw if "--sketch" in sys.argv else describe
    if look is draw:
        os.nice(5)  # whoever looks at the gallery may wait for pictures, runs should not
    for line in sys.stdin:
        try:
            said = look(Path(line.rstrip("\n")))
        except MemoryError:
            return 1
        print(json.dumps(said), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
