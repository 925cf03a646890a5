"""Both ends of a connection ask of one another at once on an interface: order of what leaves together, and frames of all short lengths."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from interface_runs import run_pair
from rocelab import native
from rocelab.live.interface import environment
from rocelab.live.veth_pair import DEVICE, End, veth_pair

_LIBRARY = native.hosts_build() / "irn_provider" / "verbs" / "librocelab_verbs.so"
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(not _LIBRARY.exists(), reason=f"{_LIBRARY} is not built: ./rocelab setup"),
]

_SOURCE = Path(__file__).resolve().parents[1] / "interop" / "mixed.c"
_PORT = 18600  # mixed.c's


@pytest.fixture(scope="module")
def ends() -> Iterator[tuple[End, End]]:
    with veth_pair() as pair:
        yield pair


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> str:
    program = tmp_path_factory.mktemp("programs") / "mixed"
    subprocess.run(["cc", "-O2", "-o", program, _SOURCE, "-libverbs"], check=True)
    return str(program)


def _counters(output: str) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r" (\w+)=(\d+)", output)}


def _ask_at_once(ends: tuple[End, End], mixed: str, transport: str, what: str) -> None:
    """Nothing is lost on a veth: what is malformed or comes before its turn has left so."""
    variables = {**environment(DEVICE, transport), "ROCELAB_DEBUG": "1"}
    lines = [[mixed, "rocelab0", "1", seed, *what.split()] for seed in ("3", "9")]
    for output in run_pair(ends, lines[0], [*lines[1], ends[0].ipv4], variables, _PORT):
        assert output.splitlines()[0] == "all right", output
        counters = _counters(output)
        assert "rx_malformed" not in counters and "implied_nak_seq_err" not in counters, output


_TRANSPORTS = pytest.mark.parametrize("transport", ["roce", "irn"])


@_TRANSPORTS
@pytest.mark.parametrize("cut", [False, True])
def test_answers_leave_in_the_order_of_their_requests(
    ends: tuple[End, End], mixed: str, transport: str, cut: bool
) -> None:
    """A READ or atomic whose answer is overtaken is asked for again. `cut`: the kernel makes frames of trains before they leave."""
    for end in ends:
        offload = "off" if cut else "on"
        subprocess.run(end.inside("ethtool", "-K", DEVICE, "tx-udp-segmentation", offload), check=True)
    _ask_at_once(ends, mixed, transport, "500 20000 rfc")
    _ask_at_once(ends, mixed, transport, "500 20000 siwxrfc")


@_TRANSPORTS
@pytest.mark.parametrize("operation", "siwxrfc")
def test_frames_of_all_short_lengths_arrive(
    ends: tuple[End, End], mixed: str, transport: str, operation: str
) -> None:
    """0 to 64 bytes, behind one another in trains as they are posted, and among all other operations."""
    _ask_at_once(ends, mixed, transport, f"500 64 {operation}")
    _ask_at_once(ends, mixed, transport, f"500 2000 {operation}siwxrfc")
