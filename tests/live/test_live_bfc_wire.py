"""BFC's queues and pauses on the wire of live runs, through Open vSwitch: what tests/python/test_bfc_wire.py asks of virtual time."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from live_runs import HERE, live, run

sys.path.insert(0, str(HERE.parent / "python"))

import bfc_wire  # noqa: E402

pytestmark = [live, pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")]


def test_data_name_queues_and_every_pause_is_on_the_wire(tmp_path: Path) -> None:
    ran = run(bfc_wire.SCENARIO, tmp_path, pcap=True, label=bfc_wire.LABEL)
    assert ran.folder is not None and ran.complete
    bfc_wire.expect_queues_and_pauses(ran.folder, ran.outcomes[0])
