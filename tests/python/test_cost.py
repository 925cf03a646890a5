"""`./rocelab cost`: its table, and what each operation takes in instructions, which is far steadier than time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from callgrind import counted, needs, needs_callgrind
from rocelab import cost, native

BENCH = native.build_directory() / "emu" / "cost" / "cost_bench"
# Instructions of one operation: a tenth above what was measured (128, 49, 127, 53, 90, 6205, 81, 268), so that a step back shows.
_LIMITS = {
    "receiveData": 140,
    "txFree": 54,
    "receiveAck": 140,
    "timeout": 58,
    "fairRate": 99,
    "flowTable": 6800,
    "queue": 89,
    "extract": 295,
}


def test_every_operation_has_a_limit() -> None:
    assert list(_LIMITS) == [name for name, *_ in native.runner.cost_operations()]


@needs_callgrind
@needs(BENCH)
@pytest.mark.parametrize("name", _LIMITS)
def test_instructions_of_an_operation_stay_within_their_limit(name: str) -> None:
    instructions, operations = counted([BENCH, name], "*::run()")
    each = instructions / int(operations)
    assert _LIMITS[name] / 3 < each <= _LIMITS[name], f"{each:.1f} instructions"


def test_the_table_has_state_and_time_beside_the_papers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cost.json"
    assert cost.run(file) == 0
    text = capsys.readouterr().out
    assert "160 bits" in text and "640 bits" in text and "45.45 M/s" in text and "75.7 M/s" in text
    found = json.loads(file.read_text())
    beside = {item["what"]: (item["bits"], item["paper_bits"]) for item in found["state"]}
    assert {paper for _, paper in beside.values() if paper} == {160, 640, 24, 80}
    for operation in found["operations"]:
        assert operation["ns"] > 0
        assert operation["ratio"] == pytest.approx(1e3 / operation["ns"] / operation["paper_mops"])
