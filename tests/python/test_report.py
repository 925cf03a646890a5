"""report.html stands alone, says what it must, and survives whatever a run left behind."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import statistics
import subprocess
import warnings
import xml.etree.ElementTree as ElementTree
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
import synthetic
from rocelab import metrics, pauses, results
from rocelab.headline import number
from rocelab.report import tables

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


class Page(HTMLParser):
    """Text, and whatever would make a browser fetch something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.fetched: list[str] = []
        self.scripts = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("link", "img", "iframe", "object"):
            self.fetched.append(tag)
        self.scripts += tag == "script"
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
    assert Page(html).fetched == [] and Page(html).scripts == 1
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


def test_only_the_script_of_the_page_may_run(html: str) -> None:
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    script = re.search(r'<script type="text/javascript">(.*?)</script>', html, re.S)
    assert policy is not None and script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert policy[1] == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert not re.search(r"<[^>]* on\w+=", html), "an event handler in a tag"
    assert len(script[1]) < 10_000


# What a reader does: point at the first curve, hide its label, drag over the middle of the picture, double click.
_READER = """
SVGElement.prototype.setPointerCapture = () => {};
const svg = document.querySelector("figure svg"), tip = document.querySelector(".tip"), said = {};
const series = svg.querySelector(".series path"), label = svg.querySelector(".series").dataset.label;
const event = (type, x, y) => {
  const p = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
  svg.dispatchEvent(new PointerEvent(type, { clientX: p.x, clientY: p.y, button: 0, bubbles: true }));
};
const [x, y] = series.getAttribute("d").split(/[A-Z ]+/).filter(Boolean).map(Number);
const [[low, high], , [left, top_, right, bottom]] = JSON.parse(svg.querySelector(".axes").dataset.scales);
event("pointermove", x + 1, y - 1);
said.tip = [tip.style.display, tip.textContent];
const before = series.getAttribute("d"), middle = (left + right) / 2, ticks = () => svg.querySelectorAll(".made text").length;
event("pointerdown", middle, (top_ + bottom) / 2); event("pointermove", right, top_); event("pointerup", right, (top_ + bottom) / 2);
said.zoomed = [series.getAttribute("d") !== before, ticks() > 1, Number(svg.querySelector(".made text").textContent) >= (low + high) / 2];
event("dblclick", middle, (top_ + bottom) / 2);
said.back = [ticks() === 0, Math.abs(Number(series.getAttribute("d").split(/[A-Z ]+/).filter(Boolean)[0]) - x) < 0.01];
document.querySelector(".key").dispatchEvent(new MouseEvent("click"));
const off = [...document.querySelectorAll(".series.off")];
said.hidden = [off.length > 2, off.every((s) => s.dataset.label === label && getComputedStyle(s).display === "none")];
event("pointermove", x + 1, y - 1);
said.silent = tip.style.display === "none" || !tip.textContent.startsWith(label + ":");
document.title = JSON.stringify(said);
"""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no browser")
def test_pictures_answer_in_a_browser(tmp_path: Path) -> None:
    """Under the page's own policy, from a file."""
    results.run(SCENARIOS / "quick.toml", out=tmp_path, execute=synthetic.outcome)
    html = (tmp_path / "report.html").read_text()
    digest = base64.b64encode(hashlib.sha256(_READER.encode()).digest()).decode()
    html = html.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    (tmp_path / "read.html").write_text(html.replace("</body>", f"<script>{_READER}</script></body>"))
    argv = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    argv += ["--no-first-run", "--disable-background-networking", f"--user-data-dir={tmp_path}/profile"]
    argv += ["--dump-dom", (tmp_path / "read.html").as_uri()]
    shown = subprocess.run(argv, capture_output=True, text=True, timeout=60).stdout
    title = re.search(r"<title>(\{.*?\})</title>", shown)
    assert title is not None, "a script of the page has failed"
    said = json.loads(unescape(title[1]))
    words = re.fullmatch(r"roce: completion time [\d.]+ (ms|µs), share of flows [\d.]+", said["tip"][1])
    assert said["tip"][0] == "block" and words
    assert said["zoomed"] == [True] * 3 and said["back"] == [True] * 2
    assert said["hidden"] == [True] * 2 and said["silent"]


