"""The table of docs/reference/compatibility.md as tests read it, and what they say when other packages are installed than those it ran with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "live"))
import program_table  # noqa: E402

_DOCUMENT = """
| program and options | RoCE | IRN | from | Debian package | rdma-core |
|---|---|---|---|---|---|
| `ib_send_bw -e -n 100` | yes | no | perftest | perftest 4.5-1 | 44.0-2 |
| `UCX_TLS=rc_v ucx_perftest -t tag_lat` | yes | yes | UCX | ucx-utils 1.13-1 | 44.0-2 |

| `ib_write_bw -e` | perftest: "Events feature not available" |
"""


@pytest.fixture(autouse=True)
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_table, "TABLE", tmp_path / "compatibility.md")
    program_table.TABLE.write_text(_DOCUMENT)


def test_rows_have_settings_words_and_modes() -> None:
    first, second = program_table.rows()
    assert (first.words, first.settings, first.modes) == (["ib_send_bw", "-e", "-n", "100"], [], ("roce",))
    assert (second.program, second.settings) == ("ucx_perftest", ["UCX_TLS=rc_v"])
    assert second.modes == ("roce", "irn")
    assert program_table.refusals() == [("ib_write_bw -e", "Events feature not available")]


def test_another_version_is_named_with_both() -> None:
    rows = program_table.rows()
    installed = {"perftest": "4.5-1", "ucx-utils": "1.13-1", "libibverbs1": "44.0-2"}
    assert program_table.outdated(rows, installed) == []
    found = program_table.outdated(rows, {**installed, "perftest": "4.6-1", "libibverbs1": "50.0-1"})
    assert found == [
        "libibverbs1: the table ran with 44.0-2, and 50.0-1 is installed",
        "perftest: the table ran with 4.5-1, and 4.6-1 is installed",
    ]
    updated = {**installed, "ucx-utils": "1.13-1+deb12u2"}
    assert program_table.outdated(rows, updated) == [], "a security update of Debian's"
    (missing,) = program_table.outdated(rows, {k: v for k, v in installed.items() if k != "ucx-utils"})
    assert missing == "ucx-utils: the table ran with 1.13-1, and none is installed"


def test_versions_are_written_into_the_table_and_nothing_else_changes() -> None:
    versions = {"perftest": "4.6-1", "libibverbs1": "50.0-1"}
    text = program_table.with_versions(_DOCUMENT, versions)
    assert text == _DOCUMENT.replace("perftest 4.5-1", "perftest 4.6-1").replace("44.0-2", "50.0-1")


def test_a_client_has_to_print_its_result() -> None:
    assert program_table.is_result(["ib_send_bw"], " #bytes     #iterations")
    assert not program_table.is_result(["ib_send_bw"], "")
    assert not program_table.is_result(["ibv_xsrq_pingpong"], "1000 iters in 0.01 seconds = 8 usec/iter")
    assert not program_table.is_result(["ucx_perftest"], "#bytes")
