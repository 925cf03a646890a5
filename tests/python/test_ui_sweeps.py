"""Sweeps as `./rocelab ui` shows them: which there are, how far each is, and means that are those of summary.json."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from rocelab.errors import RocelabError
from rocelab.sweep import command, index
from rocelab.ui.places import NoSuchPlace
from rocelab.ui.sweeps import Sweeps, axes_of, quantities, split_label
from small_sweep import write

AXES = "axes.workload.poisson.load=[0.3, 0.5]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sweeps")
    (root / "scenarios").mkdir()
    scenario = write(root / "scenarios")
    assert command.run_sweep(scenario, None, (AXES,), None, 2, root / "results/small") == 0
    return root


@pytest.fixture
def sweeps(folder: Path) -> Sweeps:
    return Sweeps(folder / "results", folder / "scenarios")


def test_a_sweep_is_listed_with_its_points(sweeps: Sweeps) -> None:
    (entry,) = sweeps.entries()
    assert (entry["name"], entry["points"], entry["finished"]) == ("small", 8, 8)
    assert not entry["running"] and entry["failures"] == 0


def test_means_and_intervals_are_those_of_the_summary(sweeps: Sweeps, folder: Path) -> None:
    found = sweeps.sweep("small")
    summary = json.loads((folder / "results/small/summary.json").read_text())
    aggregates = {(a["label"], a["metric"]): a for a in summary["aggregates"]}
    assert [a["name"] for a in found["axes"]] == ["load"] and found["axes"][0]["numbers"] == [0.3, 0.5]
    assert [(each["series"], each["axes"]) for each in found["labels"]] == [
        ("irn", {"load": "0.3"}),
        ("irn", {"load": "0.5"}),
        ("roce+pfc", {"load": "0.3"}),
        ("roce+pfc", {"load": "0.5"}),
    ]
    for each in found["labels"]:
        assert each["seeds"] == [1, 2] and each["planned"] == 2
        for metric in ("avg_fct_s", "avg_slowdown", "drops"):
            expected = aggregates[each["label"], metric]
            shown = each["metrics"][metric]
            assert (shown["mean"], shown["ci95"]) == (expected["mean"], expected["ci95"])
    assert "avg_slowdown" in {m["name"] for m in found["metrics"] if m["usual"]}


def test_a_cell_has_each_seed_and_the_times_of_its_flows(sweeps: Sweeps, folder: Path) -> None:
    cell = sweeps.cell("small", "irn,load=0.5")
    assert cell["path"] == "small.toml" and cell["overrides"][0] == AXES
    assert [seed["seed"] for seed in cell["seeds"]] == [1, 2]
    for seed in cell["seeds"]:
        with np.load(folder / f"results/small/points/{seed['key']}.flows.npz") as flows:
            fct = np.sort(flows["placed_ps"] - flows["posted_ps"]) / 1e12
        assert seed["cdf"]["fct_s"] == fct.tolist() and seed["cdf"]["share"][-1] == 1
        assert seed["trace_hash"]
    assert cell["parameters"]["workload.poisson.load"] == "0.5"
    with pytest.raises(RocelabError, match="no label roce"):
        sweeps.cell("small", "roce")
    with pytest.raises(NoSuchPlace):
        sweeps.sweep("../scenarios")


def test_a_sweep_under_way_has_the_points_that_are_finished(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "half/points").mkdir(parents=True)
    whole = json.loads((folder / "results/small" / index.FILE).read_text())
    (tmp_path / "half" / index.FILE).write_text(json.dumps(whole))
    finished = [p for p in whole["points"] if p["seed"] == 1 and p["label"].startswith("irn")]
    for point in finished:
        for name in (f"{point['key']}.json", f"{point['key']}.flows.npz"):
            source = folder / "results/small/points" / name
            (tmp_path / "half/points" / name).write_bytes(source.read_bytes())
    found = Sweeps(tmp_path, folder).sweep("half")
    assert (found["finished"], found["points"]) == (2, 8)
    assert [(each["seeds"], each["metrics"]["avg_fct_s"]["n"]) for each in found["labels"]] == [
        ([1], 1),
        ([1], 1),
        ([], 0),
        ([], 0),
    ]
    assert found["labels"][0]["metrics"]["avg_fct_s"]["ci95"] is None, "one seed has no interval"


def test_that_a_sweep_runs_is_seen_while_it_does(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait(*_: object) -> None:
        begun.set()
        assert go_on.wait(30)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run_points", wait)
    scenario = folder / "scenarios/small.toml"

    def sweep() -> None:
        with pytest.raises(KeyboardInterrupt):
            command.run_sweep(scenario, None, (), None, 1, tmp_path / "mine")

    thread = threading.Thread(target=sweep)
    thread.start()
    assert begun.wait(30)
    (entry,) = Sweeps(tmp_path, folder).entries()
    assert entry["running"] and (entry["finished"], entry["points"]) == (0, 4)
    go_on.set()
    thread.join()
    (entry,) = Sweeps(tmp_path, folder).entries()
    assert not entry["running"]


def test_a_damaged_index_is_left_out_of_the_list_and_a_line_when_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / index.FILE).write_text('{"points": [{"key": "../../x"}]}')
    assert Sweeps(tmp_path, tmp_path).entries() == []
    (tmp_path / "bad" / index.FILE).write_text("{")
    with pytest.raises(RocelabError, match="cannot be read"):
        Sweeps(tmp_path, tmp_path).sweep("bad")


def test_labels_are_split_into_series_and_axes() -> None:
    assert split_label("irn,fair,load=0.5,rate=5Mb_s", ["load", "rate"]) == (
        "irn,fair",
        {"load": "0.5", "rate": "5Mb_s"},
    )
    assert split_label("irn,a=b", ["load"]) == ("irn,a=b", {})
    (axis,) = axes_of(["x,rate=800Mb_s", "x,rate=5Gb_s", "y,rate=5Gb_s"])
    assert axis == {
        "name": "rate",
        "values": ["800Mb_s", "5Gb_s"],
        "numbers": [800, 5000],
        "unit": "Mb/s",
    }


@pytest.mark.parametrize(
    ("texts", "unit", "numbers"),
    [
        (["0.3", "0.5"], "", [0.3, 0.5]),
        (["120KB", "1MB"], "KB", [120, 1000]),
        (["10us", "2ms"], "us", [10, 2000]),
        (["10us", "2KB"], "", None),
        (["fifo", "lifo"], "", None),
        (["1e3", "2"], "", [1000, 2]),
        (["5 apples", "2"], "", None),
    ],
)
def test_values_are_numbers_in_one_unit_where_they_can_be(
    texts: list[str], unit: str, numbers: list[float] | None
) -> None:
    found = quantities(texts)
    assert found == (unit, None if numbers is None else pytest.approx(numbers))
