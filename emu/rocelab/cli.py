"""The command line: what can be asked for and how it is checked. What a command does is behind a late import, so that
`./rocelab clean` does not wait for pandas, nor `--help` for Mininet."""

from __future__ import annotations

import importlib
from enum import Enum
from pathlib import Path
from typing import List, Optional

import click
import typer
from rich.console import Console
from rich.table import Table

from rocelab import clean as cleaning
from rocelab import cli_sweeps
from rocelab import paths
from rocelab.cli_options import NO_INSTALL, SCENARIO, SET, call, check_overrides, check_scenario, example
from rocelab.errors import RocelabError, UsageError
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
    """live, des: the engines. wall: programs on network interfaces and over shared memory, in real time."""

    live = "live"
    des = "des"
    wall = "wall"


class Clock(str, Enum):
    """lockstep: exact, as slow as the machine is. wall: for peers with clocks of their own."""

    lockstep = "lockstep"
    wall = "wall"


class Dialect(str, Enum):
    """Other simulators that read and write text files of their own."""

    hpcc = "hpcc"
    conweave = "conweave"
    ns3_rdma = "ns3-rdma"


class Transport(str, Enum):
    """roce: go-back-N, as kernels and adapters speak it. irn: selective retransmission, with another rocelab only."""

    roce = "roce"
    irn = "irn"


_ENGINE = typer.Option(None, show_default=False, help="What drives the experiment; default: the scenario's.")
_RUN = typer.Option(
    None, "--run", show_default=False, metavar="ID", help="Which kept topology, if there are several."
)
_CLOCK = typer.Option(None, show_default=False, help="Clock of the live engine; default: the scenario's.")
_INTERFACE = typer.Option(
    None,
    "--interface",
    show_default=False,
    metavar="DEV",
    help="Instead of a host, in real time: a network device here, e.g. eth0, or shm:NAME, shared memory of this machine.",
)
_TRANSPORT = typer.Option(None, "--transport", show_default=False, help="With --interface; default: roce.")
_WINDOW = typer.Option(
    None,
    "--window",
    show_default=False,
    min=1,
    metavar="PACKETS",
    help="With --interface and irn: packets in flight of a queue pair.",
)


def _one_of(
    host: Optional[str], interface: Optional[str], transport: Optional[Transport], window: Optional[int]
) -> None:
    if (host is None) == (interface is None):
        raise UsageError("give either a host of a kept topology or --interface DEV (or shm:NAME)")
    if interface is None and (transport is not None or window is not None):
        raise UsageError("--transport and --window are for --interface: a topology's are its scenario's")


