"""Files of other simulators: what is read is written again byte for byte, and results become such files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import synthetic
from rocelab import interchange, results
from rocelab.errors import RocelabError, UsageError
from rocelab.interchange import PfcLine
from rocelab.model import RunOutcome, RunPlan

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "data" / "interchange"
QUICK = ROOT / "scenarios" / "quick.toml"


def with_pauses(plan: RunPlan) -> RunOutcome:
    """h1 is paused from 5 us to 7.5 us, port 2 of the switch from 6 us on."""
    made = synthetic.outcome(plan)
    rows = [synthetic.record("paused", 5_000_000, mark=3), synthetic.record("resumed", 7_500_000, mark=3)]
    switch = [synthetic.record("paused", 6_000_000, mark=3, port=2)]
    return replace(
        made, events={**made.events, "h1.0": synthetic.records(rows), "s1": synthetic.records(switch)}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("result")
    results.run(QUICK, overrides=("seeds=[1, 2]",), out=out, execute=with_pauses)
    return out


def test_fct_sample_comes_back_byte_for_byte() -> None:
    text = (SAMPLES / "sample_conweave_fct.txt").read_text()
    lines = interchange.parse_fct(text, "conweave")
    assert (lines[0].src, lines[0].dst, lines[0].fct_ns) == (82, 87, 837375)
    assert interchange.format_fct(lines, "conweave") == text


def test_fct_by_address_goes_through_by_number() -> None:
    text = "0b000001 0b013801 10000 100 5000 2000000000 1234 1000\n"
    lines = interchange.parse_fct(text, "hpcc")
    assert (lines[0].src, lines[0].dst) == (0, 256 + 0x38)
    assert interchange.format_fct(lines, "hpcc") == text


def test_pfc_sample_comes_back_byte_for_byte() -> None:
    text = (SAMPLES / "sample_conweave_pfc.txt").read_text()
    lines = interchange.parse_pfc(text)
    assert lines[0] == PfcLine(2000091433, 134, True, 21, True)
    assert interchange.format_pfc(lines) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("82 87 10000 100 1 2 3\n", "fct.txt:1: a line has 8 columns, not 7"),
        ("0b000001 0b000101 1 2 3 4 5 6\n", "not a line of fct.txt in the dialect conweave"),
    ],
)
def test_lines_of_another_dialect_are_named(text: str, said: str) -> None:
    with pytest.raises(RocelabError, match=said):
        interchange.parse_fct(text, "conweave")
    with pytest.raises(RocelabError, match="fct.txt:1"):
        interchange.parse_fct("82 87 10000 100 1 2 3 4\n", "hpcc")
    with pytest.raises(RocelabError, match="pfc.txt:1: a line has 5 columns"):
        interchange.parse_pfc(text)


def test_results_are_exported_run_by_run(folder: Path) -> None:
    files = interchange.export(folder, "conweave")
    assert len(files) == 4 * 2 * 2  # fct.txt and pfc.txt of every run
    lines = interchange.parse_fct((folder / "export" / "irn-seed2" / "fct.txt").read_text(), "conweave")
    assert {(x.src, x.dst, x.src_port, x.dst_port, x.size) for x in lines} == {
        (0, 2, 10000, 200, 500_000),
        (1, 2, 10000, 200, 500_000),
    }
    assert all(2_000_000_000 <= x.start_ns < 2_000_001_000 and x.fct_ns > x.alone_ns > 100_000 for x in lines)
    assert lines == sorted(lines, key=lambda x: x.start_ns + x.fct_ns)
    pauses = interchange.parse_pfc((folder / "export" / "roce-seed1" / "pfc.txt").read_text())
    assert pauses == [
        PfcLine(2_000_005_000, 0, False, 1, True),
        PfcLine(2_000_006_000, 3, True, 3, True),
        PfcLine(2_000_007_500, 0, False, 1, False),
    ]


def test_both_dialects_say_the_same(folder: Path, tmp_path: Path) -> None:
    interchange.export(folder, "hpcc", tmp_path / "a")
    interchange.export(folder, "conweave", tmp_path / "b")
    by_address = (tmp_path / "a" / "irn-seed1" / "fct.txt").read_text()
    by_number = (tmp_path / "b" / "irn-seed1" / "fct.txt").read_text()
    assert by_address != by_number
    assert interchange.parse_fct(by_address, "hpcc") == interchange.parse_fct(by_number, "conweave")


def test_a_scenario_becomes_its_topology_and_traffic(tmp_path: Path) -> None:
    files = interchange.export(QUICK, "conweave", tmp_path)
    assert [f.name for f in files] == ["topology.txt", "flow-seed1.txt"]
    assert (tmp_path / "topology.txt").read_text().splitlines()[:3] == [
        "4 1 3",
        "3",
        "0 3 40Gbps 2000ns 0.000000",
    ]
    rows = (tmp_path / "flow-seed1.txt").read_text().split("\n")
    assert rows[0] == "2" and rows[1].split()[1:4] == ["2", "3", "500000"]


def test_imports_and_exports_meet(tmp_path: Path) -> None:
    """A scenario of other simulators' files is exported as those files."""
    scenario = tmp_path / "s.toml"
    scenario.write_text(
        f"""transport = "irn"
[topology]
kind = "file"
file = "{SAMPLES}/conweave_leaf_spine_128_100G_OS2.txt"
[[workload]]
kind = "file"
file = "{SAMPLES}/sample_conweave_flow_perm128.txt"
dialect = "conweave"
"""
    )
    interchange.export(scenario, "conweave", tmp_path)
    assert (tmp_path / "flow-seed1.txt").read_bytes() == (
        SAMPLES / "sample_conweave_flow_perm128.txt"
    ).read_bytes()


