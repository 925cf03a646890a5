"""`./rocelab rocc tune`: parameters of RoCC for a link, the phase margins of its loop over the number of flows, for fixed gains and with auto-tuning, and the paper's statements about them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rocelab import native
from rocelab.errors import UsageError
from rocelab.files import write_whole
from rocelab.model import Array
from rocelab.paper.claims import OURS, Claim, Numbers, together
from rocelab.paper.report import claim_json, claims_table
from rocelab.rocc import chart, design
from rocelab.rocc.stability import REGIONS, Loop, region, tuned_bandwidth, tuned_margin

_SHOWN = (2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64, 100, 128)
_FIGURE_7 = Loop(0.3, 3.0)  # its first pair; each further one is half of the one before
_CONSERVATIVE = Loop(0.0093, 0.0937)  # V.B: stable for all N


def range_of(first: int, last: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.arange(first, last + 1, dtype=float)


def checks() -> list[Claim]:
    """What section V of the RoCC journal paper states of its own gains, T = 40 us."""
    flows = range_of(2, 128)
    two, ten = (float(_FIGURE_7.phase_margin(n)) for n in (2, 10))
    least = float(_CONSERVATIVE.phase_margin(flows).min())
    forty, hundred = (tuned_margin(Loop(a, b), flows) for a, b in ((0.3, 1.5), (0.45, 2.25)))
    lost = [float(np.flatnonzero(_FIGURE_7.divided(r).phase_margin(flows) <= 0)[:1].sum()) for r in REGIONS]
    speed = tuned_bandwidth(_FIGURE_7, flows) / _FIGURE_7.divided(32).bandwidth(flows)
    last = _FIGURE_7.divided(32).phase_margin(flows)

    def claim(source: str, text: str, paper: str, demand: str, ours: Numbers, holds: bool) -> Claim:
        return together("", source, text, paper, demand, ours, holds)

    def stable(margins: Array) -> Numbers:
        return {"least": float(margins.min()), "most": float(margins.max())}

    rising = bool(np.all(np.diff(lost[:5]) > 0)) and lost[-1] == 0 and float(last.min()) > 0
    return [
        claim(
            "V.B, figure 6",
            "N = 2: phase margin of 0.3 : 3",
            "50",
            "within 5",
            {OURS: two},
            abs(two - 50) < 5,
        ),
        claim("V.B, figure 6", "N = 10: unstable with the same gains", "-50", "< 0", {OURS: ten}, ten < 0),
        claim("V.B", "0.0093 : 0.0937, N = 2 .. 128", "> 20", "> 20 degrees", {OURS: least}, least > 20),
        claim(
            "V.B, figure 7a",
            "each halving of 0.3 : 3 is stable up to more flows, the sixth for all",
            "rising",
            "rising, the sixth never unstable",
            {f"1/{r}": n + 1 for r, n in zip(REGIONS, lost) if n},
            rising,
        ),
        claim(
            "V.C",
            "auto-tuned from 0.3 : 1.5 (40 Gb/s): stable for N = 2 .. 128",
            "> 0",
            "> 0",
            stable(forty),
            bool(forty.min() > 0),
        ),
        claim(
            "V.C",
            "auto-tuned from 0.45 : 2.25 (100 Gb/s): stable for N = 2 .. 128",
            "> 0",
            "> 0",
            stable(hundred),
            bool(hundred.min() > 0),
        ),
        claim(
            "V.C, figure 7b",
            "N = 2: auto-tuning's bandwidth over that of gains that are stable for all N",
            "> 1",
            "> 1",
            {OURS: float(speed[0])},
            bool(speed[0] > 1),
        ),
    ]


@dataclass(frozen=True)
class Request:
    """What is asked for; None: derived. bit/s, seconds, bytes."""

    rate: float = 40e9
    rtt: float = 20e-6
    period: float | None = None
    delay: float | None = None
    alpha: float | None = None
    beta: float | None = None
    delta_f: float = 10e6
    delta_q: float = 600.0
    flows: int = 128

    def check(self) -> None:
        if not 2 <= self.flows <= 100_000:
            raise UsageError("--flows must be 2 to 100000")
        for name, value in asdict(self).items():
            if value is not None and not value > 0:
                raise UsageError(f"--{name.replace('_', '-')} must be more than 0")

    def loop(self) -> Loop:
        """One gain that is given brings the other by the paper's ratio."""
        period = self.period or design.period_for(self.rtt)
        loop = Loop(1.0, design.RATIO, period, self.delta_f, self.delta_q, self.delay)
        alpha = self.alpha or (self.beta / design.RATIO if self.beta else design.gain_for(loop))
        return Loop(alpha, self.beta or design.RATIO * alpha, period, self.delta_f, self.delta_q, self.delay)


