"""The Debian packages that rocelab needs, in one place, and their installation. Standard library only.

Recommended packages are not installed, and no service is started by us: rocelab runs its own Open vSwitch from build/.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence

from rocelab import paths
from rocelab.errors import RocelabError
from rocelab.privileges import is_root
from rocelab.setup_progress import Step, run_logged, run_to_end, tail

PACKAGES: dict[str, tuple[str, ...]] = {
    "build": (
        *(
            "g++",
            "cmake",
            "ninja-build",
            "make",
            "patch",
            "pkg-config",
            "bison",
            "python3-dev",
            "pybind11-dev",
        ),
        *(
            "libssl-dev",
            "libxxhash-dev",
            "libibverbs-dev",
            "librdmacm-dev",
            "libtomlplusplus-dev",
            "libzydis-dev",
            "libgtest-dev",
            "libbenchmark-dev",
        ),
    ),
    "results": (
        *("python3-numpy", "python3-pandas", "python3-matplotlib", "python3-networkx"),
        *("python3-rich", "python3-typer", "python3-jinja2", "python3-tomli-w"),
    ),
    "live": (  # not needed in virtual time
        *("mininet", "iproute2", "ethtool", "iputils-ping", "procps"),
        "openvswitch-source",
    ),
    # What `plug --kernel` boots, and the programs that it gives the kernel.
    "guest": ("qemu-system-x86", "busybox-static", "ibverbs-utils", "rdmacm-utils", "perftest"),
    "cluster": ("python3-distributed",),  # of `sweep --cluster`
    "ui": ("python3-fastapi", "python3-uvicorn", "nodejs", "npm"),
    "test": (
        *(
            "python3-pytest",
            "python3-hypothesis",
            "python3-scapy",
            "tshark",
            "python3-selenium",
            "chromium",
            "chromium-driver",
        ),
        *(
            "ucx-utils",
            "qperf",
            "iperf3",
            "infiniband-diags",
            "libfabric-bin",
            "openmpi-bin",
            "libopenmpi-dev",
            "mpich",
            "libmpich-dev",
            "fio",
            "libdapl2",
            "dapl2-utils",
            "libaio1",  # of tgt's, which tests unpack: installed, it would start a server
            "libiscsi-bin",
            "python3-pyverbs",
            "libucx-dev",
            "libgloo-dev",
            "librpma-dev",
        ),  # programs that run unmodified: docs/reference/compatibility.md
        *("valgrind", "spin", "clang-14", "libclang-rt-14-dev", "clang-format", "clang-tidy"),
        *("black", "mypy", "pyflakes3"),
        *("python3-nbclient", "python3-ipykernel"),  # run docs/tutorial/tour.ipynb
    ),
}
# A package is not installed where its command is there already, from wherever it came.
_COMMANDS = {"nodejs": "node", "npm": "npm"}
LOG = paths.LOGS / "packages.log"
_APT = ("apt-get", "-o", "DPkg::Lock::Timeout=300", "-o", "APT::Color=0")


def wanted(groups: Iterable[str]) -> list[str]:
    return [package for group in groups for package in PACKAGES[group]]


def missing(packages: Sequence[str]) -> list[str]:
    """Those that are not installed and configured, and whose command is not there otherwise."""
    try:
        done = subprocess.run(
            ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Abbrev}\n", *packages],
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise RocelabError("dpkg-query is missing: set-up needs Debian 12 or a system made from it") from None
    installed = {line.split()[0] for line in done.stdout.splitlines() if line.split()[1:2] == ["ii"]}
    there = {package for package, command in _COMMANDS.items() if shutil.which(command)}
    return [package for package in packages if package not in installed | there]


def unknown(lacking: Sequence[str]) -> str:
    """Those that apt-get does not know, as one text; empty: it would install all."""
    argv = [*_APT, "--simulate", "--no-install-recommends", "install", *lacking]
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    return "" if done.returncode == 0 else (" ".join(_unknown(done.stderr)) or "what it needs for them")


def ensure(groups: Iterable[str], install: bool = True) -> None:
    """Installs what is missing, after it has printed the list; with `install` off it only prints it and fails."""
    lacking = missing(wanted(groups))
    if not lacking:
        return
    print(f"rocelab: missing Debian packages: {' '.join(lacking)}", file=sys.stderr, flush=True)
    if not install:
        raise RocelabError(
            f"{len(lacking)} packages are missing and --no-install was given: install those above"
        )
    if not is_root():
        raise RocelabError(
            "installing packages needs root: run `sudo ./rocelab setup` once, or install those above"
        )
    with Step(f"installing {len(lacking)} packages") as step:
        _install(lacking, step)
    if still := missing(lacking):
        raise RocelabError(f"not installed, though apt-get reported success: {' '.join(still)}; see {LOG}")


def _install(lacking: Sequence[str], step: Step) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    LOG.unlink(missing_ok=True)

    def apt(*words: str) -> int:
        argv = (*_APT, "-o", "APT::Status-Fd=1", "-y", *words)
        return run_to_end(argv, step, LOG, _apt_line, env=environment, append=True, interruptible=False)

    if apt("--simulate", "--no-install-recommends", "install", *lacking) != 0:  # lists are absent or old
        step.update(note="apt-get update")
        apt("update")
    if subprocess.run(
        ["dpkg", "--audit"], capture_output=True
    ).stdout:  # an earlier installation was cut short
        run_logged(
            ["dpkg", "--configure", "-a"], step, LOG, env=environment, append=True, interruptible=False
        )
    if apt("--no-install-recommends", "install", *lacking) == 0:
        return
    apt("update")  # the lists were old: files that they name are gone from the mirror
    if apt("--no-install-recommends", "install", *lacking) != 0:
        raise RocelabError(_reason(lacking))


def _reason(lacking: Sequence[str]) -> str:
    text = LOG.read_text(errors="replace")
    if names := _unknown(text):
        return f"this system's package sources do not have {' '.join(names)}: Debian 12 has them; the log is {LOG}"
    return f"apt-get could not install {' '.join(lacking)}; the log is {LOG}\n{tail(LOG)}"


def _unknown(text: str) -> list[str]:
    """Packages that apt-get complains about."""
    pattern = r"^E: (?:Unable to locate package|Package '?)\s*([a-z0-9+.-]+)"
    return list(dict.fromkeys(re.findall(pattern, text, re.M)))


def _apt_line(line: str) -> tuple[float | None, str] | None:
    """apt's status lines, "dlstatus:N:PERCENT:text" while it downloads and "pmstatus:package:PERCENT:text" after."""
    words = line.split(":", 3)
    if len(words) < 4 or words[0] not in ("dlstatus", "pmstatus"):
        return None
    try:
        percent = float(words[2])
    except ValueError:
        return None
    half = 0.0 if words[0] == "dlstatus" else 0.5
    return half + percent / 200, words[3]
