"""A private Open vSwitch: its own database, daemons and control sockets under one folder, built with the `lossless` port class."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from rocelab.live.layout import Layout, SwitchLayout
from rocelab.processes import is_stopped


_PR_SET_PDEATHSIG = 1
_TOOL_FOLDERS = ("utilities", "vswitchd", "ovsdb")
_LIBC = ctypes.CDLL(None)
STDERR_VARIABLE = (
    "ROCELAB_OVS_STDERR"  # a folder where what the daemons say on stderr stays, e.g. findings of a sanitizer
)


class OvsError(RuntimeError):
    """An OVS tool failed; the text holds what it said."""


class Ovs:
    """Daemons of one topology. Start them inside the network namespace in which the ports live."""

    def __init__(self, build: Path, directory: Path) -> None:
        self.build = build
        self.dir = directory
        self.variables = {  # with which its tools find it
            f"OVS_{what}": str(directory) for what in ("RUNDIR", "DBDIR", "LOGDIR", "SYSCONFDIR")
        }
        self.environment = {**os.environ, **self.variables}
        self.daemons: list[subprocess.Popen[bytes]] = []
        self._names: list[str] = []  # theirs

    def tool(self, name: str) -> str:
        """Path of an OVS program of our build."""
        for folder in _TOOL_FOLDERS:
            if (path := self.build / folder / name).exists():
                return str(path)
        raise OvsError(f"{name} is not built; run ./rocelab setup")

    def tool_path(self) -> str:
        """For PATH."""
        return ":".join(str(self.build / folder) for folder in _TOOL_FOLDERS)

    def run(self, *argv: str, stdin: str | None = None, timeout: float = 60) -> str:
        if stopped := self._stopped(argv[0]):
            raise OvsError(stopped)
        done = subprocess.run(
            [self.tool(argv[0]), *argv[1:]],
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if done.returncode != 0:
            said = f"{' '.join(argv[:4])}: {(done.stderr or done.stdout).strip()}"
            raise OvsError(self.ended() or said)
        return done.stdout

    def vsctl(self, *argv: str) -> str:
        return self.run("ovs-vsctl", f"--db=unix:{self.dir}/db.sock", *argv)

    def appctl(self, *argv: str, timeout: float = 60) -> str:
        return self.run("ovs-appctl", "-t", str(self.dir / "ovs-vswitchd.ctl"), *argv, timeout=timeout)

    def start(self) -> None:
        self.run(
            "ovsdb-tool",
            "create",
            str(self.dir / "conf.db"),
            str(self.build / "vswitchd" / "vswitch.ovsschema"),
        )
        self._daemon(
            "ovsdb-server",
            str(self.dir / "conf.db"),
            f"--remote=punix:{self.dir}/db.sock",
            f"--unixctl={self.dir}/ovsdb-server.ctl",
            "-vconsole:off",
            f"--log-file={self.dir}/ovsdb-server.log",
        )
        self._wait_for(self.dir / "db.sock", "ovsdb-server")
        self.vsctl("--no-wait", "init")
        # One PMD thread runs all ports; flows stay until they are removed.
        self.vsctl(
            "--no-wait",
            "set",
            "Open_vSwitch",
            ".",
            "other_config:max-idle=3600000",
            "other_config:pmd-cpu-mask=0x1",
        )
        self._daemon(
            "ovs-vswitchd",
            f"unix:{self.dir}/db.sock",
            f"--unixctl={self.dir}/ovs-vswitchd.ctl",
            "-vconsole:off",
            f"--log-file={self.dir}/ovs-vswitchd.log",
        )
        self._wait_for(self.dir / "ovs-vswitchd.ctl", "ovs-vswitchd")

    def _daemon(self, name: str, *argv: str) -> None:
        # Not detached: they are our children, end with us, however that is, and their exit is seen.
        # Their logs go to files; stderr is left to the loader, to aborts and to sanitizers.
        with open(self._stderr(name), "ab") as stderr:
            self.daemons.append(
                subprocess.Popen(
                    [self.tool(name), *argv, f"--pidfile={self.dir}/{name}.pid"],
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    preexec_fn=end_with_parent,
                )
            )
        self._names.append(name)
        # Where ovs-appctl looks for it, by the pidfile.
        (self.dir / f"{name}.{self.daemons[-1].pid}.ctl").symlink_to(f"{name}.ctl")

    def _stderr(self, name: str) -> Path:
        kept = os.environ.get(STDERR_VARIABLE)
        return Path(kept) / f"{self.dir.parent.name}.{name}.err" if kept else self.dir / f"{name}.err"

    def _last_words(self, name: str) -> str:
        """To be put behind what happened to it."""
        for path, words in (
            (self._stderr(name), ": {}"),
            (self.dir / f"{name}.log", " (its log ends with: {})"),
        ):
            lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
            if lines:
                return words.format(lines[-1])
        return " (it said nothing)"

    def ended(self) -> str | None:
        """The daemons that do not run any more: name, how it ended, its last words."""
        told = []
        for name, daemon in zip(self._names, self.daemons):
            if (status := daemon.poll()) is not None:
                how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
                told.append(f"{name} ended in the middle of the run: {how}{self._last_words(name)}")
        return "; ".join(told) or None

    def _stopped(self, tool: str) -> str | None:
        """A daemon that would not answer."""
        for name, daemon in zip(self._names, self.daemons):
            if (name == "ovs-vswitchd" or tool == "ovs-vsctl") and is_stopped(daemon.pid):
                return f"{name} (process {daemon.pid}) is stopped: kill -CONT {daemon.pid}"
        return None

    def _wait_for(self, path: Path, name: str, seconds: float = 15) -> None:
        """Until it listens on its socket, which is there a moment earlier."""
        end = time.monotonic() + seconds
        while not _listens(path):
            if self.daemons[-1].poll() is not None or time.monotonic() > end:
                raise OvsError(f"{name} did not start{self._last_words(name)}")
            time.sleep(0.005)

    def add_bridges(self, layout: Layout) -> None:
        """All bridges and ports in one transaction, then each bridge's rules in one bundle."""
        argv: list[str] = []
        for number, switch in enumerate(layout.switches, start=1):
            argv += ["--", "add-br", switch.name]
            argv += ["--", "set", "Bridge", switch.name, "datapath_type=netdev", "fail_mode=secure"]
            argv += [f"other-config:datapath-id={number:016x}", "protocols=OpenFlow13"]
            for port in switch.ports:
                argv += ["--", "add-port", switch.name, port.interface]
                argv += [
                    "--",
                    "set",
                    "Interface",
                    port.interface,
                    "type=lossless",
                    f"ofport_request={port.ofport}",
                ]
                argv += [f"options:switch={switch.name}"]
                argv += [f"options:peer={port.peer}"] if port.peer else []
        self.vsctl("--timeout=60", *argv[1:])
        for switch in layout.switches:
            self.install(switch)

    def install(self, switch: SwitchLayout) -> None:
        self.run(
            "ovs-ofctl",
            "-O",
            "OpenFlow13",
            "--bundle",
            "add-flows",
            f"unix:{self.dir}/{switch.name}.mgmt",
            "-",
            stdin="\n".join(switch.flows) + "\n",
        )

    def stop(self) -> None:
        for daemon in reversed(self.daemons):
            if daemon.poll() is None:
                daemon.terminate()
                daemon.send_signal(signal.SIGCONT)  # a stopped one hears nothing
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(timeout=5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def end_with_parent() -> None:
    """Between fork and exec: killed with its parent, however that ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
    return True
