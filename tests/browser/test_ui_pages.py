"""The pages of `./rocelab ui` in a browser: from a run to its comparison, by keyboard, in both schemes, in a narrow window."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
import ui_server
from pages import Pages
from rocelab.errors import RocelabError
from rocelab.ui import bundle
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from site_of_results import MARKUP, ROOT

PLACES = {
    "gallery": "#gallery",
    "scenario": "#edit?path=quick.toml",
    "runs": "#runs",
    "watch": "#watch?result=incast&run=2&port=s1-eth9",
    "flow": "#flow?result=incast&run=0&flow=1",
    "compare": "#compare?result=incast",
    "sweeps": "#sweeps",
    "sweep": "#sweeps?name=sweep-quick",
    "sweep's label": "#sweeps?name=sweep-quick&label=irn,size=200KB",
}
DRAWN = ("watch", "flow", "compare", "sweep", "sweep's label")  # pages with charts


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PLACES)
def test_axe_finds_nothing(pages: Pages, page: str, scheme: str) -> None:
    pages.scheme(scheme)
    pages.open(PLACES[page])
    if page == "gallery":
        pages.click("Run …")
    pages.until(lambda: page not in DRAWN or pages.see("canvas"))
    assert pages.findings() == []


@pytest.mark.parametrize("page", PLACES)
def test_a_narrow_window_needs_no_scrolling_aside(pages: Pages, page: str) -> None:
    pages.size(360, 800)
    pages.open(PLACES[page])
    pages.until(lambda: page not in DRAWN or pages.see("canvas"))
    width = pages.driver.execute_script("return document.documentElement.scrollWidth")
    assert width <= 360


@pytest.mark.parametrize("page", DRAWN)
def test_charts_have_the_colours_of_the_scheme(pages: Pages, page: str) -> None:
    """Text on the chart's paper is dark in the light scheme and light in the dark one; it changes with the scheme at once."""
    pages.open(PLACES[page])
    pages.until(lambda: pages.see("canvas"))
    script = """
        const c = document.querySelector("canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        let sum = 0, n = 0;
        for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) { sum += d[i] + d[i + 1] + d[i + 2]; n++; }
        return sum / n / 3;
    """
    light = pages.driver.execute_script(script)
    pages.scheme("dark")
    assert pages.until(lambda: pages.driver.execute_script(script) != light)
    background = pages.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", background)[:3])) < 60
    assert all("willReadFrequently" in line for line in pages.complaints()), "this test's own reading"


def test_a_first_visit_reads_all_scenarios_and_draws_those_that_are_seen(tmp_path: Path) -> None:
    """A server of its own, which knows nothing yet."""
    (tmp_path / "results").mkdir()
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    folders = ["--results", str(tmp_path / "results"), "--scenarios", str(tmp_path / "scenarios")]
    words = [str(ROOT / "rocelab"), "ui", *folders]
    with ui_server.started(tmp_path, tmp_path / "results", tmp_path / "scenarios", words) as server:
        pages = Pages(server, tmp_path / "downloads")
        try:
            pages.open("#gallery")
            pages.until(lambda: pages.see("svg.sketch circle.sink"))
            said = pages.until(lambda: (t := pages.text("[role=status]")) and "reading" not in t and t)
            total = int(said.split(" of ")[1].split()[0])
            assert total == len(list((ROOT / "scenarios").rglob("*.toml"))) > 100
            script = "return performance.getEntriesByType('resource').map((e) => e.name)"
            asked = [name for name in pages.driver.execute_script(script) if "/api/sketch" in name]
            assert 0 < len(asked) == len(set(asked)) < total / 2, "each once, and not all"
            pages.driver.execute_script("scrollTo(0, document.body.scrollHeight)")
            pages.until(lambda: pages.see("article:last-child svg.sketch"))
            assert pages.complaints() == []
        finally:
            pages.quit()


