"""Unmodified programs over a fabric that serves by slack: their NICs write it into every frame, switches rewrite it, and nothing that the programs print depends on the run."""

from __future__ import annotations

from pathlib import Path

import program_table
import pytest
from kept_hosts import kept_hosts
from live_runs import SCENARIOS, live, nothing_refused

pytestmark = live

_SETTINGS = (
    "slack.law=flow-size",
    "slack.per_packet=1us",
    "switch.class.3.order=ranked",
    "switch.class.3.when_full=push-out",
    "switch.class.3.preempt=true",
)


@pytest.mark.parametrize(
    "words",
    [["ibv_ud_pingpong", "-n", "500"], ["ib_write_bw", "-n", "500", "-s", "65536"]],
    ids=lambda words: words[0],
)
def test_a_program_prints_the_same_digits_over_lstf(words: list[str], tmp_path: Path) -> None:
    settings = [word for setting in _SETTINGS for word in ("--set", setting)]
    said = []
    for run in range(2):
        folder = tmp_path / str(run)
        folder.mkdir()
        with kept_hosts(SCENARIOS / "pingpong.toml", "irn", *settings) as hosts:
            both = hosts.serve_and_ask(program_table.commands(words), folder)
        assert both.statuses == (0, 0), f"{both.server}\n{both.client}"
        nothing_refused(both.server, both.client)
        said.append(_results(both.client))
    assert said[0] == said[1] and said[0]


def _results(text: str) -> list[str]:
    """Lines with what was measured: addresses, QPNs and PSNs differ from run to run."""
    words = ("bytes in", "iters in")
    return [
        line
        for line in text.splitlines()
        if any(word in line for word in words) or line.lstrip().startswith("65536")
    ]
