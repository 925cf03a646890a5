"""docs/tutorial/extending.md builds and runs as it is printed. Its files go into a scratch folder; only they and the sources that see a list are compiled, and linked in front
of the objects of the release build into a module of its own (about a minute)."""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rocelab import native, paths

ROOT = paths.ROOT
PAGE = ROOT / "docs" / "tutorial" / "extending.md"
ALGORITHMS = Path("irn_provider/cc/algorithms.h")
MECHANISMS = Path("ovs_patches/switch_model/mechanisms/mechanisms.h")
WORKLOADS = Path("emu/runner/workloads/workloads.h")
METRICS = Path("emu/runner/metric_table.cc")
SWITCH = MECHANISMS.parents[1]
# The sources that see a list, by themselves or by the switch's private headers.
SEEN = {
    ALGORITHMS: [Path("irn_provider/cc/cc_algorithm.cc")],
    WORKLOADS: [Path("emu/runner/workload_type.cc")],
    MECHANISMS: [
        SWITCH / f"{name}.cc"
        for name in (
            "actions",
            "mechanism_table",
            "switch",
            "switch_by_policy",
            "switch_input",
            "switch_node",
            "switch_preempt",
            "switch_report",
        )
    ],
}
BLOCK = re.compile(r"^`(?P<file>[\w./]+)`\n```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S)


READ = """
import sys
from rocelab.errors import RocelabError
from rocelab.scenario import read_scenario
try:
    read_scenario(sys.argv[1])
except RocelabError as error:
    print(error)
"""
PAPER = """
import pathlib, sys
import rocelab.papers
from rocelab.paper import harness
rocelab.papers.__path__.append(sys.argv[1])
harness.run(sys.argv[2], False, None, None, 0, pathlib.Path(sys.argv[3]))
"""
RUN = "import sys, pathlib; from rocelab import results; results.run(sys.argv[1], 'des', out=pathlib.Path(sys.argv[2]))"


def blocks() -> list[tuple[Path, str, str]]:
    """File, kind and text of each named block of the page."""
    return [(Path(m["file"]), m["kind"], m["text"]) for m in BLOCK.finditer(PAGE.read_text())]


def patched(text: str, diff: str) -> str:
    """`diff` without line numbers: a line of context or to be removed stands exactly once in `text`; what is added goes behind the line before it."""
    lines, at = text.splitlines(), 0
    for line in diff.splitlines():
        sign, content = line[:1], line[1:]
        if sign == "+":
            lines.insert(at, content)
            at += 1
            continue
        assert (
            lines.count(content) == 1
        ), f"{PAGE.name} says {content!r}, which the list has {lines.count(content)} times"
        at = lines.index(content) + (sign == " ")
        if sign == "-":
            del lines[at]
    return "\n".join(lines) + "\n"


def compile_command(source: Path, scratch: Path) -> list[str]:
    """As the release build compiles it, or for a new source its folder's list; headers of the scratch folder come first."""
    commands = json.loads((paths.RELEASE / "compile_commands.json").read_text())
    like = source if (ROOT / source).exists() else SEEN[ALGORITHMS][0]
    words = shlex.split(next(c["command"] for c in commands if c["file"] == str(ROOT / like)))
    output, file = words.index("-o") + 1, words.index("-c") + 1
    words[output], words[file] = str(scratch / source.with_suffix(".o")), str(scratch / source)
    return [words[0], f"-I{scratch}", *words[1:]]


def link(objects: list[Path], output: Path) -> None:
    """The module of the release build with `objects` before its libraries, whose own members of these names are then left out."""
    module = next((paths.RELEASE / "emu" / "pybind").glob("_rocelab*.so"))
    listed = subprocess.run(
        ["ninja", "-C", str(paths.RELEASE), "-t", "commands", str(module.relative_to(paths.RELEASE))],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    words = shlex.split(listed.stdout.splitlines()[-1].removeprefix(": && ").removesuffix(" && :"))
    at = words.index("-o") + 1
    output.mkdir(parents=True)
    words[at] = str(output / module.name)
    subprocess.run([*words[: at + 1], *map(str, objects), *words[at + 1 :]], cwd=paths.RELEASE, check=True)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build folder with a module that has the page's algorithm and mechanism, beside the page's scenarios."""
    scratch = tmp_path_factory.mktemp("extending")
    sources = [source for seen in SEEN.values() for source in seen]
    for source in sources:
        (scratch / source).parent.mkdir(parents=True, exist_ok=True)
        (scratch / source).write_text((ROOT / source).read_text())
    for file, kind, text in blocks():
        (scratch / file).parent.mkdir(parents=True, exist_ok=True)
        if kind == "diff":
            before = scratch / file if (scratch / file).exists() else ROOT / file
            text = patched(before.read_text(), text)
        (scratch / file).write_text(text)
        sources += [file] if file.suffix == ".cc" else []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(
            lambda s: subprocess.run(compile_command(s, scratch), cwd=paths.RELEASE).returncode, sources
        )
    assert list(done) == [0] * len(sources)
    link([scratch / s.with_suffix(".o") for s in sources], scratch / "build" / "emu" / "pybind")
    return scratch / "build"


def rocelab(build: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"ROCELAB_BUILD": str(build), "PYTHONPATH": str(ROOT / "emu")}
    return subprocess.run(
        [sys.executable, *map(str, arguments)], env=environment, capture_output=True, text=True, cwd=build
    )


def complaint(build: Path, table: str, scenario: str = "halving.toml", line: str = 'step = "200Mb/s"') -> str:
    """The error with which a scenario of the page ends when it says `table` in place of `line`."""
    text = (build.parent / scenario).read_text().replace(line, table)
    (build / "bad.toml").write_text(text)
    done = rocelab(build, "-c", READ, build / "bad.toml")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 1, done.stdout + done.stderr
    return done.stdout


def run(build: Path, scenario: str) -> tuple[list[dict[str, Any]], Path]:
    """Its runs in summary.json, with the parameters that all have in common, and the folder of the results."""
    out = build / f"out-{scenario}"
    done = rocelab(build, "-m", "rocelab", "run", build.parent / scenario, "--engine", "des", "--out", out)
    assert done.returncode == 0, done.stderr
    file = next(out.rglob("summary.json"))
    summary = json.loads(file.read_text())
    runs = [entry | {"parameters": summary["parameters"] | entry["parameters"]} for entry in summary["runs"]]
    return runs, file.parent


def test_each_extension_is_new_files_and_two_edited_lines() -> None:
    new = [file for file, kind, _ in blocks() if kind in ("cpp", "python")]
    assert new and not any((ROOT / file).exists() for file in new)
    edits = [(file, text) for file, kind, text in blocks() if kind == "diff"]
    assert {file for file, _ in edits} == {*SEEN, METRICS}
    for _, text in [edit for edit in edits if edit[0] != METRICS]:
        assert sum(line.startswith("+") for line in text.splitlines()) <= 2


@pytest.mark.parametrize("header", [ALGORITHMS, MECHANISMS, WORKLOADS])
def test_few_sources_see_a_list(header: Path) -> None:
    """So that neither the segment's layout nor a built Open vSwitch changes with it, and little is compiled."""
    private = ["switch_core.h", "switch_path.h", str(header)] if header == MECHANISMS else [str(header)]
    found = subprocess.run(
        ["grep", "-rlE", "--include=*.cc", f"include .*({'|'.join(private)})", "base", "emu", "irn_provider", "lockstep", "ovs_patches"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert {Path(file) for file in found if not file.endswith("_test.cc")} == set(SEEN[header])


def test_a_mechanism_acts_counts_and_is_read(build: Path) -> None:
    (marked,), folder = run(build, "nth_mark.toml")
    assert marked["completed"] == 2
    assert marked["parameters"]["switch.nth_mark.every"] == "50"
    assert marked["ecn_marks"] == marked["delivered_data_packets"] // 50
    assert marked["cnps"] > 0, "DCQCN hears of its marks"
    with closing(sqlite3.connect(folder / "run.sqlite")) as database:
        found = database.execute(
            "SELECT unit, name, value FROM counters WHERE name LIKE 'nth_mark_%'"
        ).fetchall()
        (frames,) = database.execute("SELECT sum(value) FROM counters WHERE name = 'tx_frames'").fetchone()
    assert marked["marked_share"] == marked["ecn_marks"] / frames, "the page's metric"
    port, seen = "s1-eth3", marked["delivered_data_packets"]
    counts = {"nth_mark_left": seen, "nth_mark_marked": marked["ecn_marks"], "nth_mark_seen": seen}
    assert sorted(found) == [(port, name, count) for name, count in counts.items()]


def test_ranks_by_which_the_newest_frame_leaves_first_make_a_lifo(build: Path) -> None:
    """Equal to the picosecond to the order that the switch has."""
    ranked = (build.parent / "newest.toml").read_text()
    lifo = ranked.replace("[switch.newest]\nenabled = true\n", "").replace('"ranked"', '"lifo"')
    (build.parent / "lifo.toml").write_text(lifo)
    found = [run(build, name)[0][0] for name in ("newest.toml", "lifo.toml")]
    assert found[0]["trace_hash"] == found[1]["trace_hash"]
    assert found[0]["pushed_out"] == found[0]["drops"] > 0


def test_a_workload_is_drawn_as_its_flows_one_by_one(build: Path) -> None:
    """Equal to the picosecond to a list of the same flows."""
    shift = (build.parent / "shift.toml").read_text()
    flow = '[[workload.flow]]\nsrc = "h{}"\ndst = "h{}"\nsize = "500KB"\n'
    flows = "".join(flow.format(1 + i, 1 + (i + 2) % 4) for i in range(4))
    listed = shift.replace('kind = "shift"\nby = 2\nsize = "500KB"', 'kind = "list"\nname = "shift"') + flows
    (build.parent / "listed.toml").write_text(listed)
    found = [run(build, name)[0][0] for name in ("shift.toml", "listed.toml")]
    assert found[0]["completed"] == 4
    assert found[0]["trace_hash"] == found[1]["trace_hash"]
    assert found[0]["parameters"]["workload.shift.by"] == "2"


def test_mistakes_in_a_workload_are_told_with_their_place(build: Path) -> None:
    line = 1 + (build.parent / "shift.toml").read_text().splitlines().index("by = 2")
    for wrong, told in {
        "by = 0": "6: workload.shift.by = 0 is outside 1..1023",
        "by = 8": "6: workload.shift.by is a multiple of the 4 senders: each would send to itself",
        "bye = 2": '1: unknown key "workload.shift.bye"; did you mean "by"?',
    }.items():
        assert f"bad.toml:{line}:{told}" in complaint(build, wrong, "shift.toml", "by = 2")


def test_a_paper_is_run_and_judged_with_intervals(build: Path) -> None:
    papers, out = build.parent / "emu" / "rocelab" / "papers", build / "out-paper"
    done = rocelab(build, "-c", PAPER, papers, "small_buffers", out)
    assert done.returncode == 0, done.stderr
    report = json.loads((out / "report.json").read_text())
    assert [claim["holds"] for claim in report["claims"]] == [True, True]
    (ratio,) = report["claims"][0]["numbers"].values()
    assert ratio["seeds"] == 3 and 0 < ratio["ours"] < 1 and ratio["ci95"] > 0
    assert "Small buffers" in (out / "report.html").read_text()


def test_mistakes_in_a_mechanisms_table_are_told_with_their_place(build: Path) -> None:
    line = 1 + (build.parent / "nth_mark.toml").read_text().splitlines().index("every = 50")
    wrong = complaint(build, "every = 0", "nth_mark.toml", "every = 50")
    assert f"bad.toml:{line}:9: switch.nth_mark.every = 0 is outside 1..1000000" in wrong
    wrong = complaint(build, "evry = 5", "nth_mark.toml", "every = 50")
    assert f'bad.toml:{line}:1: unknown key "switch.nth_mark.evry"; did you mean "every"?' in wrong


def test_the_algorithm_runs_in_virtual_time_and_has_an_effect(build: Path) -> None:
    (plain, halving), _ = run(build, "halving.toml")
    assert (plain["label"], halving["label"]) == ("roce+pfc", "roce+pfc+halving")
    assert plain["completed"] == halving["completed"] == 4
    assert plain["cnps"] == plain["ecn_marks"] == 0
    assert (
        halving["cnps"] > 0 and halving["ecn_marks"] > 0
    ), "the preset's marking and CNPs follow from kNeeds"
    assert halving["pfc_paused_s"] < plain["pfc_paused_s"] / 2
    assert halving["parameters"]["congestion_control.halving.step"] == '"200Mbps"'


def test_mistakes_in_its_table_are_told_with_their_place(build: Path) -> None:
    line = 1 + (build.parent / "halving.toml").read_text().splitlines().index('step = "200Mb/s"')
    place = f"bad.toml:{line}:"
    assert f'{place}1: unknown key "congestion_control.halving.stp"; did you mean "step"?' in complaint(
        build, 'stp = "1Mb/s"'
    )
    assert f"{place}8: congestion_control.halving.step has no unit" in complaint(build, "step = 5")
    assert f"{place}7: congestion_control.halving.cut = 2 is outside 0.01..0.99" in complaint(
        build, "cut = 2"
    )
    assert f"{place}10: congestion_control.halving.period must be more than 0" in complaint(
        build, 'period = "0us"'
    )
    assert f"{place}13: congestion_control.halving.most_rate is less than min_rate" in complaint(
        build, 'most_rate = "5Mb/s"'
    )


def test_its_keys_are_documented(build: Path) -> None:
    page = build / "scenarios.md"
    page.write_text((ROOT / "docs" / "reference" / "scenarios.md").read_text())
    done = rocelab(build, "-m", "rocelab.generated", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "| `halving.` | `default` | range | meaning |" in text
    assert "| `cut` | 0.5 | 0.01..0.99 | share of the rate that a CNP leaves |" in text
    assert "`dctcp`, `halving`" in text
    assert "| `nth_mark.` | `default` | range | meaning |" in text
    assert "| `every` | 100 | 1..1000000 | frames of a port from one mark to the next |" in text
    assert "| `by` | 1 | 1..1023 | places from a sender to its receiver |" in text
    assert "`permutation`, `shift`, `all-to-all`" in text
    assert native.module().schema_tables(), "the module of the release build is another"
