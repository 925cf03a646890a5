"""Frames with slack, through Open vSwitch and in virtual time: captures of both engines have the same frames at the same instants."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
from live_runs import HERE, live, run

sys.path.insert(0, str(HERE.parent / "python"))

from test_des import packets  # noqa: E402

pytestmark = live

_SHIM = 14 + 20 + 8  # behind Ethernet, IPv4 and UDP
_BTH = 12


def _headers(frame: bytes) -> bytes:
    """All up to the BTH: virtual time has no payload, and so other ICRCs."""
    at = _SHIM
    if frame[12:14] == b"\x08\x00":
        while frame[at] >> 5 == 7:  # a part of the shim slot, docs/reference/wire.md
            at += 4 + 4 * frame[at + 1]
    return frame[: at + _BTH]


def _of(path: Path) -> Counter[tuple[int, int, bytes]]:
    return Counter((time, len(frame), _headers(frame)) for time, frame in packets(path))


@pytest.mark.parametrize("label", ["irn,size", "roce+pfc+dcqcn,clock"])
def test_captures_of_both_engines_have_the_same_slack(tmp_path: Path, label: str) -> None:
    scenario = HERE.parent / "same" / "scenarios" / "lstf.toml"
    real, virtual = (
        run(scenario, tmp_path / engine, engine=engine, pcap=True, label=label) for engine in ("live", "des")
    )
    plan = real.outcomes[0].plan
    for switch in plan.switches:
        seen, expected = (
            _of(ran.folder / "pcap" / plan.name / f"{switch.name}.pcapng")
            for ran in (real, virtual)
            if ran.folder is not None
        )
        assert any(headers[_SHIM] >> 5 == 7 for _, _, headers in expected), "frames carry slack"
        assert seen == expected, switch.name
