"""`up`, `exec`, `env`, `stat`, `down`: a topology that stays, and what can be done with it."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from rocelab import native
from rocelab.clean import RUN_VARIABLE, RUNNER, RunDirectory, all_runs
from rocelab.errors import RocelabError
from rocelab.files import check_not_full, check_writable, write_whole
from rocelab.guest.console import Console as GuestConsole
from rocelab.labels import read_label
from rocelab.live.exec_replace import become
from rocelab.live.client import SessionClient, SessionError
from rocelab.live.engine import create_segment, host_environment, start_session
from rocelab.live.layout import Layout
from rocelab.live.ovs import Ovs
from rocelab.live.plan_layout import layout_of
from rocelab.live.programs import check_program, warn_of_captures
from rocelab.model import RunPlan, Scenario
from rocelab.scenario import plan_of, print_warnings

_STATE = "state.json"  # in the run's folder: what there is to know of a kept topology


@dataclass(frozen=True)
class Kept:
    """A topology that `up` keeps."""

    directory: RunDirectory
    state: dict[str, Any]

    @property
    def segment(self) -> Path:
        return Path(self.state["segment"])

    def machine(self, host: str) -> str:
        """The host that has this name, or one of whose NICs has."""
        return _machine(self.state, host)

    def host_pid(self, host: str) -> int:
        pids: dict[str, int] = self.state["hosts"]
        host = self.machine(host)
        if host not in pids:
            raise RocelabError(f"no host {host}: this topology has {', '.join(pids)}")
        if not self.directory.processes(f"host {host}"):  # its number may be another process's by now
            raise RocelabError(
                f"{host} is gone, its process {pids[host]} was killed: ./rocelab down, then up again"
            )
        return pids[host]

    def layout(self) -> Layout:
        return Layout.from_json((self.directory.tmp / "layout.json").read_text())


def _machine(state: dict[str, Any], host: str) -> str:
    return host.partition(".")[0] if host in state.get("addresses", ()) else host


def up(
    scenario: Path,
    overrides: tuple[str, ...],
    label: str | None = None,
    programs: int = 0,
    pcap: bool = False,
    out: Path | None = None,
) -> int:
    """`programs`: how many begin together; time stands until they have opened their device and wait. `pcap`: everything is captured, into
    files below `out` (default: out/NAME)."""
    read = read_label(scenario, overrides, label)
    print_warnings(read)
    plan = plan_of(read, label or read.labels[0], read.seeds[0])
    kept = keep(read, plan, programs, pcap, out)
    console = Console()
    console.print(
        f"[bold]{kept.directory.run_id}[/]: {scenario}, {plan.label} ({plan.mode}, PFC {'on' if plan.pfc else 'off'})"
    )
    console.print("  ".join(f"{h.name} {h.ipv4}" for h in plan.hosts))
    if kept.state["captures"] is not None:
        console.print(f"captures: {kept.state['captures']}")
    console.print("./rocelab exec --host h1 -- PROGRAM ...    ./rocelab stat    ./rocelab down")
    return 0


def keep(
    scenario: Scenario,
    plan: RunPlan,
    programs: int = 0,
    pcap: bool = False,
    out: Path | None = None,
    stay: bool = True,
) -> Kept:
    """Builds a plan's topology. With `stay` it is there until `down`; without, it ends with this process, too."""
    _check_programs(plan, programs)
    if plan.native.original is not None:
        raise RocelabError(
            f"{plan.label} replays the packets of another label (slack.of), and programs of your own send others: use `./rocelab run`, or another --label"
        )
    directory = RunDirectory.create()
    captures = (out or Path("out") / scenario.name).absolute() / "pcap" / directory.run_id if pcap else None
    try:
        session = start_session(directory, layout_of(plan), stay)
        if stay:
            directory.record_pid(session.info["session"], RUNNER)  # its life is the topology's from here on
        segment = directory.shm / "segment"
        if captures is not None:
            check_writable(captures, "say --out DIR")
        pcap_dir = str(captures) if captures is not None else ""
        create_segment(plan, segment, directory.run_id, pcap=pcap_dir, participants=programs, reserve=True)
        session.appctl("lossless/attach", str(segment))
        state = {
            "scenario": scenario.file,
            "label": plan.label,
            "segment": str(segment),
            "hosts": session.info["hosts"],
            "base_rtt_ps": plan.base_rtt_ps,
            "addresses": {h.name: h.ipv4 for h in plan.hosts},  # of NICs
            "captures": str(captures) if captures is not None else None,
        }
        write_whole(directory.tmp / _STATE, json.dumps(state).encode())  # others may read it meanwhile
        session.leave()
    except BaseException:
        directory.remove()
        raise
    return Kept(directory, state)


def _check_programs(plan: RunPlan, programs: int) -> None:
    vfs = int(next(p.value for p in plan.parameters if p.key == "nic.vfs"))
    hosts = len({h.machine for h in plan.hosts})
    most = hosts * vfs
    if programs > most:
        raise RocelabError(
            f"--programs {programs} exceeds capacity: {hosts} hosts x nic.vfs = {vfs} allow {most} programs, so that time would never begin. "
            "Raise nic.vfs"
        )