def run(request: Request, out: Path) -> int:
    """Exit status 0; a statement of the paper that does not hold, or gains that are not stable, are findings."""
    request.check()
    loop = request.loop()
    parameters = design.derive(request.rate, request.rtt, loop)
    console = Console()
    console.print(sets(parameters))
    console.print(parameters.toml(), markup=False, highlight=False)
    flows = np.array([n for n in _SHOWN if n <= request.flows] or [2], dtype=float)
    if flows[-1] != request.flows:
        flows = np.append(flows, float(request.flows))
    console.print(margins(loop, flows))
    everything = range_of(2, request.flows)
    tuned = tuned_margin(loop, everything)
    worst = everything[int(np.argmin(tuned))]
    verdict = "[green]stable[/]" if tuned.min() > 0 else "[red]unstable[/]"
    console.print(
        f"auto-tuned, N = 2 .. {request.flows}: {verdict}, least phase margin {tuned.min():.1f} degrees at N = {worst:.0f}"
    )
    found = checks()
    console.print(claims_table(found, "what section V of the journal paper says, T = 40 us"))
    text = json.dumps(as_json(parameters, everything, found), indent=1, allow_nan=False) + "\n"
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / "tune.json", text.encode())
    write_whole(out / "tune.svg", chart.figure(loop, everything).encode())
    write_whole(out / "margins.svg", chart.margins(loop).encode())
    console.print(f"plots: [bold]{out / 'tune.svg'}[/], margins.svg; numbers: tune.json", soft_wrap=True)
    return 0


def from_text(
    rate: str,
    rtt: str,
    period: str | None,
    delay: str | None,
    alpha: float | None,
    beta: float | None,
    delta_f: str,
    delta_q: str,
    flows: int,
    out: Path,
) -> int:
    """As the command line has it: quantities with units."""

    def read(option: str, parse: str, text: str) -> float:
        try:
            return float(getattr(native.runner, parse)(text))
        except RuntimeError as e:
            raise UsageError(f"--{option}: {e}") from e

    def seconds(option: str, text: str | None) -> float | None:
        return None if text is None else read(option, "parse_duration_ps", text) / 1e12

    request = Request(
        rate=read("rate", "parse_rate_bps", rate),
        rtt=read("rtt", "parse_duration_ps", rtt) / 1e12,
        period=seconds("period", period),
        delay=seconds("delay", delay),
        alpha=alpha,
        beta=beta,
        delta_f=read("delta-f", "parse_rate_bps", delta_f),
        delta_q=read("delta-q", "parse_bytes", delta_q),
        flows=flows,
    )
    return run(request, out)


def sets(derived: design.Parameters) -> Table:
    """What was derived, beside the paper's sets."""
    loop = derived.loop
    table = Table(
        title=f"RoCC on a link of {derived.rate / 1e9:g} Gb/s, RTT {derived.rtt * 1e6:g} us", box=None
    )
    for column in ("", "T, us", "Q_ref", "Q_mid", "Q_max, KB", "alpha", "beta", "F_min, Mb/s"):
        table.add_column(column, justify="left" if column == "" else "right")
    rows: list[tuple[str, float, float, float, float, float, float, float]] = [
        (
            *("derived", loop.period * 1e6, derived.q_ref / 1e3, derived.q_mid / 1e3, derived.q_max / 1e3),
            *(loop.alpha, loop.beta, derived.f_min / 1e6),
        ),
        ("the paper's for 40 Gb/s", 40, 150, 300, 360, 0.3, 1.5, 100),
        ("the paper's for 100 Gb/s", 40, 300, 600, 660, 0.45, 2.25, 100),
    ]
    for name, *numbers in rows:
        table.add_row(name, *(f"{number:g}" for number in numbers))
    return table


def margins(loop: Loop, flows: np.ndarray[Any, np.dtype[np.float64]]) -> Table:
    delay = loop.dead_time * 1e6
    table = Table(
        title=f"phase margin in degrees, T = {loop.period * 1e6:g} us, delay {delay:g} us; bandwidth in Hz",
        box=None,
    )
    table.add_column("N", justify="right")
    for ratio in REGIONS:
        part = loop.divided(ratio)
        table.add_column(f"{part.alpha:.3g} :\n{part.beta:.3g}", justify="right")
    table.add_column("auto-\ntuned", justify="right")
    table.add_column("band-\nwidth", justify="right")
    tuned, speed = tuned_margin(loop, flows), tuned_bandwidth(loop, flows)
    for i, n in enumerate(flows):
        cells = [_cell(float(loop.divided(r).phase_margin(n)), r == region(float(n))) for r in REGIONS]
        table.add_row(f"{n:.0f}", *cells, _cell(float(tuned[i]), True), f"{speed[i]:.0f}")
    return table


def _cell(degrees: float, chosen: bool) -> str:
    text = f"{degrees:.1f}" if degrees > -1000 else f"{degrees:.0f}"
    text = text if degrees > 0 else f"[red]{text}[/]"
    return f"[bold]{text}[/]" if chosen else text


def as_json(
    parameters: design.Parameters, flows: np.ndarray[Any, np.dtype[np.float64]], found: list[Claim]
) -> dict[str, Any]:
    loop = parameters.loop
    tuned, speed = tuned_margin(loop, flows), tuned_bandwidth(loop, flows)
    return {
        "parameters": asdict(parameters),
        "flows": [int(n) for n in flows],
        "phase_margin_deg": {
            f"1/{r}": [round(float(m), 3) for m in loop.divided(r).phase_margin(flows)] for r in REGIONS
        },
        "auto_tuned_phase_margin_deg": [round(float(m), 3) for m in tuned],
        "auto_tuned_bandwidth_hz": [round(float(b), 3) for b in speed],
        "region": [region(float(n)) for n in flows],
        "claims": [claim_json(claim) for claim in found],
    }
