"""`./rocelab doctor`: what this machine can and cannot do, and why. Standard library only: it is for machines on which nothing is installed yet.

Each check looks and changes nothing; the one of namespaces makes some in a child process, with which they are gone.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rocelab import importable, packages, paths
from rocelab.errors import RocelabError
from rocelab.meminfo import meminfo
from rocelab.ovs_build import PROGRAMS
from rocelab.privileges import is_root

LIVE, DES = "live", "des"
BOTH = (LIVE, DES)
_COMMANDS = {
    DES: "virtual time: ./rocelab run --engine des, sweep, paper, python",
    LIVE: "live: ./rocelab run, up and exec",
}
_MB = 1_000_000
_SHM_LEAST, _SHM_GOOD = (
    60 * _MB,
    500 * _MB,
)  # the traces of a run lie there; containers have 64 MB, too little for long runs
_MEMORY_LEAST = 1_000 * _MB  # of one compiler
_DISK_LEAST = 1_000 * _MB  # half of it is what is built
_CLONE_NEWNS, _CLONE_NEWNET = 0x00020000, 0x40000000


@dataclass(frozen=True)
class Finding:
    """`state`: "ok"; "later", what the first run does itself; "less", works, but not well; "no". `needed`: for which engines; none: it is for something else."""

    name: str
    state: str
    text: str
    needed: tuple[str, ...] = ()


def findings() -> Iterator[Finding]:
    """In the order in which they are shown."""
    yield _system()
    yield Finding(
        "root",
        *(("ok", "yes") if is_root() else ("no", "live runs make namespaces: sudo ./rocelab ..")),
        (LIVE,),
    )
    yield from _packages()
    yield from _built()
    yield _namespaces()
    yield from _sizes()
    yield _import()
    yield from _optional()


def _system() -> Finding:
    machine, release = platform.machine(), _release()
    if machine != "x86_64":
        return Finding("system", "no", f"{machine}: x86-64 is needed", BOTH)
    python = ".".join(map(str, sys.version_info[:3]))
    if shutil.which("dpkg-query") is None:
        return Finding(
            "system", "no", f"{release} has no dpkg: Debian 12 is needed, or a system made from it", BOTH
        )
    if sys.version_info[:2] != (3, 11):
        return Finding(
            "system", "less", f"{release}, Python {python}: Debian 12 with 3.11 is what is tested", BOTH
        )
    return Finding("system", "ok", f"{release}, Python {python} ({sys.executable})", BOTH)


def _release() -> str:
    try:
        text = Path("/etc/os-release").read_text()
    except OSError:
        return platform.system()
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', text, re.M)
    return found[1] if found else platform.system()


def _packages() -> Iterator[Finding]:
    for groups, needed, use in (
        (("build", "results"), BOTH, ""),
        (("live",), (LIVE,), ""),
        (("test",), (), "for ./rocelab test"),
        (("guest",), (), "for ./rocelab plug --kernel"),
        (("cluster",), (), "for --cluster"),
    ):
        name = f"packages: {', '.join(groups)}"
        try:
            lacking = packages.missing(packages.wanted(groups))
        except RocelabError as e:
            yield Finding(name, "no", str(e), needed)
            continue
        words = f"{len(lacking)} missing ({' '.join(lacking[:3])}{' ..' if len(lacking) > 3 else ''})"
        if not lacking:
            yield Finding(name, "ok", "all there", needed)
        elif not needed:
            yield Finding(name, "later", f"{words}, installed {use} by itself, as root")
        elif not is_root():
            yield Finding(name, "no", f"{words}: run sudo ./rocelab setup once", needed)
        elif unknown := packages.unknown(lacking):
            yield Finding(
                name,
                "no",
                f"{words}: apt-get does not know {unknown}; apt-get update, or Debian 12's sources",
                needed,
            )
        else:
            yield Finding(name, "later", f"{words}: the first run installs them", needed)


def _built() -> Iterator[Finding]:
    if any(character.isspace() for character in str(paths.ROOT)):
        yield Finding("work tree", "no", f"{paths.ROOT}: move it to a path without blanks", BOTH)
        return
    module = list((paths.RELEASE / "emu" / "pybind").glob("_rocelab*.so"))
    ovs = all((paths.OVS_TREE / program).exists() for program in PROGRAMS)
    for name, built, needed in (("build", bool(module), BOTH), ("Open vSwitch", ovs, (LIVE,))):
        if built:
            yield Finding(name, "ok", "built", needed)
        elif os.access(paths.ROOT, os.W_OK):
            yield Finding(name, "later", "not built yet: the first run does it, in a few minutes", needed)
        else:
            yield Finding(name, "no", f"not built, and {paths.ROOT} is not yours to write to", needed)


def _namespaces() -> Finding:
    """What a live topology begins with: namespaces, and a veth in them."""
    name = "namespaces"
    if not is_root():
        return Finding(name, "no", "not tried: needs root", (LIVE,))
    inside = (
        "ip link add rl0 type veth peer name rl1 && mount -t sysfs none /sys"
        if shutil.which("ip")
        else "true"
    )
    words = [
        sys.executable,
        "-c",
        f"import sys; sys.path[0] = {str(paths.ROOT / 'emu')!r}; from rocelab import doctor; doctor.enter({inside!r})",
    ]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode == 0:
        return Finding(name, "ok", "network and mount namespaces, veth", (LIVE,))
    said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return Finding(name, "no", f"{said}; in a container: docker run --privileged", (LIVE,))


def enter(command: str) -> None:
    """Runs a shell's command line in new namespaces; ends the process."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET | _CLONE_NEWNS) != 0:
        sys.exit(f"unshare: {os.strerror(ctypes.get_errno())}")
    if libc.mount(b"none", b"/", None, ctypes.c_ulong(0x44000), None) != 0:  # MS_REC | MS_PRIVATE
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    os.execvp("sh", ["sh", "-c", command])


