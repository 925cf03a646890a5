"""`./rocelab import`: a folder of an HPCC-family simulator (config.txt, topology, flow file) becomes a folder with a scenario that runs. docs/reference/interchange.md has the
table of keys; nothing is left out without a word, in the scenario and as a warning."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from rocelab import config_txt
from rocelab.config_txt import Converted, Network
from rocelab.config_words import Config
from rocelab.errors import RocelabError
from rocelab.files import write_all
from rocelab.scenario import make_plans, read_scenario

_EPOCH = Decimal(2)  # the generators' base time
_CONWEAVE_EXTRA = 10  # seconds that it runs on after FLOWGEN_STOP_TIME
_LARGE_BUFFER = "100MB"  # so that any headroom fits


def import_folder(path: Path, to: Path | None, warn: Callable[[str], object] = lambda _: None) -> list[Path]:
    """The files written, the scenario first."""
    file = _config_file(path)
    config = Config(_read(file), str(file))
    topology, flows = _named(config, file, "TOPOLOGY_FILE"), _named(config, file, "FLOW_FILE")
    nodes = _Nodes(_read(topology), _error_rate(config))
    limit, epoch, kept, late, dialect = _times(config, _read(flows), str(flows))
    link = _link_down(config, nodes)
    made = config_txt.convert(config, _network(topology, nodes.nv_switches, config))
    if nodes.nv_switches:
        made.warnings.append(
            f"{topology.name}: its NVSwitches are left out; GPUs of a server talk over the network"
        )
    if late:
        made.warnings.append(f"{flows.name}: {late} flows begin when the run is over, and are left out")
    if link:
        made.tables["[link_event]"] = [link]
    if link or nodes.lossy:
        made.set("timers", "timeouts", '"on"')
    name = path.resolve().stem if path.is_file() else path.resolve().name
    folder = to or Path("out") / name / "import"
    scenario = folder / f"{name}.toml"
    text = _scenario(name, file, made, nodes.nv_switches > 0, limit, epoch, dialect)
    write_all(
        {
            scenario: text.encode(),
            folder / "topology.txt": nodes.text.encode(),
            folder / "flow.txt": kept.encode(),
        },
        "free some space or say --to DIR, and repeat the command",
    )
    for said in made.warnings:
        warn(said)
    make_plans(read_scenario(scenario))  # it can run, or the error says why not
    return [scenario, folder / "topology.txt", folder / "flow.txt"]


def _read(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError as e:
        raise RocelabError(f"{file}: {e.strerror}") from None


def _config_file(path: Path) -> Path:
    if path.is_file():
        return path
    found = [path / "config.txt"] if (path / "config.txt").is_file() else sorted(path.glob("config*.txt"))
    if len(found) != 1:
        many = f"several ({', '.join(f.name for f in found)}): name one" if found else "no config.txt"
        raise RocelabError(
            f"{path}: the folder of a simulator of HPCC's family has a config.txt; here is {many}"
        )
    return found[0]


def _named(config: Config, file: Path, key: str) -> Path:
    """The simulators start in a folder above, as a rule."""
    word = config.word(key)
    if word is None:
        raise RocelabError(f"{config.name}: {key} is missing, which names a file")
    places = [file.parent / word, file.parent.parent / word, file.parent / Path(word).name]
    for place in places:
        if place.is_file():
            return place
    raise config.fail(key, f"names {word}, which is not in {file.parent}")


class _Nodes:
    """A topology file: which nodes are switches, how many links they share, and the text with its error rates."""

    def __init__(self, text: str, error_rate: Decimal | None) -> None:
        rows = [words for line in text.splitlines() if (words := line.partition("#")[0].split())]
        counts = [int(word) for word in rows[0] if word.isdigit()] if rows else []
        self.nv_switches = counts[2] if len(counts) == 5 else 0  # SimAI's
        self.switches = set(rows[1]) if len(rows) > 1 else set()
        links = rows[2 : 2 + counts[-1]] if counts else []  # behind them is a comment
        self.between = Counter(frozenset(w[:2]) for w in links)
        self.lossy = bool(error_rate) or any(_has_errors(w) for w in links)
        if error_rate:
            links = [w if _has_errors(w) else [*w[:4], str(error_rate)] for w in links]
            text = "".join(" ".join(words) + "\n" for words in (*rows[:2], *links))
        self.text = text

    def name(self, number: str) -> str:
        return ("s" if number in self.switches else "h") + number


def _has_errors(link: list[str]) -> bool:
    return bool(link[-1].strip("0."))


def _error_rate(config: Config) -> Decimal | None:
    """Of links that have none of their own."""
    return config.number("ERROR_RATE_PER_LINK") or None


def _link_down(config: Config, nodes: _Nodes) -> str | None:
    words = config.words("LINK_DOWN")
    if words is None or words[0] == "0":
        return None
    if len(words) != 3:
        raise config.fail("LINK_DOWN", "is a time in us and the link's two ends")
    event = f'[[link_event]]\nat = "{words[0]}us"\nbetween = ["{nodes.name(words[1])}", "{nodes.name(words[2])}"]\nstate = "down"'
    several = nodes.between[frozenset(words[1:])]
    return event + (f"\nlink = {several}" if several > 1 else "")  # theirs knows the last of them


def _times(config: Config, text: str, name: str) -> tuple[Decimal, Decimal, str, int, str]:
    """Limit and epoch in seconds, the flow file without those that never begin, how many these are, and its dialect."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    if len(rows) < 2 or len(rows[0]) != 1 or not rows[0][0].isdigit():
        raise RocelabError(f"{name}: a flow file begins with the number of flows, and has a line for each")
    flows = rows[1 : 1 + int(rows[0][0])]
    columns = len(flows[0])
    dialect = "conweave" if columns == 5 else "ns3-rdma" if columns == 6 and "." in flows[0][4] else "hpcc"
    start = 4 if dialect != "hpcc" else 5
    stop = config.number("SIMULATOR_STOP_TIME")
    generated = config.number("FLOWGEN_STOP_TIME")
    if stop is None and generated is not None:
        stop = generated + _CONWEAVE_EXTRA
    try:
        starts = [Decimal(row[start]) for row in flows]
    except (IndexError, ArithmeticError):
        raise RocelabError(f"{name}: this line is not a flow: {' '.join(flows[0])}") from None
    epoch = _EPOCH if min(starts) >= _EPOCH else Decimal(0)
    limit = max(starts) - epoch + 1 if stop is None else stop - epoch
    kept = [row for row, at in zip(flows, starts) if at - epoch < limit]
    if not kept:
        raise RocelabError(f"{name}: no flow begins before {stop} s, where config.txt ends the run")
    body = "".join(" ".join(row) + "\n" for row in kept)
    return limit, epoch, f"{len(kept)}\n{body}", len(flows) - len(kept), dialect


