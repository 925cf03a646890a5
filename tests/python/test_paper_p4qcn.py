"""The P4QCN paper: its numbers, its scenarios, and what the testbed's arithmetic says of them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from first_seed import measured
from rocelab.des.engine import DesEngine
from rocelab.paper import harness
from rocelab.papers import p4qcn
from rocelab.papers.p4qcn import BACKGROUND, PAPER, THRESHOLDS, label
from rocelab.scenario import make_plans, read_scenario
from rocelab.summary import run_summary

FOLDER = harness.SCENARIOS / "p4qcn"


def test_every_scenario_of_the_folder_belongs_to_an_experiment() -> None:
    files = {f.stem for f in FOLDER.glob("*.toml")} - {"base"}
    assert files == {e.name for e in PAPER.experiments}


def test_every_number_of_the_paper_belongs_to_a_run() -> None:
    with p4qcn.FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    labels = {e.name: read_scenario(e.file).labels for e in PAPER.experiments}
    assert len(rows) == 17
    for row in rows:
        assert row["case"] in labels[row["experiment"]], row
        assert row["quantity"] in p4qcn.NAMES
    assert sum(float(r["number"]) == 0 for r in rows) == 16  # figures 14b and 15: lossless


def test_labels_have_the_backgrounds_and_thresholds_of_the_claims() -> None:
    labels = read_scenario(FOLDER / "udp_tcp.toml").labels
    assert set(labels) == {label(s, r) for s in ("udp", "p4qcn", "tcp") for r in BACKGROUND}
    settings = {
        s["label"]: dict(s["parameters"]) for s in read_scenario(FOLDER / "thresholds.toml").native.settings
    }
    frame = 1086
    for n in THRESHOLDS:
        assert settings[f"p4qcn,{n}"]["switch.p4qcn.frames_max"] == str(n)
        assert settings[f"pfc,{n}"]["switch.pfc.xoff"] == f'"{n * frame}B"'
    base = dict(read_scenario(FOLDER / "pfc.toml").native.settings[0]["parameters"])
    assert base["switch.pfc.xoff"] == base["switch.lossy_buffer"] == f'"{14 * frame}B"'  # Q_PFC


def test_without_congestion_all_schemes_run_alike() -> None:
    change = [
        "axes={}",
        "seeds=[1]",
        'transport=["udp", "p4qcn", "p4qcn3", "p4qcn+pfc", "pfc"]',
        "engine.limit=3s",
    ]
    stop = [f"workload.{group}.stop=2s" for group in ("flow", "background")] + [
        "workload.background.rate=2Mb/s"
    ]
    plans = make_plans(read_scenario(FOLDER / "base.toml", [*change, *stop]))
    runs = [run_summary(DesEngine(events=False).execute(plan)) for plan in plans]
    assert len(runs) == 5 and len({run["trace_hash"] for run in runs}) == 1
    assert runs[0]["cnps"] == runs[0]["pfc_pause_frames"] == runs[0]["drops"] == 0 < runs[0]["events"]


def test_udp_loses_what_is_beyond_the_link_and_pfc_nothing(tmp_path: Path) -> None:
    v = measured(PAPER, "udp_tcp", tmp_path, label("udp", 5), label("udp", 4)).values("udp_tcp")
    for rate in (4, 5):
        assert v[label("udp", rate), "loss"] == pytest.approx(p4qcn.expected_loss(rate), abs=0.3)
    assert p4qcn.expected_loss(5) == pytest.approx(28.3, abs=0.1) and p4qcn.expected_loss(2) == 0
    v = measured(PAPER, "pfc", tmp_path, label("pfc", 5)).values("pfc")
    assert v[label("pfc", 5), "loss"] == 0 < (v[label("pfc", 5), "xoff"] or 0)


def test_a_sources_gaps_are_the_laws(tmp_path: Path) -> None:
    claims = PAPER.claims(measured(PAPER, "behaviour", tmp_path))
    assert len(claims) == 3 and all(c.holds for c in claims), [(c.text, dict(c.ours)) for c in claims]
