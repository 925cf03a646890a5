"""emu/rocelab/ovs_build.py redoes what changed and nothing else: a tiny tree that is configured and made as OVS is."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from rocelab.errors import RocelabError
from rocelab.ovs_build import OvsBuild
from rocelab.setup_progress import Step

CONFIGURE = """#!/bin/sh
PACKAGE_VERSION='@VERSION@'
echo configure >> ../events
cp Makefile.in Makefile
"""
# As automake's: silent rules, generated sources that only `all` would make.
MAKEFILE = """
BUILT_SOURCES = generated.h
generated.h:
\t@echo generated >> ../events; touch $@
vswitchd/ovs-vswitchd: vswitchd/lossless.c main.c
\t@test -e generated.h
\t@echo "  CCLD     "ovs-vswitchd; echo link >> ../events; echo '$(LOSSLESS_LIBS)' | cat - main.c vswitchd/lossless.c > $@
"""
PATCH = """--- a/main.c
+++ b/main.c
@@ -1 +1 @@
-{0}
+{1}
"""


def tarball(path: Path, version: str = "3.1.0") -> None:
    files = {
        "openvswitch/configure": CONFIGURE.replace("@VERSION@", version),
        "openvswitch/Makefile.in": MAKEFILE,
        "openvswitch/main.c": "stock\n",
        "openvswitch/vswitchd/automake.mk": "sources\n",
    }
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))


@dataclass
class Fixture:
    root: Path
    build: OvsBuild = field(init=False)

    def __post_init__(self) -> None:
        self.build = OvsBuild(
            tarball=self.root / "openvswitch.tar.gz",
            patches=self.root / "patches",
            home=self.root / "ovs",
            library=self.root / "liblossless.a",
            logs=self.root / "logs",
            programs=("vswitchd/ovs-vswitchd",),
        )
        tarball(self.build.tarball)
        (self.build.patches / "netdev").mkdir(parents=True)
        (self.build.patches / "netdev" / "lossless.c").write_text("netdev 1\n")
        self.build.library.write_text("1")
        self.series("0001-a.patch", PATCH.format("stock", "patched"))

    def series(self, name: str, text: str) -> None:
        (self.build.patches / "series").write_text(f"# in this order\n{name}\n")
        (self.build.patches / name).write_text(text)

    def events(self) -> list[str]:
        """What has been done since the last call."""
        with Step("Open vSwitch", io.StringIO()) as step:
            self.build.ensure(step)
        file = self.build.home / "events"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines

    def program(self) -> str:
        return (self.build.tree / "vswitchd" / "ovs-vswitchd").read_text()


@pytest.fixture
def ovs(tmp_path: Path) -> Fixture:
    return Fixture(tmp_path)


def test_a_first_build_patches_configures_and_links_our_library(ovs: Fixture) -> None:
    assert ovs.events() == ["configure", "generated", "link"]
    assert "patched\nnetdev 1" in ovs.program()
    assert f"{ovs.build.library} -lstdc++" in ovs.program() and "-lcrypto" in ovs.program()


def test_a_second_build_does_nothing(ovs: Fixture) -> None:
    ovs.events()
    assert ovs.events() == []


def test_a_changed_patch_starts_from_a_fresh_tree(ovs: Fixture) -> None:
    ovs.events()
    ovs.series("0001-a.patch", PATCH.format("stock", "patched anew"))
    assert ovs.events() == ["configure", "generated", "link"]
    assert "patched anew" in ovs.program()


def test_a_patch_with_new_time_but_the_same_content_changes_nothing(ovs: Fixture) -> None:
    ovs.events()
    ovs.series("0001-a.patch", PATCH.format("stock", "patched"))
    assert ovs.events() == []


def test_a_changed_netdev_file_is_made_without_configuring(ovs: Fixture) -> None:
    ovs.events()
    (ovs.build.patches / "netdev" / "lossless.c").write_text("netdev 2\n")
    assert ovs.events() == ["link"]
    assert "netdev 2" in ovs.program()


def test_a_changed_library_is_linked_again(ovs: Fixture) -> None:
    ovs.events()
    ovs.build.library.write_text("2")
    assert ovs.events() == ["link"]
    assert ovs.events() == []


def test_makefile_in_stays_newer_than_what_automake_would_make_it_from(ovs: Fixture) -> None:
    """Else make would want automake. Here the patch touches the files in the wrong order."""
    text = "--- a/vswitchd/automake.mk\n+++ b/vswitchd/automake.mk\n@@ -1 +1 @@\n-sources\n+our sources\n"
    ovs.series("0001-a.patch", text)
    assert ovs.events() == ["configure", "generated", "link"]
    made, source = ovs.build.tree / "Makefile.in", ovs.build.tree / "vswitchd" / "automake.mk"
    assert made.stat().st_mtime_ns > source.stat().st_mtime_ns


def test_no_series_is_stock_open_vswitch(ovs: Fixture) -> None:
    (ovs.build.patches / "series").unlink()
    ovs.events()
    assert "stock" in ovs.program()


def test_a_patch_that_does_not_apply_is_shown_and_tried_again_next_time(ovs: Fixture) -> None:
    ovs.series("0001-a.patch", PATCH.format("elsewhere", "patched"))
    for _ in range(2):
        with pytest.raises(RocelabError, match="patch-ovs.log"):
            ovs.events()
    ovs.series("0001-a.patch", PATCH.format("stock", "patched"))
    assert ovs.events()[-1] == "link"


def test_a_tree_that_was_cut_short_is_started_again(ovs: Fixture) -> None:
    ovs.events()
    (ovs.build.home / "stamps.json").unlink()
    assert ovs.events() == ["configure", "generated", "link"]


def test_another_version_is_one_clear_line(ovs: Fixture) -> None:
    tarball(ovs.build.tarball, "3.3.0")
    with pytest.raises(RocelabError) as raised:
        ovs.events()
    assert str(raised.value).count("\n") == 0
    assert "3.3.0" in str(raised.value) and "for 3.1" in str(raised.value)


def test_a_missing_source_is_one_clear_line(ovs: Fixture) -> None:
    ovs.build.tarball.unlink()
    with pytest.raises(RocelabError, match="install Debian's openvswitch-source"):
        ovs.events()


def test_a_series_that_names_a_missing_patch_says_so(ovs: Fixture) -> None:
    (ovs.build.patches / "0001-a.patch").unlink()
    with pytest.raises(RocelabError, match="0001-a.patch"):
        ovs.events()
