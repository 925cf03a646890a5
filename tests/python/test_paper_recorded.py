"""Runs that are kept as a table: what `./rocelab paper` writes is what --recorded judges, and what results/measured has is what rocelab still computes."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from rocelab import cli_sweeps
from rocelab.errors import RocelabError, UsageError
from rocelab.paper import harness, irn_trace, markdown, recorded
from rocelab.papers import irn
from rocelab.sweep.points import points_of
from rocelab.sweep.work import execute

HEAD = "experiment,label,seed,trace_hash,avg_fct_s\n"


def small() -> harness.Paper:
    """Table 4.2 with a few flows on 16 hosts."""
    (table,) = [e for e in irn.EXPERIMENTS if e.name == "table4.2"]
    short = ("topology.arity=4", "workload.poisson.flows=60", "engine.warmup=0us")
    return dataclasses.replace(
        irn.PAPER, experiments=(dataclasses.replace(table, fast=short, fast_seeds=(1, 2)),)
    )


def report(folder: Path, stem: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{stem}.json").read_text())
    return found


def test_a_recorded_report_is_that_of_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(irn, "PAPER", small())
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    assert harness.run("irn", False, None, None, 2, tmp_path) == 0
    (tmp_path / "report.csv").rename(tmp_path / "irn_full.csv")
    assert recorded.run("irn", None, tmp_path) == 0
    made, kept = report(tmp_path, "report"), report(tmp_path, "report-recorded")
    assert made["tables"] and made["claims"] and kept["variant"] == "full"
    assert kept["tables"] == made["tables"] and kept["claims"] == made["claims"]
    with (tmp_path / "irn_full.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 1 + 36 * 2 and {len(row) for row in rows} == {len(rows[0])}
    assert len({row[3] for row in rows[1:]}) > 36, "a trace for each run; PFC that never acts changes none"
    assert "Table 4.2" in capsys.readouterr().out
    with pytest.raises(UsageError, match="did you mean table4.2"):
        recorded.run("irn", "table42", tmp_path)


def test_one_seed_that_is_missing_costs_only_its_interval(tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text(f"{HEAD}table4.2,a,1,x,2\ntable4.2,a,2,y,4\ntable4.4,b,1,z,3\n")
    results = recorded.read(file)
    assert results.seeds == [1, 2] and results.mean("table4.2", "a", "avg_fct_s") == 3
    second = results.only(2)
    assert list(second.points) == ["table4.2", "table4.4"]
    assert second.mean("table4.2", "a", "avg_fct_s") == 4
    assert second.mean("table4.4", "b", "avg_fct_s") is None


def test_flows_and_metrics_that_are_not_recorded_count_as_not_run(tmp_path: Path) -> None:
    """Figures 4.8 and 4.9 need flows and request completion times: such rows cost their claims and pictures, not the report."""
    file = tmp_path / "some.csv"
    metrics = ",".join(irn.PAPER.metrics)
    head = f"{HEAD.partition(',avg_fct_s')[0]},{metrics}\n"
    row = ",1,x" + ",2" * len(irn.PAPER.metrics) + "\n"
    file.write_text(head + f"figure4.8,irn{row}figure4.8,roce+pfc{row}" + f'figure4.9,"irn,m=10"{row}')
    results = recorded.read(file)
    for part in (results, results.only(1)):
        assert part.fct("figure4.8", "irn") is None
        assert part.mean("figure4.9", "irn,m=10", "rct_s") is None
        assert part.mean("figure4.8", "irn", "avg_fct_s") == 2
    findings = harness.evaluate(irn.PAPER, results, full=True, failed=[])
    assert findings.claims and {claim.verdict for claim in findings.claims} == {"not run"}
    assert not findings.figures


def test_what_a_measure_found_is_not_recorded_and_not_run(tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text(f'{HEAD}authors_incast,"irn,rto_restart=any-ack",1,x,2\n')
    verdicts = {claim.verdict for claim in irn_trace.claims(recorded.read(file))}
    assert verdicts == {"not run"}


@pytest.mark.parametrize(
    "text, error",
    [
        ("", ":1: the columns are not experiment, label, seed, trace_hash and metrics"),
        ("experiment,label,seed,trace_hash\n", ":1: the columns are not"),
        (f"{HEAD}a,b,1,x\n", ":2: "),
        (f"{HEAD}a,b,1,x,fast\n", ":2: could not convert"),
        (f"{HEAD}a,b,one,x,1\n", ":2: invalid literal"),
        (f"{HEAD}a,b,1,x,1\na,b,1,y,2\n", ":3: a b, seed 1 is there twice"),
    ],
)
def test_a_file_that_is_something_else_is_refused_with_its_line(
    text: str, error: str, tmp_path: Path
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(RocelabError, match=f"bad.csv{error}"):
        recorded.read(file)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe")
    for name in ("none.csv", "bytes.csv"):
        with pytest.raises(RocelabError, match=name):
            recorded.read(tmp_path / name)
    with pytest.raises(UsageError, match="no runs of paper rocc are recorded .*irn.*leave --recorded out"):
        recorded.findings_of("rocc_full")


def test_tables_of_a_document_have_the_numbers_of_the_report() -> None:
    findings = recorded.findings_of("irn_full")
    head, rule, *rows = markdown.table(findings, "table4.2")
    assert head.startswith("|  | slowdown, no CC | mean FCT, ms, no CC |") and rule == "|---" * 10 + "|"
    (table,) = [t for t in findings.tables if t.on_terminal and t.experiment == "table4.2"]
    assert len(rows) == len(table.rows) == 12
    assert rows[6].startswith("| 0.7 IRN | ") and "(8.24)" in rows[6] and "±" in rows[6]
    assert any("\\|ours / paper - 1\\|" in line for line in markdown.claims(findings))
    with pytest.raises(RocelabError, match="there is no table table9"):
        markdown.table(findings, "table9")


def test_what_is_recorded_is_what_a_run_gives() -> None:
    """The shortest run of the recorded ones is made again. Its numbers may move by little when something is mended, its trace_hash at once."""
    label, seed = "roce+pfc+dcqcn,load=0.3", 1
    kept = recorded.read(recorded.FOLDER / "irn_full.csv").runs("table4.2", label)
    (table,) = [e for e in irn.EXPERIMENTS if e.name == "table4.2"]
    (point,) = [p for p in points_of(table.file, table.full, (seed,))[1] if p.label == label]
    again = execute(point).run
    assert kept is not None
    for metric in ("avg_slowdown", "avg_fct_s", "p99_fct_s"):
        assert again[metric] == pytest.approx(kept[seed - 1][metric], rel=0.05), metric


@pytest.mark.parametrize(
    "other", [{"where": "load=0.7"}, {"seeds": "1"}, {"sensitivity": True}, {"cluster": "tcp://x:1"}]
)
def test_what_chooses_runs_does_not_go_with_recorded(other: dict[str, Any]) -> None:
    chosen: dict[str, Any] = {"where": None, "seeds": None, "sensitivity": False, "cluster": None} | other
    with pytest.raises(UsageError, match="--recorded runs nothing: leave --where"):
        cli_sweeps.paper("irn", False, None, recorded=True, jobs=0, out=None, no_install=True, **chosen)
