"""The tables of run.sqlite that are made for looking at a run: overview, pauses, deadlocks, hops, waits."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from rocelab import frames, hops, overview, pauses, results, store, traces
from rocelab.des.engine import DesEngine
from rocelab.errors import RocelabError
from rocelab.model import RunOutcome, RunPlan
from rocelab.scenario import make_plans, read_scenario

ROOT = Path(__file__).resolve().parents[2]
QUICK = ROOT / "scenarios/quick.toml"


def run(path: Path, label: str, *overrides: str) -> RunOutcome:
    scenario = read_scenario(path, (*overrides, f'transport="{label}"', "seeds=[1]"))
    return DesEngine().execute(make_plans(scenario)[0])


@pytest.fixture(scope="module")
def lossy() -> RunOutcome:
    return run(QUICK, "roce")


@pytest.fixture(scope="module")
def lossless() -> RunOutcome:
    return run(QUICK, "roce+pfc")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    folder = tmp_path_factory.mktemp("quick")
    results.run(QUICK, "des", out=folder)
    traces.write_tables(folder / "run.sqlite", range(4), folder / "events.sqlite")
    with closing(sqlite3.connect(folder / "run.sqlite")) as db:
        db.execute("ATTACH ? AS more", (str(folder / "events.sqlite"),))
        yield db


@pytest.mark.parametrize("width", [5_000_000, 20_000_000])
def test_overview_adds_up_to_the_counters(lossy: RunOutcome, width: int) -> None:
    found = overview.overview(lossy, width)
    for port in lossy.plan.ports:
        counters = lossy.port_counters[port.interface]
        mine = found[found["port"] == port.interface]
        # The last sample is taken before the run's last ACK.
        sent = counters["tx_bytes"] + 24 * counters["tx_frames"]
        assert sent - 3000 <= mine["bytes"].sum() <= sent
        assert mine["drops"].sum() == counters["drops"]
    from_host = lossy.port_counters["s1-eth1"]
    received = from_host["rx_bytes"] + 24 * from_host["rx_frames"]
    assert received - 3000 <= found[found["port"] == "h1"]["bytes"].sum() <= received


def test_overview_has_the_longest_queue_of_the_samples(lossy: RunOutcome) -> None:
    found = overview.overview(lossy, overview.bin_width(lossy, 10))
    records = lossy.events["s1"]
    samples = records[(records["kind"] == frames.SAMPLE) & (records["port"] == 2)]
    assert found[found["port"] == "s1-eth3"]["queue"].max() == samples["bytes"].max() > 0
    assert found["bin"].max() < 11


def test_overview_adds_up_to_the_paused_time(lossless: RunOutcome) -> None:
    width = overview.bin_width(lossless)
    found = overview.overview(lossless, width)
    for host in ("h1", "h2"):
        mine = found[found["port"] == host]
        paused_ns = lossless.nic_counters[host, 0]["rx_pause_duration_ns"]
        assert mine["paused"].sum() * width / 1000 == pytest.approx(paused_ns, rel=0.01)
        assert mine["paused"].max() <= 1.0


def test_pauses_of_a_host_begin_at_its_switch(lossless: RunOutcome) -> None:
    found = pauses.each(lossless)
    assert len(found) == 22
    assert {(p.port, p.by, p.because, p.depth) for p in found} == {
        ("h1", "s1-eth1", None, 1),
        ("h2", "s1-eth2", None, 1),
    }
    for host in ("h1", "h2"):
        total = sum(p.end_ps - p.begin_ps for p in found if p.port == host)
        assert total // 1000 == pytest.approx(lossless.nic_counters[host, 0]["rx_pause_duration_ns"], abs=20)


def test_a_nested_pause_names_the_port_behind_it() -> None:
    outcome = run(ROOT / "scenarios/escape/ring.toml", "roce+pfc", "engine.limit=4ms")
    nested = [p for p in pauses.each(outcome) if p.because is not None]
    assert {p.port for p in nested} == {"h1", "h2", "h3"}, "each behind its switch's port of the circle"
    switch = {p.interface: p.switch for p in outcome.plan.ports}
    peer = {p.peer: p.interface for p in outcome.plan.ports}
    for pause in nested:
        assert peer[pause.port] == pause.by, "whoever asks is at the other end of the link"
        assert pause.because is not None and switch[pause.by] == switch[pause.because]
        assert pause.because != pause.by


def test_waits_are_what_the_queue_ahead_took(lossy: RunOutcome) -> None:
    """At the one full port of an incast a packet waits about as long as the queue that it finds takes to leave."""
    journeys = hops.journeys(lossy, 100_000)
    records = lossy.events["s1"]
    samples = records[(records["kind"] == frames.SAMPLE) & (records["port"] == 2) & (records["psn"] == 3)]
    full = [hop for j in journeys for hop in j.hops if hop.port == "s1-eth3" and hop.wait_ps is not None]
    assert len(full) > 20
    for hop in full:
        at = int(np.searchsorted(samples["time_ps"], hop.time_ps, side="right")) - 1
        queued = [int(samples["bytes"][i]) for i in range(max(at, 0), min(at + 2, len(samples)))]
        assert hop.wait_ps is not None
        ahead = hop.wait_ps * 40e9 / 8e12
        assert min(queued) - 12_000 <= ahead <= max(queued) * 1.05 + 12_000


def test_packets_of_a_flow_alone_wait_nowhere(tmp_path: Path) -> None:
    text = QUICK.read_text()
    alone = text[: text.index("[[workload]]")] + (
        '[[workload]]\nkind = "list"\n[[workload.flow]]\nsrc = "h1"\ndst = "h3"\nsize = "500KB"\n[engine]\n'
    )
    (tmp_path / "alone.toml").write_text(alone)
    outcome = run(tmp_path / "alone.toml", "irn")
    found = hops.waits(hops.journeys(outcome, 100_000))
    assert [(w.flow, w.port) for w in found] == [(1, "s1-eth3")]
    assert found[0].packets in (30, 31) and found[0].wait_ps == 0


def test_journeys_end_at_the_sink(lossy: RunOutcome) -> None:
    journeys = hops.journeys(lossy, 100_000)
    sinks = {f.id: f.dst for f in lossy.plan.flows}
    arrived = [j for j in journeys if j.arrived]
    assert arrived and all(j.hops[-1].node == sinks[j.flow] for j in arrived if j.flow is not None)
    for flow in lossy.plan.flows:
        assert abs(len({j.psn for j in arrived if j.flow == flow.id}) - flow.packets / 16) < 1


def test_notifications_of_congestion_leave_room_for_packets() -> None:
    """All of them have PSN 0, a multiple of every number."""
    outcome = run(QUICK, "roce+pfc+rocc")
    hop = frames.KINDS.index("hop")
    told = sum(
        int(np.count_nonzero((r["kind"] == hop) & (r["psn"] == 0) & (r["bytes"] <= 128)))
        for r in outcome.events.values()
    )
    most = told - 1
    assert 0 < sum(len(j.hops) for j in hops.journeys(outcome, most)) <= most
    every = hops.every_psn(outcome, most)
    for records in outcome.events.values():
        assert not np.any((records["psn"] == 0) & (records["bytes"] <= 128) & hops.taken(records, every))


def test_fewer_hops_are_kept_of_fewer_packets(lossy: RunOutcome) -> None:
    everything = hops.journeys(lossy, 100_000)
    some = hops.journeys(lossy, 100)
    assert sum(len(j.hops) for j in some) <= 100 < sum(len(j.hops) for j in everything)
    every = min(2**n for n in range(5, 20) if all(j.psn % 2**n == 0 for j in some) is False) // 2
    assert {j.psn for j in some} == {j.psn for j in everything if j.psn % every == 0}


def test_the_database_knows_ports_and_places(database: sqlite3.Connection) -> None:
    ports = database.execute(
        "SELECT port, node, peer, peer_port, rate_bps FROM ports WHERE run = 0"
    ).fetchall()
    assert ports == [(f"s1-eth{n}", "s1", f"h{n}", None, 40_000_000_000) for n in (1, 2, 3)]
    assert database.execute("SELECT x, y FROM nodes WHERE run = 0 AND node = 's1'").fetchone() == (0, 0)
    assert database.execute("SELECT COUNT(DISTINCT run) FROM overview").fetchone() == (4,)


def test_events_know_their_flow(database: sqlite3.Connection) -> None:
    of_flows = dict(
        database.execute(
            "SELECT flow, COUNT(*) FROM events WHERE run = 0 AND kind = 'retransmit' GROUP BY flow"
        )
    )
    told = dict(database.execute("SELECT flow, retransmitted FROM flows WHERE run = 0 AND retransmitted > 0"))
    assert of_flows == told
    assert database.execute(
        "SELECT COUNT(*) FROM events WHERE kind IN ('xoff', 'paused') AND flow IS NOT NULL"
    ).fetchone() == (0,)


def test_a_deadlock_is_stored_as_its_circle(tmp_path: Path) -> None:
    def only(plan: RunPlan) -> RunOutcome:
        return DesEngine().execute(plan)

    result = results.run(
        ROOT / "scenarios/escape/ring.toml",
        "des",
        overrides=('transport="roce+pfc"', "seeds=[1]", "engine.limit=20ms"),
        out=tmp_path,
        execute=only,
    )
    with closing(sqlite3.connect(tmp_path / "run.sqlite")) as db:
        circle = db.execute("SELECT position, port FROM deadlocks ORDER BY position").fetchall()
        # Nothing moves for most of the run: the overview keeps to the time in which something does.
        (width, end) = db.execute("SELECT bin_ps, end_ps FROM runs").fetchone()
    assert [position for position, _ in circle] == [0, 1, 2]
    assert " -> ".join(port for _, port in circle) in result.errors()[0]
    assert width * overview.MOST_BINS < end


def test_many_ports_and_runs_have_fewer_stretches(lossy: RunOutcome) -> None:
    assert store.bins([lossy]) == overview.MOST_BINS
    assert store.bins([lossy] * 2000) == 400_000 // (6 * 2000)


@pytest.mark.parametrize("label", ["roce", "roce+pfc", "irn+pfc"])
def test_unpacked_traces_equal_those_of_the_run(tmp_path: Path, label: str) -> None:
    """Records, pauses and packets' ways."""
    scenario = read_scenario(QUICK, (f'transport="{label}"', "seeds=[3]"))
    result = results.run(scenario, "des", out=tmp_path)
    (outcome,) = result.outcomes
    with closing(sqlite3.connect(tmp_path / "run.sqlite")) as db:
        again = traces.outcome_of(db, 0)
    assert pauses.each(again) == pauses.each(outcome)
    assert hops.journeys(again, 40_000) == hops.journeys(outcome, 40_000)
    mine, theirs = (frames.events_frame(o, 0) for o in (outcome, again))
    order = list(mine.columns)
    assert mine.sort_values(order, ignore_index=True).equals(theirs.sort_values(order, ignore_index=True))
    assert len(mine) >= 8