def test_a_run_from_its_start_to_its_comparison(pages: Pages) -> None:
    pages.open("#gallery")
    pages.fill("Find", "quick.toml")
    pages.said("1 of 4 scenarios")
    pages.click("Run …")
    pages.click("roce+pfc", "label")
    pages.fill("Seeds", "1-3")
    pages.fill("Overrides, one a line", "workload.incast.size=200KB")
    pages.fill("Result's name", "mine")
    pages.click("Run", "button")
    pages.said("is in the queue", "#told")
    pages.click("Runs", "nav a")
    pages.said("done")
    text = pages.text("#page")
    assert "mine" in text and "seeds=[1, 2, 3]" in text and 'transport=["roce", "irn", "irn+pfc"]' in text
    pages.click("Compare", "main a")
    rows = pages.rows("Means over seeds")
    assert [row[:2] for row in rows] == [["roce", "3"], ["irn", "3"], ["irn+pfc", "3"]]
    assert all("±" in row[2] for row in rows)
    assert len(pages.until(lambda: pages.see("canvas"))) >= 3
    pages.choose("Add a result", "incast")
    both = pages.until(lambda: (r := pages.rows("Means over seeds")) and len(r) > 3 and r)
    assert {row[0] for row in both} >= {"mine: roce", "incast: roce+pfc"}
    pages.open("#gallery")
    pages.fill("Find", "quick.toml")
    pages.until(lambda: pages.see(".thumb"))


def _watched(pages: Pages, size: str, name: str) -> None:
    """The page Watch of a run of incast.toml that has just begun."""
    pages.open("#gallery")
    pages.fill("Find", "incast.toml")
    pages.said("4 labels")
    pages.click("Run …")
    for label in ("roce", "roce+pfc", "irn+pfc"):
        pages.click(label, "label")
    pages.fill("Seeds", "1")
    long = [f"workload.incast.size={size}", "engine.limit=200s", "engine.sample_interval=200us"]
    pages.fill("Overrides, one a line", "\n".join(long))
    pages.fill("Result's name", name)
    pages.click("Run", "button")
    pages.click("Runs", "nav a")
    pages.click("Watch", "main a")
    pages.said("irn, seed 1, up to the present")


def test_a_run_is_watched_while_it_lasts_and_stopped_by_a_click(pages: Pages) -> None:
    """A run that lasts longer than any of these questions."""
    _watched(pages, "100GB", "long")
    first = pages.until(lambda: pages.text(".clock"))
    pages.until(lambda: pages.text(".clock") != first)
    pages.until(lambda: pages.see(".lane.u5") or pages.see(".lane.u4"))
    pages.said("longest queue")
    pages.until(lambda: pages.rows("Ports")[0][3] != "0 B")
    pages.tab_to("Experiment time")
    pages.press(Keys.HOME)
    stays = pages.text(".clock").split(" of ")[0]
    end = pages.text(".clock")
    pages.until(lambda: pages.text(".clock") != end)
    assert pages.text(".clock").split(" of ")[0] == stays == "0 s", "who looks back stays there"
    port = pages.rows("Ports")[0][0]
    pages.click(port, "tbody button.pick")
    for chart in ("Longest queue", "Rate of"):
        pages.until(lambda start=chart: pages.see(f'.chart[aria-label*="{start}"]'))
    at = pages.text(".clock")
    pages.until(lambda: pages.text(".clock") != at)
    focus = pages.until(pages.focused)
    assert port in focus, f"{focus} has the focus after the table was renewed, not {port}"
    assert pages.findings() == []
    pages.click("Runs", "nav a")
    pages.said("of experiment")
    pages.click("Stop")
    pages.said("stopped")
    assert "long" not in pages.text("#state")


def test_the_result_of_a_watched_run_takes_its_place(pages: Pages) -> None:
    _watched(pages, "3GB", "watched")
    pages.until(lambda: "result=watched" in pages.driver.current_url, patience=180)
    pages.said("first retransmission")


def test_rows_keep_their_places_while_one_of_them_has_the_focus(pages: Pages) -> None:
    esbuild = [bundle.MODULES / ".bin/esbuild", bundle.PAGES / "table.js"]
    words = ["--bundle", "--format=iife", "--global-name=made"]
    module = subprocess.run([*esbuild, *words], capture_output=True, text=True, check=True).stdout
    script = """
        const columns = [{ key: "port", title: "port", left: true }, { key: "queue", title: "queue" }];
        const rows = (...queues) => queues.map((queue, i) => ({ port: "abc"[i], queue }));
        const sort = { key: "queue", descending: true };
        const list = made.table({ caption: "made", columns, rows: rows(2, 1), sort, onpick: () => {} });
        document.getElementById("page").append(list.element);
        const order = () => [...list.element.querySelectorAll("tbody tr")].map((r) => r.textContent).join(" ");
        const renewed = (...queues) => (list.renew(rows(...queues)), order());
        const told = [renewed(1, 2)];
        list.element.querySelector("tbody button").focus();
        told.push(renewed(4, 3, 5), document.activeElement.textContent);
        document.activeElement.blur();
        told.push(renewed(4, 3, 5));
        return told;
    """
    pages.open("#compare?result=incast")
    told = pages.driver.execute_script(module + script)
    assert told == ["b2 a1", "b3 a4 c5", "b", "c5 a4 b3"]


