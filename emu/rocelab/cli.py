"""The command line: what can be asked for and how it is checked. What a command does is behind a late import, so that
`./rocelab clean` does not wait for pandas, nor `--help` for Mininet."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from enum import Enum
from pathlib import Path
from typing import List, Optional

import click
import typer
from rich.console import Console
from rich.table import Table

from rocelab import clean as cleaning
from rocelab import cli_live, cli_openqueue, cli_sweeps, cli_ui
from rocelab import importable, paths
from rocelab.cli_options import (
    CLOCK,
    NO_INSTALL,
    SCENARIO,
    SET,
    Clock,
    call,
    check_overrides,
    check_scenario,
    example,
)
from rocelab.errors import RocelabError, UsageError
from rocelab.live.exec_replace import become
from rocelab.privileges import require_root
from rocelab.setup_all import set_up

app = typer.Typer(
    name="rocelab",
    help="End-to-end RDMA experiments on a laptop.",
    epilog="First: ./rocelab run scenarios/incast.toml",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Engine(str, Enum):
    """live: real processes over Open vSwitch. des: virtual time, no processes."""

    live = "live"
    des = "des"


class Bench(str, Enum):
    """live, des: the engines. scale: the second by threads and hosts. wall: programs on network interfaces and over shared memory, in real time."""

    live = "live"
    des = "des"
    scale = "scale"
    wall = "wall"


class Dialect(str, Enum):
    """Other simulators that read and write text files of their own."""

    hpcc = "hpcc"
    conweave = "conweave"
    ns3_rdma = "ns3-rdma"
    htsim = "htsim"
    goal = "goal"


_ENGINE = typer.Option(
    None,
    show_default=False,
    help="live: real programs over Open vSwitch, as root; des: virtual time. Default: live.",
)


@app.command(epilog=example("run scenarios/incast.toml --seed 7 --set topology.rate=100Gb/s --pcap"))
def run(
    scenario: Path = SCENARIO,
    engine: Optional[Engine] = _ENGINE,
    clock: Optional[Clock] = CLOCK,
    label: Optional[str] = typer.Option(
        None,
        show_default=False,
        help="Only this label, as tables name it, e.g. irn,load=0.5, or any other transport, e.g. roce+pfc.",
    ),
    seed: Optional[int] = typer.Option(
        None, show_default=False, min=0, help="Instead of the scenario's seeds."
    ),
    pcap: bool = typer.Option(False, "--pcap", help="Also write captures, in experiment time."),
    overrides: List[str] = SET,
    out: Optional[Path] = typer.Option(
        None, show_default=False, metavar="DIR", help="Where results go; default: out/NAME."
    ),
    progress: Optional[Path] = typer.Option(
        None,
        show_default=False,
        metavar="FILE",
        help="Also write progress to FILE, one JSON object a line.",
    ),
    watch: Optional[Path] = typer.Option(
        None,
        show_default=False,
        metavar="FILE",
        help="Also write to FILE the network of the present run and the folder of its event files (docs/tutorial/ui.md).",
    ),
    no_install: bool = NO_INSTALL,
) -> int:
    """Run a scenario: show progress, compare its labels in a table, write summary.json, report.html, run.sqlite."""
    check_scenario(scenario)
    check_overrides(overrides)
    if engine is Engine.des and clock is not None:
        raise UsageError("--clock is for --engine live: the virtual-time engine has none")
    if engine is not Engine.des:
        require_root("the live engine")
    set_up(live=engine is not Engine.des)
    alone = functools.partial(
        call,
        *("rocelab.runner", "run_scenario", scenario),
        engine=engine.value if engine else None,
        clock=clock.value if clock else None,
        seed=seed,
        pcap=pcap,
        overrides=tuple(overrides),
        out=out,
        progress=progress,
        watch=watch,
        label=label,
    )
    from rocelab.des import ranks

    joined = ranks.joined()
    if joined is None:
        return alone()
    if engine is not Engine.des:
        raise UsageError("mpirun shares runs in virtual time among processes: say --engine des")
    return ranks.run(joined, scenario, label, seed, pcap, tuple(overrides), out, alone)


cli_sweeps.add(app)
cli_live.add(app)
cli_openqueue.add(app)
cli_ui.add(app)


@app.command(
    epilog=example("python -c 'import rocelab; print(rocelab.run(\"scenarios/quick.toml\").table)'"),
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
def python(
    arguments: Optional[List[str]] = typer.Argument(
        None, show_default=False, metavar="[ARGS]...", help="Of python3: a script, -c, -m ..; none: a prompt."
    ),
) -> int:
    """Start Debian's Python with this work tree's rocelab importable, everything built (docs/tutorial/python.md)."""
    set_up(live=False)
    search = os.pathsep.join(filter(None, (str(importable.PACKAGE.parent), os.environ.get("PYTHONPATH"))))
    become([sys.executable, *(arguments or ())], {**os.environ, "PYTHONPATH": search})


@app.command(epilog=example("events out/incast --label roce --seed 2"))
def events(
    folder: Path = typer.Argument(
        ..., show_default=False, metavar="FOLDER", help="A result's folder, e.g. out/incast."
    ),
    label: Optional[str] = typer.Option(None, show_default=False, help="Only runs of this label."),
    seed: Optional[int] = typer.Option(
        None, show_default=False, min=0, help="Only runs of this seed; default: the first of each label."
    ),
    to: Optional[Path] = typer.Option(
        None, show_default=False, metavar="FILE", help="The database; default: FOLDER/events.sqlite."
    ),
) -> int:
    """Write events, pauses, packets' hops and waits of a result's runs as tables for SQL (docs/reference/metrics.md)."""
    set_up(live=False)
    return call("rocelab.traces", "export", folder, label, seed, to)


@app.command(epilog=example("export out/incast --dialect conweave"))
def export(
    path: Path = typer.Argument(
        ..., show_default=False, metavar="PATH", help="A result's folder, e.g. out/incast, or a scenario."
    ),
    dialect: Dialect = typer.Option(
        Dialect.hpcc,
        show_default=False,
        help="The simulator whose format is written; ns3-rdma, htsim and goal for scenarios only; default: hpcc.",
    ),
    epoch: Optional[float] = typer.Option(
        None,
        min=0,
        show_default=False,
        help="What the files call experiment time 0, in seconds; default: 2, of htsim 0.",
    ),
    label: Optional[str] = typer.Option(
        None, show_default=False, metavar="L", help="Of a scenario: this one only; default: all that differ."
    ),
    overrides: List[str] = SET,
    to: Optional[Path] = typer.Option(
        None, show_default=False, metavar="DIR", help="Where they go; default: export in the result's folder."
    ),
    no_install: bool = NO_INSTALL,
) -> int:
    """Write fct.txt and pfc.txt of a result, or topology.txt and traffic of a scenario, for other simulators and their scripts."""
    check_overrides(overrides)
    if epoch is not None and not 0 <= epoch <= 1e6:  # nor nan
        raise UsageError("--epoch must be 0 to 1000000 seconds")
    if path.is_file():
        set_up(live=False)
    interchange = importlib.import_module("rocelab.interchange")

    def warn(text: str) -> None:
        print(f"rocelab: warning: {path}: {text}", file=sys.stderr)

    for file in interchange.export(path, dialect.value, to, epoch, tuple(overrides), label, warn):
        print(file)
    return 0


@app.command(name="import", epilog=example("import hpcc/mix --to scenarios/mine"))
def import_(
    path: Path = typer.Argument(
        ...,
        show_default=False,
        metavar="PATH",
        help="A folder with config.txt, topology and flow file, or such a config.txt.",
    ),
    to: Optional[Path] = typer.Option(
        None, "--to", show_default=False, metavar="DIR", help="Where to write; default: out/NAME/import."
    ),
    no_install: bool = NO_INSTALL,
) -> int:
    """Make a scenario of the config.txt, topology and flows of a simulator of HPCC's family."""
    set_up(live=False)
    importing = importlib.import_module("rocelab.importing")

    def warn(text: str) -> None:
        print(f"rocelab: warning: {path}: {text}", file=sys.stderr)

    for file in importing.import_folder(path, to, warn):
        print(file)
    return 0