@app.command(epilog=example("run scenarios/incast.toml --seed 7 --set topology.rate=100Gb/s --pcap"))
def run(
    scenario: Path = SCENARIO,
    engine: Optional[Engine] = _ENGINE,
    clock: Optional[Clock] = _CLOCK,
    seed: Optional[int] = typer.Option(
        None, show_default=False, min=0, help="Instead of the scenario's seeds."
    ),
    pcap: bool = typer.Option(False, "--pcap", help="Also write captures, in experiment time."),
    overrides: List[str] = SET,
    out: Optional[Path] = typer.Option(
        None, show_default=False, metavar="DIR", help="Where results go; default: out/NAME."
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
    return call(
        *("rocelab.runner", "run_scenario", scenario),
        engine=engine.value if engine else None,
        clock=clock.value if clock else None,
        seed=seed,
        pcap=pcap,
        overrides=tuple(overrides),
        out=out,
    )


cli_sweeps.add(app)


@app.command(epilog=example("up scenarios/pingpong.toml --label irn"))
def up(
    scenario: Path = SCENARIO,
    label: Optional[str] = typer.Option(
        None, show_default=False, help="Which of the scenario's labels, e.g. irn; default: the first."
    ),
    clock: Optional[Clock] = _CLOCK,
    overrides: List[str] = SET,
    no_install: bool = NO_INSTALL,
) -> int:
    """Build a scenario's topology and keep it, for `exec`, `stat`, `env` and `plug`, until `down`."""
    check_scenario(scenario)
    check_overrides(overrides)
    require_root("`up`")
    set_up()
    if clock is not None:
        overrides = [*overrides, f"engine.clock={clock.value}"]
    return call("rocelab.live.commands", "up", scenario, overrides=tuple(overrides), label=label)


@app.command(
    "exec",
    epilog=example("exec --host h1 -- ibv_rc_pingpong -d rocelab0 -g 1"),
    context_settings={"allow_interspersed_args": False},
)
def execute(
    host: Optional[str] = typer.Option(
        None, "--host", show_default=False, metavar="NAME", help="Host of the topology, e.g. h1."
    ),
    interface: Optional[str] = _INTERFACE,
    program: List[str] = typer.Argument(
        ..., metavar="-- PROGRAM [ARGS]...", help="Program and its arguments."
    ),
    plain: bool = typer.Option(False, "--plain", help="Without an RDMA device, e.g. a virtual machine."),
    dlopen: bool = typer.Option(
        False, "--dlopen", help="For a program that opens libibverbs itself, instead of being linked with it."
    ),
    transport: Optional[Transport] = _TRANSPORT,
    window: Optional[int] = _WINDOW,
    run_id: Optional[str] = _RUN,
) -> int:
    """Run any verbs program, unmodified, on a host of a kept topology or on an interface of this machine; its exit status is returned."""
    _one_of(host, interface, transport, window)
    if host is None:
        return call(
            *("rocelab.live.interface", "execute", interface, tuple(program)),
            transport=(transport or Transport.roce).value,
            window=window,
        )
    require_root("`exec`")
    return call(
        "rocelab.live.commands", "execute", host, tuple(program), plain=plain, dlopen=dlopen, run_id=run_id
    )


@app.command(
    epilog=example("rsh 10.0.0.2 ip addr"),
    context_settings={"allow_interspersed_args": False},
)
def rsh(
    host: str = typer.Argument(..., show_default=False, metavar="HOST", help="Its name or address."),
    words: List[str] = typer.Argument(..., metavar="COMMAND...", help="A shell's command line, in words."),
    run_id: Optional[str] = _RUN,
) -> int:
    """As ssh to a host of the topology, for programs that start others so; inside `exec`, of that topology."""
    require_root("`rsh`")
    return call("rocelab.live.commands", "remote_shell", host, " ".join(words), run_id=run_id)


@app.command(epilog=example("plug --host h2 --kernel"))
def plug(
    host: str = typer.Option(
        ..., "--host", show_default=False, metavar="NAME", help="Host whose place the device takes."
    ),
    tap: Optional[str] = typer.Option(
        None, show_default=False, metavar="NAME", help="Make a TAP device for a virtual machine."
    ),
    interface: Optional[str] = typer.Option(
        None, show_default=False, metavar="DEV", help="A network device in the host's namespace."
    ),
    kernel: bool = typer.Option(False, "--kernel", help="Boot Debian's kernel with its Soft-RoCE (QEMU)."),
    run_id: Optional[str] = _RUN,
    as_json: bool = typer.Option(False, "--json", help="The report at the end as JSON."),
    no_install: bool = NO_INSTALL,
) -> int:
    """Plug a foreign RoCE device (a virtual machine's kernel, an adapter) into a kept topology under the wall clock, until ^C."""
    if [tap is not None, interface is not None, kernel].count(True) != 1:
        raise UsageError("give one of --kernel, --tap NAME (it is made) and --interface DEV (it is there)")
    require_root("`plug`")
    return call(
        *("rocelab.live.plug", "plug", host),
        tap=tap,
        interface=interface,
        kernel=kernel,
        run_id=run_id,
        as_json=as_json,
    )


@app.command(epilog=example("env h1"))
def env(
    host: Optional[str] = typer.Argument(None, show_default=False, metavar="HOST"),
    interface: Optional[str] = _INTERFACE,
    transport: Optional[Transport] = _TRANSPORT,
    window: Optional[int] = _WINDOW,
    run_id: Optional[str] = _RUN,
) -> int:
    """Print the variables with which programs run on a host, or on an interface, as lines for a shell."""
    _one_of(host, interface, transport, window)
    if host is None:
        return call(
            *("rocelab.live.interface", "env", interface),
            transport=(transport or Transport.roce).value,
            window=window,
        )
    return call("rocelab.live.commands", "env", host, run_id=run_id)


@app.command(epilog=example("stat h1"))
def stat(
    node: Optional[str] = typer.Argument(
        None, show_default=False, metavar="[NODE]", help="A host or a switch; default: all."
    ),
    run_id: Optional[str] = _RUN,
    as_json: bool = typer.Option(False, "--json", help="As JSON."),
) -> int:
    """Show counters of NICs and switch ports of a kept topology."""
    return call("rocelab.live.commands", "stat", node, run_id=run_id, as_json=as_json)


@app.command(epilog=example("down"))
def down(run_id: Optional[str] = _RUN) -> int:
    """End a kept topology."""
    require_root("`down`")
    return call("rocelab.live.commands", "down", run_id=run_id)


@app.command(epilog=example("export out/incast --dialect conweave"))
def export(
    path: Path = typer.Argument(
        ..., show_default=False, metavar="PATH", help="A result's folder, e.g. out/incast, or a scenario."
    ),
    dialect: Dialect = typer.Option(Dialect.hpcc, help="Whose files; ns3-rdma: of scenarios only."),
    epoch: float = typer.Option(2.0, min=0, help="What the files call experiment time 0, in seconds."),
    to: Optional[Path] = typer.Option(
        None, show_default=False, metavar="DIR", help="Where they go; default: export in the result's folder."
    ),
    no_install: bool = NO_INSTALL,
) -> int:
    """Write fct.txt and pfc.txt of a result, or topology.txt and flow.txt of a scenario, for other simulators' scripts."""
    if path.is_file():
        set_up(live=False)
    interchange = importlib.import_module("rocelab.interchange")
    for file in interchange.export(path, dialect.value, to, epoch):
        print(file)
    return 0


@app.command(epilog=example("test --fast --label unit --label python"))
def test(
    fast: bool = typer.Option(
        False, "--fast", help="Without live runs, fuzzing and OVS's own tests (clang-tidy: --label tidy)."
    ),
    label: List[str] = typer.Option(
        [], "--label", metavar="L", help="Only these kinds of test; may be repeated."
    ),
    fuzz_seconds: int = typer.Option(60, min=1, help="Time for all fuzzers together."),
    no_install: bool = NO_INSTALL,
) -> int:
    """Build and run every test; the last line says how many passed and failed."""
    from rocelab import selftest

    return selftest.run(fast, tuple(label), fuzz_seconds)


@app.command(epilog=example("bench live"))
def bench(what: Bench = typer.Argument(Bench.live), no_install: bool = NO_INSTALL) -> int:
    """Measure rocelab itself; prints JSON."""
    if what is not Bench.des:
        require_root(f"`bench {what.value}`")
    set_up(live=what is Bench.live)
    return call("rocelab.bench", what.value)


@app.command(epilog=example("clean --all"))
def clean(
    everything: bool = typer.Option(False, "--all", help="Also end runs that are still alive."),
    only: List[str] = typer.Argument(None, show_default=False, metavar="[ID]...", help="Only these runs."),
) -> int:
    """Remove what killed runs left: processes, namespaces, interfaces, shared memory, files."""
    return show_cleaned(cleaning.clean(everything, only or ()), only or ())


@app.command(epilog=example("setup --no-install"))
def setup(
    tests: bool = typer.Option(False, "--tests", help="Also install what only the tests need."),
    no_install: bool = NO_INSTALL,
) -> int:
    """Install missing Debian packages, build rocelab and its Open vSwitch; only what changed."""
    set_up()
    Console(stderr=True).print(f"set-up is complete: {paths.BUILD}")
    return 0


def show_cleaned(results: list[cleaning.Removed | cleaning.LeftAlone], only: List[str] | tuple[()]) -> int:
    table = Table("run", "", box=None)
    unremoved: list[str] = []
    for result in results:
        if isinstance(result, cleaning.LeftAlone):
            table.add_row(result.run_id, f"left alone: {result.reason}")
        else:
            what = f"removed ({result.processes} processes, {len(result.interfaces)} interfaces)"
            table.add_row(result.run_id, what)
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
