"""Puts the report together. The template holds the words; numbers come from the summary, pictures from charts."""

from __future__ import annotations

import base64
import hashlib
import shlex
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocelab import __version__, culprits, metrics
from rocelab.headline import headline, number
from rocelab.model import SCENARIO_FILE, RunOutcome, RunPlan
from rocelab.report import charts, series, sketch, steps, style, tables
from rocelab.report.templates import templates

if TYPE_CHECKING:
    from rocelab.result import Result

_HERE = Path(__file__).parent
_BESIDE = 8  # labels that the table of results has side by side; more stand one below the other
_LOSSES = ("data_drops", "retransmitted_packets", "timeouts")  # of every run


def render(result: Result) -> str:
    environment = templates(_HERE)
    environment.filters["number"] = number
    return environment.get_template("report.html.j2").render(_values(result))


def _values(result: Result) -> dict[str, Any]:
    summary = result.summary
    first = _first_of_each_label(result.outcomes)
    plan = next((o.plan for _, o in first if o.plan.pfc), first[0][1].plan)
    samples = [result.samples[result.samples["run"] == run] for run, _ in first]
    labels, differing = tables.differing_parameters(summary)
    script = (_HERE / "report.js").read_text()
    return {
        "css": (_HERE / "report.css").read_text(),
        "script": script,
        "script_hash": f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
        "heading": _heading(result, plan),
        "command": _command(result),
        "beside": _BESIDE,
        "losses": [metrics.by_name()[name] for name in _LOSSES],
        "version": __version__,
        "summary": summary,
        "scenario": result.scenario,
        "errors": result.errors(),
        "verdict": _verdict(summary),
        "colours": style.colours(labels),
        "headline": headline(summary),
        "groups": tables.group_rows(summary, statistics.fmean),
        "collectives": tables.collective_rows(summary, statistics.fmean),
        "steps": chart.svg if (chart := steps.over_time([o for _, o in first])) else "",
        "completion": charts.completion(result.flows, result.runs).svg,
        "sizes": sizes.svg if (sizes := charts.slowdown_by_size(result.flows)) else "",
        "over_time": charts.over_time([o for _, o in first], samples).svg,
        "time_seed": first[0][1].plan.seed,
        "topology": sketch.topology(plan).svg,
        "plan": plan,
        "limits": tables.limits(plan),
        "link_bytes": tables.link_byte_rows(summary),
        "pauses": [(o.plan.label, tables.pause_rows(o)) for _, o in first if o.plan.pfc],
        "nics": [(o.plan.label, tables.nic_rows(o)) for _, o in first if o.plan.nics_per_host > 1],
        "policies": [
            (o.plan.label, tables.policy_changes(o), tables.policy_rows(o)) for _, o in first if o.policies
        ],
        "hosts": tables.hosts_text(plan),
        "culprits": [entry for _, o in first if (entry := _culprits(o))],
        "labels": labels,
        "differing": differing,
        "parameters": tables.grouped_parameters(summary),
        "some_receive": len({f.dst for f in plan.flows}) < len(plan.hosts),
        "base_rtt": tables.duration_text(plan.base_rtt_ps),
        "caps": {o.plan.label: o.plan.bdp_cap for _, o in first if o.plan.bdp_cap},
        "verified": sum(r["verified"] for r in summary["runs"]),
        "payload_flows": sum(len(o.plan.flows) for o in result.outcomes),
    }


def _heading(result: Result, plan: RunPlan) -> str:
    """The scenario's title, or what there is to say of one that has none."""
    scenario = result.scenario
    if scenario.title != scenario.name:
        return scenario.title
    traffic = ", ".join(dict.fromkeys(f.group for f in plan.flows))
    switches = f"{len(plan.switches)} switch" + ("es" if len(plan.switches) != 1 else "")
    labels = ", ".join(scenario.labels) if len(scenario.labels) <= 4 else f"{len(scenario.labels)} labels"
    return f"{traffic[:1].upper()}{traffic[1:]} among {tables.hosts_text(plan)} over {switches}: {labels}"


def _command(result: Result) -> str:
    """What gives the same result in a work tree."""
    scenario = result.scenario
    if scenario.text is not None:
        return f"./rocelab run {shlex.quote(SCENARIO_FILE)}" + _engine(result)
    changes = [f" --set {shlex.quote(change)}" for change in scenario.overrides]
    some = scenario.labels != tuple(scenario.native.labels)
    label = f" --label {shlex.quote(scenario.labels[0])}" if some else ""
    return f"./rocelab run {shlex.quote(scenario.file)}" + label + _engine(result) + "".join(changes)


def _engine(result: Result) -> str:
    return "" if result.engine == "live" else f" --engine {result.engine}"


def _culprits(outcome: RunOutcome, most: int = 16) -> dict[str, Any] | None:
    """Whom the run's queues held responsible; None: nobody."""
    found = culprits.find(outcome)
    if not found:
        return None
    shown = found[:most]
    return {
        "label": outcome.plan.label,
        "chart": charts.held_responsible(shown, series.end_of(outcome)).svg,
        "rows": tables.culprit_rows(shown),
        "others": len(found) - len(shown),
    }


def _first_of_each_label(outcomes: Sequence[RunOutcome]) -> list[tuple[int, RunOutcome]]:
    """Index and outcome of the first run of each label that has something to show."""
    found: dict[str, tuple[int, RunOutcome]] = {}
    for run, outcome in enumerate(outcomes):
        if (
            outcome.plan.label not in found
            or found[outcome.plan.label][1].error is not None
            and outcome.error is None
        ):
            found[outcome.plan.label] = (run, outcome)
    return list(found.values())


def _verdict(summary: dict[str, Any]) -> dict[str, str]:
    """Can the numbers be trusted? One line and its colour."""
    detached = [r for r in summary["runs"] if r["fidelity"]["verdict"] in ("detached", "degraded")]
    lossless = sum(r["lossless_drops"] for r in summary["runs"])
    if not summary["complete"]:
        return {
            "kind": "bad",
            "title": "Incomplete",
            "text": "Not every run came to its end; what follows is what there is.",
        }
    if lossless:
        return {
            "kind": "bad",
            "title": "Not lossless",
            "text": f"{lossless} frames of a lossless class were dropped: headroom or model are wrong.",
        }
    if detached:
        n = sum(r["fidelity"]["detaches"] for r in detached)
        text = f"In {len(detached)} of {len(summary['runs'])} runs the clock went on without a blocked thread ({n} times): their times are not exact."
        return {"kind": "warn", "title": "Detached", "text": text}
    text = "Experiment time advanced in lock step in every run and no thread was left behind: the same seed gives the same numbers on any machine."
    return {"kind": "good", "title": "Exact", "text": text}
