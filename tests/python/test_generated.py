"""docs/reference/scenarios.md and docs/reference/metrics.md have the tables that the sources give."""

from __future__ import annotations

from pathlib import Path

import pytest
from rocelab import columns, generated, metrics
from rocelab.frames import KINDS

SCENARIOS, METRICS, PYTHON, *_ = generated.PAGES


@pytest.mark.parametrize("page", generated.PAGES, ids=lambda page: str(page.name))
def test_the_page_is_up_to_date(page: Path) -> None:
    text = page.read_text()
    assert (
        generated.rewritten(text, generated.tables()) == text
    ), "run: PYTHONPATH=emu python3 -m rocelab.generated"


def test_every_metric_and_trace_kind_has_its_line() -> None:
    text = METRICS.read_text()
    assert len(metrics.table()) == len(metrics.by_name()) > 30
    for name in (*metrics.by_name(), *KINDS):
        assert f"\n| `{name}` |" in text, name


def test_every_column_of_a_frame_has_its_line() -> None:
    text = PYTHON.read_text()
    for frame, rows in columns.COLUMNS.items():
        assert f"<!-- generated: frame.{frame} -->" in text
        for name, _, _ in rows:
            assert f"\n| `{name}` |" in text, name


def test_every_table_is_on_the_page() -> None:
    for table in generated.tables():
        head = table.section.removeprefix("congestion_control.").removeprefix("switch.").split(",")[0]
        assert f"| `{head}.`" in SCENARIOS.read_text(), table.section


def test_a_stale_block_is_rewritten_and_the_rest_of_the_page_is_not() -> None:
    table = generated.Table("irn", (("default", ""),), (generated.Row("sack", ("true",), "", "a switch"),))
    page = "before\n<!-- generated: irn -->\nold\n<!-- end -->\nbehind\n"
    new = generated.rewritten(page, [table])
    assert new.startswith("before\n<!-- generated: irn -->\n| `irn.` | `default` | range | meaning |\n")
    assert new.endswith("| `sack` | true |  | a switch |\n<!-- end -->\nbehind\n")
    assert generated.rewritten(new, [table]) == new


def test_values_are_written_as_documents_write_them() -> None:
    columns = (("paper", "a paper"), ("other", ""))
    row = generated.Row("rate", ('"40Mbps"', '"40Mbps"'), "> 0", "a rate")
    page = "<!-- generated: x -->\n<!-- end -->"
    text = generated.rewritten(page, [generated.Table("x", columns, (row,))])
    assert "| `rate` | `40Mbps` | same | > 0 | a rate |" in text
    assert "Presets. `paper`: a paper." in text