@pytest.mark.parametrize("labels", [4, 9])
def test_results_fit_whatever_the_schemes_add(labels: int, tmp_path: Path) -> None:
    """Labels stand side by side and their metrics below one another, unless labels are the many."""
    names = [f"l{i}" for i in range(labels)]
    defined = "".join(f'[[label]]\nname = "{name}"\nmode = "irn"\npfc = true\n' for name in names)
    text = (SCENARIOS / "quick.toml").read_text()
    text = re.sub(r"transport = .*", f"transport = {json.dumps(names)}", text) + defined
    (tmp_path / "labels.toml").write_text(text)
    results.run(tmp_path / "labels.toml", out=tmp_path, execute=synthetic.outcome)
    html = (tmp_path / "report.html").read_text()
    table = re.search(r'<table class="headline.*?</table>', html, re.S)
    assert table is not None
    head = table[0][: table[0].index("</thead>")]
    assert (head.count("data-label") == labels) == (labels == 4)
    assert ("goodput" in head) == (labels == 9)


def test_hosts_that_are_paused_are_in_the_table_of_pauses(tmp_path: Path) -> None:
    chosen = ['transport=["roce+pfc"]']
    result = results.run(SCENARIOS / "quick.toml", "des", overrides=chosen, out=tmp_path)
    (outcome,) = result.outcomes
    rows = {(row.interface, row.tc): row for row in pauses.by_port(outcome)}
    assert {name for name, _ in rows} == {"h1", "h2"}
    for (host, _), row in rows.items():
        nic = outcome.nic_counters[host, 0]
        assert row.paused_ps // 1000 == pytest.approx(nic["rx_pause_duration_ns"], abs=row.pauses)
        assert 0 < row.longest_ps <= row.paused_ps and row.depth == 1 and row.pauses > 0
    assert "Hosts and switch ports that their neighbours paused" in (tmp_path / "report.html").read_text()


def test_a_scenario_without_a_title_is_headed_by_what_it_is(tmp_path: Path) -> None:
    text = (SCENARIOS / "quick.toml").read_text()
    (tmp_path / "bare.toml").write_text(re.sub(r"(?m)^title = .*", "", text))
    results.run(tmp_path / "bare.toml", out=tmp_path, execute=synthetic.outcome)
    html = (tmp_path / "report.html").read_text()
    assert "<h1>Incast among 3 hosts over 1 switch: roce, roce+pfc, irn, irn+pfc</h1>" in html


def test_the_command_that_reproduces_says_what_was_changed(tmp_path: Path) -> None:
    changed = ["topology.rate=100Gb/s", 'transport=["irn"]']
    results.run(SCENARIOS / "quick.toml", "des", overrides=changed, out=tmp_path)
    html = unescape((tmp_path / "report.html").read_text())
    assert (
        f"./rocelab run {SCENARIOS / 'quick.toml'} --engine des --set topology.rate=100Gb/s --set 'transport=[\"irn\"]'"
        in html
    )


def test_mechanisms_that_are_off_are_shown_as_off_only(tmp_path: Path) -> None:
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


def test_workloads_of_requests_and_responses_have_their_latencies(tmp_path: Path) -> None:
    result = results.run(SCENARIOS / "rpc.toml", "des", overrides=['transport=["irn"]'], out=tmp_path)
    notes = {name: note for _, name, _, _, _, note in tables.group_rows(result.summary, statistics.fmean)}
    (of_open,) = (g for g in result.summary["runs"][0]["groups"] if g["name"] == "open")
    assert f"99 % {of_open['p99_rpc_s'] * 1e6:.1f} µs" in notes["open"] and "Gb/s offered" in notes["open"]
    assert "offered" not in notes["closed"] and "Gb/s accepted" in notes["closed"]
    assert notes["pingers"] in Page((tmp_path / "report.html").read_text()).text


def test_a_run_in_which_nothing_was_measured_has_a_report(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results.run(SCENARIOS / "quick.toml", "des", out=tmp_path, overrides=["engine.warmup=1s"])


def test_text_from_scenarios_is_escaped(tmp_path: Path) -> None:
    text = (SCENARIOS / "quick.toml").read_text().replace('title = "', 'title = "<script>alert(1)</script>')
    (tmp_path / "evil.toml").write_text(text)
    results.run(tmp_path / "evil.toml", out=tmp_path, execute=synthetic.outcome)
    html = (tmp_path / "report.html").read_text()
    assert "<script>" not in html and Page(html).scripts == 1 and "&lt;script&gt;" in html


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
