"""`plug`: a foreign RoCE device (a virtual machine's kernel, a hardware adapter) in place of a host's NIC and network stack.

The NIC keeps its link to the switch. While the device is plugged in, the NIC's own addresses are off: the device answers for them, with the
NIC's MAC address, over a network device in the host's namespace (emu/gateway). A host with several NICs takes a device for each that is named;
programs are on none of them meanwhile.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from rocelab import native
from rocelab.errors import RocelabError
from rocelab.guest import initramfs
from rocelab.guest import kernel as kernels
from rocelab.guest.machine import Machine
from rocelab.live.commands import Kept, find, guest_folder
from rocelab.live.layout import HostLayout, Layout
from rocelab.live.ovs import end_with_parent

_KERNELS_TAP = "kernel0"
_KERNELS_MTU = 1500  # its RoCE device then has a path MTU of 1024


def plug(
    host: str,
    tap: str | None,
    interface: str | None,
    kernel: bool,
    programs: tuple[Path, ...],
    run_id: str | None,
    as_json: bool,
) -> int:
    """Until ^C, SIGTERM or the end of the topology; then a report. One of `tap`, `interface` and `kernel`; `programs`: for the kernel's
    programs to be more than the usual ones."""
    kept = find(run_id)
    inside = ["mnexec", "-a", str(kept.host_pid(host))]
    layout = kept.layout()
    me = _nic(layout, kept.machine(host), host, kernel)
    console = Console(stderr=True)
    if kernel:
        tap = _KERNELS_TAP
    with ExitStack() as stack:
        device = stack.enter_context(_device(tap, interface, inside))
        gateway = _start(kept, me.name, device, me.interface, inside)
        try:
            first = gateway.stdout.readline() if gateway.stdout else ""
            if not first:
                raise RocelabError(_last_line(gateway))
            stack.enter_context(_silent(layout, me, inside))  # not before: another device may have the host
            if kernel:
                stack.enter_context(_boot(kept, host, me, inside, programs, console))
            else:
                console.print(f"[bold]{device}[/] is {me.name}'s: MAC {me.mac}, {me.ip}/8. ^C ends it.")
            report = _report(gateway)
        finally:
            gateway.kill()
            gateway.wait()
    if as_json:
        print(json.dumps(report))
    else:
        _show(report, console)
    return 0


def _nic(layout: Layout, machine: str, name: str, kernel: bool) -> HostLayout:
    nics = layout.nics(machine)
    if len(nics) == 1:
        return nics[0]
    names = ", ".join(nic.name for nic in nics)
    if kernel:
        raise RocelabError(
            f"--kernel boots a machine with one NIC, and {machine} has {names}: plug --tap in for each"
        )
    if name == machine:
        raise RocelabError(
            f"{name} has {len(nics)} NICs, and a device takes the place of one: say --host with {names}"
        )
    return layout.host(name)


@contextmanager
def _boot(
    kept: Kept, host: str, me: HostLayout, inside: list[str], programs: tuple[Path, ...], console: Console
) -> Iterator[None]:
    image = kernels.ensure()
    folder = guest_folder(kept, host)
    shutil.rmtree(folder, ignore_errors=True)  # of a `plug` that was killed: by now the host's place is ours
    folder.mkdir()
    try:
        console.print(f"booting Linux {image.version} ...")
        initramfs.build(image.modules, folder / "initramfs", me.ip, _KERNELS_MTU, programs)
        with closing(Machine(image, folder, inside, _KERNELS_TAP, me.mac)) as machine:
            kept.directory.record_pid(machine.process.pid, f"guest {host}")
            console.print(
                f"Linux {image.version} is [bold]{host}[/] after {machine.boot_seconds:.0f} s, its RoCE device rxe0. ^C ends it."
            )
            console.print(f"./rocelab exec --host {host} -- ibv_devinfo -d rxe0")
            yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(kept: Kept, host: str, device: str, management: str, inside: list[str]) -> subprocess.Popen[str]:
    program = native.hosts_build() / "emu" / "gateway" / "rocelab_gateway"
    argv = [*inside, str(program), "--host", host, "--interface", device, "--management", management]
    argv += ["--base-rtt-ps", str(kept.state["base_rtt_ps"])]
    signal.signal(signal.SIGINT, lambda *_: None)  # ^C reaches the gateway, too, which says its report then
    gateway = subprocess.Popen(
        argv,
        env={**os.environ, "ROCELAB_SEGMENT": str(kept.segment)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=end_with_parent,  # or the host would stay taken after a `plug` that was killed
    )
    for number in (signal.SIGINT, signal.SIGTERM):  # also one that reaches this process only
        signal.signal(number, lambda *_: gateway.terminate())
    kept.directory.record_pid(gateway.pid, f"plug {host}")
    return gateway


def _report(gateway: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = gateway.communicate()
    if gateway.returncode != 0 or not out.strip():
        raise RocelabError(err.strip() or f"the gateway ended with status {gateway.returncode}")
    report: dict[str, Any] = json.loads(out)
    return report


def _last_line(gateway: subprocess.Popen[str]) -> str:
    lines = gateway.stderr.read().strip().splitlines() if gateway.stderr else []
    return lines[-1].removeprefix("rocelab: ") if lines else "the gateway ended at once"


@contextmanager
def _silent(layout: Layout, me: HostLayout, inside: list[str]) -> Iterator[None]:
    """Two stacks with one address would both answer."""
    _run([*inside, "ip", "addr", "flush", "dev", me.interface])
    _run([*inside, "sh", "-c", _disable_ipv6(me.interface, True)])
    try:
        yield
    finally:
        lines = layout.address_lines(me, ipv6=True)
        if len(layout.nics(me.machine)) > 1:
            lines += [*layout.route_lines(me, ipv6=False), *layout.route_lines(me, ipv6=True)]
        script = "; ".join([_disable_ipv6(me.interface, False), *(f"ip {line}" for line in lines)])
        # The topology may be gone by now.
        subprocess.run([*inside, "sh", "-c", script], capture_output=True, check=False)


def _disable_ipv6(device: str, off: bool) -> str:
    """A line for a shell. Kernels without IPv6 have no such file."""
    file = f"/proc/sys/net/ipv6/conf/{device}/disable_ipv6"
    return f"[ ! -e {file} ] || echo {int(off)} > {file}"


@contextmanager
def _device(tap: str | None, interface: str | None, inside: list[str]) -> Iterator[str]:
    if interface is not None:
        yield interface
        return
    assert tap is not None
    if subprocess.run([*inside, "ip", "link", "show", tap], capture_output=True).returncode == 0:
        other = f"take another --tap, or plug it in by --interface {tap}"
        advice = "`./rocelab down` ends it" if tap == _KERNELS_TAP else other
        raise RocelabError(f"{tap} exists already, from another `plug` or from one that was killed: {advice}")
    _run([*inside, "ip", "tuntap", "add", "dev", tap, "mode", "tap"])
    try:
        _run([*inside, "sh", "-c", _disable_ipv6(tap, True)])
        _run([*inside, "ip", "link", "set", "dev", tap, "mtu", "9000", "up"])
        yield tap
    finally:
        subprocess.run([*inside, "ip", "link", "del", tap], capture_output=True, check=False)


def _run(argv: list[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode != 0:
        raise RocelabError(f"{' '.join(argv[3:])}: {done.stderr.strip()}")


def _show(report: dict[str, Any], console: Console) -> None:
    console.print(
        f"{report['from_device']} RoCE frames from the device, {report['to_device']} to it; others {report['management_in']}, {report['management_out']}"
    )
    late = ", ".join(f"{name} {report[f'late_{key}_ns'] / 1e3:.1f} us" for name, key in _LATE)
    colour = "green" if report["verdict"] == "ok" else "yellow"
    console.print(f"to the device late by {late}; {report['violations']} later than the link hides")
    console.print(f"5 % of the base RTT, the limit of p99.9, are {report['late_limit_ns'] / 1e3:.1f} us")
    if report["slips"]:
        console.print(f"the machine lost touch {report['slips']} times: the clock was moved")
    lost = {k: report[k] for k in ("malformed", "overruns", "refused", "socket_drops") if report[k]}
    if lost:
        console.print("lost: " + ", ".join(f"{k} {v}" for k, v in lost.items()))
    console.print(f"fidelity: [{colour}]{report['verdict']}[/]")


_LATE = (("p50", "p50"), ("p99", "p99"), ("p99.9", "p999"), ("at most", "max"))
