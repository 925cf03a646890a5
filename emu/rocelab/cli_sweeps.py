"""`./rocelab sweep` and `./rocelab paper`: many runs in virtual time; `./rocelab rocc`: none."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import List, Optional

import typer

from rocelab.cli_options import NO_INSTALL, SCENARIO, SET, call, check_overrides, check_scenario, example
from rocelab.errors import UsageError
from rocelab.setup_all import set_up


class Paper(str, Enum):
    """Papers whose experiments are there as scenarios."""

    irn = "irn"
    rocc = "rocc"


class Analysis(str, Enum):
    """tune: phase margins over the number of flows."""

    tune = "tune"


CLUSTER = typer.Option(
    None, show_default=False, metavar="ADDRESS", help="A Dask scheduler, e.g. tcp://127.0.0.1:8786."
)
JOBS = typer.Option(0, min=0, show_default=False, help="Runs at a time; default: one per core.")
_SWEEP = "sweep scenarios/fattree_poisson.toml --seeds 1-5 --set workload.poisson.load=0.5"
_ROCC = "rocc tune --alpha 0.3 --beta 1.5 --period 40"
_PAPER = "paper irn --only table4.2,figure4.9"


def add(app: typer.Typer) -> None:
    app.command(epilog=example(_SWEEP))(sweep)
    app.command(epilog=example(_PAPER))(paper)
    app.command(epilog=example(_ROCC))(rocc)


def sweep(
    scenario: Path = SCENARIO,
    seeds: Optional[str] = typer.Option(
        None, show_default=False, metavar="LIST", help="Instead of the scenario's seeds, e.g. 1-5,9."
    ),
    overrides: List[str] = SET,
    cluster: Optional[str] = CLUSTER,
    jobs: int = JOBS,
    out: Optional[Path] = typer.Option(
        None, show_default=False, metavar="DIR", help="Where results go; default: out/sweep-NAME."
    ),
    no_install: bool = NO_INSTALL,
) -> int:
    """Run all labels, cases, axes and seeds of a scenario in virtual time, on all cores or a cluster; what is finished is not run again."""
    check_scenario(scenario)
    check_overrides(overrides)
    set_up(live=False)
    return call("rocelab.sweep.command", "run_sweep", scenario, seeds, tuple(overrides), cluster, jobs, out)


def paper(
    name: Paper = typer.Argument(..., show_default=False, help="Whose experiments."),
    full: bool = typer.Option(
        False, "--full", help="As long as the scenarios say; default: shortened (docs/paper-irn.md)."
    ),
    only: Optional[str] = typer.Option(
        None, show_default=False, metavar="LIST", help="Only these, e.g. table4.2,figure4.9."
    ),
    cluster: Optional[str] = CLUSTER,
    jobs: int = JOBS,
    out: Optional[Path] = typer.Option(
        None, show_default=False, metavar="DIR", help="Where results go; default: out/paper-NAME."
    ),
    no_install: bool = NO_INSTALL,
) -> int:
    """Run a paper's tables and figures in virtual time and report its numbers beside ours, cell by cell."""
    if name is Paper.rocc and (full or cluster or jobs):
        raise UsageError("paper rocc takes seconds: it has neither --full nor --cluster nor --jobs")
    set_up(live=False)
    if name is Paper.rocc:
        return call("rocelab.paper.rocc", "run_rocc", only, out)
    return call("rocelab.paper.command", "run_paper", full, only, cluster, jobs, out)


def rocc(
    what: Analysis = typer.Argument(..., show_default=False, help="The analysis."),
    alpha: float = typer.Option(0.3, help="Gain on the distance to Q_ref, in DF per DQ, before auto-tuning."),
    beta: float = typer.Option(1.5, help="Gain on the growth."),
    period: float = typer.Option(40, metavar="US", help="T, in microseconds."),
    delay: Optional[float] = typer.Option(
        None, show_default=False, metavar="US", help="Of the loop, in microseconds; default: T, as the paper."
    ),
    delta_f: float = typer.Option(10, metavar="MBPS", help="Rate unit DF, in Mb/s."),
    delta_q: float = typer.Option(600, metavar="BYTES", help="Queue unit DQ, in bytes."),
    flows: int = typer.Option(128, help="Largest number of flows."),
    out: Optional[Path] = typer.Option(
        None, show_default=False, metavar="DIR", help="Also write tune.json there, for every number of flows."
    ),
) -> int:
    """Stability of RoCC's control loop by phase margins (seed 001, section V): fixed gains, auto-tuned ones, and what the paper says of them."""
    from rocelab.rocc.stability import Loop

    dead_time = None if delay is None else delay * 1e-6
    loop = Loop(alpha, beta, period * 1e-6, delta_f * 1e6, delta_q, dead_time)
    return call("rocelab.rocc.tune", "run", loop, flows, out)
