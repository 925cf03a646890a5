"""Writes the proxy libibverbs (README.md) from the functions that the installed libibverbs exports: symbols.inc and symbols.map.

    generate.py NM LIBRARY FOLDER
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def main(nm: str, library: str, folder: Path) -> None:
    listing = subprocess.run(
        [nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    # "address T name@@VERSION" is what links without a version get, "name@VERSION" is an older one. Data (of providers) stays the library's.
    functions = re.findall(r"^\S+ [TW] (\w+)(@@?)(\w+(?:\.\w+)*)$", listing, re.M)
    versions = re.findall(r"^\S+ A (\w+(?:\.\w+)*)$", listing, re.M)
    if not functions or not versions:
        raise SystemExit(f"{library} exports no functions with versions")
    real = Path(library).resolve()
    lines = [
        f'#define REAL_LIBRARY "{real}"',
        f"#define FUNCTIONS {len(functions)}",
        "#define EACH_FUNCTION(X) \\",
    ]
    lines += [
        f'  X({i}, "{name}", "{at}", "{version}") \\' for i, (name, at, version) in enumerate(functions)
    ]
    (folder / "symbols.inc").write_text("\n".join(lines) + "\n\n")
    nodes = []
    for version in versions:
        names = "".join(f" {name};" for name, _, at in functions if at == version)
        nodes.append(f"{version} {{ global:{names} }};\n" if names else f"{version} {{}};\n")
    nodes[0] = nodes[0].replace("};", "local: *; };")
    (folder / "symbols.map").write_text("".join(nodes))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
