"""The folders without I/O stay so, and includes go one way (README.md of each folder says which)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NO_IO = (
    "base",
    "emu/des",
    "emu/link",
    "emu/runner",
    "emu/world",
    "irn_provider/cm",
    "irn_provider/transport",
    "irn_provider/cc",
    "irn_provider/nic",
    "ovs_patches/openqueue",
    "ovs_patches/switch_model",
)
# Files of these folders that are there for it: readers and writers of files, huge pages, threads, the end of a program.
DOES_IO = (
    "base/check.h",
    "emu/des/crew.cc",
    "emu/des/crew.h",
    "emu/des/huge_pages.cc",
    "emu/runner/flow_file.cc",
    "emu/runner/text_file.cc",
)
_LAWS = ("base", "base/wire")
# What a folder may include besides itself; its subfolders have entries of their own. A new edge is a decision: it is made here, not
# by an #include. Edges that should go are marked.
EDGES: dict[str, tuple[str, ...]] = {
    "base": ("base/wire",),  # should go: packet.h names the wire headers of control frames
    "base/wire": ("base",),
    "irn_provider/cc": _LAWS,
    "irn_provider/cm": _LAWS,
    "irn_provider/transport": (*_LAWS, "irn_provider/cc"),
    "irn_provider/nic": (*_LAWS, "irn_provider/cc", "irn_provider/transport"),
    "ovs_patches/switch_model": _LAWS,
    "ovs_patches/openqueue": ("base", "ovs_patches/switch_model"),
    "emu/link": ("base",),
    "emu/world": (
        *_LAWS,
        "emu/link",
        "irn_provider/cm",
        "irn_provider/transport",
        "ovs_patches/openqueue",
        "ovs_patches/switch_model",
    ),
    "emu/record": (*_LAWS, "emu/world", "ovs_patches/switch_model"),
    "lockstep": ("base", "emu/world"),
    "irn_provider/live": (*_LAWS, "emu/record", "emu/world", "irn_provider/nic", "lockstep"),
    "irn_provider/realtime": (*_LAWS, "emu/world", "irn_provider/live", "irn_provider/nic", "lockstep"),
    "ovs_patches/netdev": (*_LAWS, "emu/record", "emu/world", "lockstep", "ovs_patches/switch_model"),
    "emu/runner": (
        *(*_LAWS, "emu/link", "emu/world", "irn_provider/cc", "irn_provider/transport"),
        *("ovs_patches/openqueue", "ovs_patches/switch_model"),
    ),
    "emu/cost": ("base", "irn_provider/cc", "irn_provider/transport", "ovs_patches/switch_model"),
    "emu/des": (
        *(*_LAWS, "emu/link", "emu/record", "emu/runner", "emu/world", "irn_provider/nic"),
        *("ovs_patches/switch_model", "verbs_app/flows"),
    ),
    "irn_provider/verbs": (
        *(*_LAWS, "irn_provider/cm", "irn_provider/live", "irn_provider/nic", "irn_provider/realtime"),
        *("emu/world", "irn_provider/transport", "irn_provider/verbs/libc", "irn_provider/verbs/rdma_cm"),
    ),
    "irn_provider/verbs/libc": (
        "base",
        "irn_provider/live",
        "irn_provider/verbs",
        "irn_provider/verbs/rdma_cm",
        "lockstep",
    ),
    "irn_provider/verbs/rdma_cm": (
        *("base/wire", "emu/world", "irn_provider/cm", "irn_provider/live", "irn_provider/nic"),
        *("irn_provider/verbs", "irn_provider/verbs/libc", "lockstep"),
    ),
    "emu/mpi": ("emu/des",),
    "emu/pybind": (
        "base",
        "emu/cost",
        "emu/des",
        "emu/runner",
        "emu/world",
        "lockstep",
        "ovs_patches/openqueue",
    ),
    "emu/gateway": (*_LAWS, "irn_provider/nic", "irn_provider/transport", "lockstep"),
}
IO_HEADER = re.compile(r"<(?:chrono|thread|random|iostream|sys/[^>]*|unistd\.h|time\.h|ctime|mutex|fstream)>")
INCLUDE = re.compile(r'^\s*#\s*include\s*(<[^>]+>|"[^"]+")', re.M)
# Constants with relocations are read-only once loaded; DW.ref.* is how unwinding tables name the personality routine.
WRITABLE = re.compile(r"\.(?:bss|tbss|tdata|data(?!\.rel\.ro|\.rel\.local\.DW\.ref))")
UNORDERED_LOOP = re.compile(r"for \([^;)]*:\s*\*?(\w+)\)")


def sources(folder: str) -> list[Path]:
    """Without tests and what only they use."""
    found = (path for suffix in ("*.h", "*.cc") for path in (ROOT / folder).rglob(suffix))
    return sorted(
        path for path in found if not re.search(r"^(test|fuzz)_|_(test|bench|fuzzer|fixture)\.", path.name)
    )


def folder_of(path: str) -> str | None:
    """The entry of EDGES that `path` is under, else its own folder; None: it is no path of this tree (system and Open vSwitch headers)."""
    parents = [str(parent) for parent in Path(path).parents]
    if len(parents) == 1 or not (ROOT / parents[-2]).is_dir():
        return None
    return next((parent for parent in parents if parent in EDGES), parents[0])


def io_includes(text: str) -> list[str]:
    return [found for found in INCLUDE.findall(text) if IO_HEADER.fullmatch(found)]


def prints(text: str) -> list[str]:
    """snprintf() prints nothing."""
    return re.findall(r"\b(?:v?f?printf|fputs|puts|perror)(?=\()", text)


def wrong_way_includes(path: str, text: str) -> list[str]:
    """`path` is relative to the root, as includes are."""
    mine = folder_of(path)
    targets = [found[1:-1] for found in INCLUDE.findall(text) if found.startswith('"')]
    return [
        target for target in targets if mine in EDGES and folder_of(target) not in (None, mine, *EDGES[mine])
    ]


def without_comments(text: str) -> str:
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def mutable_statics(text: str) -> list[str]:
    """Statements that give a variable static or thread storage and do not make it constant."""
    found = []
    for match in re.finditer(
        r"^[ \t]*((?:static|thread_local|inline static|static inline|inline)\b[^;{=(]*)([;{=(])", text, re.M
    ):
        head, end = match[1], match[2]
        if end == "(" or re.search(
            r"\b(const|constexpr|consteval|namespace|class|struct|using|template)\b", head
        ):
            continue
        found.append(" ".join(head.split()))
    return found


def loops_over_unordered(text: str) -> list[str]:
    unordered = set(re.findall(r"\bunordered_(?:map|set)<[^;()]*>\s+(\w+)\s*[;{=]", text))
    return [name for name in UNORDERED_LOOP.findall(text) if name in unordered]


def complaints(folder: str) -> list[str]:
    found = []
    for path in sources(folder):
        name = str(path.relative_to(ROOT))
        text = without_comments(path.read_text())
        if name not in DOES_IO:
            found += [f"{name} includes {header}" for header in io_includes(text)]
            found += [f"{name} prints by {call}" for call in prints(text)]
        found += [f"{name} holds a mutable static: {what}" for what in mutable_statics(text)]
        found += [f"{name} iterates over unordered {what}" for what in loops_over_unordered(text)]
    return found


@pytest.mark.parametrize("folder", NO_IO)
def test_folders_without_io_have_none(folder: str) -> None:
    assert complaints(folder) == []


@pytest.mark.parametrize("folder", EDGES)
def test_includes_are_edges_of_the_table(folder: str) -> None:
    found = {}
    for path in sources(folder):
        name = str(path.relative_to(ROOT))
        if folder_of(name) == folder and (wrong := wrong_way_includes(name, path.read_text())):
            found[name] = wrong
    assert found == {}


@pytest.mark.parametrize("folder", EDGES)
def test_the_table_has_no_edge_that_nothing_uses(folder: str) -> None:
    used = {
        folder_of(target[1:-1])
        for path in sources(folder)
        if folder_of(str(path.relative_to(ROOT))) == folder
        for target in INCLUDE.findall(path.read_text())
    }
    assert set(EDGES[folder]) <= used


def test_the_programs_stand_on_plain_libibverbs() -> None:
    """verbs_app would compile on a machine with a hardware NIC and without this project."""
    for path in sources("verbs_app"):
        for target in INCLUDE.findall(path.read_text()):
            assert not target.startswith('"') or target.startswith('"verbs_app/'), f"{path} includes {target}"


def test_compiled_code_without_io_has_no_writable_data() -> None:
    """What the source check cannot see (variables of namespaces, locals, std::ios_base::Init) shows as a section."""
    libraries = [
        path for folder in NO_IO for path in sorted((ROOT / "build/release" / folder).rglob("lib*.a"))
    ]
    if not libraries:
        pytest.skip("there is no release build")
    found = []
    for library in libraries:
        listing = subprocess.run(
            ["size", "-A", str(library)], capture_output=True, text=True, check=True
        ).stdout
        found += [f"{library.name}: {what}" for what in writable_sections(listing)]
    assert found == []


def writable_sections(listing: str) -> list[str]:
    """`size -A` prints "NAME   (ex LIBRARY):" per object, then a line per section: name, size, address."""
    found, member = [], ""
    for line in listing.splitlines():
        words = line.split()
        if len(words) > 1 and words[1] == "(ex":
            member = words[0]
        elif len(words) == 3 and WRITABLE.match(words[0]) and int(words[1]) > 0:
            found.append(f"{member} {words[0]} {words[1]} B")
    return found


# --- the checks themselves can fail ----------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["chrono", "thread", "random", "iostream", "sys/socket.h"])
def test_an_io_header_is_found(header: str) -> None:
    assert io_includes(f"#include <vector>\n#  include  <{header}>\n") == [f"<{header}>"]


def test_a_print_is_found() -> None:
    text = 'std::fprintf(stderr, "x"); printf("x"); std::snprintf(to, size, "x"); inputs(2);'
    assert prints(text) == ["fprintf", "printf"]


@pytest.mark.parametrize(
    "text",
    [
        "static int count = 0;",
        "  static std::vector<int> seen;",
        "thread_local bool busy{false};",
        "inline int counter = 0;",
        "static std::map<int,\n    int> table = {};",
    ],
)
def test_a_mutable_static_is_found(text: str) -> None:
    assert len(mutable_statics(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "static constexpr int kSize = 12;",
        "inline constexpr std::array<int, 2> kTable = {1, 2};",
        "static const char* const kNames[] = {};",
        "  static std::optional<Bth> parse(std::span<const std::byte> bytes);",
        "inline Psn next(Psn psn) { return psn; }",
        "inline namespace v1 {",
    ],
)
def test_constants_and_functions_are_not_mutable_statics(text: str) -> None:
    assert mutable_statics(text) == []


def test_a_loop_over_an_unordered_container_is_found() -> None:
    declared = "std::unordered_map<int, int> by_key_;\nstd::vector<int> list_;\n"
    assert loops_over_unordered(declared + "for (auto& [k, v] : by_key_) {}\nfor (int x : list_) {}\n") == [
        "by_key_"
    ]


def test_an_include_that_is_no_edge_is_found() -> None:
    switch, nic = "ovs_patches/switch_model/switch.h", "irn_provider/nic/nic.h"
    assert wrong_way_includes("base/units.h", f'#include "{nic}"') == [nic]
    assert wrong_way_includes(nic, f'#include "{switch}"') == [switch]
    assert wrong_way_includes(switch, f'#include "{nic}"') == [nic]
    assert wrong_way_includes("emu/des/engine.h", '#include "tests/net/star_net.h"') == [
        "tests/net/star_net.h"
    ]
    assert (
        wrong_way_includes(nic, '#include "base/ids.h"\n#include <vector>\n#include "irn_provider/nic/x.h"')
        == []
    )


def test_a_writable_section_is_found() -> None:
    listing = "psn.cc.o   (ex libx.a):\n.text 10 0\n.bss 8 0\n.data.rel.ro.local 16 0\n.data 0 0\n"
    assert writable_sections(listing) == ["psn.cc.o .bss 8 B"]
