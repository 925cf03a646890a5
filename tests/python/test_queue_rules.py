"""Orders, full rules and limits of queues as a user sees them, in virtual time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rocelab import results

ROOT = Path(__file__).resolve().parents[2]
QUEUES = ROOT / "scenarios" / "queues.toml"
CLASSES = ROOT / "scenarios" / "classes.toml"


def runs(scenario: Path, out: Path, *overrides: str) -> dict[str, dict[str, Any]]:
    """Entries of summary.json by label."""
    done = results.run(scenario, "des", out=out, overrides=overrides)
    assert done.complete and done.folder is not None
    return {run["label"]: run for run in json.loads((done.folder / "summary.json").read_text())["runs"]}


@pytest.fixture(scope="module")
def queues(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return runs(QUEUES, tmp_path_factory.mktemp("queues"))


def group(run: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (g for g in run["groups"] if g["name"] == name)
    return found  # type: ignore[no-any-return]


def test_a_fair_queue_lets_short_messages_pass_long_flows(queues: dict[str, dict[str, Any]]) -> None:
    fifo, fair = (group(queues[label], "short") for label in ("irn,fifo", "irn,fair"))
    assert fifo["completed"] == fair["completed"] > 30
    assert fair["avg_fct_s"] < fifo["avg_fct_s"] / 2
    assert fair["p99_fct_s"] < fifo["p99_fct_s"] / 5


def test_push_out_drops_frames_of_the_long_flows_only(queues: dict[str, dict[str, Any]]) -> None:
    pushed = queues["irn,fair-push-out"]
    assert pushed["pushed_out"] == pushed["drops"] > 0
    assert all(
        queues[label]["pushed_out"] == 0 < queues[label]["drops"] for label in ("irn,fifo", "irn,fair")
    )
    assert group(pushed, "short")["p99_fct_s"] <= group(queues["irn,fair"], "short")["p99_fct_s"]


def test_a_declared_limit_drops_lossless_frames_and_says_so(tmp_path: Path) -> None:
    limit = ('switch.class.3.egress_max="50KB"', "switch.class.3.may_drop=true", 'transport=["roce+pfc"]')
    run = runs(CLASSES, tmp_path, *limit)["roce+pfc"]
    assert run["declared_drops"] > 0
    assert run["lossless_drops"] == 0, "they are declared"
    assert run["completed"] == run["flows"], "the timers are on, because frames may be lost"


def test_frames_with_an_unknown_dscp_are_counted_in_the_table(tmp_path: Path) -> None:
    unknown = ('classes.others="unknown"', "classes.dscp={24=3,32=4}", 'transport=["irn"]', "nic.ack_class=3")
    assert runs(CLASSES, tmp_path, *unknown)["irn"]["unknown_dscp"] == 0
    fewer = ('classes.others="unknown"', "classes.dscp={24=3}", 'transport=["irn"]', "nic.ack_class=3")
    (tmp_path / "classes.toml").write_text(CLASSES.read_text().replace("class = 4", "dscp = 32"))
    assert runs(tmp_path / "classes.toml", tmp_path / "out", *fewer)["irn"]["unknown_dscp"] > 1000
