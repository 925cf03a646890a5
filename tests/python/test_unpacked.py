"""emu/rocelab/unpacked.py: a package is there with its files, or not at all and with the reason; packages are made here, none is fetched."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from rocelab import unpacked
from rocelab.errors import RocelabError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What apt-get would download."""
    root = tmp_path / "root"
    for name, text in (
        (
            "DEBIAN/control",
            "Package: tiny\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: d\n",
        ),
        ("usr/sbin/tiny", "x" * 100_000),
        ("usr/share/doc", "d"),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    made = tmp_path / "tiny_1_all.deb"
    subprocess.run(["dpkg-deb", "--build", str(root), str(made)], check=True, capture_output=True)

    def download(argv: Sequence[str], where: Path) -> None:
        assert argv[-1] == "tiny"
        shutil.copy(made, where)

    monkeypatch.setattr(unpacked, "call", download)
    return made


def test_all_files_or_those_that_are_asked_for_are_there(package: Path, tmp_path: Path) -> None:
    unpacked.fetch("tiny", tmp_path / "all")
    assert (tmp_path / "all/usr/sbin/tiny").stat().st_size == 100_000
    unpacked.fetch("tiny", tmp_path / "some", ["./usr/share/*"])
    assert [p.name for p in (tmp_path / "some/usr").iterdir()] == ["share"]


@pytest.mark.parametrize(
    ("cut", "keep"), [(300, ()), (0, ("./boot/*",))], ids=["half a file", "no such file"]
)
def test_a_package_that_cannot_be_unpacked_is_one_clear_error_and_leaves_nothing(
    package: Path, tmp_path: Path, cut: int, keep: Sequence[str]
) -> None:
    package.write_bytes(package.read_bytes()[: len(package.read_bytes()) - cut])
    with pytest.raises(RocelabError, match="tiny_1_all.deb cannot be unpacked: "):
        unpacked.fetch("tiny", tmp_path / "into", keep)
    assert not (tmp_path / "into").exists()
