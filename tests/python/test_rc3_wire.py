"""RC3's levels on the wire, in virtual time; tests/live/test_live_rc3_wire.py asks the same of live runs."""

from __future__ import annotations

from pathlib import Path

import pytest
import rc3_wire
from rocelab import results

RC3 = Path(__file__).resolve().parents[2] / "scenarios" / "rc3.toml"


def test_every_hop_sees_each_frame_at_its_level(tmp_path: Path) -> None:
    ran = results.run(RC3, "des", out=tmp_path, pcap=True, label="rc3")
    assert ran.folder is not None
    rc3_wire.expect_levels_of_rc3_toml(ran.folder, ran.outcomes[0])


def test_alone_on_a_path_every_message_takes_what_the_line_takes(tmp_path: Path) -> None:
    """To the picosecond, whatever its size: 4, 98, 977 and 3,907 packets over a round trip that holds 4,480."""
    ran = results.run(RC3, "des", out=tmp_path)
    outcome = next(o for o in ran.outcomes if o.plan.label == "rc3")
    alone = {f.id: f.alone_ps for f in outcome.plan.flows}
    for flow in outcome.flows:
        assert flow.placed_ps is not None and flow.posted_ps is not None
        assert flow.placed_ps - flow.posted_ps == alone[flow.id], flow.id
    assert len(outcome.flows) == 4


@pytest.mark.parametrize("knows", [True, False])
def test_a_second_switch_knows_the_level_of_what_the_first_one_sent_on(tmp_path: Path, knows: bool) -> None:
    scenario = tmp_path / "second_hop.toml"
    scenario.write_text(rc3_wire.SECOND_HOP)
    overrides = () if knows else (rc3_wire.FORGETS,)
    ran = results.run(scenario, "des", overrides=overrides, out=tmp_path, pcap=True)
    assert ran.folder is not None and ran.complete
    rc3_wire.expect_lower_levels_alone_are_dropped(ran.folder, ran.outcomes[0], knows)