def test_the_editor_says_what_the_reader_says_at_its_line(pages: Pages, folder: Path) -> None:
    file = folder / "scenarios/edited.toml"
    shutil.copy(folder / "scenarios/quick.toml", file)
    pages.open("#edit?path=edited.toml")
    pages.said("reads well: 4 labels")
    pages.until(lambda: pages.see(".cm-content"))[0].click()
    pages.chord(Keys.CONTROL, Keys.HOME)
    pages.press("speed = 3", Keys.ENTER)
    said = pages.said("line 1:", ".said")
    assert "speed" in said and pages.see(".cm-lint-marker-error")
    pages.click("Run …")
    pages.said("save the text first", "#told")
    pages.press(Keys.ESCAPE)
    pages.until(lambda: pages.see(".cm-content"))[0].click()
    pages.chord(Keys.CONTROL, Keys.HOME)
    pages.press("# ")
    pages.said("reads well")
    assert not pages.see(".cm-lint-marker-error")
    pages.chord(Keys.CONTROL, "s")
    pages.said("is saved", "#told")
    assert file.read_text().startswith("# speed = 3\n")
    pages.fill("Save as", "copy.toml")
    pages.click("Save")
    pages.until(lambda: "copy.toml" in pages.driver.current_url)
    assert (folder / "scenarios/copy.toml").read_text() == file.read_text()
    pages.settled()
    file.unlink()
    (folder / "scenarios/copy.toml").unlink()


def test_the_keyboard_alone_does(pages: Pages) -> None:
    pages.open("#gallery")
    pages.press(Keys.TAB)
    assert pages.driver.switch_to.active_element.text == "Skip to the page"
    pages.tab_to("Watch")
    pages.press(Keys.ENTER)
    pages.settled()
    pages.choose("Result", "incast")
    pages.tab_to("Experiment time")
    before = pages.text(".clock")
    pages.press(Keys.HOME)
    pages.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert pages.until(lambda: pages.text(".clock") != before)
    pages.open("#watch?result=incast&run=2&t=0")
    pages.tab_to("Play")
    pages.press(Keys.ENTER)
    pages.said("Pause", ".player")
    pages.until(lambda: not pages.text(".clock").startswith("0 s"))
    pages.press(Keys.ENTER)
    pages.said("Play", ".player")
    pages.tab_to("first pause")
    pages.press(Keys.SPACE)
    pages.said("Who caused the pause")
    pages.tab_to("s1-eth9")
    pages.press(Keys.ENTER)
    pages.said("Port s1-eth9")
    pages.tab_to("drops")
    pages.press(Keys.ENTER)
    assert pages.driver.switch_to.active_element.text.startswith("drops"), "the focus stays"


def test_focus_can_be_seen(pages: Pages) -> None:
    pages.open("#compare?result=incast")
    for _ in range(8):
        pages.press(Keys.TAB)
        outline = (
            "const s = getComputedStyle(document.activeElement); return [s.outlineStyle, s.outlineWidth]"
        )
        style, width = pages.driver.execute_script(outline)
        assert style != "none" and float(width.removesuffix("px")) >= 1


def test_playing_goes_through_time_and_ends(pages: Pages) -> None:
    pages.open("#watch?result=strange&run=0")
    pages.click("Play")
    pages.until(lambda: pages.text(".player button") == "Play")
    last = pages.driver.execute_script(
        "const i = document.querySelector('.player input'); return i.value === i.max"
    )
    assert last
    assert "t=" in pages.driver.current_url


