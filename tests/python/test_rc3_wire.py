"""RC3's levels on the wire: at every hop a frame has the DSCP of its level, and its answer, too."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
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


# h1's message crosses two switches of which the second one's port to h3 is full of h4's packets, of TCP's class.
_SECOND_HOP = """
transport = ["rc3"]
[topology]
kind = "dumbbell"
left = 1
right = 2
rate = "1Gb/s"
delay = "1ms"
[switch]
port_buffer = "1MB"
port_when_full = "push-out-lower"
strict_classes = [0, 1, 2, 3, 6, 7]
[irn]
bitmap_packets = 16384
rc3.packets = [40, 400, 4000]
[congestion_control]
aimd.initial_window = 4
[timers]
timeouts = "on"
rto_high = "1s"
verbs_timeout = 20
[[workload]]
name = "flows"
kind = "list"
[[workload.flow]]
src = "h1"
dst = "h2"
op = "send"
size = "2MB"
start = "60ms"
[[workload]]
name = "others"
kind = "list"
dscp = 24
[[workload.flow]]
src = "h3"
dst = "h2"
op = "send"
size = "6MB"
[engine]
limit = "20s"
"""


_FORGETS = 'classes.at=[{ nodes = ["s2"], dscp = { 16 = 3, 8 = 3, 0 = 3 } }]'


@pytest.mark.parametrize("knows", [True, False])
def test_a_second_switch_knows_the_level_of_what_the_first_one_sent_on(tmp_path: Path, knows: bool) -> None:
    """At the second one alone more arrives than leaves: what it drops is of RC3's lower levels, and nothing of TCP's class, h1's or that of others. Of one that takes all levels for TCP's nothing gives way."""
    scenario = tmp_path / "second_hop.toml"
    scenario.write_text(_SECOND_HOP)
    ran = results.run(scenario, "des", overrides=() if knows else (_FORGETS,), out=tmp_path, pcap=True)
    (outcome,) = ran.outcomes
    assert ran.folder is not None and ran.complete
    folder = ran.folder / "pcap" / outcome.plan.name
    first, second = (
        Counter(f[15] >> 2 for _, f in packets(folder / f"{s.name}.pcapng") if len(f) > 120)
        for s in outcome.plan.switches
    )
    # The first one has seen each frame of h1's come and go; the second one has seen those go that it did not drop.
    dropped = {dscp: first[dscp] - second[dscp] for dscp in (26, 16, 8, 0)}
    displaced = sum(port["drops_displaced"] for port in outcome.port_counters.values())
    others = 5_860  # packets of h3's, each once in and once out
    if knows:
        assert dropped[26] == 0 and dropped[8] + dropped[0] > 500
        assert displaced == sum(dropped.values()) and second[24] == 2 * others
    else:
        assert displaced == 0 and sum(dropped.values()) > 500