def _sizes() -> Iterator[Finding]:
    cores = len(os.sched_getaffinity(0))
    yield Finding(
        "cores",
        "ok" if cores > 1 else "less",
        f"{cores}" + ("" if cores > 1 else ": runs take longer, and give the same"),
        BOTH,
    )
    free = meminfo().get("MemAvailable", 0)
    yield _size(
        "memory",
        free,
        f"{free // _MB:,} MB available",
        _MEMORY_LEAST,
        _MEMORY_LEAST,
        "a compiler needs about 1 GB",
        BOTH,
    )
    shm = shutil.disk_usage("/dev/shm").free if Path("/dev/shm").is_dir() else 0
    remedy = "mount -o remount,size=1G /dev/shm; docker run --shm-size 1g"
    yield _size("/dev/shm", shm, f"{shm // _MB:,} MB free", _SHM_LEAST, _SHM_GOOD, remedy, (LIVE,))
    disk = shutil.disk_usage(paths.ROOT).free
    least = 0 if paths.OVS_TREE.exists() else _DISK_LEAST
    yield _size(
        "disk",
        disk,
        f"{disk // _MB:,} MB free in {paths.ROOT}",
        least,
        _DISK_LEAST,
        "what is built takes 0.5 GB",
        BOTH,
    )


def _size(
    name: str, have: int, text: str, least: int, good: int, remedy: str, needed: tuple[str, ...]
) -> Finding:
    state = "no" if have < least else "less" if have < good else "ok"
    return Finding(name, state, text if state == "ok" else f"{text}: {remedy}", needed)


def _import() -> Finding:
    target = importable.Link(importable.folder()).target()
    if target == importable.PACKAGE:
        return Finding("import rocelab", "ok", "in every /usr/bin/python3")
    where = f"that of {target.parents[1]}" if target is not None else "not yet: ./rocelab setup"
    return Finding("import rocelab", "less", f"{where}; ./rocelab python has this one at any time")


def _optional() -> Iterator[Finding]:
    kvm = os.access("/dev/kvm", os.R_OK | os.W_OK)
    yield Finding(
        "/dev/kvm",
        "ok" if kvm else "less",
        "there" if kvm else "not there: plug --kernel emulates its processor, slower",
    )
    browser = shutil.which("chromium")
    yield Finding(
        "chromium",
        "ok" if browser else "less",
        browser or "not there: tests of pages are skipped; any browser shows them",
    )


def why_not(engine: str, found: list[Finding]) -> list[Finding]:
    """What keeps an engine from running; empty: nothing."""
    return [f for f in found if engine in f.needed and f.state == "no"]


def run(engine: str = LIVE, say: Callable[[str], None] = print) -> int:
    """Exit status 0: `./rocelab run` with this engine will work."""
    found = list(findings())
    marks = {"ok": "ok", "later": "later", "less": "note", "no": "NO"}
    width = max(len(f.name) for f in found)
    for finding in found:
        say(f"  {marks[finding.state]:5}  {finding.name:{width}}  {finding.text}")
    say("")
    for name in (DES, LIVE):
        reasons = why_not(name, found)
        verdict = f"no: {', '.join(f.name for f in reasons)} (above)" if reasons else "works"
        say(f"{_COMMANDS[name]:62}  {verdict}")
    return 1 if why_not(engine, found) else 0