CASES = """transport = ["irn", "roce"]
seeds = [1, 2]
[topology]
kind = "star"
hosts = 3
[[workload]]
kind = "permutation"
size = "10KB"
[axes]
"topology.rate" = ["40Gb/s", "100Gb/s"]
[[case]]
name = "few"
set.topology.hosts = 3
[[case]]
name = "many"
set.topology.hosts = 5
"""


def test_labels_with_other_files_have_a_folder_each(tmp_path: Path) -> None:
    """Two cases by two rates; the transports share them."""
    scenario = tmp_path / "s.toml"
    scenario.write_text(CASES)
    files = interchange.export(scenario, "hpcc", tmp_path / "all")
    folders = [f"irn,{case},rate={rate}" for case in ("few", "many") for rate in ("40Gb_s", "100Gb_s")]
    names = ("topology.txt", "flow-seed1.txt", "flow-seed2.txt")
    assert files == [tmp_path / "all" / folder / name for folder in folders for name in names]
    firsts = [
        (tmp_path / "all" / folder / "topology.txt").read_text().splitlines()[:3:2] for folder in folders
    ]
    assert firsts == [
        [f"{n + 1} 1 {n}", f"0 {n} {rate}Gbps 2000ns 0.000000"] for n in (3, 5) for rate in (40, 100)
    ]
    one = interchange.export(scenario, "hpcc", tmp_path / "one", label="roce,many,rate=100Gb_s")
    assert one == [tmp_path / "one" / name for name in names]
    assert [f.read_text() for f in one] == [f.read_text() for f in files[9:]]
    with pytest.raises(UsageError, match=":1: no label roce; .*It has irn,few,rate=40Gb_s, irn,few"):
        interchange.export(scenario, "hpcc", tmp_path / "none", label="roce")
    chosen = interchange.export(
        scenario, "hpcc", tmp_path / "set", overrides=("topology.hosts=4", "topology.rate=25Gb/s")
    )
    assert [f.name for f in chosen] == list(names) and chosen[0].read_text().startswith("5 1 4\n")


def test_settings_that_topology_txt_cannot_hold_are_warned_of(tmp_path: Path) -> None:
    def warnings(name: str) -> list[str]:
        said: list[str] = []
        interchange.export(ROOT / "scenarios" / name, "hpcc", tmp_path / name, warn=said.append)
        return said

    assert warnings("quick.toml") == []
    assert warnings("link_failure.toml") == ["topology.txt has no form for, and leaves out, 2 link events"]
    faults = warnings("loss.toml")
    assert faults and all("leaves out, the fault from " in text for text in faults)


def test_folders_without_a_result_are_reported(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(RocelabError, match="holds no result"):
        interchange.export(tmp_path, "hpcc")
    with pytest.raises(RocelabError, match="no such scenario"):
        interchange.export(tmp_path / "none", "hpcc")
    with pytest.raises(RocelabError, match="results have no dialect ns3-rdma"):
        interchange.export(folder, "ns3-rdma")
    with pytest.raises(UsageError, match="--set and --label are for scenarios"):
        interchange.export(folder, "hpcc", label="irn")
    (tmp_path / "run.sqlite").write_text("this is no database, however long it may be" * 100)
    with pytest.raises(RocelabError, match="run its scenario again"):
        interchange.export(tmp_path, "hpcc")
