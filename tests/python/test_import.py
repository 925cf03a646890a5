"""`./rocelab import`: config.txt, topology and flows of an HPCC-family simulator become a scenario that runs; every key has a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from rocelab import config_txt
from rocelab.config_txt import Converted, Network
from rocelab.config_words import Config
from rocelab.des.engine import DesEngine
from rocelab.errors import RocelabError
from rocelab.importing import import_folder
from rocelab.scenario import make_plans, read_scenario

# As HPCC's run.py writes it for DCQCN, at 25 Gb/s.
DCQCN = """ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1

PACKET_PAYLOAD_SIZE 1000

TOPOLOGY_FILE mix/topology.txt
FLOW_FILE mix/flow.txt
TRACE_FILE mix/trace.txt
FCT_OUTPUT_FILE mix/fct.txt

SIMULATOR_STOP_TIME 2.01

CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 5Mb/s
RATE_HAI 50Mb/s
MIN_RATE 100Mb/s
DCTCP_RATE_AI 1000Mb/s

ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 0
GLOBAL_T 1
VAR_WIN 0
FAST_REACT 0
U_TARGET 0.95
RATE_BOUND 1
ACK_HIGH_PRIO 0
LINK_DOWN 0 0 0
KMAX_MAP 2 25000000000 400 100000000000 1600
KMIN_MAP 2 25000000000 100 100000000000 400
PMAX_MAP 2 25000000000 0.2 100000000000 0.25
BUFFER_SIZE 4
QLEN_MON_START 2000000000
"""
TOPOLOGY = """6 2 6
4 5
0 4 25Gbps 0.001ms 0
1 4 25Gbps 0.001ms 0
2 5 25Gbps 0.001ms 0
3 5 25Gbps 0.001ms 0
4 5 100Gbps 0.001ms 0
4 5 100Gbps 0.001ms 0
"""
FLOWS = "3\n0 2 3 100 200000 2\n1 2 3 100 200000 2.000010000\n3 2 3 200 50000 2.02\n"
NETWORK = Network(rates=(25 * 10**9, 10**11), most_ports=4, headroom=20_000, base_rtt_s=13e-6)


def made(
    tmp_path: Path, config: str = DCQCN, topology: str = TOPOLOGY, flows: str = FLOWS
) -> tuple[str, list[str]]:
    """The scenario, and what was said."""
    folder = tmp_path / "mix"
    folder.mkdir(exist_ok=True)
    for name, text in (("config.txt", config), ("topology.txt", topology), ("flow.txt", flows)):
        (folder / name).write_text(text)
    said: list[str] = []
    files = import_folder(folder, tmp_path / "out", said.append)
    assert [f.name for f in files] == ["mix.toml", "topology.txt", "flow.txt"]
    return files[0].read_text(), said


def converted(text: str) -> Converted:
    config = Config(text, "config.txt")
    for key in ("TOPOLOGY_FILE", "FLOW_FILE", "SIMULATOR_STOP_TIME", "ERROR_RATE_PER_LINK", "LINK_DOWN"):
        config.words(key)  # which the importer reads
    return config_txt.convert(config, NETWORK)


def changed(**keys: str) -> str:
    lines = [line for line in DCQCN.splitlines() if line.split() and line.split()[0] not in keys]
    return "\n".join([*lines, *(f"{key} {value}" for key, value in keys.items())]) + "\n"


def test_a_folder_becomes_a_scenario_that_runs(tmp_path: Path) -> None:
    text, said = made(tmp_path)
    assert said == [
        "PACKET_PAYLOAD_SIZE 1000: RoCE's path MTU nearest to it is 1024 B",
        "flow.txt: 1 flows begin when the run is over, and are left out",
    ]
    (plan,) = make_plans(read_scenario(tmp_path / "out" / "mix.toml"))
    settings = dict((p.key, p.value) for p in plan.parameters)
    assert {key: settings[key] for key in settings if key.startswith("congestion_control.dcqcn.r")} == {
        "congestion_control.dcqcn.rate_timer": '"300us"',
        "congestion_control.dcqcn.rate_ai": '"5Mbps"',
        "congestion_control.dcqcn.rate_hai": '"50Mbps"',
    }
    wanted = {
        "congestion_control.name": '"dcqcn"',
        "congestion_control.dcqcn.g": "0.00390625",
        "congestion_control.dcqcn.alpha_interval": '"1us"',
        "congestion_control.dcqcn.decrease_interval": '"4us"',
        "congestion_control.dcqcn.clamp_target": "false",
        "switch.ecn.by_rate.0.kmin": '"100KB"',
        "switch.ecn.by_rate.1.kmax": '"1600KB"',
        "switch.ecn.by_rate.1.pmax": "0.25",
        "switch.alpha_lossless": "0.125",
        "nic.ack_interval": "1",
        "nic.path_mtu": '"1024B"',
        "mode": '"roce"',
        "pfc": "true",
        "engine.limit": '"10ms"',
    }
    assert {key: settings[key] for key in wanted} == wanted
    assert [(f.src, f.dst, f.size, f.start_ps) for f in plan.flows] == [
        ("h0", "h2", 200_000, 0),
        ("h1", "h2", 200_000, 10_000_000),
    ]
    # Four ports of the switch with most of them, and what they leave of 4 MiB.
    own, pool = (int(settings[f"switch.{k}"].strip('"B')) for k in ("lossless_buffer", "shared_pool"))
    assert 4 * own + pool == 4 * 1024 * 1024
    assert {p.buffer for p in plan.ports} == {own} and min(p.xoff for p in plan.ports) >= 4096
    outcome = DesEngine().execute(plan)
    assert outcome.error is None and all(f.status == 0 and f.placed_ps for f in outcome.flows)


def test_no_key_is_left_out_without_a_word(tmp_path: Path) -> None:
    text, said = made(tmp_path, DCQCN + "NEW_KEY 7 8\nLB_MODE 3\nRP_TIMER 900\n")
    assert "NEW_KEY 7 8: has no counterpart here, and is left out" in said
    assert "LB_MODE 3: load balancing is ECMP by flow" in said
    assert "RP_TIMER 300: stands there again further down, which counts" in said
    assert 'rate_timer = "900us"' in text
    for one in said:
        assert f"# Differs: {one}\n" in text
    in_its_own_words = """TOPOLOGY_FILE FLOW_FILE SIMULATOR_STOP_TIME CC_MODE ENABLE_QCN ERROR_RATE_PER_LINK LINK_DOWN ALPHA_RESUME_INTERVAL
        RATE_DECREASE_INTERVAL CLAMP_TARGET_RATE RP_TIMER EWMA_GAIN FAST_RECOVERY_TIMES RATE_AI RATE_HAI MIN_RATE L2_ACK_INTERVAL HAS_WIN VAR_WIN
        KMAX_MAP KMIN_MAP PMAX_MAP""".split()
    for line in DCQCN.splitlines():
        key = line.partition(" ")[0]
        assert (
            not key
            or key in in_its_own_words
            or f"# {line.strip()}: " in text
            or f"# Differs: {line}: " in text
        ), line


@pytest.mark.parametrize(
    ("keys", "label"),
    [
        ({}, "roce+pfc+dcqcn"),
        ({"HAS_WIN": "1"}, "irn+pfc+dcqcn"),
        ({"ENABLE_PFC": "0"}, "roce+dcqcn"),
        ({"ENABLE_PFC": "0", "ENABLE_IRN": "1", "HAS_WIN": "1"}, "irn+dcqcn"),
        ({"CC_MODE": "3", "HAS_WIN": "1", "VAR_WIN": "1"}, "roce+pfc+hpcc"),
        ({"CC_MODE": "7"}, "roce+pfc+timely"),
        ({"CC_MODE": "8", "HAS_WIN": "1"}, "irn+pfc+dctcp"),
    ],
)
def test_transport_follows_window_acks_and_algorithm(keys: dict[str, str], label: str) -> None:
    got = converted(changed(**keys))
    assert got.label == label
    go_back_n = label.startswith("irn") and keys.get("ENABLE_IRN") != "1"
    assert got.tables.get("irn", []) == (["go_back_n = true"] if go_back_n else [])
    assert ("ack_interval = 1" in got.tables["nic"]) == label.startswith("roce")


def test_numbers_that_follow_from_the_round_trip() -> None:
    dctcp = converted(changed(CC_MODE="8", HAS_WIN="1", EWMA_GAIN="0.0625", DCTCP_RATE_AI="615Mb/s"))
    assert dctcp.tables["congestion_control.dctcp"] == ["g = 0.0625", "increase = 0.999"]  # of 13 us and 1 KB
    hpcc = converted(
        changed(CC_MODE="3", HAS_WIN="1", VAR_WIN="1", FAST_REACT="1", RATE_AI="50Mb/s", MI_THRESH="0")
    )
    assert hpcc.tables["congestion_control.hpcc"] == [
        "eta = 0.95",
        "max_stage = 0",
        'min_rate = "100Mb/s"',
        'w_ai = "81B"',  # 50 Mb/s x 13 us
    ]
    assert "switch.ecn" not in hpcc.tables and "[switch.ecn.by_rate]" not in hpcc.tables
    assert hpcc.warnings == ["PACKET_PAYLOAD_SIZE 1000: RoCE's path MTU nearest to it is 1024 B"]


def test_other_algorithms_load(tmp_path: Path) -> None:
    for keys, label in (
        ({"CC_MODE": "7"}, "roce+pfc+timely"),
        ({"CC_MODE": "8", "HAS_WIN": "1"}, "irn+pfc+dctcp"),
        ({"ENABLE_PFC": "0", "ENABLE_IRN": "1", "HAS_WIN": "1"}, "irn+dcqcn"),
    ):
        text, _ = made(tmp_path, changed(**keys))
        assert f'transport = ["{label}"]\n' in text


def test_conweaves_files_have_their_own_columns_and_times(tmp_path: Path) -> None:
    config = changed(FLOWGEN_STOP_TIME="2.1", FLOWGEN_START_TIME="2.0", RANDOM_SEED="5", LB_MODE="0")
    config = config.replace("SIMULATOR_STOP_TIME 2.01\n", "")
    text, said = made(tmp_path, config, flows="1\n0 3 3 1000 2.000000000\n")
    assert 'dialect = "conweave"\nepoch = "2s"\n' in text
    assert 'limit = "10.1s"' in text and "seeds = [5]" in text
    assert said == ["PACKET_PAYLOAD_SIZE 1000: RoCE's path MTU nearest to it is 1024 B"]


def test_faults_and_links_that_go_down_are_taken_over(tmp_path: Path) -> None:
    topology = TOPOLOGY.replace("2 5 25Gbps 0.001ms 0\n", "2 5 25Gbps 0.001ms 0.5\n")
    text, _ = made(tmp_path, changed(ERROR_RATE_PER_LINK="0.001", LINK_DOWN="500 4 5"), topology)
    assert '[[link_event]]\nat = "500us"\nbetween = ["s4", "s5"]\nstate = "down"\nlink = 2\n' in text
    assert 'timeouts = "on"' in text
    rates = [line.split()[-1] for line in (tmp_path / "out" / "topology.txt").read_text().splitlines()[2:]]
    assert rates == ["0.001", "0.001", "0.5", "0.001", "0.001", "0.001"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (changed(CC_MODE="12"), "CC_MODE 12 is not known here: 1 dcqcn, 3 hpcc"),
        (changed(FLOW_FILE="none.txt"), "FLOW_FILE names none.txt, which is not in"),
        (DCQCN.replace("TOPOLOGY_FILE mix/topology.txt", ""), "TOPOLOGY_FILE is missing, which names a file"),
        (changed(KMIN_MAP="2 25000000000 100"), "KMIN_MAP is a number of pairs"),
        (changed(KMIN_MAP="1 25000000000 100"), "KMIN_MAP has no entry for 100000000000 bit/s"),
        (changed(RP_TIMER="fast"), "RP_TIMER must be a number, not fast"),
        (changed(SIMULATOR_STOP_TIME="2"), "no flow begins before 2 s, where config.txt ends the run"),
    ],
)
def test_unreadable_lines_are_reported_with_their_number(tmp_path: Path, config: str, said: str) -> None:
    with pytest.raises(RocelabError) as error:
        made(tmp_path, config)
    assert said in str(error.value)


def test_a_topology_that_cannot_be_had_is_the_users_file(tmp_path: Path) -> None:
    with pytest.raises(
        RocelabError, match=r"mix/topology.txt:5: host \"h0\" has a link already: a NIC has one"
    ):
        made(tmp_path, topology=TOPOLOGY.replace("2 5 25Gbps", "0 5 25Gbps"))
    with pytest.raises(RocelabError, match="here is no config.txt"):
        import_folder(tmp_path / "out", None)
