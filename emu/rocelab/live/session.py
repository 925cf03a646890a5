"""The process that holds a live topology: namespaces, Mininet hosts, Open vSwitch. It serves one request per line of JSON on a Unix socket.

`python3 -m rocelab.live.session RUN_DIRECTORY --stay|RUNNER`: the folder holds layout.json; the session writes ready.json when it is up, or error.txt.
With RUNNER, its parent's process ID, the session ends when that one does, so that nothing outlives a killed runner.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from rocelab.clean import Places, RunDirectory
from rocelab.live.layout import Layout
from rocelab.live.network import Network
from rocelab.live.ovs import Ovs, OvsError
from rocelab.live.usage import process_cpu_s, process_peak_bytes

_CLONE_NEWNS, _CLONE_NEWNET = 0x00020000, 0x40000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_PR_SET_PDEATHSIG = 1


def enter_namespaces() -> None:
    """Network and mount namespaces of our own, with a /sys that shows the former: hosts' are made from here, the machine's stay as they are."""
    libc = ctypes.CDLL(None, use_errno=True)

    def check(result: int, what: str) -> None:
        if result != 0:
            raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")

    check(libc.unshare(_CLONE_NEWNET | _CLONE_NEWNS), "cannot make a network namespace (root is needed)")
    check(libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None), "mount")
    check(libc.mount(b"sysfs", b"/sys", b"sysfs", ctypes.c_ulong(0), None), "mount sysfs")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


class Session:
    record: Path | None = None  # the run's folder in /dev/shm, of a topology that stays

    def __init__(self, directory: Path) -> None:
        self.dir = directory
        self.layout = Layout.from_json((directory / "layout.json").read_text())
        ovs_dir = directory / "ovs"
        ovs_dir.mkdir(exist_ok=True)
        self.ovs = Ovs(Path((directory / "ovs_build.txt").read_text().strip()), ovs_dir)
        self.network = Network(self.layout, self.ovs)
        self.programs: dict[int, int | None] = {}  # pid: exit status, None while it runs
        self.cpu_s = 0.0  # of programs that have ended, since the last forget
        self.max_rss_bytes = 0

    def start(self) -> dict[str, Any]:
        begin = time.monotonic()
        self.ovs.start()
        self.network.start()
        return {
            "session": os.getpid(),
            "hosts": {name: self.network.pid(name) for name in self.layout.machines()},
            "daemons": [d.pid for d in self.ovs.daemons],
            "seconds": time.monotonic() - begin,
        }

    # --- requests -------------------------------------------------------------------------------------------------

    def do_spawn(
        self, host: str, argv: list[str], env: dict[str, str], stdout: str, stderr: str
    ) -> dict[str, Any]:
        with open(stdout, "wb") as out, open(stderr, "wb") as err:
            program = subprocess.Popen(
                ["mnexec", "-a", str(self.network.pid(host)), *argv],
                env={**os.environ, **env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        program.returncode = 0  # reaped by us, with its resource usage
        self.programs[program.pid] = None
        return {"pid": program.pid}

    def do_poll(self) -> dict[str, Any]:
        """Exit status of every program spawned and not forgotten yet (None: runs), their usage, and what is to say of a daemon that has ended."""
        for pid in [p for p, status in self.programs.items() if status is None]:
            self._reap(pid, os.WNOHANG)
        peak = max([self.max_rss_bytes, *(process_peak_bytes(d.pid) for d in self.ovs.daemons)])
        return {
            "programs": {str(pid): status for pid, status in self.programs.items()},
            "ended_daemon": self.ovs.ended(),
            "usage": {"cpu_s": self.cpu_s, "max_rss_bytes": peak},
        }

    def do_usage(self) -> dict[str, Any]:
        return {"daemon_cpu_s": sum(process_cpu_s(d.pid) for d in self.ovs.daemons)}

    def do_signal(self, pid: int, number: int) -> dict[str, Any]:
        if self.programs[pid] is None:
            os.killpg(pid, number)
        return {}

    def do_forget(self) -> dict[str, Any]:
        """Ends what still runs of the spawned programs."""
        for pid, status in self.programs.items():
            if status is None:
                os.killpg(pid, signal.SIGKILL)
                self._reap(pid, 0)
        self.programs.clear()
        self.cpu_s = 0.0
        self.max_rss_bytes = 0
        return {}

    def _reap(self, pid: int, options: int) -> None:
        ended, status, usage = os.wait4(pid, options)
        if ended == 0:
            return
        self.programs[pid] = os.waitstatus_to_exitcode(status)
        self.cpu_s += usage.ru_utime + usage.ru_stime
        self.max_rss_bytes = max(self.max_rss_bytes, usage.ru_maxrss * 1024)

    def do_appctl(self, argv: list[str]) -> dict[str, Any]:
        return {"text": self.ovs.appctl(*argv)}

    def do_vsctl(self, argv: list[str]) -> dict[str, Any]:
        return {"text": self.ovs.vsctl(*argv)}

    def do_flows(self, flows: dict[str, list[str]]) -> dict[str, Any]:
        """Replaces the rules of the named switches."""
        for name, rules in flows.items():
            self.ovs.run(
                "ovs-ofctl",
                "-O",
                "OpenFlow13",
                "--bundle",
                "replace-flows",
                f"unix:{self.ovs.dir}/{name}.mgmt",
                "-",
                stdin="\n".join(rules) + "\n",
            )
        return {}

    # --- service --------------------------------------------------------------------------------------------------

    def serve(self) -> None:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(str(self.dir / "control.sock"))
        server.listen(4)
        (self.dir / "ready.tmp").write_text(json.dumps(self.info))
        (self.dir / "ready.tmp").rename(self.dir / "ready.json")
        server.settimeout(1.0)
        while not self.lost():
            with contextlib.suppress(TimeoutError):
                if self.serve_client(server.accept()[0]):
                    return

    def lost(self) -> bool:
        """Its record and its programs' memory were removed: no command finds it any more, so it ends by itself."""
        return self.record is not None and not self.record.exists()

    def serve_client(self, client: socket.socket) -> bool:
        """Until it goes away or says "stop" (True). It may go at any moment, or say what is no request: that ends the client, not the topology."""
        stop = False
        try:
            with client, client.makefile("rw") as stream:
                for line in stream:
                    request = _request(line)
                    if stop := request["op"] == "stop":
                        break
                    stream.write(json.dumps(self.answer(request)) + "\n")
                    stream.flush()
        except (OSError, ValueError):
            pass  # reset, without a reader, not JSON, not even text
        return stop

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        arguments = {k: v for k, v in request.items() if k != "op"}
        try:
            result: dict[str, Any] = getattr(self, f"do_{request['op']}")(**arguments)
            return result
        except (OvsError, OSError, subprocess.SubprocessError) as e:
            return {"error": str(e)}
        except Exception:  # a fault of ours: the client shows it
            return {"error": traceback.format_exc()}

    def run(self) -> None:
        try:
            self.info = self.start()
            self.serve()
        finally:
            self.stop()

    def stop(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.do_forget()
        self.network.stop()
        self.ovs.stop()


def _request(line: str) -> dict[str, Any]:
    request = json.loads(line)
    if not isinstance(request, dict) or not isinstance(request.get("op"), str):
        raise ValueError(f"not a request: {line}")
    return request


def _end(*_: object) -> None:
    raise SystemExit(0)


def main() -> int:
    directory = Path(sys.argv[1])
    runner = None if sys.argv[2] == "--stay" else int(sys.argv[2])
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C is the runner's to handle; it tells us
    try:
        if runner is not None:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != runner:  # killed before: of that no signal tells
                return 0
        enter_namespaces()
        session = Session(directory)
        session.record = Path("/dev/shm", directory.name) if runner is None else None
        session.run()
        if session.lost():
            shutil.rmtree(directory, ignore_errors=True)
    except Exception as e:
        shown = traceback.format_exc() if os.environ.get("ROCELAB_DEBUG") else str(e)
        (directory / "error.tmp").write_text(shown)
        (directory / "error.tmp").rename(directory / "error.txt")
        return 1
    finally:
        if runner not in (None, os.getppid()):  # the runner was killed: nobody else cleans up
            places = Places(tmp=directory.parent)
            RunDirectory(
                directory.name.removeprefix("rocelab."), places
            ).remove()  # with programs on its record
    return 0


if __name__ == "__main__":
    sys.exit(main())