def test_a_link_shows_exactly_the_same(pages: Pages) -> None:
    pages.open("#compare?result=incast")
    pages.click("irn+pfc", ".panel label")
    pages.until(lambda: len(pages.rows("Means over seeds")) == 3)
    pages.click("Columns")
    for column in ("goodput (Gb/s)", "99th % slowdown"):
        pages.click(column, "label")
    pages.click("99th % slowdown", "th button")
    pages.click("roce", ".bar label")
    table = pages.rows("Means over seeds")
    keys = pages.text("figure .key")
    link = pages.driver.current_url
    pages.driver.get("about:blank")
    pages.driver.get(link)
    pages.settled()
    assert pages.until(lambda: pages.see("canvas"))
    assert pages.rows("Means over seeds") == table
    assert pages.text("figure .key") == keys and "irn" in keys
    heads = [head.text for head in pages.see("th button")]
    assert "goodput (Gb/s)" not in heads and any(head.startswith("99th % slowdown ") for head in heads)
    pages.click("Copy a link to this view")


def test_charts_and_tables_are_downloaded(pages: Pages) -> None:
    pages.open("#compare?result=incast")
    pages.until(lambda: pages.see("canvas"))
    pages.click("SVG", "figure button")
    svg = ElementTree.fromstring(pages.downloaded("flow-completion-time.svg"))
    lines = [path for path in svg.iter("{http://www.w3.org/2000/svg}path") if len(path.get("d", "")) > 30]
    assert len(lines) == 4
    texts = {t.text for t in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Flow completion time", "share of flows", "irn+pfc"} <= texts
    pages.click("PNG", "figure button")
    png = pages.downloaded("flow-completion-time.png")
    assert png.startswith(b"\x89PNG") and int.from_bytes(png[16:20], "big") == 1720
    pages.click("CSV", "figure button")
    rows = pages.downloaded("flow-completion-time.csv").decode().split("\r\n")
    assert rows[0].startswith("line,FCT") and sum(row.startswith("irn,") for row in rows) == 16
    pages.click("CSV", ".bar > button")
    table = pages.downloaded("compare.csv").decode().split("\r\n")
    assert table[0].startswith("result,label,seeds,flows,") and table[1].startswith("incast,roce,1 2,")


def test_texts_of_scenarios_are_shown_as_text(pages: Pages) -> None:
    text = MARKUP.replace('"', "'")
    for place in (
        "#gallery?find=strange",
        "#watch?result=strange&run=0",
        "#flow?result=strange&run=0&flow=1",
        "#edit?path=strange.toml",
    ):
        pages.open(place)
        pages.until(lambda: text in pages.text("#page") or MARKUP in pages.text("#page"))
        assert not pages.driver.find_elements(By.CSS_SELECTOR, "img")
    assert pages.driver.title != "1"


def test_errors_are_shown_as_one_line(pages: Pages) -> None:
    for place, said in (
        ("#watch?result=none", "there is no none"),
        ("#flow?result=incast&run=99", "no run 99"),
        ("#compare?set=incast|none|", "no runs of label none"),
        ("#edit?path=none.toml", "there is no none.toml"),
    ):
        pages.open(place)
        pages.said(said)
    assert all("status of 40" in line for line in pages.complaints()), "and nothing else"


@pytest.mark.parametrize("place", [*PLACES.values()])
def test_a_page_of_what_has_ended_asks_for_nothing_more(pages: Pages, place: str) -> None:
    pages.open(place)
    time.sleep(1)
    script = "return performance.getEntriesByType('resource').length"
    before = pages.driver.execute_script(script)
    time.sleep(2.5)
    assert pages.driver.execute_script(script) == before


def test_the_pages_are_light() -> None:
    assert sum(path.stat().st_size for path in bundle.DIST.iterdir()) <= 1_500_000


def test_a_second_start_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch() -> None:
        raise AssertionError("npm is called")

    monkeypatch.setattr(bundle, "_fetch", fetch)
    assert bundle.ensure(install=False) == bundle.DIST
    monkeypatch.setattr(bundle, "_MANIFEST", ("package.json",))
    with pytest.raises(RocelabError, match="--no-install was given: run ./rocelab ui once"):
        bundle.ensure(install=False)


def test_libraries_that_cannot_be_fetched_are_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    npm = tmp_path / "bin/npm"
    npm.parent.mkdir()
    npm.write_text("#!/bin/sh\necho npm error code ENOTFOUND >&2\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{npm.parent}:/usr/bin:/bin")
    monkeypatch.setattr(bundle, "FOLDER", tmp_path / "ui")
    monkeypatch.setattr(bundle, "_LOG", tmp_path / "npm.log")
    with pytest.raises(RocelabError, match="the pages' libraries cannot be installed") as caught:
        bundle.ensure()
    assert "ENOTFOUND" in str(caught.value) and "npm.log" in str(caught.value)
