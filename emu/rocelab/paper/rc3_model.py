"""The RC3 chapter's model of a flow alone on its path (Mittal, 2.2), in the form that the authors' own values of figure 2.7 follow: times with the handshake and half a round
trip for the last packet to arrive. Taken literally, the formulas of 2.2 have TCP ahead of RC3 for flows of 5 to 7 packets."""

from __future__ import annotations

INITIAL_WINDOW = 4
PACKET, FRAME = 1460, 1500  # bytes


def tcp(packets: int, rtt: float, rate: float, initial: int = INITIAL_WINDOW, frame: int = FRAME) -> float:
    """Completion time in seconds of so many packets over a path of `rtt` seconds and `rate` bit/s that is free: rounds of 4 (`initial`), 8, 16, ... packets, then the last round's
    bytes."""
    rounds, sent, window = 1, 0, initial
    while sent + window < packets:
        sent, window, rounds = sent + window, 2 * window, rounds + 1
    return (rounds + 0.5) * rtt + (packets - sent) * frame * 8 / rate


def rc3(packets: int, rtt: float, rate: float, frame: int = FRAME) -> float:
    """The same with RC3: the handshake, and half a round trip behind the last packet's departure."""
    return 1.5 * rtt + packets * frame * 8 / rate


def reduction(
    packets: int,
    rtt: float = 0.04,
    rate: float = 0.7e9,
    initial: int = INITIAL_WINDOW,
    frame: int = FRAME,
) -> float:
    """Per cent by which RC3 shortens it; none where TCP's initial window holds the flow. `rate`: what others leave."""
    if packets <= initial:
        return 0.0
    return 100 * (1 - rc3(packets, rtt, rate, frame) / tcp(packets, rtt, rate, initial, frame))
