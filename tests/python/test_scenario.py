"""Scenarios as Python sees them: frozen plans, and mistakes as one line that names the place."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from rocelab import native, results
from rocelab.errors import RocelabError, UsageError
from rocelab.labels import read_label
from rocelab.model import TRACE_DTYPE
from rocelab.scenario import make_plans, parse_scenario, plan_of, print_warnings, read_scenario

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


def test_plans_come_label_by_label_with_all_seeds() -> None:
    scenario = read_scenario(SCENARIOS / "incast.toml")
    plans = make_plans(scenario)
    assert [(p.label, p.seed) for p in plans] == [
        (label, s) for label in scenario.labels for s in scenario.seeds
    ]
    assert {p.expected_participants for p in plans} == {9}
    assert [p.name for p in plans][0] == "roce-seed1"
    with pytest.raises(dataclasses.FrozenInstanceError):
        plans[0].seed = 7  # type: ignore[misc]


def test_ports_name_hosts_or_each_other() -> None:
    plan = make_plans(read_scenario(SCENARIOS / "incast_crosstraffic.toml"))[0]
    by_name = {p.interface: p for p in plan.ports}
    for port in plan.ports:
        if port.peer_is_host:
            host = next(h for h in plan.hosts if h.name == port.peer)
            assert plan.ports[host.port] is port
        else:
            assert by_name[port.peer].peer == port.interface
    assert sum(not p.peer_is_host for p in plan.ports) == 2
    assert all(plan.ports[i].switch == s.name for s in plan.switches for i in s.ports)


def test_suspicious_settings_are_warnings_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    file = SCENARIOS / "incast.toml"
    fine = read_scenario(file, ["switch.lossless_classes=[3, 4]"])
    assert fine.warnings == ()
    scenario = read_scenario(file, ["switch.lossless_classes=[4]"])
    (warning,) = scenario.warnings  # of four labels, two of which have PFC
    assert warning.startswith(
        "--set switch.lossless_classes=[4]: class 3 (DSCP 26), of programs that set no traffic class"
    )
    assert make_plans(scenario)  # it runs all the same
    print_warnings(scenario)
    assert capsys.readouterr().err == f"rocelab: warning: {warning}\n"


def test_lossless_limits_fill_the_buffer_exactly() -> None:
    plans = {p.label: p for p in make_plans(read_scenario(SCENARIOS / "incast.toml", ["seeds=1"]))}
    for port in plans["roce+pfc"].ports:
        assert port.xoff + port.headroom == port.buffer == 240_000
    assert all(p.buffer == 0 for p in plans["roce"].ports)


def test_mistakes_are_one_line_with_the_place(tmp_path: Path) -> None:
    text = (SCENARIOS / "incast.toml").read_text().replace('rate = "40Gb/s"', "rate = 40")
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(
        RocelabError, match=r"mine\.toml:\d+:\d+: topology\.rate has no unit: write .*40Gb/s"
    ) as error:
        read_scenario(tmp_path / "mine.toml")
    assert "\n" not in str(error.value)
    with pytest.raises(RocelabError, match="--set topology.rat=1Gb/s: unknown key .*did you mean"):
        read_scenario(SCENARIOS / "incast.toml", ["topology.rat=1Gb/s"])
    with pytest.raises(RocelabError, match="write it as key=value"):
        read_scenario(SCENARIOS / "incast.toml", ["topology.rate"])
    with pytest.raises(RocelabError, match="cannot be read"):
        read_scenario(tmp_path / "none.toml")


def test_a_comparison_of_an_unknown_metric_is_refused_before_anything_runs(tmp_path: Path) -> None:
    compare = '\n[[compare]]\nof = "irn"\nover = "roce"\nmetric = "avg_ftc_s"\n'
    (tmp_path / "mine.toml").write_text((SCENARIOS / "quick.toml").read_text() + compare)
    with pytest.raises(RocelabError, match=r"mine.toml: .* metric avg_ftc_s; did you mean avg_fct_s\?"):
        read_scenario(tmp_path / "mine.toml")


def test_words_that_are_no_text_are_one_line(tmp_path: Path) -> None:
    for path, override in (
        (SCENARIOS / "incast.toml", "topology.delay=\udcff"),
        (tmp_path / "\udcff.toml", ""),
    ):
        with pytest.raises(RocelabError, match="\ufffd.*: is not valid UTF-8") as error:
            read_scenario(path, [override] if override else [])
        assert "\n" not in str(error.value)


def test_ping_pong_formula_is_four_serialisations_and_four_delays() -> None:
    plan = make_plans(read_scenario(SCENARIOS / "pingpong.toml"))[0]
    frame_ps = (14 + 20 + 8 + 12 + 64 + 4 + 24) * 200  # SEND ONLY of 64 bytes at 40 Gb/s
    assert plan.native.ping_pong_ps("h1", "h2", 64) == 4 * frame_ps + 4 * 2_000_000


def test_event_records_have_the_layout_of_the_cpp_struct() -> None:
    runner = native.module()
    assert TRACE_DTYPE.itemsize == runner.TRACE_RECORD_SIZE
    assert TRACE_DTYPE.fields is not None
    assert {name: field[1] for name, field in TRACE_DTYPE.fields.items()} == runner.TRACE_RECORD_OFFSETS


def test_segment_holds_the_plan(tmp_path: Path) -> None:
    plan = make_plans(read_scenario(SCENARIOS / "quick.toml"))[0]
    segment = native.module().create_segment(plan.native, str(tmp_path / "segment"), "run-1")
    assert (segment.run_id, segment.state, segment.now_ps, segment.error) == ("run-1", "setup", 0, "")
    assert [v["host"] for v in segment.vfs] == ["h1", "h1", "h2", "h2", "h3", "h3"]
    assert [p["interface"] for p in segment.ports] == [p.interface for p in plan.ports]
    assert all(v["state"] == "free" and len(v["digest"]) == 32 for v in segment.vfs)
    with pytest.raises(RuntimeError):
        native.module().create_segment(plan.native, str(tmp_path / "segment"), "run-1")
    assert native.module().open_segment(str(tmp_path / "segment")).run_id == "run-1"


def test_starts_are_the_same_for_all_labels_of_a_seed() -> None:
    plans = make_plans(read_scenario(SCENARIOS / "incast.toml"))
    starts = {(p.label, p.seed): tuple(f.start_ps for f in p.flows) for p in plans}
    for seed in (1, 2, 3, 4, 5):
        assert len({starts[p.label, seed] for p in plans}) == 1
    assert len({starts["irn", seed] for seed in (1, 2, 3, 4, 5)}) == 5
    assert all(0 <= t < 1_000_000 for t in np.concatenate(list(starts.values())))


def test_any_transport_may_be_asked_for_though_the_scenario_does_not_name_it() -> None:
    path = SCENARIOS / "pingpong.toml"
    assert read_label(path, (), None).labels == read_label(path, (), "irn").labels == ("roce", "irn")
    for label, mode, pfc in (
        ("roce+pfc", "roce", True),
        ("irn+dcqcn", "irn", False),
        ("iwarp", "irn", False),
    ):
        scenario = read_label(path, ("topology.hosts=3",), label)
        assert scenario.labels == (label,)
        plan = plan_of(scenario, label, scenario.seeds[0])
        assert (plan.mode, plan.pfc, len(plan.hosts)) == (mode, pfc, 3)


def test_a_label_behind_cases_and_axes_may_have_any_transport(tmp_path: Path) -> None:
    text = (SCENARIOS / "pingpong.toml").read_text()
    axes = '\n[axes]\n"topology.rate" = ["40Gb/s", "100Gb/s"]\n[[label]]\nname = "mine"\nmode = "irn"\npfc = true\n'
    (tmp_path / "axes.toml").write_text(text + axes)
    assert "irn+pfc,rate=100Gb_s" in read_label(tmp_path / "axes.toml", (), "irn+pfc,rate=100Gb_s").labels
    assert "mine,rate=40Gb_s" in read_label(tmp_path / "axes.toml", (), "mine,rate=40Gb_s").labels
    with pytest.raises(
        UsageError,
        match=r"no label irn\+pfc; did you mean irn\+pfc,rate=40Gb_s\? It has irn\+pfc,rate=40Gb_s, irn\+pfc,rate=100Gb_s$",
    ):
        read_label(tmp_path / "axes.toml", (), "irn+pfc")


def test_a_label_that_there_is_not_is_answered_with_those_that_there_are() -> None:
    file = SCENARIOS / "pingpong.toml"
    with pytest.raises(UsageError) as error:
        read_label(file, (), "roce+pcf")
    said = str(error.value)
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if text.startswith("transport"))
    assert said == f"{file}:{line}: no label roce+pcf; did you mean roce+pfc? It has roce, irn"
    with pytest.raises(UsageError) as error:
        read_label(file, (), "xyz")
    said = str(error.value)
    assert said.startswith(
        f"{file}:{line}: no label xyz; It has roce, irn; other transports that may be named"
    )
    for other in ("roce+pfc", "irn+pfc", "irn+dcqcn", "iwarp"):
        assert f" {other}," in said or said.endswith(f" {other}")
    assert "\n" not in said


STAR = """transport = ["irn"]
[topology]
kind = "star"
hosts = 4
[[workload]]
name = "x"
kind = "incast"
receiver = "h1"
size = "3KB"
"""


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("transport =", "tranport =", '1:1: unknown key "tranport"; did you mean "transport"?'),
        ("[topology]", "[toplogy]", '2:2: unknown key "toplogy"; did you mean "topology"?'),
        ("hosts =", "host =", '4:1: unknown key "topology.host"; did you mean "hosts"?'),
        ("[[workload]]", "[[workloads]]", '5:3: unknown key "workloads"; did you mean "workload"?'),
        ('kind = "incast"', 'knid = "incast"', '7:1: unknown key "workload.x.knid"; did you mean "kind"?'),
        ("receiver =", "reciever =", '8:1: unknown key "workload.x.reciever"; did you mean "receiver"?'),
        ("size =", "sise =", '9:1: unknown key "workload.x.sise"; did you mean "size"?'),
        ("\n[topology]", '\n[[label]]\nname = "m"\nmod = "irn"\npfc = true\n[topology]', '"label.m.mod"; did you mean "mode"?'),
        ("\n[topology]", '\n[[case]]\nnaem = "m"\n[topology]', '"case.0.naem"; did you mean "name"?'),
        ("\n[topology]", '\n[[compare]]\noff = "irn"\nover = "irn"\n[topology]', '"compare.0.off"; did you mean "of"?'),
    ],
)  # fmt: skip
def test_a_misspelt_key_is_reported_before_the_key_that_is_therefore_missing(
    right: str, wrong: str, said: str
) -> None:
    assert parse_scenario(STAR, "s.toml").labels == ("irn",)
    with pytest.raises(RocelabError) as error:
        make_plans(parse_scenario(STAR.replace(right, wrong, 1), "s.toml"))
    assert str(error.value).startswith("s.toml:") and said in str(error.value)
    assert "needs the key" not in str(error.value)


def test_an_override_of_a_workload_that_there_is_not_names_those_that_there_are() -> None:
    for key, said in (
        ("workload.incsat.size", 'did you mean "incast"?'),
        ("workload.y.size", 'it has "incast"'),
    ):
        with pytest.raises(RocelabError, match=f"names no entry .*{said.replace('?', '.')}"):
            read_scenario(SCENARIOS / "quick.toml", (f"{key}=3KB",))


def test_labels_of_an_extended_file_are_named_by_its_line(tmp_path: Path) -> None:
    base = (SCENARIOS / "pingpong.toml").read_text()
    line = next(n for n, text in enumerate(base.splitlines(), 1) if text.startswith("transport"))
    (tmp_path / "base.toml").write_text(base)
    (tmp_path / "more.toml").write_text('extends = "base.toml"\n[topology]\nrate = "25Gb/s"\n')
    with pytest.raises(UsageError) as error:
        read_label(tmp_path / "more.toml", (), "iirn")
    assert str(error.value).startswith(f"{tmp_path}/base.toml:{line}: no label iirn; did you mean irn? ")
    with pytest.raises(UsageError) as error:
        read_label(tmp_path / "more.toml", (), "xyz")
    assert f"{line}: no label xyz; It has roce, irn; other" in str(error.value), "nothing is near"


def test_one_label_alone_is_run_with_its_case_and_its_axis(tmp_path: Path) -> None:
    text = (SCENARIOS / "quick.toml").read_text()
    (tmp_path / "axes.toml").write_text(text + '\n[axes]\n"topology.rate" = ["40Gb/s", "100Gb/s"]\n')
    label = "irn,rate=100Gb_s"
    scenario = read_label(tmp_path / "axes.toml", ("seeds=[1, 2]",), label)
    result = results.run(scenario, "des", out=tmp_path / "out", label=label)
    assert result.complete and [(o.plan.label, o.plan.seed) for o in result.outcomes] == [
        (label, 1),
        (label, 2),
    ]
    report = (tmp_path / "out/report.html").read_text()
    assert f"--label {label}" in report
    whole = results.run(tmp_path / "axes.toml", "des", overrides=("seeds=[1]",), out=tmp_path / "whole")
    (same,) = [o for o in whole.outcomes if o.plan.label == label]
    assert same.node_digests == result.outcomes[0].node_digests
