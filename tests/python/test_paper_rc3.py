"""The RC3 chapter: its numbers, its model, the setting's arithmetic, and the baseline in its fast variant."""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from first_seed import measured
from rocelab.paper import harness, rc3_flows, rc3_model, rc3_paths
from rocelab.papers import rc3
from rocelab.papers.rc3 import PAPER
from rocelab.scenario import plan_of, read_scenario
from test_paper_ups import path

FOLDER = harness.SCENARIOS / "rc3"
_CORE = range(100, 110)  # nodes of the file


def test_every_scenario_of_the_folder_belongs_to_an_experiment() -> None:
    files = {f.stem for f in FOLDER.glob("*.toml")} - {"base"}
    assert files == {e.name for e in PAPER.experiments}


def test_every_number_of_the_chapter_belongs_to_a_run() -> None:
    with rc3.FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    labels = {e.name: read_scenario(e.file).labels for e in PAPER.experiments}
    for row in rows:
        assert row["label"] in labels[row["experiment"]], row
        assert row["quantity"] in rc3.NAMES | rc3.REDUCED
    assert len(rows) == 14


# The authors' values of figure 2.7, by bytes: 1 Gb/s, 40 ms, 30 % load.
_AUTHORS = {
    1_460: 0.0,
    2_920: 0.0,
    4_380: 0.0,
    7_300: 39.937,
    10_220: 39.924,
    58_400: 66.336,
    105_120: 72.203,
    200_020: 76.049,
    389_820: 78.501,
    1_733_020: 79.018,
    3_076_220: 77.175,
}


def test_the_model_is_the_authors() -> None:
    for size, reduction in _AUTHORS.items():
        assert rc3_model.reduction(size // 1460) == pytest.approx(reduction, abs=0.02), size


def test_the_core_links_are_as_wide_as_the_pairs_that_are_routed_over_them() -> None:
    """Of ten hosts each, 741.678 Mb/s: 1 Gb/s of the chapter's."""
    links = {}
    for line in (FOLDER / "internet2.txt").read_text().splitlines()[2:]:
        a, b, rate, delay, _ = line.split()
        if int(a) in _CORE:
            links[int(a), int(b)] = float(rate.removesuffix("Mbps"))
            assert delay == "10ms"
        else:
            assert (int(b), rate, delay) == (100 + int(a) // 10, "741.678Mbps", "1ms")
    pairs: Counter[tuple[int, int]] = Counter()
    for a, b in itertools.permutations(_CORE, 2):
        way = path(links, a, b, _CORE)
        pairs.update(zip(way, way[1:]))
    for (a, b), rate in links.items():
        assert rate == pytest.approx(pairs[a, b] * 741.678 * 10 / 9, abs=0.1)


@pytest.mark.parametrize(
    ("experiment", "label", "duration", "rate"),
    [
        ("table2.1", "rc3", "20ms", 741.678e6),
        ("rttbw", "rc3,400ms-100M", "200ms", 74.1678e6),
        ("datacenter", "rc3", "100us", 100e9),
    ],
)
def test_round_trips_are_those_of_the_plan(experiment: str, label: str, duration: str, rate: float) -> None:
    """What a flow takes alone is half a round trip, its packets on the first link, and the last one on each other link."""
    read = read_scenario(FOLDER / f"{experiment}.toml", (f"workload.flows.duration={duration}",))
    plan = plan_of(read, label, 1)
    numbers = {h.name: i for i, h in enumerate(plan.hosts)}
    flows = {
        "src": np.array([numbers[f.src] for f in plan.flows]),
        "dst": np.array([numbers[f.dst] for f in plan.flows]),
        "host_names": np.array(list(numbers)),
    }
    assert len(plan.flows) > 20
    packet = 1114 * 8 / rate
    for flow, rtt in zip(plan.flows, rc3_paths.round_trips(experiment, label, flows)):
        on_other_links = flow.alone_ps / 1e12 - rtt / 2 - flow.packets * packet
        assert 0 < on_other_links < 6 * packet


def test_the_baseline_is_the_chapters(tmp_path: Path) -> None:
    """One seed, flows that start within a second. TCP as measured by the authors; RC3 near the model for every size."""
    results = measured(PAPER, "table2.1", tmp_path, full=False)
    claims = {(c.text, c.source): c for c in PAPER.claims(results)}
    tcp = claims["iwarp: mean FCT", "table 2.1, Internet-2"].only
    assert tcp == pytest.approx(0.135, rel=0.08)
    by_size = rc3_flows.reductions_by_size(results, "table2.1")
    assert set(by_size) == set(rc3_flows.SIZES)
    for packets, reduction in by_size.items():
        assert -6 <= reduction - rc3_model.reduction(packets) <= 2, packets
    assert results.mean("table2.1", "iwarp", "low_priority_packets") == 0
    assert (results.mean("table2.1", "rc3", "low_priority_packets") or 0) > 100_000
    assert "</svg>" in rc3.figures(results)[0].svg and len(rc3.tables(results)) == 1