def _network(topology: Path, nv_switches: int, config: Config) -> Network:
    """By a scenario that has the topology alone, so that its errors name the file."""
    left_out = '\nnvswitches = "leave-out"' if nv_switches else ""
    text = (
        'transport = "roce+pfc"\n[topology]\nkind = "file"\n'
        f'file = "{topology.resolve()}"{left_out}\n[switch]\nlossless_buffer = "{_LARGE_BUFFER}"\n'
    )
    with tempfile.TemporaryDirectory(prefix="rocelab-import-") as folder:
        probe = Path(folder) / "topology.toml"
        probe.write_text(text)
        (plan,) = make_plans(read_scenario(probe))
    return Network(
        rates=tuple(sorted({p.rate_bps for p in plan.ports})),
        most_ports=max(len(s.ports) for s in plan.switches),
        headroom=max(p.headroom for p in plan.ports),
        base_rtt_s=plan.native.scalars["base_rtt_ps"] / 1e12,
    )


def _scenario(
    name: str, file: Path, made: Converted, leave_out: bool, limit: Decimal, epoch: Decimal, dialect: str
) -> str:
    plain = config_txt.plain
    lines = [
        f"# From {file.name} of a simulator of HPCC's family, by ./rocelab import (docs/reference/interchange.md)."
    ]
    lines += [f"# Differs: {said}" for said in made.warnings]
    lines += [f'title = "{name}"', f'transport = ["{made.label}"]']
    if made.seeds is not None:
        lines.append(f"seeds = [{made.seeds}]")
    lines += ["", "[topology]", 'kind = "file"', 'file = "topology.txt"']
    if leave_out:
        lines.append('nvswitches = "leave-out"')
    for table, entries in made.tables.items():
        lines += ["", *([] if table.startswith("[") else [f"[{table}]"]), *entries]
    lines += ["", "[[workload]]", 'name = "flows"', 'kind = "file"', 'file = "flow.txt"']
    lines += [f'dialect = "{dialect}"', f'epoch = "{plain(epoch)}s"']
    lines += ["", "[engine]", f'limit = "{plain(limit)}s"', ""]
    lines += ["# What else stands in it:", *(f"# {note}" for note in made.notes)] if made.notes else []
    return "\n".join(lines) + "\n"
