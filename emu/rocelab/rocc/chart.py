"""Figures 5 to 7 of the RoCC journal paper for any gains: phase margin over both gains, the loop's gain and phase over frequency, and margin and bandwidth over the number of flows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rocelab.model import Array
from rocelab.report import style
from rocelab.rocc.stability import REGIONS, Loop, tuned_bandwidth, tuned_margin


_BODE = (2.0, 10.0)  # flows of figure 6
_SPAN = 8.0  # gains from those of the loop over this to as many times them


@style.looks()
def margins(loop: Loop) -> str:
    """Figures 5 and 6. Left the margin of two flows over alpha and beta, 0 where the loop becomes unstable; right the Bode diagram of `loop` for two and ten flows."""
    fig, ((left, right),) = style.figure(1, 2, 10.6, 3.4, gridspec_kw={"wspace": 0.45})
    steps = np.geomspace(1 / _SPAN, _SPAN, 41)
    degrees = np.array(
        [
            [
                float(replace(loop, alpha=loop.alpha * a, beta=loop.beta * b).phase_margin(_BODE[0]))
                for a in steps
            ]
            for b in steps
        ]
    )
    alphas, betas = loop.alpha * steps, loop.beta * steps
    lines = left.contour(alphas, betas, degrees, levels=range(-90, 90, 15), colors=style.INK, linewidths=0.7)
    left.clabel(lines, fontsize="x-small")
    left.contour(alphas, betas, degrees, levels=[0], colors=style.LOSS, linewidths=1.6)
    left.plot([loop.alpha], [loop.beta], "o", color=style.INK)
    left.set(title="Phase margin of two flows", xlabel="alpha", ylabel="beta", xscale="log", yscale="log")
    palette = style.colours([str(n) for n in _BODE])
    hertz = np.geomspace(100, 30_000, 300)
    phase = right.twinx()
    for n in _BODE:
        response, label = loop.response(hertz, n), f"N = {n:.0f}"
        right.plot(hertz, 20 * np.log10(np.abs(response)), color=palette[str(n)], label=label)
        phase.plot(hertz, np.degrees(np.unwrap(np.angle(response))), color=palette[str(n)], linestyle=":")
        right.axvline(float(loop.bandwidth(n)), color=palette[str(n)], linewidth=0.6)
    right.axhline(0, color=style.LOSS, linewidth=0.8)
    right.set(title="Gain, and phase (dotted)", xlabel="Hz", ylabel="dB", xscale="log")
    phase.set(ylabel="degrees", ylim=(-360, -90))
    right.legend(loc="lower left")
    return style.svg(fig, "Phase margin over both gains, and the loop over frequency")


@style.looks()
def figure(loop: Loop, flows: Array) -> str:
    """SVG, a document of its own."""
    fig, ((left, right),) = style.figure(1, 2, 10.6, 3.4, gridspec_kw={"wspace": 0.22})
    palette = style.colours([str(r) for r in REGIONS])
    for ratio in REGIONS:
        part = loop.divided(ratio)
        label = f"{part.alpha:.3g} : {part.beta:.3g}"
        left.plot(flows, part.phase_margin(flows), color=palette[str(ratio)], label=label, linewidth=0.9)
        right.plot(flows, part.bandwidth(flows), color=palette[str(ratio)], linewidth=0.9)
    left.plot(flows, tuned_margin(loop, flows), color=style.INK, label="auto-tuned", linewidth=2)
    right.plot(flows, tuned_bandwidth(loop, flows), color=style.INK, linewidth=2)
    left.axhline(0, color=style.LOSS, linewidth=0.8)
    left.set(title="Phase margin", ylabel="degrees", ylim=(-100, 65))
    right.set(title="Loop bandwidth", ylabel="Hz", yscale="log")
    for axes in (left, right):
        axes.set(xlabel="flows N", xscale="log", xlim=(flows[0], flows[-1]))
        axes.set_xticks([n for n in (2, 4, 8, 16, 32, 64, 128) if n <= flows[-1]])
        axes.get_xaxis().set_major_formatter("{x:.0f}")
        axes.minorticks_off()
    left.legend(loc="lower left", ncol=2)
    return style.svg(fig, "Phase margin and loop bandwidth over the number of flows")
