"""Open vSwitch 3.1 from Debian's openvswitch-source, with our patches and netdev class, built in place in build/ovs/src; for tests under
sanitizers once more in build/ovs-dev (OvsBuild.sanitized()).

Redone is only what changed:
    tarball, series or a patch      a fresh tree: unpack, patch, configure, make
    a C file of ovs_patches/netdev  copied into vswitchd/, make
    our C++ library                 ovs-vswitchd is linked again
The first is told by a stamp of content hashes, written when the tree is complete; an interrupted set-up starts it again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rocelab import paths
from rocelab.errors import RocelabError
from rocelab.setup_build import jobs
from rocelab.setup_progress import Step, run_logged

TARBALL = Path("/usr/src/openvswitch/openvswitch.tar.gz")
VERSION = "3.1"
PROGRAMS = (
    *("vswitchd/ovs-vswitchd", "ovsdb/ovsdb-server", "ovsdb/ovsdb-tool"),
    *("utilities/ovs-vsctl", "utilities/ovs-ofctl", "utilities/ovs-appctl", "utilities/ovs-dpctl"),
    "vswitchd/vswitch.ovsschema",
)
_CONFIGURE = ("--disable-ssl", "--disable-libcapng", "--enable-silent-rules", "PYTHON3=/usr/bin/python3")
_FAST = ("CFLAGS=-O2 -g",)
# UBSan in our library alone: Open vSwitch reads headers where they lie, aligned or not.
_SANITIZED = (
    "CFLAGS=-O1 -g -fno-omit-frame-pointer -fsanitize=address",
    "LDFLAGS=-fsanitize=address,undefined",
)
# `make all` makes the generated sources before it starts; single targets have to ask for them.
_GENERATED = "rocelab-generated: $(BUILT_SOURCES)\n.PHONY: rocelab-generated\n"


@dataclass(frozen=True)
class OvsBuild:
    """Paths of one build; the defaults are the work tree's."""

    tarball: Path = TARBALL
    patches: Path = paths.OVS_PATCHES
    home: Path = paths.OVS
    library: Path = paths.RELEASE / paths.LOSSLESS  # CMake target `lossless`: the C++ part
    logs: Path = paths.LOGS
    programs: tuple[str, ...] = field(default=PROGRAMS)
    flags: tuple[str, ...] = field(default=_FAST)  # words of configure

    @staticmethod
    def sanitized() -> OvsBuild:
        """Under AddressSanitizer, with our part out of the dev build."""
        return OvsBuild(
            home=paths.OVS_SANITIZED,
            library=paths.DEV / paths.LOSSLESS,
            flags=_SANITIZED,
        )

    @property
    def tree(self) -> Path:
        return self.home / "src"

    def ensure(self, step: Step) -> None:
        """Brings the programs up to date."""
        stamps = self._stamps()
        key = self._tree_key()
        if stamps.get("tree") != key or not (self.tree / "Makefile").exists():
            self._make_tree(step)
            stamps = {"tree": key}
            self._write(stamps)
        copy_changed(self.netdev_sources(), self.tree / "vswitchd")
        key = digest_of([self.library])
        if stamps.get("library") != key:
            (self.tree / "vswitchd" / "ovs-vswitchd").unlink(missing_ok=True)
        self.make(step, self.programs)
        if stamps.get("library") != key:
            self._write({**stamps, "library": key})

    def make(self, step: Step, targets: Iterable[str]) -> None:
        argv = ["make", f"-j{jobs()}", f"LOSSLESS_LIBS={self.link_line()}", *targets]
        total = self._commands(argv)
        done = 0

        def read(line: str) -> tuple[float | None, str] | None:
            nonlocal done
            found = re.match(r"(?:CC|CXX|CCLD|CXXLD|AR) +(\S+)", line)
            done += bool(found)
            return (done / total if total else None, found[1]) if found else None

        run_logged(argv, step, self.logs / f"build-{self.home.name}.log", read, cwd=self.tree)

    def series(self) -> list[Path]:
        """The patches in their order."""
        listed = self.patches / "series"
        lines = (
            [line.split("#")[0].strip() for line in listed.read_text().splitlines()]
            if listed.exists()
            else []
        )
        found = [self.patches / name for name in lines if name]
        for path in found:
            if not path.exists():
                raise RocelabError(f"{listed} names {path.name}, which is not there")
        return found

    def netdev_sources(self) -> list[Path]:
        """The C part of our netdev class, which needs OVS's own headers (ours are found by -iquote). C++ comes as a library."""
        return sorted((self.patches / "netdev").glob("*.c"))

    def link_line(self) -> str:
        return f"{self.library} -lstdc++ -lcrypto -lpthread"

    def _make_tree(self, step: Step) -> None:
        (self.home / "stamps.json").unlink(missing_ok=True)
        step.update(note="unpacking")
        self._unpack()
        log = self.logs / f"patch-{self.home.name}.log"
        log.unlink(missing_ok=True)
        for patch in self.series():
            step.update(note=patch.name)
            argv: list[str | Path] = [
                "patch",
                "-p1",
                "--batch",
                "--forward",
                "--no-backup-if-mismatch",
                "-i",
                patch,
            ]
            run_logged(argv, step, log, cwd=self.tree, append=True)
        copy_changed(self.netdev_sources(), self.tree / "vswitchd")
        # The series changes Makefile.in along with automake.mk. Newer than what it comes from, it is not made again: no autotools.
        (self.tree / "Makefile.in").touch()
        step.update(note="configure")
        argv = [
            "./configure",
            *_CONFIGURE,
            *self.flags,
            f"CPPFLAGS=-iquote {paths.ROOT} -iquote {self.patches / 'netdev'}",
        ]
        log = self.logs / f"configure-{self.home.name}.log"
        with tempfile.TemporaryDirectory() as folder:  # make leaves a makefile there that configure pipes to it
            run_logged(argv, step, log, cwd=self.tree, env={**os.environ, "TMPDIR": folder})
        (self.home / "generated.mk").write_text(_GENERATED)
        argv = ["make", "-f", "Makefile", "-f", "../generated.mk", "rocelab-generated"]
        run_logged(argv, step, self.logs / f"generate-{self.home.name}.log", cwd=self.tree)

    def _unpack(self) -> None:
        if not self.tarball.exists():
            raise RocelabError(f"{self.tarball} is missing: install Debian's openvswitch-source")
        shutil.rmtree(self.tree, ignore_errors=True)
        fresh = self.home / "unpacked"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        try:
            with tarfile.open(self.tarball) as archive:
                archive.extractall(fresh)
        except (tarfile.TarError, EOFError, OSError) as e:
            raise RocelabError(
                f"{self.tarball} cannot be unpacked ({e}): install openvswitch-source again"
            ) from e
        (top,) = fresh.iterdir()
        found = re.search(
            r"^PACKAGE_VERSION='([^']*)'", (top / "configure").read_text(errors="replace"), re.M
        )
        version = found[1] if found else "of an unknown version"
        if not version.startswith(f"{VERSION}."):
            raise RocelabError(
                f"openvswitch-source holds Open vSwitch {version}, and the patches are for {VERSION}: install Debian 12's"
            )
        top.rename(self.tree)
        fresh.rmdir()

    def _commands(self, argv: list[str]) -> int:
        """How many files `make` is about to compile and link."""
        done = subprocess.run([*argv, "-n"], cwd=self.tree, capture_output=True, text=True)
        return len(re.findall(r'^echo "  (?:CC|CXX|CCLD|CXXLD|AR) ', done.stdout, re.M))

    def _tree_key(self) -> str:
        settings = "\n".join(["1", str(paths.ROOT), str(self.home), *_CONFIGURE, *self.flags])
        return digest_of([self.tarball, self.patches / "series", *self.series()], settings)

    def _stamps(self) -> dict[str, str]:
        try:
            loaded = json.loads((self.home / "stamps.json").read_text())
        except (OSError, ValueError):
            return {}
        return loaded if isinstance(loaded, dict) else {}

    def _write(self, stamps: dict[str, str]) -> None:
        fresh = self.home / "stamps.new"
        fresh.write_text(json.dumps(stamps, indent=1))
        fresh.rename(self.home / "stamps.json")


def digest_of(files: Iterable[Path], text: str = "") -> str:
    """Of names and contents, in this order; a file that is not there counts as such."""
    total = hashlib.sha256(text.encode())
    for path in files:
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "absent"
        total.update(f"{path.name} {content}\n".encode())
    return total.hexdigest()


def copy_changed(sources: Iterable[Path], folder: Path) -> None:
    """Only what differs: make goes by times."""
    for source in sources:
        target = folder / source.name
        content = source.read_bytes()
        if not target.exists() or target.read_bytes() != content:
            target.write_bytes(content)
