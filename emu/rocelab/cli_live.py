"""`./rocelab up`, `exec`, `plug` and what else is about a kept topology, or about programs on an interface."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import List, Optional

import typer

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
from rocelab.errors import UsageError
from rocelab.privileges import require_root
from rocelab.setup_all import set_up


class Transport(str, Enum):
    """roce: go-back-N, as kernels and adapters speak it. irn: selective retransmission, with another rocelab only."""

    roce = "roce"
    irn = "irn"


_RUN = typer.Option(
    None, "--run", show_default=False, metavar="ID", help="Which kept topology, if there are several."
)
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


def add(app: typer.Typer) -> None:
    app.command(epilog=example("up scenarios/pingpong.toml --label irn"))(up)
    app.command(
        "exec",
        epilog=example("exec --host h1 -- ibv_rc_pingpong -d rocelab0 -g 1"),
        context_settings={"allow_interspersed_args": False},
    )(execute)
    app.command(
        epilog=example("rsh 10.0.0.2 ip addr"),
        context_settings={"allow_interspersed_args": False},
    )(rsh)
    app.command(epilog=example("plug --host h2 --kernel"))(plug)
    app.command(epilog=example("capture h1 -w - | wireshark -k -i -"))(capture)
    app.command(epilog=example("env h1"))(env)
    app.command(epilog=example("stat h1"))(stat)
    app.command(epilog=example("down"))(down)


def _one_of(
    host: Optional[str],
    interface: Optional[str],
    transport: Optional[Transport],
    window: Optional[int],
    run_id: Optional[str],
    plain: bool = False,
) -> None:
    if (host is None) == (interface is None):
        raise UsageError("give either a host of a kept topology or --interface DEV (or shm:NAME)")
    if interface is None and (transport is not None or window is not None):
        raise UsageError("--transport and --window are for --interface: a topology's are its scenario's")
    if interface is not None and (run_id is not None or plain):
        raise UsageError(f"{'--run' if run_id is not None else '--plain'} is for --host")


def _on_interface(
    function: str, *arguments: object, transport: Optional[Transport], window: Optional[int], **more: object
) -> int:
    mode = (transport or Transport.roce).value
    return call("rocelab.live.interface", function, *arguments, transport=mode, window=window, **more)


def up(
    scenario: Path = SCENARIO,
    label: Optional[str] = typer.Option(
        None,
        show_default=False,
        help="One of the scenario's labels or any other transport, e.g. roce+pfc; default: the first.",
    ),
    clock: Optional[Clock] = CLOCK,
    programs: int = typer.Option(
        0,
        min=0,
        show_default=False,
        metavar="N",
        help="Time begins when N programs have opened their device and wait: they start together.",
    ),
    pcap: bool = typer.Option(
        False, "--pcap", help="Capture all frames at all switches, in experiment time."
    ),
    overrides: List[str] = SET,
    out: Optional[Path] = typer.Option(
        None, show_default=False, metavar="DIR", help="With --pcap: where captures go; default: out/NAME."
    ),
    no_install: bool = NO_INSTALL,
) -> int:
    """Build a scenario's topology and keep it, for `exec`, `stat`, `capture`, `env` and `plug`, until `down`."""
    check_scenario(scenario)
    check_overrides(overrides)
    if out is not None and not pcap:
        raise UsageError("--out is for --pcap: nothing else is written")
    require_root("`up`")
    set_up()
    if clock is not None:
        overrides = [*overrides, f"engine.clock={clock.value}"]
    return call(
        *("rocelab.live.commands", "up", scenario),
        overrides=tuple(overrides),
        label=label,
        programs=programs,
        pcap=pcap,
        out=out,
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
    _one_of(host, interface, transport, window, run_id, plain)
    if host is None:
        return _on_interface(
            "execute", interface, tuple(program), transport=transport, window=window, dlopen=dlopen
        )
    require_root("`exec`")
    return call(
        "rocelab.live.commands", "execute", host, tuple(program), plain=plain, dlopen=dlopen, run_id=run_id
    )


def rsh(
    host: str = typer.Argument(..., show_default=False, metavar="HOST", help="Its name or address."),
    words: List[str] = typer.Argument(..., metavar="COMMAND...", help="A shell's command line, in words."),
    run_id: Optional[str] = _RUN,
) -> int:
    """Run a command on a host, in place of ssh for launchers such as mpirun; inside `exec`, on a host of that topology."""
    require_root("`rsh`")
    return call("rocelab.live.commands", "remote_shell", host, " ".join(words), run_id=run_id)


def plug(
    host: str = typer.Option(
        ...,
        "--host",
        show_default=False,
        metavar="NAME",
        help="Host whose place the device takes; of one with several NICs a NIC, h2.1.",
    ),
    tap: Optional[str] = typer.Option(
        None, show_default=False, metavar="NAME", help="Make a TAP device for a virtual machine."
    ),
    interface: Optional[str] = typer.Option(
        None, show_default=False, metavar="DEV", help="A network device in the host's namespace."
    ),
    kernel: bool = typer.Option(False, "--kernel", help="Boot Debian's kernel with its Soft-RoCE (QEMU)."),
    programs: List[Path] = typer.Option(
        [],
        "--program",
        show_default=False,
        metavar="FILE",
        help="With --kernel: a program of yours that is to be in the virtual machine, under its own path.",
    ),
    run_id: Optional[str] = _RUN,
    as_json: bool = typer.Option(False, "--json", help="The report at the end as JSON."),
    no_install: bool = NO_INSTALL,
) -> int:
    """Plug a foreign RoCE device (a virtual machine's kernel, an adapter) into a kept topology under the wall clock, until ^C."""
    if [tap is not None, interface is not None, kernel].count(True) != 1:
        raise UsageError("give one of --kernel, --tap NAME (it is made) and --interface DEV (it is there)")
    if programs and not kernel:
        raise UsageError("--program puts a program into the virtual machine of --kernel")
    for program in programs:
        if not program.is_file():
            raise UsageError(f"no such program: {program}")
    require_root("`plug`")
    return call(
        *("rocelab.live.plug", "plug", host),
        tap=tap,
        interface=interface,
        kernel=kernel,
        programs=tuple(program.resolve() for program in programs),
        run_id=run_id,
        as_json=as_json,
    )


def capture(
    where: str = typer.Argument(
        ...,
        show_default=False,
        metavar="HOST|SWITCH[:PORT]",
        help="A host, a switch with all its ports, or one: s1:eth1, or s1:h1 by what is at its other end.",
    ),
    file: Optional[str] = typer.Option(
        None,
        *("-w", "--write"),
        show_default=False,
        metavar="FILE",
        help="A pcapng file, or - for standard output; default: HOST.pcapng here.",
    ),
    run_id: Optional[str] = _RUN,
) -> int:
    """Capture frames of a kept topology in experiment time, RoCE and PFC, until ^C; for Wireshark, tshark and others."""
    require_root("`capture`")
    return call("rocelab.live.capture", "capture", where, file, run_id)


def env(
    host: Optional[str] = typer.Argument(None, show_default=False, metavar="HOST|SWITCH"),
    interface: Optional[str] = _INTERFACE,
    transport: Optional[Transport] = _TRANSPORT,
    window: Optional[int] = _WINDOW,
    run_id: Optional[str] = _RUN,
) -> int:
    """Print the variables with which programs run on a host or an interface, or Open vSwitch's tools for a switch, as lines for a shell."""
    _one_of(host, interface, transport, window, run_id)
    if host is None:
        return _on_interface("env", interface, transport=transport, window=window)
    return call("rocelab.live.commands", "env", host, run_id=run_id)


def stat(
    node: Optional[str] = typer.Argument(
        None, show_default=False, metavar="[NODE]", help="A host or a switch; default: all."
    ),
    run_id: Optional[str] = _RUN,
    as_json: bool = typer.Option(False, "--json", help="As JSON."),
) -> int:
    """Show counters of NICs and switch ports of a kept topology."""
    return call("rocelab.live.commands", "stat", node, run_id=run_id, as_json=as_json)


def down(run_id: Optional[str] = _RUN) -> int:
    """End a kept topology, also one whose folder in /tmp is gone (--run ID)."""
    require_root("`down`")
    return call("rocelab.live.commands", "down", run_id=run_id)
