"""`./rocelab`: from a bare machine to the command line. Standard library only until the packages are there."""

from __future__ import annotations

import sys
from pathlib import Path

# Started as a file, so that no variable of ours reaches the programs that we start; the package's parent takes its folder's place.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import os  # noqa: E402
import signal  # noqa: E402
from types import FrameType  # noqa: E402

from rocelab import commands, packages  # noqa: E402
from rocelab.errors import RocelabError, UsageError  # noqa: E402


class Terminated(KeyboardInterrupt):
    """SIGTERM, handled as ^C is: everything started is ended."""


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, _on_sigterm)
    signal.signal(signal.SIGHUP, _on_sigterm)
    try:
        return _main(arguments)
    except RocelabError as e:
        print(f"rocelab: error: {e}", file=sys.stderr)
        return 2 if isinstance(e, UsageError) else 1
    except Terminated:
        return 143
    except KeyboardInterrupt:
        print("rocelab: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader went away; so do we
        return 141
    except Exception as e:
        if os.environ.get("ROCELAB_DEBUG"):
            raise
        where = "ROCELAB_DEBUG=1 shows where"
        print(f"rocelab: error: unexpected {type(e).__name__}: {_first_line(e)} ({where})", file=sys.stderr)
        return 1


def _main(arguments: list[str]) -> int:
    ours = (
        arguments[: arguments.index("--")] if "--" in arguments else arguments
    )  # behind it: another program's
    asks_help = not arguments or "--help" in ours or "-h" in ours
    name = next((word for word in ours if not word.startswith("-")), None)
    command = commands.find(name) if name else None
    if name and not command:
        raise UsageError(f"unknown command `{name}`{commands.nearest(name)} (./rocelab --help lists all)")
    if command and not asks_help:
        groups = commands.needs(command, ours)
        if command.name == "setup" and "--tests" in ours:
            groups += ("ui", "test", "cluster", "guest")
        packages.ensure(groups, install="--no-install" not in ours)
    try:
        from rocelab import cli
    except ModuleNotFoundError as e:
        if asks_help or not command:
            print(commands.usage())
            return 0
        if command.name == "doctor":  # for machines on which nothing is installed
            from rocelab import doctor

            return doctor.run(doctor.DES if doctor.DES in ours else doctor.LIVE)
        raise RocelabError(f"Python's {e.name} is not installed: run ./rocelab setup") from e
    return cli.main(arguments)


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    raise Terminated


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["no message"])[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
