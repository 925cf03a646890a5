"""From a command to the program that it runs: `exec`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from rocelab.errors import RocelabError


def become(argv: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Becomes the program: same process, terminal and signals, its exit status. Raises RocelabError when there is no such program."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program inherits that
        signal.signal(number, signal.SIG_DFL)
    sys.stdout.flush()
    try:
        os.execvpe(argv[0], list(argv), environment)
    except OSError as e:
        raise RocelabError(f"{argv[0]}: {e.strerror}") from e