@app.command(epilog=example("test --fast --label unit --label python"))
def test(
    fast: bool = typer.Option(False, "--fast", help="Without live runs, fuzzing and OVS's own tests."),
    label: List[str] = typer.Option(
        [],
        "--label",
        metavar="L",
        help="Only these kinds of test; may be repeated. On demand only: tidy (clang-tidy), asan and tsan (the live tests under sanitizers).",
    ),
    fuzz_seconds: int = typer.Option(60, min=1, help="Time for all fuzzers together."),
    within: Optional[float] = typer.Option(
        None,
        min=1,
        show_default=False,
        metavar="MINUTES",
        help="Skip, and name, what this machine has no time for.",
    ),
    no_install: bool = NO_INSTALL,
) -> int:
    """Build and run every test; the last line says how many passed and failed."""
    from rocelab import selftest

    return selftest.run(fast, tuple(label), fuzz_seconds, within)


@app.command(epilog=example("bench live"))
def bench(
    what: Bench = typer.Argument(Bench.live, show_default=False, help="What is measured; default: live."),
    no_install: bool = NO_INSTALL,
) -> int:
    """Measure rocelab itself; prints JSON."""
    if what in (Bench.live, Bench.wall):
        require_root(f"`bench {what.value}`")
    set_up(live=what is Bench.live)
    return call("rocelab.bench", what.value)


