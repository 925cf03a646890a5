"""What `./rocelab ui` asks of run.sqlite: the answers are those of the frames, old files are readable, and no answer grows with the run."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import big_result
import numpy as np
import pytest
from rocelab import culprits, pauses, results, traces
from rocelab.errors import RocelabError
from rocelab.result import Result
from rocelab.ui import causes, compare, flows, network, places, series, words
from rocelab.ui import results as ui_results
from rocelab.ui.database import Database, opened

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def quick(folder: Path) -> Result:
    scenario = ROOT / "scenarios/quick.toml"
    return results.run(scenario, "des", overrides=("seeds=[1, 2, 3]",), out=folder / "quick")


@pytest.fixture(scope="module")
def events(folder: Path, quick: Result) -> Path:
    """Of all runs."""
    file = folder / "events.sqlite"
    traces.write_tables(folder / "quick/run.sqlite", range(len(quick.outcomes)), file)
    return file


@pytest.fixture
def db(folder: Path, quick: Result, events: Path) -> Iterator[Database]:
    with opened(folder, "quick") as database:
        database.attach(events)
        yield database


def run_of(result: Result, label: str) -> int:
    return next(i for i, o in enumerate(result.outcomes) if o.plan.label == label)


def test_the_network_is_the_overview_by_port(db: Database, quick: Result) -> None:
    run = run_of(quick, "roce")
    found = network.network(db, run)
    assert [n["name"] for n in found["nodes"]] == ["h1", "h2", "h3", "s1"]
    assert {(link["port"], link["from"], link["to"]) for link in found["links"]} >= {
        ("s1-eth3", "s1", "h3"),
        ("h1", "h1", "s1"),
    }
    at = [link["port"] for link in found["links"]].index("s1-eth3")
    rows = zip(found["frames"]["port"], found["frames"]["drops"])
    assert (
        sum(drops for port, drops in rows if port == at)
        == quick.outcomes[run].port_counters["s1-eth3"]["drops"]
    )
    paused = network.network(db, run_of(quick, "roce+pfc"))
    at = [link["port"] for link in paused["links"]].index("h1")
    rows = zip(paused["frames"]["port"], paused["frames"]["paused"])
    share = sum(share for port, share in rows if port == at) / 1000 * paused["bin_ps"]
    told = quick.outcomes[run_of(quick, "roce+pfc")].nic_counters["h1", 0]["rx_pause_duration_ns"] * 1000
    assert share == pytest.approx(told, rel=0.02)
    assert found["notes"] == []
    assert network.network(db, run + 1)["notes"] == [], "other seeds have everything, too"


@pytest.mark.parametrize("points", [10, 40, 1000])
def test_a_thinned_queue_keeps_its_peak_and_its_place(db: Database, quick: Result, points: int) -> None:
    run = run_of(quick, "roce")
    mine = quick.samples[(quick.samples["run"] == run) & (quick.samples["port"] == "s1-eth3")]
    found = series.port(db, run, "s1-eth3", 0, db.end_ps(run), points)["queues"][3]
    assert len(found["time_ps"]) <= points + 2
    assert max(found["most"]) == mine["bytes"].max()
    peak = int(mine["time_ps"].to_numpy()[np.argmax(mine["bytes"].to_numpy())])
    width = db.end_ps(run) // points + 1
    assert abs(found["time_ps"][int(np.argmax(found["most"]))] - peak) <= width


def test_a_part_begins_with_the_value_before_it(db: Database, quick: Result) -> None:
    run = run_of(quick, "roce")
    mine = quick.samples[(quick.samples["run"] == run) & (quick.samples["port"] == "s1-eth3")]
    begin = int(mine["time_ps"].iloc[5]) + 1
    found = series.port(db, run, "s1-eth3", begin, begin + 50_000_000, 1000)["queues"][3]
    assert (found["time_ps"][0], found["most"][0]) == (begin, mine["bytes"].iloc[5])


def test_a_pause_leads_to_the_queue_that_caused_it(db: Database, quick: Result) -> None:
    run = run_of(quick, "roce+pfc")
    first = next(m for m in causes.moments(db, run) if m["what"] == "first pause")
    found = causes.chain(db, run, first["port"], first["time_ps"])
    (step,) = found["steps"]
    assert (step["port"], step["by"], step["because"]) == (first["port"], f"s1-eth{first['port'][1]}", None)
    assert found["queue"]["port"] == "s1-eth3" and found["circle"] is None
    assert causes.chain(db, run_of(quick, "roce"), "h1", 0)["notes"] == ["h1 was never paused"]


def test_with_capfc_the_queue_that_held_the_port_responsible_is_the_cause(folder: Path) -> None:
    path = ROOT / "scenarios/capfc.toml"
    result = results.run(path, "des", overrides=("seeds=[1]", "engine.limit=2ms"), out=folder / "capfc")
    run = next(i for i, o in enumerate(result.outcomes) if culprits.find(o) and pauses.each(o))
    held = {(c.queue, c.port) for c in culprits.find(result.outcomes[run])}
    with opened(folder, "capfc", run) as db:
        first = next(m for m in causes.moments(db, run) if m["what"] == "first pause")
        found = causes.chain(db, run, first["port"], first["time_ps"])
    assert found["queue"]["capfc"] and (found["queue"]["port"], found["steps"][-1]["by"]) in held


def test_the_filter_finds_the_flows_frames_in_a_capture(folder: Path) -> None:
    results.run(
        ROOT / "scenarios/quick.toml",
        "des",
        overrides=('transport="roce+pfc"',),
        out=folder / "pcap",
        pcap=True,
    )
    with opened(folder, "pcap", 0) as db:
        lives = [flows.life(db, 0, flow, 100) for flow in (1, 2)]
    capture = folder / "pcap/pcap/roce+pfc-seed1/s1.pcapng"
    for life in lives:
        data = f"({life['filter']}) && infiniband.bth.opcode <= 10"
        words = ["tshark", "-r", str(capture), "-Y", data, "-T", "fields", "-e", "ip.src"]
        sources = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        assert set(sources) == {f"10.0.0.{life['flow']['src'][1:]}"}
        assert len(sources) == 2 * life["flow"]["packets"], "as they come to the switch, and leave it"


def test_a_deadlock_is_a_chain_that_comes_back(folder: Path) -> None:
    path = ROOT / "scenarios/escape/ring.toml"
    results.run(
        path, "des", overrides=('transport="roce+pfc"', "seeds=[1]", "engine.limit=4ms"), out=folder / "ring"
    )
    with opened(folder, "ring", 0) as db:
        (dead,) = network.network(db, 0)["deadlocks"]
        found = causes.chain(db, 0, dead["ports"][0], dead["since_ps"])
        assert found["circle"] == 0 and found["queue"] is None
        assert [step["port"] for step in found["steps"]] == dead["ports"]
        from_host = causes.chain(db, 0, "h1", dead["since_ps"] + 10_000_000)
        assert from_host["circle"] == 1, "a host outside of the circle waits for it"


def test_moments_are_the_first_of_their_kind(db: Database, quick: Result) -> None:
    run = run_of(quick, "irn")
    moments = {m["what"]: m for m in causes.moments(db, run)}
    for what, kind in (
        ("first drop", "drop"),
        ("first retransmission", "retransmit"),
        ("first timeout", "timeout"),
    ):
        times = db.rows("SELECT time_ps FROM events WHERE run = ? AND kind = ?", run, kind)
        assert moments[what]["time_ps"] == min(times)[0]
    assert "first pause" not in moments
    longest = quick.samples[(quick.samples["run"] == run) & (quick.samples["what"] == "queue")]["bytes"].max()
    assert moments["longest queue"]["bytes"] == longest


@pytest.mark.parametrize("sort", ["flow", "fct_s", "slowdown", "wait_ps", "retransmitted"])
def test_flows_are_sorted_and_found_by_the_database(db: Database, quick: Result, sort: str) -> None:
    run = run_of(quick, "roce")
    up = flows.table(db, run, sort, False, "", 10)["flows"]
    down = flows.table(db, run, sort, True, "", 10)["flows"]
    assert [f[sort] for f in up] == sorted(f[sort] for f in up)
    assert [f[sort] for f in down] == sorted((f[sort] for f in down), reverse=True)
    assert flows.table(db, run, sort, False, "h1", 10)["total"] == 1
    assert len(flows.table(db, run, sort, False, "", 1)["flows"]) == 1


@pytest.mark.parametrize("sort", ["", "run", "fct_s; DROP TABLE flows", "1", "flow DESC"])
def test_a_column_that_is_none_is_refused(db: Database, sort: str) -> None:
    with pytest.raises(RocelabError, match="cannot be sorted"):
        flows.table(db, 0, sort, False, "", 10)


def test_a_flows_life_is_its_records(db: Database, quick: Result) -> None:
    run = run_of(quick, "roce")
    outcome = quick.outcomes[run]
    record = outcome.flows[0]
    life = flows.life(db, run, record.id, 2000)
    assert (life["begin_ps"], life["end_ps"]) == (
        record.posted_ps,
        max(record.placed_ps or 0, record.cqe_ps or 0),
    )
    again = quick.flows[(quick.flows["run"] == run) & (quick.flows["flow"] == record.id)].iloc[0]
    assert sum(life["retransmitted"]["count"]) == again["retransmitted"] > 0
    assert sum(life["dropped"]["count"]) == again["data_drops"] > 0
    assert 0 <= min(life["arrived"]["psn"]) and max(life["arrived"]["psn"]) < 500_000 / 1024 + 1
    whys = {why["text"]: why["count"] for why in life["why"]}
    assert whys["dropped: the egress queue is at its limit"] == again["data_drops"]
    assert life["waits"][0]["port"] == "s1-eth3"
    slowest = life["slowest"][0]
    assert slowest["wait_ps"] == max(p["wait_ps"] for p in life["slowest"]) == life["waits"][0]["longest_ps"]
    plan = outcome.plan.flows[0]
    source, sink = (next(h.ipv4 for h in outcome.plan.hosts if h.name == n) for n in (plan.src, plan.dst))
    assert (
        f"ip.src == {source} && ip.dst == {sink} && infiniband.bth.destqp in {{{record.dst_qpn:#x}}}"
        in life["filter"]
    )
    assert f"infiniband.bth.destqp in {{{record.src_qpn:#x}}}" in life["filter"]


def test_comparisons_are_those_of_the_summary(folder: Path, quick: Result) -> None:
    found = compare.compare(folder, compare.parse(["quick|irn|", "quick|roce|1"]), 100)
    irn, roce = found["sets"]
    aggregates = {a["metric"]: a for a in quick.summary["aggregates"] if a["label"] == "irn"}
    for name, estimate in irn["metrics"].items():
        assert estimate["mean"] == aggregates[name]["mean"] and estimate["ci95"] == aggregates[name]["ci95"]
    assert roce["seeds"] == [1] and roce["metrics"]["avg_fct_s"]["ci95"] is None
    mine = quick.flows[quick.flows["label"] == "irn"]["fct_s"].dropna().sort_values()
    assert irn["cdf"]["fct_s"] == list(mine) and irn["cdf"]["share"][-1] == 1
    assert irn["sizes"] == {
        "size": [524_288],
        "flows": [6],
        "median": irn["sizes"]["median"],
        "p99": irn["sizes"]["p99"],
    }
    slowdowns = quick.flows[quick.flows["label"] == "irn"]["slowdown"].sort_values().to_list()
    assert irn["sizes"]["median"] == [slowdowns[2]] and irn["sizes"]["p99"] == [slowdowns[5]]
    usual = {m["name"] for m in found["metrics"] if m["usual"]}
    assert usual >= {"avg_fct_s", "data_drops"} and "p99_slowdown" not in usual and "pfc_depth" not in usual


@pytest.mark.parametrize(
    "text", ["quick", "quick|irn", "quick|irn|x", "quick|none|", "quick|irn|77", "a|b|c|d"]
)
def test_a_comparison_of_nothing_is_a_line(folder: Path, quick: Result, text: str) -> None:
    with pytest.raises((RocelabError, places.NoSuchPlace)):
        compare.compare(folder, compare.parse([text]), 100)


def test_results_are_listed_with_their_labels(folder: Path, quick: Result) -> None:
    entry = next(e for e in ui_results.Results(folder).entries() if e["name"] == "quick")
    assert entry["labels"] == ["roce", "roce+pfc", "irn", "irn+pfc"] and entry["seeds"] == [1, 2, 3]
    assert entry["complete"] and entry["watchable"] and entry["engine"] == "des"
    assert all(thumb == sorted(thumb) and thumb for thumb in entry["thumb"].values())


@pytest.fixture
def old(folder: Path, quick: Result, events: Path, tmp_path: Path) -> Path:
    """The same as an older rocelab wrote it: events of the first seed of each label."""
    (tmp_path / "old").mkdir()
    with sqlite3.connect(folder / "quick/run.sqlite") as source, sqlite3.connect(
        tmp_path / "old/run.sqlite"
    ) as db:
        source.backup(db)
        for table in ("ports", "overview", "deadlocks", "traces", "queue_pairs"):
            db.execute(f"DROP TABLE {table}")
        db.execute("ATTACH ? AS new", (str(events),))
        db.execute("CREATE TABLE events AS SELECT * FROM new.events WHERE run % 3 = 0")
        for table, columns in (
            ("events", ["flow"]),
            ("runs", ["end_ps", "bin_ps", "sample_ps"]),
            ("nodes", ["x", "y"]),
        ):
            for column in columns:
                db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    return tmp_path


def test_tables_missing_from_an_old_result_are_reported(old: Path) -> None:
    with opened(old, "old", 1) as db:
        assert [r["events"] for r in ui_results.runs(db)] == [True, False, False] * 4
        assert "Run its scenario again" in network.network(db, 0)["notes"][0]
        assert causes.moments(db, 0) == []
        assert "Run its scenario again" in causes.chain(db, 0, "h1", 0)["notes"][0]
        found = series.port(db, 0, "s1-eth3", 0, db.end_ps(0), 100)
        assert found["queues"][3]["time_ps"] and found["rate"]["time_ps"] == []
        assert len(flows.table(db, 0, "wait_ps", True, "", 10)["flows"]) == 2
        life = flows.life(db, 0, 1, 100)
        assert life["arrived"] is None and "run its scenario again" in life["notes"][0]
        assert len(ui_results.runs(db)) == 12
    (each,) = compare.compare(old, compare.parse(["old|irn|"]), 100)["sets"]
    assert each["cdf"]["fct_s"] and each["over_time"]["time_ps"] == []


@pytest.mark.parametrize("content", [b"", b"this is no database" * 100])
def test_files_that_are_no_result_are_reported(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/run.sqlite").write_bytes(content)
    with pytest.raises(RocelabError, match="run its scenario again"):
        with opened(tmp_path, "x") as db:
            ui_results.runs(db)
    assert ui_results.Results(tmp_path).entries() == []


SMALL = big_result.Size(hosts=64, flows=2000, bins=40, samples=300, events=20_000, hops=2000)
LARGE = big_result.Size(hosts=64, flows=2000, bins=40, samples=3000, events=200_000, hops=20_000)


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sizes")
    big_result.write(folder / "small", SMALL)
    big_result.write(folder / "large", LARGE)
    return folder


def answers(db: Database) -> dict[str, Any]:
    end = db.end_ps(0)
    return {
        "network": network.network(db, 0),
        "moments": causes.moments(db, 0),
        "port": series.port(db, 0, "leaf1-eth1", 0, end, 200),
        "part": series.port(db, 0, "leaf1-eth1", end // 2, end // 2 + end // 50, 200),
        "chain": causes.chain(db, 0, "h7", end // 2),
        "flows": flows.table(db, 0, "wait_ps", True, "", 100),
        "life": flows.life(db, 0, 6, 200),
    }


def test_answers_do_not_grow_with_the_run(sizes: Path) -> None:
    """Ten times the samples, events and hops: about as many bytes for the page."""
    found = {}
    for name in ("small", "large"):
        with opened(sizes, name) as db:
            found[name] = {key: len(json.dumps(value)) for key, value in answers(db).items()}
    for key, size in found["large"].items():
        assert size <= 1.6 * found["small"][key] + 4000, key
    assert found["large"]["network"] < 400_000


def test_stretches_are_joined_where_a_page_could_not_take_them(
    sizes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(sizes, "small") as db:
        whole = network.network(db, 0)
        monkeypatch.setattr(network, "_MOST_ROWS", len(whole["frames"]["bin"]) // 4)
        joined = network.network(db, 0)
    assert (joined["bin_ps"], joined["bins"]) == (4 * whole["bin_ps"], whole["bins"] // 4)
    for name in ("bytes", "drops"):
        assert sum(joined["frames"][name]) == sum(whole["frames"][name])
    assert max(joined["frames"]["queue"]) == max(whole["frames"]["queue"])


def test_no_question_goes_over_all_rows_of_a_large_table(
    sizes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the query planner says: tables that grow with a run's length are searched by an index."""
    plans: list[str] = []
    with opened(sizes, "large") as db:
        original = db._connection

        class Explained:
            def execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
                if sql.lstrip().startswith(("SELECT", "WITH")):
                    plans.extend(row[3] for row in original.execute("EXPLAIN QUERY PLAN " + sql, values))
                return original.execute(sql, values)

        monkeypatch.setattr(db, "_connection", Explained())
        answers(db)
    scans = [
        plan for plan in plans if re.match(r"SCAN (samples|events|e|hops|pauses|flows)\b(?!.*USING)", plan)
    ]
    assert len(plans) > 40 and scans == []


def test_words_for_drops_are_in_the_order_of_the_reasons() -> None:
    header = (ROOT / "ovs_patches/switch_model/counters.h").read_text()
    enumeration = header[header.index("enum class SwitchDropReason") :].split("};")[0]
    numbers = [int(n) for n in re.findall(r"k\w+ = (\d+),", enumeration)]
    assert numbers == list(range(len(words.SWITCH_DROPS)))
    by_name = dict(zip(re.findall(r"k(\w+) = \d+,", enumeration), words.SWITCH_DROPS))
    assert "headroom" in by_name["Headroom"] and "watchdog" in by_name["Watchdog"]
    assert "egress_max" in by_name["EgressMax"] and "pushed out" in by_name["PushedOut"]
    trace = (ROOT / "emu/record/switch_trace.h").read_text()
    assert {
        int(n, 16) for n in re.findall(r"k(?:LinkLoss|Malformed|LinkDown) = (0x[0-9a-f]+)", trace)
    } == set(words.LINK_DROPS)
