"""What runs on hosts may be of a build under a sanitizer: $ROCELAB_HOSTS_BUILD, `./rocelab test --label asan` and `--label tsan`."""

from __future__ import annotations

from rocelab import native
from rocelab.errors import RocelabError


def _preload() -> str:
    try:
        return native.preload()
    except RocelabError:
        return ""


# It delivers signals when a thread next calls the C library, so that a thread that polls memory is never found.
THREAD_SANITIZER = "/libtsan.so" in _preload()
