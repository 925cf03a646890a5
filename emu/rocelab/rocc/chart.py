"""Figure 7 of the RoCC journal paper for any gains: phase margin and loop bandwidth over the number of flows, for the six pairs that AUTO_TUNE chooses from and for what it chooses."""

from __future__ import annotations

from rocelab.model import Array
from rocelab.report import style
from rocelab.rocc.stability import REGIONS, Loop, tuned_bandwidth, tuned_margin


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