def _kept(run_id: str | None) -> tuple[list[Kept], list[Kept]]:
    """The caller's topologies (with this id) that are up, and those whose session has ended without `down`. Without a state: its folder
    in /tmp was removed under a session that lives."""
    up: list[Kept] = []
    ended: list[Kept] = []
    for directory in all_runs():
        if run_id not in (None, directory.run_id) or not directory.owns():
            continue
        try:
            state = json.loads((directory.tmp / _STATE).read_text())
        except (FileNotFoundError, NotADirectoryError):  # or a run's, or taken down at this moment
            if set(directory.processes("session")) & set(directory.processes(RUNNER)):
                up.append(Kept(directory, {}))
            continue
        (up if directory.alive() else ended).append(Kept(directory, state))
    return up, ended


def find(run_id: str | None) -> Kept:
    up, ended = _kept(run_id)
    kept = _only(run_id, [k for k in up if k.state] or up, ended)
    if not kept.state:
        name = kept.directory.run_id
        raise RocelabError(f"{kept.directory.tmp / _STATE} is gone: ./rocelab down --run {name} ends {name}")
    return kept


def _only(run_id: str | None, up: Sequence[Kept], ended: Sequence[Kept]) -> Kept:
    if not up and ended:
        which = ", ".join(k.directory.run_id for k in ended)
        raise RocelabError(f"no topology is up: {which} has ended; ./rocelab down removes what is left of it")
    if not up:
        if others := [d.run_id for d in all_runs() if run_id in (None, d.run_id) and not d.owns()]:
            raise RocelabError(f"no topology of yours is up; of another user's: {', '.join(others)}")
        raise RocelabError(
            f"no topology {run_id} is up"
            if run_id
            else "no topology is up: ./rocelab up scenarios/pingpong.toml"
        )
    if len(up) > 1:
        raise RocelabError(
            f"several topologies are up: choose one with --run {'|'.join(k.directory.run_id for k in up)}"
        )
    return up[0]


def guest_folder(kept: Kept, host: str) -> Path:
    """Where the files of a virtual machine are that has the host's place (`plug --kernel`)."""
    return kept.directory.tmp / f"guest-{host}"


def _execute_in_guest(control: Path, program: tuple[str, ...]) -> int:
    try:
        console = GuestConsole(control)
    except OSError as e:
        raise RocelabError(
            f"its virtual machine does not answer ({e.strerror}): end `plug` and start it again"
        ) from e
    try:
        done = console.run(shlex.join(program), timeout=None)
    finally:
        console.close()
    print(done.output)
    return done.status


def on_host(
    kept: Kept, host: str, program: Sequence[str], dlopen: bool = False
) -> tuple[list[str], dict[str, str]]:
    """Words and environment of a program on a host, with its RDMA device."""
    environment = {**os.environ, **host_environment(kept.directory.run_id, kept.segment, host)}
    variables = [f"LD_PRELOAD={environment.pop('LD_PRELOAD')}"]
    if dlopen:
        variables.append(f"LD_LIBRARY_PATH={native.proxy_path()}")
    return ["mnexec", "-a", str(kept.host_pid(host)), "env", *variables, *program], environment


def execute(
    host: str, program: tuple[str, ...], run_id: str | None, plain: bool = False, dlopen: bool = False
) -> int:
    """Like running the program there by hand: this process becomes it. `plain`: without an RDMA device; `dlopen`: for
    a program that opens libibverbs itself."""
    kept = find(run_id)
    inside = ["mnexec", "-a", str(kept.host_pid(host))]
    control = guest_folder(kept, host) / "control"
    if control.exists() and not plain:
        return _execute_in_guest(control, program)
    check_program(program)
    warn_of_captures(program, host)
    if plain:
        argv, environment = [*inside, *program], {**os.environ, RUN_VARIABLE: kept.directory.run_id}
    else:
        argv, environment = on_host(kept, host, program, dlopen)
    kept.directory.record_pid(os.getpid(), f"exec {host}")
    become(argv, environment)


def remote_shell(host: str, line: str, run_id: str | None) -> int:
    """Runs a shell's command line there. `host`: its name or its address, for programs that know hosts by those."""
    run_id = run_id or os.environ.get(RUN_VARIABLE)
    addresses: dict[str, str] = find(run_id).state["addresses"]
    name = next((n for n, address in addresses.items() if address == host), host)
    return execute(name, ("sh", "-c", line), run_id)


def env(node: str, run_id: str | None) -> int:
    """Lines for a shell, for programs on a host; of a switch: for Open vSwitch's tools."""
    kept = find(run_id)
    if node in (s.name for s in kept.layout().switches):
        return _env_of_tools(kept)
    kept.host_pid(node)
    print(native.exports(host_environment(kept.directory.run_id, kept.segment, node)))
    return 0


