"""`./rocelab openqueue`: queueing policies as programs."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import List, Optional

import typer

from rocelab.cli_options import NO_INSTALL, SCENARIO, SET, call, check_overrides, check_scenario, example
from rocelab.errors import UsageError
from rocelab.privileges import require_root
from rocelab.setup_all import set_up


class Change(str, Enum):
    """drain: frames that wait leave by the old policy. requeue: they join the new one."""

    drain = "drain"
    requeue = "requeue"


_FILE = typer.Argument(..., show_default=False, metavar="FILE", help="A program, e.g. lqd.oq.")
_CONST = typer.Option(
    [], "--const", metavar="NAME=VALUE", help="Instead of the program's value; may be repeated."
)
_SCENARIO = typer.Option(
    None,
    "--scenario",
    show_default=False,
    metavar="FILE",
    help="For its switches; default: eight 40 Gb/s ports.",
)
_LABEL = typer.Option(None, "--label", show_default=False, help="Of the scenario; default: the first.")
_SWITCH = typer.Option(
    None, "--switch", show_default=False, metavar="NAME", help="Of the scenario; default: the first."
)
_RUN = typer.Option(
    None, "--run", show_default=False, metavar="ID", help="Which kept topology, if there are several."
)
_COMMANDS = "rocelab.openqueue.commands"


def add(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Queueing policies of switches as programs (docs/reference/openqueue.md).",
        no_args_is_help=True,
        epilog=example("openqueue explain scenarios/openqueue/lqd.oq"),
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    group.command(epilog=example("openqueue check scenarios/openqueue/lqd.oq"))(check)
    group.command(epilog=example("openqueue explain scenarios/openqueue/lqd.oq"))(explain)
    group.command(epilog=example("openqueue load scenarios/openqueue/lqd.oq --switch s1 --at 250us"))(load)
    group.command(epilog=example("openqueue show s1"))(show)
    group.command(
        epilog=example("openqueue run scenarios/openqueue/lqd.oq scenarios/incast.toml --engine des")
    )(run)
    app.add_typer(group, name="openqueue")


def _target(scenario: Optional[Path], label: Optional[str], switch: Optional[str]) -> object:
    if scenario is None and (label is not None or switch is not None):
        raise UsageError("--label and --switch are for --scenario")
    if scenario is not None:
        check_scenario(scenario)
    set_up(live=False)
    from rocelab.openqueue.commands import Target

    return Target(scenario, label, switch)


def _check_constants(constants: List[str]) -> None:
    for text in constants:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise UsageError(f"--const {text}: write it as NAME=VALUE, e.g. --const k=4")


def check(
    files: List[Path] = typer.Argument(..., show_default=False, metavar="FILE...", help="Programs."),
    constants: List[str] = _CONST,
    scenario: Optional[Path] = _SCENARIO,
    label: Optional[str] = _LABEL,
    switch: Optional[str] = _SWITCH,
    as_json: bool = typer.Option(False, "--json", help="As JSON."),
    no_install: bool = NO_INSTALL,
) -> int:
    """Say what is wrong with programs, line by line; exit status 1 if anything is."""
    _check_constants(constants)
    target = _target(scenario, label, switch)
    return call(_COMMANDS, "check", tuple(files), tuple(constants), target, as_json)


def explain(
    file: Path = _FILE,
    constants: List[str] = _CONST,
    scenario: Optional[Path] = _SCENARIO,
    label: Optional[str] = _LABEL,
    switch: Optional[str] = _SWITCH,
    code: bool = typer.Option(False, "--code", help="Also the instructions."),
    no_install: bool = NO_INSTALL,
) -> int:
    """Say in words what a program does, and what it costs at most."""
    _check_constants(constants)
    return call(_COMMANDS, "explain", file, tuple(constants), _target(scenario, label, switch), code)


def load(
    what: str = typer.Argument(
        ..., show_default=False, metavar="FILE|builtin", help="A program, or `builtin`."
    ),
    switch: str = typer.Option("all", "--switch", metavar="NAME", help="One switch."),
    at: Optional[str] = typer.Option(
        None, "--at", show_default=False, metavar="TIME", help="Experiment time, e.g. 250us; default: now."
    ),
    change: Optional[Change] = typer.Option(None, "--change", show_default=False, help="Default: drain."),
    constants: List[str] = _CONST,
    run_id: Optional[str] = _RUN,
) -> int:
    """Change the policy of a kept topology's switches while traffic runs."""
    _check_constants(constants)
    if what != "builtin" and not Path(what).is_file():
        raise UsageError(f"no file {what}; `builtin` is the switch as its scenario configures it")
    require_root("`openqueue load`")
    return call(
        _COMMANDS,
        "load",
        what,
        switch=switch,
        at=at,
        change=change.value if change else None,
        constants=tuple(constants),
        run_id=run_id,
    )


def show(
    switch: Optional[str] = typer.Argument(
        None, show_default=False, metavar="[SWITCH]", help="Default: all."
    ),
    run_id: Optional[str] = _RUN,
) -> int:
    """Show the queues of the policies in force in a kept topology."""
    require_root("`openqueue show`")
    return call(_COMMANDS, "show", switch, run_id)


class Engine(str, Enum):
    """live: real processes over Open vSwitch. des: virtual time, no processes."""

    live = "live"
    des = "des"


def run(
    file: Path = _FILE,
    scenario: Path = SCENARIO,
    engine: Optional[Engine] = typer.Option(None, show_default=False, help="Default: live."),
    overrides: List[str] = SET,
    no_install: bool = NO_INSTALL,
) -> int:
    """Run a scenario with this policy in all switches: `run --set switch.openqueue=FILE`."""
    check_scenario(scenario)
    check_overrides(overrides)
    if not file.is_file():
        raise UsageError(f"no file {file}")
    live = engine is not Engine.des
    if live:
        require_root("the live engine")
    set_up(live=live)
    return call(
        *("rocelab.runner", "run_scenario", scenario),
        engine=engine.value if engine else None,
        clock=None,
        seed=None,
        pcap=False,
        overrides=(*overrides, f"switch.openqueue={file.resolve()}"),
        out=None,
    )
