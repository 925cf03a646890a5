"""RC3's levels on the wire: at every hop a frame has the DSCP of its level, and its answer, too."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rocelab import results
from test_des import packets

ROOT = Path(__file__).resolve().parents[2]


def test_every_hop_sees_each_frame_at_its_level(tmp_path: Path) -> None:
    """Messages of 98, 977 and 3,907 packets: four of each are TCP's, 40 of the first level, 400 of the second, the rest of the third. Nothing is dropped, so a switch sees each frame and its answer twice, come and go."""
    ran = results.run(ROOT / "scenarios" / "rc3.toml", "des", out=tmp_path, pcap=True)
    outcome = next(o for o in ran.outcomes if o.plan.label == "rc3")
    assert ran.folder is not None
    by_level = {16: 3 * 40, 8: 54 + 400 + 400, 0: 0 + 533 + 3463}
    for switch in outcome.plan.switches:
        frames = [f for _, f in packets(ran.folder / "pcap" / outcome.plan.name / f"{switch.name}.pcapng")]
        data = Counter(f[15] >> 2 for f in frames if len(f) > 120)
        answers = Counter(f[15] >> 2 for f in frames if len(f) <= 120)
        for dscp, count in by_level.items():
            assert data[dscp] == answers[dscp] == 2 * count, dscp
        assert set(data) == set(answers) == {0, 8, 16, 26}
        # ACK, and ACK BLOCKS while something is missing below what has come; no answer names one packet alone.
        assert {f[42] for f in frames if len(f) <= 120} == {0xD1, 0xDB}


def test_alone_on_a_path_every_message_takes_what_the_line_takes(tmp_path: Path) -> None:
    """To the picosecond, whatever its size: 4, 98, 977 and 3,907 packets over a round trip that holds 4,480."""
    ran = results.run(ROOT / "scenarios" / "rc3.toml", "des", out=tmp_path)
    outcome = next(o for o in ran.outcomes if o.plan.label == "rc3")
    alone = {f.id: f.alone_ps for f in outcome.plan.flows}
    for flow in outcome.flows:
        assert flow.placed_ps is not None and flow.posted_ps is not None
        assert flow.placed_ps - flow.posted_ps == alone[flow.id], flow.id
    assert len(outcome.flows) == 4
