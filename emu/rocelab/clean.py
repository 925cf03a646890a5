"""The traces of one run on the machine, and how they are removed: by the run itself, or after it was killed.

Everything outside of the work tree that a run makes is named by its run id:
    /dev/shm/rocelab.ID/   shared memory; `pids` (lines "pid starttime role"), `namespaces` (inodes), `interfaces` (names)
    /tmp/rocelab.ID/       sockets, logs and database of Open vSwitch, output of programs
    rlID...                network interfaces and named network namespaces of the machine itself
Runs in virtual time, and programs on interfaces, have no id: what they leave when they are killed is in scratch.py.
Contract: a process is ended only when it is recorded here and still is the same process (pid and start time), or when it
lives in a network namespace recorded here *and* was started with ROCELAB_RUN=ID. Nothing is ever found by its name.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from rocelab import scratch
from rocelab.errors import RocelabError
from rocelab.files import explained
from rocelab.processes import ProcessId, all_pids, environment_value, kill_all, network_namespace

RUN_VARIABLE = "ROCELAB_RUN"  # set to the run id in every program that a run starts
RUNNER = "runner"  # role of the process whose life is the run's
_ID = re.compile(r"[a-z0-9]{6}")  # one length, so that no id is the beginning of another
_INTERFACE_NAME_LIMIT = 15  # IFNAMSIZ - 1


@dataclass(frozen=True)
class Places:
    """Where runs leave things; tests use folders of their own."""

    shm: Path = Path("/dev/shm")
    tmp: Path = Path("/tmp")
    namespaces: Path = Path("/run/netns")


@dataclass(frozen=True)
class RunDirectory:
    """The two folders of a run, and the records in them."""

    run_id: str
    places: Places = Places()

    @staticmethod
    def create(run_id: str | None = None, places: Places = Places()) -> RunDirectory:
        """Makes both folders and records the caller as the runner. At no moment is there a folder without its runner."""
        if run_id is not None and not _ID.fullmatch(run_id):
            raise RocelabError(f"run id {run_id!r}: six characters of a-z and 0-9 are needed")
        run = RunDirectory(run_id or _random_id(), places)
        me = ProcessId.of(os.getpid())
        assert me is not None  # a process that runs has not ended
        fresh = places.shm / f".rocelab.{run.run_id}.{os.getpid()}.new"
        unfinished = [fresh]
        try:
            fresh.mkdir(mode=0o700)
            _append(fresh / "pids", _pid_line(me, RUNNER))
            fresh.rename(run.shm)  # fails on a folder that holds anything
            unfinished = [run.shm]
            run.tmp.mkdir(mode=0o700)
        except OSError as e:
            for path in unfinished:
                shutil.rmtree(path, ignore_errors=True)
            busy = e.filename2 or e.filename
            raise RocelabError(
                f"run {run.run_id} cannot be made ({busy}: {e.strerror}); try ./rocelab clean"
            ) from e
        return run

    @property
    def shm(self) -> Path:
        return self.places.shm / f"rocelab.{self.run_id}"

    @property
    def tmp(self) -> Path:
        return self.places.tmp / f"rocelab.{self.run_id}"

    def interface_name(self, name: str) -> str:
        """The machine-wide name of a run's interface, e.g. rlab12cds1e4."""
        full = f"rl{self.run_id}{name}"
        if len(full) > _INTERFACE_NAME_LIMIT:
            raise RocelabError(
                f"interface name {name!r} is too long: {_INTERFACE_NAME_LIMIT - 8} characters are left beside the run id"
            )
        return full

    def record_pid(self, pid: int, role: str) -> None:
        """Call it right after the start. A process that has ended already needs no record."""
        process = ProcessId.of(pid)
        if process is not None:
            _append(self.shm / "pids", _pid_line(process, role))
            self.record_namespace(pid)

    def record_namespace(self, pid: int) -> None:
        """The network namespace of `pid` is the run's: call it (again) once the process has entered it."""
        inode = network_namespace(pid)
        if inode is not None and inode != network_namespace(os.getpid()):
            _append(self.shm / "namespaces", f"{inode}\n")

    def record_interface(self, name: str) -> None:
        if not name.startswith(f"rl{self.run_id}"):
            raise ValueError(f"interface {name!r} is not named by interface_name()")
        _append(self.shm / "interfaces", f"{name}\n")

    def processes(self, role: str | None = None) -> list[ProcessId]:
        """Those recorded (with this role) that are still there."""
        found = []
        for line in _lines(self.shm / "pids"):
            words = line.split(maxsplit=2)
            if len(words) == 3 and words[0].isdigit() and words[1].isdigit() and role in (None, words[2]):
                process = ProcessId(int(words[0]), int(words[1]))
                if process.alive():
                    found.append(process)
        return found

    def alive(self) -> bool:
        return bool(self.processes(RUNNER))

    def owns(self) -> bool:
        """The caller's own folders, no links: another user's records must not steer what we end."""
        for path in (self.shm, self.tmp):
            try:
                found = path.lstat()
            except FileNotFoundError:  # the other one is all that is left, or both go at this moment
                continue
            if stat.S_ISLNK(found.st_mode) or found.st_uid != os.geteuid():
                return False
        return True

    def remove(self) -> Removed:
        """Ends what is left of the run, this process excepted, and removes everything named by it."""
        me = os.getpid()
        ended = 0
        for _ in range(3):  # a process may start another one while it is being ended
            found = [process for process in [*self.processes(), *self._strays()] if process.pid != me]
            if not found:
                break
            ended += len(kill_all(list(dict.fromkeys(found))))
        interfaces = [name for name in self._interfaces() if _quiet("ip", "link", "delete", name)]
        for path in sorted(self.places.namespaces.glob(f"rl{self.run_id}*")):
            _quiet("ip", "netns", "delete", path.name)
        folders = [path for path in (self.tmp, self.shm) if path.is_dir()]
        for path in folders:
            shutil.rmtree(path, ignore_errors=True)
        left = [str(path) for path in folders if path.exists()]
        return Removed(self.run_id, ended, tuple(interfaces), tuple(left))

    def _strays(self) -> list[ProcessId]:
        """Descendants of recorded programs: in a namespace of this run, and started with its variable."""
        mine = {int(line) for line in _lines(self.shm / "namespaces") if line.isdigit()}
        mine -= {network_namespace(os.getpid()), network_namespace(1)}
        found = (
            ProcessId.of(pid)
            for pid in (all_pids() if mine else [])
            if network_namespace(pid) in mine and environment_value(pid, RUN_VARIABLE) == self.run_id
        )
        return [process for process in found if process is not None]

    def _interfaces(self) -> list[str]:
        """Interfaces of the machine that are still there; those inside of namespaces went with their processes."""
        prefix = f"rl{self.run_id}"
        recorded = {name for name in _lines(self.shm / "interfaces") if name.startswith(prefix)}
        present = {path.name for path in Path("/sys/class/net").iterdir()}
        return sorted(name for name in present if name in recorded or name.startswith(prefix))


