"""`./rocelab cost`: what our laws cost in state and time beside what the papers count for hardware (emu/cost)."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from rocelab import __version__, native
from rocelab.bench.machine import machine
from rocelab.files import write_whole
from rocelab.sweep.run import make_console

_REPETITIONS = 7  # of which the fastest counts: what else the machine does only adds


@dataclass(frozen=True)
class State:
    paper: str
    per: str  # QP, WQE, NIC, flow, port, token, frame
    what: str
    bits: int
    paper_bits: int | None
    source: str


@dataclass(frozen=True)
class Operation:
    paper: str
    name: str
    what: str
    ns: float  # of one, on one core
    mops: float  # million a second
    paper_mops: float
    source: str

    @property
    def ratio(self) -> float:
        return self.mops / self.paper_mops


@dataclass(frozen=True)
class Cost:
    state: tuple[State, ...]
    operations: tuple[Operation, ...]
    machine: dict[str, Any]


def measure(repetitions: int = _REPETITIONS) -> Cost:
    here = machine()
    operations = []
    for name, paper, what, paper_mops, source in native.runner.cost_operations():
        loop = native.runner.CostLoop(name)
        ns = min(_ns_of_one(loop) for _ in range(repetitions))
        operations.append(Operation(paper, name, what, ns, 1e3 / ns, paper_mops, source))
    state = tuple(State(*item) for item in native.runner.cost_state())
    return Cost(state, tuple(operations), here)


def _ns_of_one(loop: Any) -> float:
    loop.prepare()
    begin = time.perf_counter_ns()
    count: int = loop.run()
    return (time.perf_counter_ns() - begin) / count


def as_json(cost: Cost) -> dict[str, Any]:
    return {
        "version": __version__,
        "machine": cost.machine,
        "state": [asdict(item) for item in cost.state],
        "operations": [{**asdict(o), "ratio": o.ratio} for o in cost.operations],
    }


def tables(cost: Cost) -> Sequence[Table]:
    """State and time in one table; a blank row is between them."""
    table = Table(title="The cost of mechanisms: ours, a simulator's, beside the papers' hardware", box=None)
    for column in ("paper", "of", "what"):
        table.add_column(column, overflow="fold")
    for column in ("ours", "the paper's", "ours / paper"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("source", overflow="fold")
    for item in cost.state:
        beside = item.paper_bits
        table.add_row(
            *(item.paper, f"a {item.per}", item.what, f"{item.bits} bits"),
            *(("-", "-") if beside is None else (f"{beside} bits", f"{item.bits / beside:.3g}")),
            item.source,
        )
    table.add_section()
    for o in cost.operations:
        table.add_row(
            *(o.paper, o.name, o.what, f"{o.mops:.4g} M/s, {o.ns:.3g} ns"),
            *(f"{o.paper_mops:g} M/s", f"{o.ratio:.3g}", o.source),
        )
    return (table,)


def run(out: Path | None) -> int:
    console = make_console()
    cost = measure()
    for table in tables(cost):
        console.print(table)
    console.print(
        f"One core of {cost.machine['cpu']}, the fastest of {_REPETITIONS} runs; docs/reference/cost.md",
        soft_wrap=True,
    )
    if out is not None:
        text = json.dumps(as_json(cost), indent=1, allow_nan=False) + "\n"
        write_whole(out, text.encode())
        console.print(f"written: [bold]{out}[/]", soft_wrap=True)
    return 0
