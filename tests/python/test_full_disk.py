"""What a full or write-protected disk does to results: what was there stays, the error says where and what to do. Real file systems, a tmpfs of few pages in
a mount namespace of their own."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rocelab import files, interchange, results
from rocelab.errors import RocelabError
from rocelab.files import DiskFull, write_all

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "scenarios" / "pingpong.toml"
LARGE = ROOT / "scenarios" / "quick.toml"
IN_NAMESPACE = """
import os, subprocess, sys, tempfile
from pathlib import Path
from rocelab import interchange, results
from rocelab.errors import RocelabError
from rocelab.model import RunOutcome, RunPlan
disk, small, large = map(Path, sys.argv[1:])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], check=True)
out = disk / "out"
def content():
    return {p.relative_to(disk): p.read_bytes() for p in disk.rglob("*") if p.is_file() and p.name != "rest"}
def fill(room=0):
    with open(disk / "rest", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    os.truncate(disk / "rest", (disk / "rest").stat().st_size - room)
def refused(action):
    before = content()
    try:
        action()
    except RocelabError as e:
        print(e)
    else:
        sys.exit("it should have been refused")
    assert content() == before, sorted(set(content()) ^ set(before)) or "files have changed"
"""


def in_namespace(tmp_path: Path, code: str) -> str:
    """What `code` prints, whose `disk` is a file system of 4 MB of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    argv = ["unshare", "--map-root-user", "--mount", sys.executable, "-c", IN_NAMESPACE + code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "emu"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*argv, str(disk), str(SMALL), str(LARGE)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(disk.iterdir()) == []  # the mount was seen there only
    return done.stdout


def test_a_full_disk_keeps_the_result_that_was_there(tmp_path: Path) -> None:
    said = in_namespace(
        tmp_path,
        """
results.run(small, "des", out=out)
assert {p.name for p in content()} == {"summary.json", "run.sqlite", "report.html"}
fill(room=60_000)  # the first file fits, the second does not
refused(lambda: results.run(large, "des", out=out))
""",
    )
    assert "disk/out: the disk is full" in said and "--out" in said and "as it was" in said


def test_a_disk_that_is_full_before_a_run_is_said_before_it(tmp_path: Path) -> None:
    said = in_namespace(
        tmp_path,
        """
fill()
def never(plan):
    sys.exit("a run was started for nothing")
refused(lambda: results.run(small, out=out, execute=never))
(disk / "rest").unlink()
subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
refused(lambda: results.run(small, out=out, execute=never))
""",
    )
    full, protected = said.splitlines()
    assert "disk/out: the disk is full" in full and "--out" in full
    assert "disk/out: cannot be written: Read-only file system" in protected and "--out" in protected


def test_an_export_to_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    said = in_namespace(
        tmp_path,
        """
out.mkdir()
fill()
refused(lambda: interchange.export(small, "hpcc", out))
""",
    )
    assert "disk/out: the disk is full" in said and "--to" in said


@pytest.mark.parametrize(("where", "advice"), [("out", "--out DIR"), ("", "TMPDIR")])
def test_captures_and_events_that_do_not_fit_name_their_folder(
    tmp_path: Path, where: str, advice: str
) -> None:
    """Captures go to the result's folder, events to that of temporary files."""
    said = in_namespace(
        tmp_path,
        f"""
fill(room=100_000)
options = {{"out": out, "pcap": True}} if {where!r} else {{"out": disk.parent / "out"}}
if not {where!r}:
    tempfile.tempdir = str(disk)
try:
    results.run(large, "des", **options)
except RocelabError as e:
    print(e)
else:
    sys.exit("it should have been refused")
""",
    )
    assert re.search(f"disk/?{where}.*: the disk is full; .*{advice}", said), said


def test_files_come_together_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = tmp_path / "a", tmp_path / "below" / "b"
    write_all({a: b"old"})
    synced: list[int] = []

    def second_fails(descriptor: int) -> None:
        synced.append(descriptor)
        if len(synced) == 2:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(files.os, "fsync", second_fails)
    with pytest.raises(DiskFull, match=f"{b.parent}: the disk is full"):
        write_all({a: b"new", b: b"new"})
    assert a.read_bytes() == b"old" and list(tmp_path.rglob("*.part")) == [] and not b.exists()
    write_all({a: b"new", b: lambda part: part.write_bytes(b"made")})
    assert a.read_bytes() == b"new" and b.read_bytes() == b"made"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("a fault of the writer")])
def test_an_interrupted_write_leaves_no_partial_file(tmp_path: Path, error: BaseException) -> None:
    def broken(part: Path) -> None:
        part.write_bytes(b"half")
        raise error

    with pytest.raises(type(error)):
        write_all({tmp_path / "a": b"whole", tmp_path / "b": broken})
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_a_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    attempts: list[Callable[[], Any]] = [
        lambda: results.run(SMALL, out=tmp_path / "out"),
        lambda: interchange.export(SMALL, "hpcc", tmp_path / "out"),
    ]
    for attempt in attempts:
        with pytest.raises(
            RocelabError, match=f"{tmp_path}/out: cannot be written: a file is in its place; .* (--out|--to) "
        ):
            attempt()
