"""Set-up as a whole: packages, the C++ build, Open vSwitch. Idempotent; a second one at the same time waits for the first."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rocelab import paths
from rocelab.errors import RocelabError
from rocelab.ovs_build import OvsBuild
from rocelab.setup_build import build
from rocelab.setup_progress import Step


def set_up(live: bool = True) -> None:
    """Everything that `./rocelab run` needs, up to date; without `live` what virtual time needs. The packages are there (rocelab.packages)."""
    with setup_lock():
        with Step("C++ build (release)") as step:
            build("release", step, () if live else ("_rocelab",))
        if not live:
            return
        with Step("Open vSwitch") as step:
            OvsBuild().ensure(step)


@contextmanager
def setup_lock(name: str = "setup") -> Iterator[None]:
    """`setup` guards what runs use; builds that only tests use have locks of their own, so that a run does not wait for them."""
    if any(character.isspace() for character in str(paths.ROOT)):
        raise RocelabError(f"Open vSwitch cannot be built under a path with blanks: move {paths.ROOT}")
    try:
        paths.BUILD.mkdir(exist_ok=True)
        file = (paths.BUILD / f"{name}.lock").open("a+")
    except OSError as e:
        raise RocelabError(
            f"{e.filename}: {e.strerror}; set-up writes there, as the user who owns the work tree"
        ) from e
    with file:
        wait_for_lock(file)
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def wait_for_lock(file: TextIO) -> None:
    """Locks the file; says once whom it waits for, as soon as the holder has noted its process id there."""
    told = False
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if told else fcntl.LOCK_NB))
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip()
            if holder:
                print(f"rocelab: waiting for another set-up (process {holder})", file=sys.stderr, flush=True)
                told = True
            else:
                time.sleep(0.01)
        else:
            file.truncate(0)  # what a killed holder left
            return
