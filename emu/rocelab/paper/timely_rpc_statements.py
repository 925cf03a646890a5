"""What the TIMELY chapter says of RPCs in a Clos (Mittal, 3.5.2, figures 3.17 to 3.19), as claims about our runs."""

from __future__ import annotations

from rocelab.paper.claims import CLOSENESS, Claim, Numbers, Values, each, together

EXPERIMENT = "figure3.17"
LOADS = ("0.1", "0.2", "0.3", "0.35", "0.4", "0.45", "0.5")  # of requests alone


def _of(ours: Values, case: str, quantity: str) -> float:
    value = ours.get((case, quantity))
    return float("nan") if value is None else value


def saturation(ours: Values, scheme: str) -> float:
    """The highest load of those that are accepted but for 2 %."""
    held = 0.0
    for load in LOADS:
        case = f"{scheme},load={load}"
        if _of(ours, case, "accepted") < 0.98 * _of(ours, case, "offered"):
            break
        held = float(load)
    return held


def claims(ours: Values) -> list[Claim]:
    def over(quantity: str, load: str) -> float:
        return _of(ours, f"PFC,load={load}", quantity) / _of(ours, f"TIMELY,load={load}", quantity)

    held: Numbers = {scheme: saturation(ours, scheme) for scheme in ("PFC", "TIMELY")}
    top, beyond = LOADS[-1], [load for load in LOADS if float(load) > min(saturation(ours, s) for s in held)]
    first = beyond[0] if beyond else top
    tails = {load: over("rpc_p99", load) for load in (first, top)}

    def reduced(text: str, quantity: str, times: float, source: str) -> Claim:
        return each(
            EXPERIMENT,
            text,
            f">= {times * (1 - CLOSENESS):.1f}",
            {f"load {load}": over(quantity, load) for load in beyond},
            lambda ratio: ratio >= times * (1 - CLOSENESS),
            paper=f"{times:g}",
            source=source,
        )

    return [
        together(
            EXPERIMENT,
            "figure 3.17",
            "the saturation point is higher with TIMELY: highest load of which all but 2 % is accepted",
            "",
            "TIMELY's higher",
            held,
            saturation(ours, "TIMELY") > saturation(ours, "PFC"),
        ),
        each(
            EXPERIMENT,
            "it is able to send more traffic: accepted beyond saturation, PFC's over TIMELY's",
            "< 1",
            {f"load {load}": over("accepted", load) for load in beyond},
            lambda ratio: ratio < 1,
            source="figure 3.17",
        ),
        reduced(
            "TIMELY reduces the median RTT of pingers 2 times: PFC's over TIMELY's",
            "ping_median",
            2,
            "figure 3.18",
        ),
        reduced("... and the 99th percentile 5 times", "ping_p99", 5, "figure 3.18"),
        reduced("the median RPC latency falls about 2 times", "rpc_median", 2, "figure 3.19"),
        together(
            EXPERIMENT,
            "figure 3.19",
            "the reduction of the 99th percentile of RPC latency diminishes beyond saturation: PFC's over TIMELY's",
            "",
            "less at the highest load than at the first beyond saturation",
            {f"load {load}": value for load, value in tails.items()},
            tails[top] < tails[first],
        ),
    ]
