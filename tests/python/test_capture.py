"""`capture`: which ports a name stands for, and what is no place for a capture. Frames: tests/live/test_live_capture.py."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest
from rocelab.errors import RocelabError, UsageError
from rocelab.live import capture
from rocelab.live.capture import ports_at
from rocelab.live.layout import HostLayout, Layout, PortLayout, SwitchLayout

_LAYOUT = Layout(
    hosts=tuple(
        HostLayout(f"h{n}", f"10.0.0.{n}", f"fd00::{n}", "", f"h{n}-eth0", f"s{n}-eth1") for n in (1, 2)
    ),
    switches=(
        SwitchLayout("s1", (PortLayout("s1-eth1", 1, None), PortLayout("s1-eth2", 2, "s2-eth2")), ()),
        SwitchLayout("s2", (PortLayout("s2-eth1", 1, None), PortLayout("s2-eth2", 2, "s1-eth2")), ()),
    ),
    mtu=1500,
)


@pytest.mark.parametrize(
    ("where", "ports"),
    [
        ("h2", ["s2-eth1"]),
        ("s1", ["s1-eth1", "s1-eth2"]),
        ("s1:s1-eth2", ["s1-eth2"]),
        ("s1:eth2", ["s1-eth2"]),
        ("s1:2", ["s1-eth2"]),
        ("s1:s2", ["s1-eth2"]),
        ("s1:h1", ["s1-eth1"]),
    ],
)
def test_a_host_a_switch_and_a_port_by_each_of_its_names(where: str, ports: list[str]) -> None:
    assert ports_at(_LAYOUT, where) == ports


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("h3", "no node h3: there are h1, h2, s1, s2"),
        ("h1:eth0", "h1:eth0: a host's port is captured by its name, h1"),
        ("s1:eth3", r"s1 has no port eth3; it has s1-eth1 \(to h1\), s1-eth2 \(to s2\)"),
        ("s1:", "s1 has no port ;"),
    ],
)
def test_unknown_ports_are_reported_with_the_known_ones(where: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ports_at(_LAYOUT, where)


def test_a_file_is_one_captures_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    path.write_text("old")
    with capture._locked(path) as file:
        assert file.read() == b""
        with pytest.raises(RocelabError, match="another capture writes to this file"):
            capture._locked(path)
    with path.open() as other:  # nobody's any more
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_paths_that_are_no_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a regular file; -w - writes to standard output"):
        capture._locked(Path("/dev/null"))
    with pytest.raises(RocelabError, match="No such file or directory"):
        capture._locked(tmp_path / "none" / "a.pcapng")
