"""Makes the pictures of docs/tutorial/ui.md: `PYTHONPATH=emu:tests/python:tests/browser python3 tests/browser/screenshots.py docs/tutorial/ui`."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import time
from pathlib import Path

import site_of_results
import ui_server
from PIL import Image
from pages import Pages
from rocelab import results
from selenium.webdriver.common.keys import Keys
from site_of_results import ROOT

_COLOURS = 160
_SIZES = {
    "gallery": 640,
    "scenario": 520,
    "runs": 420,
    "watch": 1060,
    "flow": 1000,
    "compare": 900,
    "sweep": 560,
}


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        site_of_results.make(root)
        shutil.rmtree(root / "scenarios")
        large = shutil.ignore_patterns("irn", "rc3", "ups", "rocc", "capfc", "timely", "p4qcn")
        shutil.copytree(ROOT / "scenarios", root / "scenarios", ignore=large)
        shutil.rmtree(root / "results/strange")
        results.run(ROOT / "scenarios/incast.toml", "des", out=root / "results/incast")
        folders = ["--results", str(root / "results"), "--scenarios", str(root / "scenarios")]
        words = [str(ROOT / "rocelab"), "ui", *folders]
        with ui_server.started(root, root / "results", root / "scenarios", words) as server:
            pages = Pages(server, root / "downloads")
            try:
                _all(pages, folder)
            finally:
                pages.quit()


def _all(pages: Pages, folder: Path) -> None:
    pages.size(1200, _SIZES["gallery"])
    pages.open("#gallery")
    pages.until(lambda: "reading" not in pages.text("#page > [role=status]"), 180)
    _save(pages, folder / "gallery.png")
    pages.size(1200, _SIZES["scenario"])
    pages.open("#edit?path=quick.toml")
    pages.said("reads well")
    pages.see(".cm-content")[0].click()
    pages.press(*[Keys.ARROW_UP] * 2, Keys.ENTER, "buffer = 3")
    pages.said("buffer", ".said")
    _save(pages, folder / "scenario.png")
    for name, size in (("quick", "500KB"), ("incast", "20MB")):
        pages.open("#gallery")
        pages.fill("Find", f"{name}.toml")
        pages.until(lambda: len(pages.see("article")) < 4)
        pages.click("Run …")
        pages.fill("Overrides, one a line", f"workload.incast.size={size}")
        pages.fill("Result's name", f"{name}-{size}")
        pages.click("Run", "button")
        pages.said("is in the queue", "#told")
    pages.size(1200, _SIZES["runs"])
    pages.open("#runs")
    pages.said("of experiment")

    _save(pages, folder / "runs.png")
    pages.click("Stop")
    pages.said("stopped")
    pages.size(1200, _SIZES["watch"])
    pages.open("#watch?result=incast&run=5")
    pages.click("longest pause")
    pages.said("That port is the cause")
    pages.until(lambda: pages.see("canvas"))
    _save(pages, folder / "watch.png")
    pages.size(1200, _SIZES["flow"])
    pages.open("#flow?result=incast&run=0&flow=1")
    pages.until(lambda: pages.see("canvas"))
    _save(pages, folder / "flow.png")
    pages.size(1200, _SIZES["compare"])
    pages.open("#compare?result=incast")
    pages.until(lambda: pages.see("canvas"))
    _save(pages, folder / "compare.png")
    pages.size(1200, _SIZES["sweep"])
    pages.open("#sweeps?name=sweep-quick&metric=avg_fct_s")
    pages.until(lambda: pages.see("canvas"))
    _save(pages, folder / "sweep.png")


def _save(pages: Pages, path: Path) -> None:
    """With few colours: the pictures are in the repository."""
    pages.driver.execute_script("document.getElementById('told').replaceChildren(); scrollTo(0, 0)")
    time.sleep(0.5)
    image = Image.open(io.BytesIO(pages.driver.get_screenshot_as_png())).convert("RGB")
    path.parent.mkdir(exist_ok=True)
    image.quantize(_COLOURS).save(path, optimize=True)
    print(path, path.stat().st_size)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
