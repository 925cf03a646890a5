"""The page Sweeps in a browser: a metric over an axis, one label with its seeds, and a point that is run and watched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pages import Pages


def test_a_sweep_is_a_table_and_a_chart_over_an_axis(pages: Pages, folder: Path) -> None:
    pages.open("#gallery")
    pages.click("Sweeps", "nav a")
    assert "18 of 18 points" in pages.said("sweep-quick")
    pages.click("sweep-quick", "main a")
    pages.settled()
    pages.choose("Metric", "mean FCT (ms)")
    (head,) = pages.rows("mean FCT", "tHead")
    assert head == ["label", "size=100KB", "size=200KB", "size=400KB"]
    rows = pages.rows("mean FCT")
    assert [row[0] for row in rows] == ["roce", "irn"]
    summary = json.loads((folder / "results/sweep-quick/summary.json").read_text())
    means = {(a["label"], a["metric"]): a for a in summary["aggregates"]}
    for row in rows:
        for size, cell in zip(head[1:], row[1:]):
            estimate = means[f"{row[0]},{size}", "avg_fct_s"]
            mean, half = (float(text) for text in cell.split(" ±"))
            assert mean == pytest.approx(estimate["mean"] * 1e3, rel=1e-3)
            assert half == pytest.approx(estimate["ci95"] * 1e3, rel=1e-3, abs=5e-5)
    chart = pages.until(lambda: pages.see("figure .chart"))[0].get_attribute("aria-label")
    assert chart is not None and "mean FCT over size" in chart and "irn: " in chart
    pages.click("CSV", "figure button")
    lines = pages.downloaded("mean-fct-over-size.csv").decode().split("\r\n")
    assert lines[0] == "line,size (KB),ms,half width" and len(lines) == 8
    link = pages.driver.current_url
    assert "metric=avg_fct_s" in link
    pages.open(link.split("/")[-1])
    assert pages.rows("mean FCT") == rows, "the address is the view"


def test_a_point_of_a_sweep_is_run_and_watched(pages: Pages) -> None:
    pages.open("#sweeps?name=sweep-quick")
    pages.click(pages.rows("")[1][2], "td a")
    pages.said("Seeds")
    assert [row[0] for row in pages.rows("Seeds")] == ["1", "2", "3"] and "irn,size=200KB" in pages.text("h1")
    pages.until(lambda: pages.see("canvas"))
    pages.click("Run it", "tbody button")
    pages.until(lambda: "result=sweep-quick.irn" in pages.driver.current_url)
    pages.said("seed 1")
    pages.driver.back()
    pages.open("#sweeps?name=sweep-quick&label=irn,size=200KB")
    (first, second, _) = pages.rows("Seeds")
    assert first[-1] == "Watch" and second[-1] == "Run it"
    pages.click("Watch", "td a")
    pages.said("Moments")
