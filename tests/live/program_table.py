"""The table of docs/reference/compatibility.md: programs that run unmodified, a row each. What is there to read of it, and the words that a row
stands for on two hosts of a kept topology. Run as a program, it writes the versions of the installed packages into the table."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs/reference/compatibility.md"
SERVER = "10.0.0.1"  # h1's; the client runs on h2
RSPRELOAD = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so"
_ROW = re.compile(r"\| `([^`]+)` \| (yes|no) \| (yes|no) \| ([^|]+) \| (\S+) (\S+) \| (\S+) \|")
_REASON = re.compile(r"\| `([^`]+)` \| perftest: \"([^\"]+)\" \|")
_RDMA_CORE = "libibverbs1"
# Rows that other tests run, which ask for more than two programs or two hosts: by the column `from`.
ELSEWHERE = (
    "libfabric",
    "Open MPI",
    "MPICH",
    "fio",
    "DAPL",
    "QEMU",
    "libiscsi",
    "UCX-example",
    "gloo",
    "librpma",
)


@dataclass(frozen=True)
class Row:
    text: str
    modes: tuple[str, ...]  # roce, irn
    source: str
    package: str
    version: str
    rdma_core: str

    @property
    def settings(self) -> list[str]:
        return [word for word in self.text.split() if _is_setting(word)]

    @property
    def words(self) -> list[str]:
        return [word for word in self.text.split() if not _is_setting(word)]

    @property
    def program(self) -> str:
        return self.words[0]


@dataclass(frozen=True)
class Commands:
    """Of a row. `port`: where the server listens for TCP; 0: it waits for rdma_cm. `says`: when it is ready. `endless`: it goes when its
    client has gone."""

    server: list[str]
    client: list[str]
    port: int = 0
    says: str = ""
    endless: bool = False


def rows() -> list[Row]:
    return [
        Row(
            text,
            tuple(mode for mode, said in (("roce", roce), ("irn", irn)) if said == "yes"),
            source,
            package,
            version,
            rdma_core,
        )
        for text, roce, irn, source, package, version, rdma_core in (
            m.groups() for m in map(_ROW.match, TABLE.read_text().splitlines()) if m
        )
    ]


def refusals() -> list[tuple[str, str]]:
    """perftest's rows of what cannot pass: the program with its options, and what it says."""
    return [(m[1], m[2]) for m in map(_REASON.match, TABLE.read_text().splitlines()) if m]


def polls_memory(words: Sequence[str]) -> bool:
    """For what a peer writes, without a call."""
    return words[0] in ("ib_write_lat", "riostream")


def commands(words: Sequence[str], settings: Sequence[str] = ()) -> Commands:
    program, *options = words
    before = ["env", *settings] if settings else []
    if program.endswith("_pingpong"):
        both = [program, "-d", "rocelab0", "-g", "1", *options]
        return Commands(both, [*both, SERVER], 18515)
    if program.startswith("ib_") and "-R" in options:
        both = [program, "-F", *options]
        return Commands(both, [*both, SERVER])
    if program.startswith("ib_"):
        both = [program, "-d", "rocelab0", "-x", "1", "-F", *options]
        return Commands(both, [*both, SERVER], 18515)
    if program == "ucx_perftest":
        both = [*before, "UCX_NET_DEVICES=rocelab0:1", program, *options]
        return Commands(both, [*both, SERVER], 13337)
    if program == "qperf":
        return Commands([program], [program, SERVER, "-t", "1", *options], 19765, endless=True)
    if program == "iperf3":
        # librspreload stands before our library, which it calls, and behind the runtime of a sanitizer.
        preload = f"$(echo $LD_PRELOAD | sed 's,[^:]*/librocelab_verbs,{RSPRELOAD}:&,')"
        both = ["sh", "-c", f'{" ".join(settings)} LD_PRELOAD={preload} exec "$@"', "sh", program]
        return Commands([*both, "-s", "-1"], [*both, "-c", SERVER, *options], 5201)
    return _over_rdma_cm(program, options)


def _over_rdma_cm(program: str, options: list[str]) -> Commands:
    if program == "rping":
        return Commands([program, "-s", "-a", SERVER, *options], [program, "-c", "-a", SERVER, *options])
    if (
        program == "mckey"
    ):  # one joins a group and receives, one joins it and sends; what was sent before is missed
        server = ["stdbuf", "-oL", program, "-b", SERVER, *options]
        return Commands(server, [program, "-s", "-b", "10.0.0.2", *options], says="joined")
    serving = "rdma_server" if program == "rdma_client" else program
    return Commands([serving, *options], [program, "-s", SERVER, *options], endless=program == "cmtime")


def is_result(words: Sequence[str], said: str) -> bool:
    """What a client prints at last. Of programs over rdma_cm their status is the result."""
    looks = {
        "ib_": "#bytes",
        "ibv_xsrq": "success\n",
        "ibv_": "usec/iter",
        "ucx_perftest": "Final: ",
        "qperf": "  =  ",
        "iperf3": "receiver",
    }
    expected = next((text for start, text in looks.items() if words[0].startswith(start)), "")
    return expected in said


def installed(packages: Sequence[str]) -> dict[str, str]:
    """Versions by package; those that are not installed are left out."""
    shown = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Abbrev} ${Version}\n", *packages],
        capture_output=True,
        text=True,
    ).stdout
    return {words[0]: words[2] for line in shown.splitlines() if (words := line.split())[1:2] == ["ii"]}


def outdated(found: Sequence[Row], versions: dict[str, str]) -> list[str]:
    """A line for each package whose upstream version is not the one that the table names. Debian's own revisions come and go with its
    security updates: a machine that has a later one still has the table's programs."""
    said = {(row.package, row.version) for row in found} | {(_RDMA_CORE, row.rdma_core) for row in found}
    return [
        f"{package}: the table ran with {version}, and {versions.get(package, 'none')} is installed"
        for package, version in sorted(said)
        if _upstream(versions.get(package, "")) != _upstream(version)
    ]


def installed_of(found: Sequence[Row]) -> dict[str, str]:
    return installed(sorted({row.package for row in found} | {_RDMA_CORE}))


def with_versions(text: str, versions: dict[str, str]) -> str:
    """The document with these versions in its table."""

    def line(row: re.Match[str]) -> str:
        program, roce, irn, source, package, version, rdma_core = row.groups()
        cells = [source, f"{package} {versions.get(package, version)}", versions.get(_RDMA_CORE, rdma_core)]
        return f"| `{program}` | {roce} | {irn} | {' | '.join(cells)} |"

    return re.sub(_ROW.pattern, line, text)


def _upstream(version: str) -> str:
    """ "1:7.2+dfsg-7+deb12u18": "1:7.2+dfsg"."""
    return version.rpartition("-")[0] or version


def _is_setting(word: str) -> bool:
    return re.match(r"[A-Z_]+=", word) is not None


if __name__ == "__main__":
    TABLE.write_text(with_versions(TABLE.read_text(), installed_of(rows())))
    print(shlex.join(["git", "diff", str(TABLE.relative_to(ROOT))]))
