"""Scenarios and results for the pages to show: small, in virtual time."""

from __future__ import annotations

import shutil
from pathlib import Path

from rocelab import results
from rocelab.sweep import command

ROOT = Path(__file__).resolve().parents[2]
MARKUP = '<img src=x onerror="document.title=1">'


def make(root: Path) -> None:
    scenarios, out = root / "scenarios", root / "results"
    (scenarios / "escape").mkdir(parents=True)
    for name in ("quick.toml", "incast.toml", "escape/ring.toml"):
        shutil.copy(ROOT / "scenarios" / name, scenarios / name)
    text = (scenarios / "quick.toml").read_text()
    strange = f"# About {MARKUP}\n" + text.replace("Two senders, one receiver", MARKUP.replace('"', "'"))
    (scenarios / "strange.toml").write_text(strange.replace('name = "incast"', 'name = "incast"'))
    small = ("workload.incast.size=300KB", "seeds=[1, 2]", "engine.sample_interval=5us")
    results.run(scenarios / "incast.toml", "des", overrides=small, out=out / "incast")
    results.run(ROOT / "scenarios/queues.toml", "des", out=out / "queues")
    deadlock = ('transport="roce+pfc"', "seeds=[1]", "engine.limit=4ms")
    results.run(scenarios / "escape/ring.toml", "des", overrides=deadlock, out=out / "escape-ring")
    axes = 'axes.workload.incast.size=["100KB", "200KB", "400KB"]'
    labels = 'transport=["roce", "irn"]'
    command.run_sweep(scenarios / "quick.toml", "1-3", (axes, labels), None, 2, out / "sweep-quick")
    results.run(scenarios / "strange.toml", "des", overrides=("seeds=[1]",), out=out / "strange")
