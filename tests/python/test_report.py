"""report.html stands alone, says what it must, and survives whatever a run left behind."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest
import synthetic
from rocelab import metrics, results
from rocelab.headline import number
from rocelab.report import tables

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


class Page(HTMLParser):
    """Text, and whatever would make a browser fetch something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.fetched: list[str] = []
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "link", "img", "iframe", "object"):
            self.fetched.append(tag)
        for name, value in attrs:
            inside = (value or "").startswith(("#", "http://www.w3.org/"))
            if name in ("src", "href", "xlink:href") and not inside:
                self.fetched.append(f"{tag} {value}")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module", params=["incast.toml", "incast_crosstraffic.toml", "leaf_spine_54.toml"])
def html(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    small = ["workload.poisson.duration=1ms"] if request.param == "leaf_spine_54.toml" else []
    out = tmp_path_factory.mktemp("out")
    result = results.run(SCENARIOS / request.param, out=out, execute=synthetic.outcome, overrides=small)
    assert result.report == out / "report.html"
    return (out / "report.html").read_text()


def test_nothing_is_fetched(html: str) -> None:
    assert Page(html).fetched == []
    assert "@import" not in html and not re.search(r"url\((?!#)", html)


def test_pictures_are_well_formed_and_have_labelled_axes(html: str) -> None:
    pictures = re.findall(r"<svg.*?</svg>", html, flags=re.S)
    assert len(pictures) >= 3
    text = ""
    for picture in pictures:
        ElementTree.fromstring(picture)
        text += " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", picture))
    assert re.search(r"time \[(ms|µs)\]", text) and "[Gb/s]" in text and "[KB]" in text


def test_says_what_a_stranger_needs(html: str) -> None:
    text = Page(html).text
    for words in (
        "Exact",
        "Results",
        "Completion times",
        "Over time",
        "What was run",
        "Parameters",
        "Every run",
        "How to reproduce",
    ):
        assert words in text
    for words in ("headroom", "XOFF", "lossless_buffer", "240KB", "trace hash", "./rocelab run"):
        assert words in text


def test_of_mechanisms_that_are_off_only_that_is_shown(tmp_path: Path) -> None:
    """On for one label is on for all: the page has the values that labels share once."""

    def switch(*overrides: str) -> list[str]:
        result = results.run(SCENARIOS / "quick.toml", "des", overrides=overrides, out=tmp_path)
        return [key for key, _ in dict(tables.grouped_parameters(result.summary))["switch"]]

    plain = switch('transport=["roce+pfc"]')
    assert "capfc.enabled" in plain and "pfc.xoff" in plain
    assert not [key for key in plain if key.startswith(("p4qcn.", "qcn.")) or key == "capfc.xoff"]
    some = switch('transport=["roce+pfc", "roce+pfc+qcn"]', "switch.capfc.enabled=true")
    assert {"capfc.xoff", "qcn.q_eq"} <= set(some) and "p4qcn.gap" not in some


def test_frames_dropped_have_a_column_where_they_are_not_all_packets(tmp_path: Path) -> None:
    result = results.run(SCENARIOS / "quick.toml", "des", out=tmp_path)
    lossy = next(a for a in result.summary["aggregates"] if (a["label"], a["metric"]) == ("roce", "drops"))
    assert lossy["mean"] > 0
    assert "drops" not in {m.name for m in metrics.shown_of(result.summary)}
    lossy["mean"] += 1
    assert "drops" in {m.name for m in metrics.shown_of(result.summary)}


def test_victim_is_shown_with_the_group_it_suffers_from(tmp_path: Path) -> None:
    results.run(SCENARIOS / "incast_crosstraffic.toml", out=tmp_path, execute=synthetic.outcome)
    assert "while incast ran" in Page((tmp_path / "report.html").read_text()).text


def test_a_run_in_which_nothing_was_measured_has_a_report(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results.run(SCENARIOS / "quick.toml", "des", out=tmp_path, overrides=["engine.warmup=1s"])


def test_text_from_scenarios_is_escaped(tmp_path: Path) -> None:
    text = (SCENARIOS / "quick.toml").read_text().replace('title = "', 'title = "<script>alert(1)</script>')
    (tmp_path / "evil.toml").write_text(text)
    results.run(tmp_path / "evil.toml", out=tmp_path, execute=synthetic.outcome)
    html = (tmp_path / "report.html").read_text()
    assert "<script>" not in html and "&lt;script&gt;" in html


@pytest.mark.parametrize(
    ("value", "digits", "want"),
    [
        (None, 2, "–"),
        (float("nan"), 2, "–"),
        (1234567.0, 0, "1\u2009234\u2009567"),
        (0.5, 3, "0.500"),
        (-1.25, 1, "-1.2"),
    ],
)
def test_numbers_are_readable(value: float | None, digits: int, want: str) -> None:
    assert number(value, digits) == want