def test_records_come_back_as_they_were_packed(lossy: RunOutcome) -> None:
    for records in lossy.events.values():
        packed = traces.pack(records)
        assert (traces.unpack(len(records), packed) == records).all() and len(packed) < records.nbytes / 2
    empty = lossy.events["s1"][:0]
    assert len(traces.unpack(0, traces.pack(empty))) == 0


def test_events_are_written_for_sql(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results.run(QUICK, "des", overrides=("seeds=[1, 2]",), out=tmp_path)
    chosen = [(None, None, {0, 2, 4, 6}), ("irn", None, {4}), (None, 2, {1, 3, 5, 7}), ("irn", 2, {5})]
    for label, seed, runs in chosen:
        assert traces.export(tmp_path, label, seed, None) == 0
        with closing(sqlite3.connect(tmp_path / "events.sqlite")) as db:
            assert {run for (run,) in db.execute("SELECT DISTINCT run FROM events")} == runs
    assert "of 1 run;" in capsys.readouterr().out
    with pytest.raises(RocelabError, match=r"no label iirn; did you mean irn\? The result has roce, "):
        traces.export(tmp_path, "iirn", None, None)
    with pytest.raises(RocelabError, match="no seed 9: the result has 1, 2"):
        traces.export(tmp_path, None, 9, None)
    with pytest.raises(RocelabError, match="holds no result"):
        traces.export(tmp_path / "x", None, None, None)
    (tmp_path / "x").mkdir()
    (tmp_path / "x/run.sqlite").write_bytes(b"this is no database" * 100)
    with pytest.raises(RocelabError, match="run its scenario again"):
        traces.export(tmp_path / "x", None, None, None)
