"""Keys of a sweep's points: what changes a result changes the key, what changes nothing keeps it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rocelab.errors import RocelabError
from rocelab.sweep import points, work
from rocelab.sweep.points import points_of
from small_sweep import TEXT, write

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return write(tmp_path)


def keys(path: Path, overrides: tuple[str, ...] = ()) -> dict[tuple[str, int], str]:
    return {(p.label, p.seed): p.key for p in points_of(path, overrides)[1]}


def test_a_replay_depends_on_its_original(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(
        TEXT
        + '[slack]\nlaw = "constant"\n[[case]]\nname = "a"\n[[case]]\nname = "b"\nset.slack.law = "replay"\nset.slack.of = "a"\n'
        + 'set.switch.class.3.order = "ranked"\n'
    )
    before = keys(path)
    path.write_text(
        path.read_text().replace('name = "a"\n', 'name = "a"\nset.switch.class.3.order = "lifo"\n')
    )
    after = keys(path)
    assert not set(before.values()) & set(after.values()), "the original's order is the replay's, too"


def test_every_input_of_a_result_changes_the_key(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = keys(scenario)
    assert len(set(before.values())) == 4
    assert keys(scenario) == before
    for change in ("topology.rate=10Gb/s", "workload.poisson.load=0.4", "switch.lossy_buffer=100KB"):
        assert not set(keys(scenario, (change,)).values()) & set(before.values()), change
    (scenario.parent / "sizes.cdf").write_text("1000 0\n60001 100\n")
    assert not set(keys(scenario).values()) & set(before.values())
    (scenario.parent / "sizes.cdf").write_text("1000 0\n60000 100\n")
    scenario.write_text(TEXT + '[[fault]]\nfrom = "h1"\nto = "s1"\ndrop_list = [3]\n')
    assert not set(keys(scenario).values()) & set(before.values())
    scenario.write_text(TEXT)
    monkeypatch.setattr(points, "version", lambda: "another build")
    assert not set(keys(scenario).values()) & set(before.values())


def test_what_a_queueing_policy_uses_is_part_of_the_key(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(TEXT + '[switch]\nopenqueue = "policy.oq"\n')
    (tmp_path / "orders.oq").write_text("priority earliest(x, y) = arrival(x) < arrival(y);\n")
    source = (ROOT / "scenarios/openqueue/fifo.oq").read_text()
    (tmp_path / "policy.oq").write_text(source + '// nothing of it is needed\nuse "orders.oq";\n')
    before = keys(path)
    assert keys(path) == before
    (tmp_path / "orders.oq").write_text("priority latest(x, y) = arrival(x) > arrival(y);\n")
    assert not set(keys(path).values()) & set(before.values())


@pytest.mark.parametrize(
    ("key", "value", "other"),
    [
        ("workload.poisson.load", "0.3", "0.3000001"),
        ("workload.poisson.load", "0.3", "0.30000000000000004"),
        ("congestion_control.dcqcn.g", "0.00390625", "0.0039062500001"),
        ("topology.delay", "2us", "2000001ps"),
        ("fault", '[{from="h1",to="s1",drop_rate=0.01}]', '[{from="h1",to="s1",drop_rate=0.01000000001}]'),
    ],
)
def test_values_that_differ_in_the_last_digit_make_other_points(
    scenario: Path, key: str, value: str, other: str
) -> None:
    dcqcn = ('transport=["irn+dcqcn"]',)
    here, there = (keys(scenario, (*dcqcn, f"{key}={v}")) for v in (value, other))
    assert not set(here.values()) & set(there.values())


def test_an_axis_holds_each_value_once(scenario: Path) -> None:
    """As seeds do: two points of one name would be one file."""
    text = "axes.workload.poisson.load=[0.3, 0.30]"
    with pytest.raises(RocelabError, match=r"--set axes.* two values that are called \"load=0.3\""):
        points_of(scenario, (text,))
    _, close = points_of(scenario, ("axes.workload.poisson.load=[0.3, 0.30000001]",))
    assert len({p.label for p in close}) == 4 and len({p.key for p in close}) == 8


def test_all_python_of_the_package_is_part_of_the_key(tmp_path: Path) -> None:
    def digest(change: str = "") -> bytes:
        folder = tmp_path / f"copy{len(list(tmp_path.iterdir()))}"
        shutil.copytree(ROOT / "emu" / "rocelab", folder)
        if change:
            with (folder / change).open("a") as file:
                file.write("# changed\n")
        return points.package_digest(folder)

    assert digest() == digest() == points.package_digest(ROOT / "emu" / "rocelab")
    for deciding in ("flow_status.py", "des/engine.py", "summary.py", "sweep/work.py", "model.py"):
        assert digest(deciding) != digest(), deciding


def test_settings_without_effect_keep_the_key(scenario: Path, tmp_path: Path) -> None:
    """The denominators of a table that varies a timer of IRN's are one and the same run."""
    before = keys(scenario)
    after = keys(scenario, ("timers.rto_high=640us",))
    assert after["irn", 1] != before["irn", 1] and after["roce+pfc", 1] == before["roce+pfc", 1]
    mixed = ('nic.irn_hosts=["h1"]',)  # not so where a host speaks IRN whatever the label says
    assert keys(scenario, mixed)["roce+pfc", 1] != keys(scenario, (*mixed, "irn.bdp_cap=20"))["roce+pfc", 1]
    assert keys(scenario, ("irn.bdp_cap=20",))["roce+pfc", 1] == before["roce+pfc", 1]
    other = tmp_path / "renamed.toml"
    other.write_text(f'title = "another"\n{TEXT}')
    assert keys(other) == before


def test_runs_with_equal_keys_are_equal(scenario: Path) -> None:
    a, b = (
        work.execute(next(p for p in points_of(scenario, overrides)[1] if p.label == "roce+pfc"))
        for overrides in ((), ("timers.rto_high=640us", "irn.bdp_cap=7"))
    )
    assert (a.flows["placed_ps"] == b.flows["placed_ps"]).all()
