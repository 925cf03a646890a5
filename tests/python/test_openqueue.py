"""`./rocelab openqueue` without a topology, and every program of its page and of the scenarios' folder."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from rocelab import native, results
from rocelab.errors import RocelabError
from rocelab.openqueue.commands import Target, check, explain, files_of
from rocelab.report import tables
from rocelab.scenario import make_plans, read_scenario

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "scenarios" / "openqueue"
PROGRAMS = sorted(FOLDER.glob("*.oq"))
_BLOCK = re.compile(r"^```openqueue\n(.*?)^```", re.M | re.S)
BLOCKS = _BLOCK.findall((ROOT / "docs" / "reference" / "openqueue.md").read_text())
_MIXED = 0  # the block that the page shows to be wrong


def errors(text: str) -> list[str]:
    compiled = native.module().compile_policy([("page.oq", text)])
    return [d["text"] for d in compiled["diagnostics"] if not d["warning"]]


def test_every_program_of_the_page_compiles_but_the_one_that_it_shows_to_be_wrong() -> None:
    assert len(BLOCKS) >= 8
    (said,) = errors(BLOCKS[_MIXED])
    assert f"fifo.oq:2:3: error: {said}" in (ROOT / "docs" / "reference" / "openqueue.md").read_text()
    assert {i: errors(block) for i, block in enumerate(BLOCKS) if i != _MIXED and errors(block)} == {}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_programs_of_the_folder_compile_and_are_explained(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check([program], (), Target(), as_json=False) == 0
    assert capsys.readouterr().out == f"{program}: ok\n"
    assert explain(program, (), Target(), code=False) == 0
    said = capsys.readouterr().out
    assert "serves" in said and "A frame costs at most" in said


def test_every_program_of_the_folder_is_run_by_a_scenario_of_it() -> None:
    named = "".join(path.read_text() for path in FOLDER.glob("*.toml"))
    assert [p.name for p in PROGRAMS if f'"{p.name}"' not in named] == []


def test_errors_have_their_place_a_caret_and_the_nearest_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.oq"
    bad.write_text(
        "on every port {\n  q = Queue(40KB);\n  out = Port(q);\n  q.dropFrst = newest;\n  select { else -> q; }\n}\n"
    )
    assert check([bad], (), Target(), as_json=False) == 1
    first, source, caret = capsys.readouterr().out.splitlines()[:3]
    assert first.startswith(f"{bad}:4:5: error: ") and "did you mean dropFirst?" in first
    assert source.strip() == "q.dropFrst = newest;" and caret.index("^") == source.index("dropFrst")
    assert check([bad], (), Target(), as_json=True) == 1
    found = json.loads(capsys.readouterr().out)
    assert found[0]["line"] == 4 and found[0]["column"] == 5 and not found[0]["warning"]


def test_constants_and_the_switch_of_a_scenario_are_used() -> None:
    program = FOLDER / "a.oq"
    four = Target().compile(program, ["k=4"])
    assert four["explained"] is not None and "q[0..3]" in four["explained"]
    assert Target().compile(program, ["k=99"])["explained"] is None, "65 queues are too many for a port"
    lossy = Target(ROOT / "scenarios" / "incast.toml", "irn").compile(program, [])
    assert lossy["explained"] is not None and "lossless:" not in lossy["explained"], "PFC is off"
    with pytest.raises(RocelabError, match="no switch s7: .* has s1"):
        Target(ROOT / "scenarios" / "incast.toml", None, "s7").compile(program, [])


def test_used_files_are_read_beside_the_program(tmp_path: Path) -> None:
    (tmp_path / "orders.oq").write_text("small(p1, p2) = p1.size < p2.size;\n")
    main = tmp_path / "main.oq"
    main.write_text('use "orders.oq";\n' + BLOCKS[1].replace("  out =", "  q.procPrio = small;\n  out ="))
    assert [Path(name).name for name, _ in files_of(main)] == ["main.oq", "orders.oq"]
    assert Target().compile(main, [])["explained"] is not None
    (tmp_path / "orders.oq").unlink()
    with pytest.raises(RocelabError, match="orders.oq: No such file"):
        Target().compile(main, [])


def test_texts_that_are_no_texts_are_refused_with_a_line(tmp_path: Path) -> None:
    for name, data in (("binary", b"\xff\xfe q"), ("deep", b"(" * 50_000), ("empty", b"")):
        file = tmp_path / name
        file.write_bytes(data)
        compiled = Target().compile(file, [])
        assert compiled["explained"] is None and compiled["diagnostics"], name
    huge = tmp_path / "huge"
    huge.write_bytes(b" " * (65 << 10))
    with pytest.raises(RocelabError, match="larger than 64 KB, the limit"):
        Target().compile(huge, [])


def test_a_changed_program_or_constant_is_another_run() -> None:
    def key(*overrides: str) -> tuple[object, ...]:
        (plan,) = make_plans(
            read_scenario(FOLDER / "algorithms.toml", ("transport=a", "seeds=[1]", "case=[]", *overrides))
        )
        return tuple((p.key, p.value) for p in plan.parameters)

    assert key() != key("switch.openqueue.set.k=2")


def test_the_report_names_the_queues_of_programs_and_when_each_was_in_force(tmp_path: Path) -> None:
    result = results.run(ROOT / "scenarios/openqueue/reload.toml", "des", out=tmp_path)
    page = (tmp_path / "report.html").read_text()
    outcome = result.outcomes[0]
    (switch,) = outcome.policies
    policy = outcome.policies[switch]
    (line,) = tables.policy_changes(outcome)
    assert re.match(
        rf"{switch}: builtin from 0 ps, lqd\.oq from 50(\.0*)? us, ", line.replace("µ", "u")
    ), line
    assert f"and {len(policy['policies']) - 8} more" in page
    rows = tables.policy_rows(outcome)
    assert rows and {row.queue for row in rows} <= {queue["queue"] for queue in policy["queues"]}
    assert all(f'<td class="left">{row.queue}</td>' in page for row in rows)
