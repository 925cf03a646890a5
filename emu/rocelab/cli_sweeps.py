"""`./rocelab sweep` and `./rocelab paper`: many runs in virtual time; `./rocelab rocc` and `./rocelab cost`: none."""

from __future__ import annotations

import difflib
from enum import Enum
from pathlib import Path
from typing import List, Optional

import typer

from rocelab.cli_options import NO_INSTALL, SCENARIO, SET, call, check_overrides, check_scenario, example
from rocelab.errors import UsageError
from rocelab.setup_all import set_up


class Analysis(str, Enum):
    """tune: parameters for a link, phase margins over the number of flows."""

    tune = "tune"


# Each is a module that has a PAPER; here only their names are needed.
PAPERS = sorted(
    file.stem for file in (Path(__file__).parent / "papers").glob("*.py") if not file.stem.startswith("_")
)
CLUSTER = typer.Option(
    None, show_default=False, metavar="ADDRESS", help="A Dask scheduler, e.g. tcp://127.0.0.1:8786."
)
JOBS = typer.Option(0, min=0, show_default=False, help="Runs at a time; default: one per core.")
_SWEEP = "sweep scenarios/fattree_poisson.toml --seeds 1-5 --set workload.poisson.load=0.5"
_ROCC = "rocc tune --rate 25Gb/s --rtt 20us"
_COST = "cost --json out/cost.json"
_PAPER = "paper irn --only table4.2,figure4.9"


def add(app: typer.Typer) -> None:
    app.command(epilog=example(_SWEEP))(sweep)
    app.command(epilog=example(_PAPER))(paper)
    app.command(epilog=example(_ROCC))(rocc)
    app.command(epilog=example(_COST))(cost)


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
    name: str = typer.Argument(..., show_default=False, help=f"Whose experiments: {', '.join(PAPERS)}."),
    full: bool = typer.Option(
        False, "--full", help="As long as the paper's; default: a fast variant, where it has one."
    ),
    only: Optional[str] = typer.Option(
        None, show_default=False, metavar="LIST", help="Only these experiments, e.g. table4.2,figure4.9."
    ),
    where: Optional[str] = typer.Option(
        None,
        show_default=False,
        metavar="TEXT",
        help="Of these only runs whose label has the text, e.g. load=0.7.",
    ),
    seeds: Optional[str] = typer.Option(
        None, show_default=False, metavar="LIST", help="In place of each experiment's, e.g. 1-3."
    ),
    sensitivity: bool = typer.Option(
        False, "--sensitivity", help="Which choices that the paper leaves open decide a verdict."
    ),
    recorded: bool = typer.Option(
        False, "--recorded", help="Run nothing: report the runs at full length in results/measured."
    ),
    cluster: Optional[str] = CLUSTER,
    jobs: int = JOBS,
    out: Optional[Path] = typer.Option(
        None, show_default=False, metavar="DIR", help="Where results go; default: out/paper-NAME."
    ),
    no_install: bool = NO_INSTALL,
) -> int:
    """Run a paper's tables and figures in virtual time, on all cores or a cluster, and report its numbers beside ours with 95 % intervals; what is finished is not run again."""
    if name not in PAPERS:
        near = difflib.get_close_matches(name, PAPERS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(PAPERS)}"
        raise UsageError(f"paper {name}: no such paper; {hint}")
    if recorded and (where or seeds or sensitivity or cluster):
        raise UsageError("--recorded runs nothing: leave --where, --seeds, --sensitivity and --cluster out")
    set_up(live=False)
    if recorded:
        return call("rocelab.paper.recorded", "run", name, only, out)
    return call(
        "rocelab.paper.harness", "run", name, full, only, cluster, jobs, out, sensitivity, seeds, where
    )


def rocc(
    what: Analysis = typer.Argument(..., show_default=False, help="The analysis."),
    rate: str = typer.Option("40Gb/s", metavar="RATE", help="The link's."),
    rtt: str = typer.Option(
        "20us",
        metavar="TIME",
        help="From a congestion point to a source and back, its reaction delay included.",
    ),
    period: Optional[str] = typer.Option(
        None, show_default=False, metavar="TIME", help="T; default: twice the RTT."
    ),
    alpha: Optional[float] = typer.Option(
        None,
        show_default=False,
        help="Gain on the distance to Q_ref, in DF per DQ, before auto-tuning; default: that of the largest margin.",
    ),
    beta: Optional[float] = typer.Option(
        None, show_default=False, help="Gain on the growth; default: 5 alpha, as in the paper's sets."
    ),
    delay: Optional[str] = typer.Option(
        None, show_default=False, metavar="TIME", help="Of the loop; default: T, as the paper."
    ),
    delta_f: str = typer.Option("10Mb/s", metavar="RATE", help="Rate unit DF."),
    delta_q: str = typer.Option("600B", metavar="BYTES", help="Queue unit DQ."),
    flows: int = typer.Option(128, help="Largest number of flows."),
    out: Path = typer.Option(
        Path("out/rocc-tune"),
        metavar="DIR",
        help="Where tune.svg, margins.svg and tune.json go, with every number of flows.",
    ),
    no_install: bool = NO_INSTALL,
) -> int:
    """RoCC's parameters for a link, and the stability of its control loop by phase margins (RoCC journal, section V): fixed gains, auto-tuned ones, and what the paper says of them."""
    set_up(live=False)
    return call(
        *("rocelab.rocc.tune", "from_text"),
        rate=rate,
        rtt=rtt,
        period=period,
        delay=delay,
        alpha=alpha,
        beta=beta,
        delta_f=delta_f,
        delta_q=delta_q,
        flows=flows,
        out=out,
    )


def cost(
    out: Optional[Path] = typer.Option(
        None, "--json", show_default=False, metavar="FILE", help="Where the table goes as JSON, too."
    ),
    no_install: bool = NO_INSTALL,
) -> int:
    """State of our mechanisms in bits, and time of their operations on one core, beside what the papers count for hardware."""
    set_up(live=False)
    return call("rocelab.cost", "run", out)
