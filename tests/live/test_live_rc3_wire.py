"""RC3's levels on the wire of live runs, through Open vSwitch: what tests/python/test_rc3_wire.py asks of virtual time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from live_runs import HERE, SCENARIOS, live, run

sys.path.insert(0, str(HERE.parent / "python"))

import rc3_wire  # noqa: E402

pytestmark = live


def test_every_hop_sees_each_frame_at_its_level(tmp_path: Path) -> None:
    ran = run(SCENARIOS / "rc3.toml", tmp_path, pcap=True, label="rc3")
    assert ran.folder is not None and ran.complete
    rc3_wire.expect_levels_of_rc3_toml(ran.folder, ran.outcomes[0])


@pytest.mark.parametrize("knows", [True, False])
def test_a_second_switch_knows_the_level_of_what_the_first_one_sent_on(tmp_path: Path, knows: bool) -> None:
    scenario = tmp_path / "second_hop.toml"
    scenario.write_text(rc3_wire.SECOND_HOP)
    ran = run(scenario, tmp_path, *(() if knows else (rc3_wire.FORGETS,)), pcap=True)
    assert ran.folder is not None and ran.complete
    rc3_wire.expect_lower_levels_alone_are_dropped(ran.folder, ran.outcomes[0], knows)
