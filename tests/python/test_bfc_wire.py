"""BFC's queues and pauses on the wire, in virtual time; tests/live/test_live_bfc_wire.py asks the same of live runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import bfc_wire
import pytest
from rocelab import results


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark (./rocelab setup --tests)")
def test_data_name_queues_and_every_pause_is_on_the_wire(tmp_path: Path) -> None:
    ran = results.run(bfc_wire.SCENARIO, "des", out=tmp_path, pcap=True, label=bfc_wire.LABEL)
    assert ran.folder is not None and ran.complete
    bfc_wire.expect_queues_and_pauses(ran.folder, ran.outcomes[0])
