"""What captures of RC3's runs say, whichever engine ran: at every hop a frame has the DSCP of its level, and its answer, too."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rocelab.model import RunOutcome
from test_des import packets

PRIMARY, LOWER = 26, (16, 8, 0)  # DSCPs
LENGTHS = (40, 400)  # packets of the first levels; the last one takes the rest
ACK, ACK_BLOCKS = 0xD1, 0xDB

# h1's message crosses two switches of which the second one's port to h3 is full of h4's packets, of TCP's class.
SECOND_HOP = """
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
# Of a second switch that takes all levels for TCP's.
FORGETS = 'classes.at=[{ nodes = ["s2"], dscp = { 16 = 3, 8 = 3, 0 = 3 } }]'


def captured(folder: Path, outcome: RunOutcome) -> list[list[bytes]]:
    """Frames that each switch saw come and go."""
    of_run = folder / "pcap" / outcome.plan.name
    return [[f for _, f in packets(of_run / f"{s.name}.pcapng")] for s in outcome.plan.switches]


def is_data(frame: bytes) -> bool:
    return len(frame) > 120


def dscps(frames: list[bytes], data: bool) -> Counter[int]:
    return Counter(f[15] >> 2 for f in frames if is_data(f) == data)


def level_of(from_end: int) -> int:
    """DSCP of the n-th packet from a message's end on, if the second loop sends it."""
    return LOWER[0] if from_end < LENGTHS[0] else LOWER[1] if from_end < sum(LENGTHS) else LOWER[2]


def expect_levels_of_rc3_toml(folder: Path, outcome: RunOutcome) -> None:
    """Messages of 4, 98, 977 and 3,907 packets: four of each are TCP's, 40 of the first level, 400 of the second, the rest of the third. Nothing is dropped, so a switch sees each frame and its answer twice, come and go."""
    by_level = {16: 3 * 40, 8: 54 + 400 + 400, 0: 0 + 533 + 3463}
    for frames in captured(folder, outcome):
        data, answers = dscps(frames, True), dscps(frames, False)
        for dscp, count in by_level.items():
            assert data[dscp] == answers[dscp] == 2 * count, dscp
        assert set(data) == set(answers) == {PRIMARY, *LOWER}
        # ACK, and ACK BLOCKS while something is missing below what has come; no answer names one packet alone.
        assert {f[42] for f in frames if not is_data(f)} == {ACK, ACK_BLOCKS}
        expect_each_at_its_level(frames)


def expect_each_at_its_level(frames: list[bytes]) -> None:
    """Each flow is a message of a queue pair of its own."""
    of_pair: dict[bytes, list[tuple[int, int]]] = {}
    for f in filter(is_data, frames):
        of_pair.setdefault(f[26:34] + f[47:50], []).append((int.from_bytes(f[51:54], "big"), f[15] >> 2))
    assert len(of_pair) == 4
    for sent in of_pair.values():
        first = sent[0][0]
        numbers = [(psn - first) % 2**24 for psn, _ in sent]
        for number, (_, dscp) in zip(numbers, sent):
            assert dscp in (PRIMARY, level_of(max(numbers) - number)), number


def expect_lower_levels_alone_are_dropped(folder: Path, outcome: RunOutcome, knows: bool) -> None:
    """At the second switch alone more arrives than leaves: what it drops is of RC3's lower levels, and nothing of TCP's class, h1's or that of others. Of one that takes all levels for TCP's nothing gives way."""
    first, second = (dscps(frames, True) for frames in captured(folder, outcome))
    # The first one has seen each frame of h1's come and go; the second one has seen those go that it did not drop.
    dropped = {dscp: first[dscp] - second[dscp] for dscp in (PRIMARY, *LOWER)}
    displaced = sum(port["drops_displaced"] for port in outcome.port_counters.values())
    others = 5_860  # packets of h3's, each once in and once out
    if knows:
        assert dropped[PRIMARY] == 0 and dropped[8] + dropped[0] > 500
        assert displaced == sum(dropped.values()) and second[24] == 2 * others
    else:
        assert displaced == 0 and sum(dropped.values()) > 500
