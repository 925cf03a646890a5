"""What `import rocelab` offers scripts and notebooks: docs/tutorial/python.md has the examples, here are the promises."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
import rocelab
import small_sweep
import synthetic
from rocelab import columns, display, results
from rocelab.document import overrides_of, seeds_override
from rocelab.model import SCENARIO_FILE

ROOT = Path(__file__).resolve().parents[2]
QUICK = ROOT / "scenarios" / "quick.toml"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> rocelab.Result:
    return rocelab.run(QUICK, seeds=[1, 2], out=tmp_path_factory.mktemp("out"))


# --- what is run -------------------------------------------------------------------------------------------------------


def test_texts_and_paths_and_scenarios_are_taken_alike(tmp_path: Path) -> None:
    chosen: dict[str, Any] = {"set": {"transport": "irn"}}
    hashes = {
        rocelab.run(what, out=out, **chosen).runs["trace_hash"][0]
        for what, out in (
            (str(QUICK), str(tmp_path / "a")),
            (QUICK, tmp_path / "b"),
            (rocelab.Scenario.load(QUICK), tmp_path / "c"),
        )
    }
    assert len(hashes) == 1
    assert all((tmp_path / name / "report.html").exists() for name in "abc")


def test_values_of_set_are_those_of_the_command_line(tmp_path: Path) -> None:
    changes = {
        "a.text": 'say "x"=1 \\ µ',
        "a.flag": True,
        "a.count": np.int64(3),
        "a.share": np.float64(0.25),
        "a.list": ("x", 2),
        "a.array": np.array([1, 2]),
        "a.table": {"k": [0.5]},
        "a.file": tmp_path / "x.cdf",
    }
    texts = overrides_of(changes)
    read = tomllib.loads("\n".join(texts))["a"]
    assert read == {
        "text": 'say "x"=1 \\ µ',
        "flag": True,
        "count": 3,
        "share": 0.25,
        "list": ["x", 2],
        "array": [1, 2],
        "table": {"k": [0.5]},
        "file": str(tmp_path / "x.cdf"),
    }
    assert [seeds_override(s) for s in (3, range(1, 3), np.int64(4))] == [
        "seeds=[3]",
        "seeds=[1, 2]",
        "seeds=[4]",
    ]
    for wrong in ({"a=b": 1}, {"a": None}, {3: 1}):
        with pytest.raises(rocelab.RocelabError, match="set: "):
            overrides_of(wrong)  # type: ignore[arg-type]


def test_a_mistake_has_its_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(QUICK.read_text().replace("hosts = 3", "hosts = 0"))
    line = 1 + file.read_text().splitlines().index("hosts = 0")
    with pytest.raises(rocelab.ScenarioError) as caught:
        rocelab.run(file)
    e = caught.value
    assert (e.file, e.line, e.column) == (str(file), line, 9)
    assert str(e) == f"{file}:{line}:9: {e.reason}" and "outside 1.." in e.reason
    with pytest.raises(rocelab.ScenarioError, match="did you mean") as caught:
        rocelab.run(QUICK, set={"topology.rat": "1Gb/s"})
    assert caught.value.line is None


def test_the_live_engine_asks_for_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocelab.privileges.is_root", lambda: False)
    with pytest.raises(rocelab.RocelabError, match="needs root"):
        rocelab.run(QUICK, "live")
    with pytest.raises(rocelab.RocelabError, match="needs root"):
        rocelab.up(QUICK)


def test_a_run_that_breaks_off_is_a_warning_and_shows(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="quick is not complete: roce, seed 1: not finished after"):
        broken = rocelab.run(QUICK, set={"engine.limit": "10us"}, out=tmp_path)
    assert not broken.complete and "NOT COMPLETE" in repr(broken) and "Not complete" in broken._repr_html_()
    with pytest.warns(UserWarning, match="is not complete"):
        swept = rocelab.run_sweep(QUICK, set={"engine.limit": "10us"}, out=tmp_path / "sweep")
    assert not swept.complete and len(swept.errors()) == 4


# --- what comes out ----------------------------------------------------------------------------------------------------


def test_every_column_of_every_frame_is_documented(result: rocelab.Result) -> None:
    frames = {
        "runs": result.runs,
        "flows": result.flows,
        "samples": result.samples,
        "events": result.events(),
        "counters": result.counters,
        "link_bytes": result.link_bytes,
    }
    assert set(frames) == set(columns.COLUMNS)
    for name, frame in frames.items():
        assert len(frame) > 0
        assert set(frame.columns) == set(result.columns(name).index), name
        assert (result.columns(name)["meaning"] != "").all()
    with pytest.raises(rocelab.RocelabError, match="no frame flow: there are runs, flows"):
        result.columns("flow")


def test_the_table_has_the_means_in_the_units_of_its_headings(result: rocelab.Result) -> None:
    mean = result.runs.groupby("label")["rct_s"].mean()
    for label in mean.index:
        assert result.table["completion (ms)"][label] == pytest.approx(mean[label] * 1e3)


def test_a_result_is_shown_in_one_line_and_in_a_notebook_as_a_table(result: rocelab.Result) -> None:
    assert (
        repr(result) == f"<rocelab.Result quick: 8 runs of 4 labels, engine des, complete; {result.folder}>"
    )
    assert result._repr_html_().count("<tr>") > 5 and "roce+pfc" in result._repr_html_()
    assert len(repr(result.plot.fct_cdf())) < 100 and len(repr(result.scenario)) < 100


def test_pictures_are_saved_and_leave_the_settings_of_a_user_alone(
    result: rocelab.Result, tmp_path: Path
) -> None:
    before, backend = dict(matplotlib.rcParams), matplotlib.get_backend()
    plot = result.plot
    for chart in (
        plot.fct_cdf(),
        plot.completion(),
        plot.over_time(),
        plot.rates(),
        plot.losses("irn"),
        plot.topology(),
    ):
        assert chart.svg.startswith("<svg") and chart._repr_html_().count("<svg") == 1
    for ending in ("svg", "pdf", "png"):
        assert plot.queue("irn", 2).save(tmp_path / f"q.{ending}").stat().st_size > 1000
    assert dict(matplotlib.rcParams) == before and matplotlib.get_backend() == backend
    with pytest.raises(rocelab.RocelabError, match="no run of label irm, seed None: there are labels roce"):
        plot.queue("irm")
    with pytest.raises(rocelab.RocelabError, match="different flow sizes"):
        plot.slowdown_by_size()


# --- scenarios ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["incast", "fattree_poisson", "classes", "link_failure", "rocc/fairness"])
def test_a_written_scenario_is_the_same_scenario(name: str, tmp_path: Path) -> None:
    """Also one that extends another and names files."""
    scenario = rocelab.Scenario.load(ROOT / "scenarios" / f"{name}.toml").with_set({"nic.vfs": 3})
    (tmp_path / "written.toml").write_text(scenario.to_toml())
    again = rocelab.Scenario.load(tmp_path / "written.toml")
    assert (again.name, again.title, again.labels, again.seeds) == (
        scenario.name,
        scenario.title,
        scenario.labels,
        scenario.seeds,
    )
    for a, b in zip(scenario.native.settings, again.native.settings, strict=True):
        ours, theirs = dict(a["parameters"]), dict(b["parameters"])
        assert ours["nic.vfs"] == "3"
        named = {key for key in ours if key.endswith((".cdf", ".file"))}
        assert {k: v for k, v in ours.items() if k not in named} == {
            k: v for k, v in theirs.items() if k not in named
        }
        assert [Path(f).resolve() for f in a["files"]] == [Path(f).resolve() for f in b["files"]]


def test_with_set_makes_another_scenario() -> None:
    base = rocelab.Scenario.load(QUICK)
    faster = base.with_set({"topology.rate": "100Gb/s"}).with_set({"seeds": [7]})
    assert base.seeds == (1,) and faster.seeds == (7,)
    assert dict(faster.native.settings[0]["parameters"])["topology.rate"] == '"100Gbps"'
    assert faster.with_set({"topology.rate": "25Gb/s"}).overrides[-1] == 'topology.rate="25Gb/s"'


def test_keys_that_a_label_sets_cannot_be_written_into_a_file(tmp_path: Path) -> None:
    text = QUICK.read_text() + '\n[[case]]\nname = "fast"\nset.topology.rate = "100Gb/s"\n'
    (tmp_path / "cases.toml").write_text(text)
    scenario = rocelab.Scenario.load(tmp_path / "cases.toml", set={"topology.rate": "10Gb/s"})
    assert dict(scenario.native.settings[0]["parameters"])["topology.rate"] == '"10Gbps"'
    with pytest.raises(rocelab.RocelabError, match="a label, case or axis sets topology.rate, too"):
        scenario.to_toml()


def test_a_scenario_of_a_dictionary_is_that_of_its_file(tmp_path: Path) -> None:
    file = small_sweep.write(tmp_path)
    data = tomllib.loads(file.read_text())
    made = rocelab.Scenario.from_dict({**data, "name": "small"}, folder=tmp_path)
    hashes = [
        list(rocelab.run(what, out=tmp_path / str(i)).runs["trace_hash"])
        for i, what in enumerate((file, made))
    ]
    assert hashes[0] == hashes[1] and len(set(hashes[0])) == 4
    kept = tmp_path / "1" / SCENARIO_FILE
    assert rocelab.Scenario.load(kept).name == "small"
    assert not (tmp_path / "0" / SCENARIO_FILE).exists()
    with pytest.raises(rocelab.ScenarioError, match="did you mean"):
        rocelab.Scenario.from_dict({**data, "topologi": {}})
    with pytest.raises(rocelab.RocelabError, match="cannot be written as TOML"):
        rocelab.Scenario.from_dict({**data, "seeds": None})


# --- sweeps ------------------------------------------------------------------------------------------------------------


def test_a_sweep_has_the_flows_of_its_runs_and_is_not_run_again(tmp_path: Path) -> None:
    file = small_sweep.write(tmp_path)
    swept = rocelab.run_sweep(file, axes={"workload.poisson.load": [0.3, 0.5]}, out=tmp_path / "out", jobs=2)
    assert swept.complete and list(swept.table.index) == [
        f"{label},load={load}" for label in ("irn", "roce+pfc") for load in (0.3, 0.5)
    ]
    alone = rocelab.run(file, set={"workload.poisson.load": 0.5}, seeds=1, out=tmp_path / "alone")
    ours = swept.flows.query("label == 'irn,load=0.5' and seed == 1").reset_index(drop=True)
    theirs = alone.flows.query("label == 'irn'").reset_index(drop=True)
    shared = [c for c in ours.columns if c in theirs.columns and c not in ("run", "label")]
    assert len(shared) > 12
    pd.testing.assert_frame_equal(ours[shared], theirs[shared], check_dtype=False)
    again = rocelab.run_sweep(file, axes={"workload.poisson.load": [0.3, 0.5]}, out=tmp_path / "out")
    assert again.outcome.reused == 8 and again.summary == swept.summary
    assert swept.plot.fct_cdf().svg.startswith("<svg")


def test_a_sweep_of_a_scenario_without_a_file_writes_one(tmp_path: Path) -> None:
    data = tomllib.loads(small_sweep.write(tmp_path).read_text())
    made = rocelab.Scenario.from_dict(data, folder=tmp_path)
    swept = rocelab.run_sweep(made, seeds=[3], out=tmp_path / "out")
    assert swept.complete and set(swept.runs["seed"]) == {3}
    assert rocelab.Scenario.load(tmp_path / "out" / SCENARIO_FILE).labels == made.labels


# --- progress ----------------------------------------------------------------------------------------------------------


def test_progress_is_silent_unless_somebody_looks(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rocelab.run(QUICK, out=tmp_path)
    assert capfd.readouterr() == ("", "")
    rocelab.run(QUICK, out=tmp_path, progress=True)
    assert "irn+pfc      seed 1" in capfd.readouterr().err


def test_a_notebook_shows_a_bar_that_is_gone_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shown: list[str] = []
    handle = SimpleNamespace(update=shown.append)
    module = SimpleNamespace(HTML=str, display=lambda what, display_id: handle)
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=module))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    assert display.in_notebook()
    rocelab.run(QUICK, out=tmp_path)
    assert any("0/4 runs" in text for text in shown) and any("4/4 runs" in text for text in shown)
    assert all("<progress" in text for text in shown[:-1]) and shown[-1] == ""
    shell = SimpleNamespace()  # IPython in a terminal
    assert not display.in_notebook()


def test_a_bar_is_redrawn_ten_times_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(display, "time", SimpleNamespace(monotonic=lambda: now[0]))
    pace = display._Pace()
    assert [pace.is_due(0), pace.is_due(0), pace.is_due(1)] == [True, False, True]
    now[0] += 0.11
    assert pace.is_due(1)


def test_results_of_outcomes_that_lack_everything_are_shown(tmp_path: Path) -> None:
    """Of a run that has ended before it began."""
    from rocelab.model import RunOutcome

    broken = results.run(
        QUICK, out=tmp_path, execute=lambda plan: RunOutcome(plan, error="ovs-vswitchd ended")
    )
    assert "ovs-vswitchd ended" in repr(broken) and broken.table.isna().all(axis=None)
    assert broken._repr_html_() and broken.events().empty
    whole = results.run(QUICK, out=tmp_path, execute=synthetic.outcome)
    assert whole.plot.over_time(seed=1).svg.startswith("<svg")
