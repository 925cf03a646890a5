"""For all tests: what they start can be interrupted, also when they themselves were started in the background of a shell, which ignores SIGINT there."""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