@dataclass(frozen=True)
class Removed:
    run_id: str
    processes: int
    interfaces: tuple[str, ...]
    left: tuple[str, ...]  # folders that could not be removed
    files: int = 0  # of programs that were on interfaces, not of a run


@dataclass(frozen=True)
class LeftAlone:
    run_id: str
    reason: str


def all_runs(places: Places = Places()) -> list[RunDirectory]:
    names = {path.name for folder in (places.shm, places.tmp) for path in folder.glob("rocelab.*")}
    ids = sorted(name.removeprefix("rocelab.") for name in names)
    return [RunDirectory(run_id, places) for run_id in ids if _ID.fullmatch(run_id)]


def clean(
    everything: bool = False, only: Collection[str] = (), places: Places = Places()
) -> list[Removed | LeftAlone]:
    """Removes the runs whose runner is dead; with `everything` live ones too, after asking them to end."""
    result: list[Removed | LeftAlone] = []
    for run in all_runs(places):
        if only and run.run_id not in only:
            continue
        if not run.owns():
            result.append(LeftAlone(run.run_id, "belongs to another user"))
        elif run.alive() and not everything:
            result.append(LeftAlone(run.run_id, f"still runs; ./rocelab clean --all {run.run_id} ends it"))
        else:
            _ask_to_end(run)
            result.append(run.remove())
    _remove_unfinished(places)
    scratch.remove_left(places.tmp)
    if not only and (files := scratch.remove_left_of_interfaces(places.shm)):
        result.append(Removed("interfaces", 0, (), (), files))
    return result


def _ask_to_end(run: RunDirectory, seconds: float = 10.0) -> None:
    """A live runner cleans up best itself."""
    runners = [process for process in run.processes(RUNNER) if process.pid != os.getpid()]
    for process in runners:
        process.send(signal.SIGTERM)
    end = time.monotonic() + seconds
    for process in runners:
        process.wait_gone(max(0.0, end - time.monotonic()))


def _remove_unfinished(places: Places) -> None:
    """Folders of runners that were killed between the two steps of create()."""
    for path in places.shm.glob(".rocelab.*.new"):
        old = time.time() - path.lstat().st_mtime > 60
        if old and path.is_dir() and not path.is_symlink() and path.stat().st_uid == os.geteuid():
            shutil.rmtree(path, ignore_errors=True)


def _random_id() -> str:
    return "".join(secrets.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(6))


def _pid_line(process: ProcessId, role: str) -> str:
    return f"{process.pid} {process.starttime} {role}\n"


def _append(path: Path, line: str) -> None:
    """One write with O_APPEND: lines of several processes do not mix."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    except OSError as e:
        raise explained(e, path.parent, "what it needs does not fit there") from e
    finally:
        os.close(descriptor)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []


def _quiet(*argv: str) -> bool:
    try:
        return subprocess.run(argv, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        raise RocelabError(f"{argv[0]} is missing: run ./rocelab setup") from None