def _env_of_tools(kept: Kept) -> int:
    """The same whatever the switch: they are all of one Open vSwitch."""
    build = Path((kept.directory.tmp / "ovs_build.txt").read_text().strip())
    ovs = Ovs(build, kept.directory.tmp / "ovs")
    for name, value in ovs.variables.items():
        print(f"export {name}={shlex.quote(value)}")
    print(f'export PATH={shlex.quote(ovs.tool_path())}:"$PATH"')
    return 0


def down(run_id: str | None) -> int:
    """Also ends what lives of a topology whose folder is gone, and removes what is left of those whose session has ended."""
    up, ended = _kept(run_id)
    if up or not ended:
        end(_only(run_id, up, ()))
    for kept in ended:
        end(kept)
        print(f"{kept.directory.run_id} had ended: what was left of it is removed")
    return 0


def end(kept: Kept) -> None:
    """Ends the session, what still runs of its programs, and removes what is left."""
    sessions = kept.directory.processes("session")
    for process in sessions:
        process.send(signal.SIGCONT)  # a stopped one hears nothing
    captures = kept.state.get("captures")
    try:
        session = SessionClient.connect(kept.directory.tmp)
        if captures is not None:
            with contextlib.suppress(SessionError):  # the run had failed; the files are whole all the same
                session.appctl("lossless/detach")
        session.stop()
        for process in sessions:
            process.wait_gone(20)
    except SessionError:
        pass  # gone already, or without its socket: what is there is removed all the same
    _remove(kept)
    if captures is not None and Path(captures).exists():
        check_not_full(Path(captures), "frames are missing in the captures there")


def _remove(kept: Kept) -> None:
    if left := kept.directory.remove().left:
        raise RocelabError(f"could not remove {' '.join(left)}: try ./rocelab clean")


def counters_of(kept: Kept, node: str | None = None) -> dict[str, Any]:
    """`time_ps`, experiment time now, and counters by name: `nics` and `cm` (connection managers) by program, as `h1.0`, `ports` by interface. `node`:
    of this host or switch alone."""
    try:
        segment = native.runner.open_segment(str(kept.segment))
    except RuntimeError as e:
        raise RocelabError(str(e)) from e
    vfs = {f"{v['host']}.{v['vf']}": v for v in segment.vfs}
    nics = {name: v["counters"] for name, v in vfs.items() if any(v["counters"].values()) or v["pid"] != 0}
    managers = {name: v["cm"] for name, v in vfs.items() if any(v["cm"].values())}
    ports = _port_counters(kept, segment)
    switches = {p["interface"]: p["switch"] for p in segment.ports}
    if node is not None:
        if _machine(kept.state, node) not in kept.state["hosts"] and node not in switches.values():
            raise RocelabError(
                f"no node {node}: there are {', '.join([*kept.state['hosts'], *sorted(set(switches.values()))])}"
            )
        nics = {name: c for name, c in nics.items() if _is_of(name, node)}
        managers = {name: c for name, c in managers.items() if _is_of(name, node)}
        ports = {name: c for name, c in ports.items() if switches[name] == node}
    return {"time_ps": segment.now_ps, "nics": nics, "cm": managers, "ports": ports}


def _is_of(unit: str, node: str) -> bool:
    """Whether a virtual function, "h1.0", or of hosts with several NICs "h1.1.0", is of this host or NIC."""
    nic = unit.rpartition(".")[0]
    return node in (nic, nic.partition(".")[0])


def stat(node: str | None, run_id: str | None, as_json: bool) -> int:
    shown = counters_of(find(run_id), node)
    if as_json:
        print(json.dumps(shown, indent=2))
        return 0
    console = Console()
    console.print(f"experiment time {shown['time_ps'] / 1e6:.3f} us")
    for title, key in (("NIC", "nics"), ("connection manager", "cm"), ("switch port", "ports")):
        if shown[key]:
            console.print(_table(title, shown[key]))
    return 0


def _port_counters(kept: Kept, segment: Any) -> dict[str, dict[str, int]]:
    """By interface. Those of the models are the switch process's own while it runs; those of the links are in the segment."""
    try:
        text = SessionClient.connect(kept.directory.tmp, patience=2.0).appctl("lossless/counters")
    except SessionError as e:
        raise RocelabError(f"{kept.directory.run_id}: {e}; ./rocelab down ends it") from e
    models = {
        interface: port["counters"]
        for switch in json.loads(text)["switches"].values()
        for interface, port in switch["ports"].items()
    }
    return {p["interface"]: {**p["counters"], **models[p["interface"]]} for p in segment.ports}


def _table(title: str, counters: dict[str, dict[str, int]]) -> Table:
    """Counters as rows, those that are zero everywhere left out."""
    table = Table(title, *counters, box=None)
    for name in dict.fromkeys(n for c in counters.values() for n in c):
        row = [c.get(name, 0) for c in counters.values()]
        if any(row):
            table.add_row(name, *(f"{value}" for value in row))
    return table
