"""Which experiments `--only` names: "table4.2,figure4.9"; nothing: all."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from rocelab.errors import UsageError


def choose(only: str | None, known: Sequence[str], kind: str, example: str) -> list[str]:
    """Of `known`, in the order named, each once. `kind` and `example` are for the words of an error."""
    if only is None:
        return list(known)
    chosen = [name.strip() for name in only.split(",") if name.strip()]
    for name in chosen:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            raise UsageError(f"--only {name}: no such {kind}; {hint}")
    if not chosen:
        raise UsageError(f"--only is empty: name for example {example}")
    return list(dict.fromkeys(chosen))