@app.command(epilog=example("doctor --engine des"))
def doctor(
    engine: Engine = typer.Option(
        Engine.live, show_default=False, help="The engine that the exit status is about; default: live."
    )
) -> int:
    """Say what this machine can and cannot do, and why; exit status 0 when `./rocelab run` with the engine will work."""
    return call("rocelab.doctor", "run", engine.value)


@app.command(epilog=example("clean --all"))
def clean(
    everything: bool = typer.Option(False, "--all", help="Also end runs that are still alive."),
    python: bool = typer.Option(
        False, "--python", help="Also the link by which `import rocelab` works, that setup has made."
    ),
    only: List[str] = typer.Argument(None, show_default=False, metavar="[ID]...", help="Only these runs."),
) -> int:
    """Remove what killed runs left: processes, namespaces, interfaces, shared memory, files."""
    if python and (link := importable.Link(importable.folder())).remove():
        Console().print(f"removed: {link.path}")
    return show_cleaned(cleaning.clean(everything, only or ()), only or ())


@app.command(epilog=example("setup --no-install"))
def setup(
    tests: bool = typer.Option(False, "--tests", help="Also install what only the tests need."),
    no_install: bool = NO_INSTALL,
) -> int:
    """Install missing Debian packages, build rocelab and its Open vSwitch; only what changed. Make `import rocelab` work in Debian's Python."""
    set_up()
    if said := importable.Link(importable.folder()).make():
        print(f"rocelab: {said}", file=sys.stderr)
    Console(stderr=True).print(f"set-up is complete: {paths.BUILD}")
    return 0


def show_cleaned(results: list[cleaning.Removed | cleaning.LeftAlone], only: List[str] | tuple[()]) -> int:
    table = Table("run", "", box=None)
    unremoved: list[str] = []
    for result in results:
        if isinstance(result, cleaning.LeftAlone):
            table.add_row(result.run_id, f"left alone: {result.reason}")
        else:
            what = f"{result.processes} processes, {len(result.interfaces)} interfaces"
            if result.files:
                what = f"{result.files} files of killed programs"
            table.add_row(result.run_id, f"removed ({what})")
            unremoved += result.left
    Console().print(table if results else "nothing to clean")
    if unknown := sorted(set(only) - {result.run_id for result in results}):
        raise RocelabError(f"no run {', '.join(unknown)} on this machine")
    if unremoved:
        raise RocelabError(f"could not remove {' '.join(unremoved)}: run it as root")
    return 0


def main(arguments: list[str]) -> int:
    """Exit status. Usage errors are one line, like all others."""
    try:
        return int(app(arguments, prog_name="./rocelab", standalone_mode=False) or 0)
    except click.UsageError as e:
        path = e.ctx.command_path if e.ctx else "./rocelab"
        raise UsageError(f"{e.format_message().rstrip('.')} (see {path} --help)") from e
    except click.ClickException as e:
        raise RocelabError(e.format_message()) from e
    except click.Abort:
        raise KeyboardInterrupt from None
