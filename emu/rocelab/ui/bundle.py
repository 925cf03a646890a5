"""The pages as browsers load them: emu/rocelab/ui/pages with its npm libraries, bundled into build/ui/dist. Made once, and when a file changes;
the libraries are fetched only when their lock file has changed, so that everything works without a network afterwards."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from rocelab import paths
from rocelab.errors import RocelabError
from rocelab.setup_all import setup_lock
from rocelab.setup_progress import Step, run_logged

PAGES = Path(__file__).parent / "pages"
FOLDER = paths.BUILD / "ui"
DIST = FOLDER / "dist"
MODULES = FOLDER / "node_modules"
_MANIFEST = ("package.json", "package-lock.json", ".npmrc")
_LOG = paths.LOGS / "ui-npm.log"


def ensure(install: bool = True) -> Path:
    """The folder with the pages' files. `install` off: a RocelabError if libraries are missing."""
    with setup_lock("ui"):
        wanted = _digest([PAGES / name for name in _MANIFEST])
        if _read(FOLDER / "libraries") != wanted:
            if not install:
                raise RocelabError(
                    "the pages' libraries are missing and --no-install was given: run ./rocelab ui once"
                )
            _fetch()
            (FOLDER / "libraries").write_text(wanted)
        sources = _digest(sorted(path for path in PAGES.iterdir() if path.is_file()))
        if _read(FOLDER / "bundled") != sources:
            _bundle()
            (FOLDER / "bundled").write_text(sources)
    return DIST


def _fetch() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "libraries").unlink(missing_ok=True)
    for name in _MANIFEST:
        shutil.copy(PAGES / name, FOLDER / name)
    with Step("libraries of the pages (npm)") as step:
        argv = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        try:
            run_logged(argv, step, _LOG, cwd=FOLDER)
        except RocelabError as e:
            hint = "they are fetched once from npm's registry: is it reachable from here (npm ping)?"
            raise RocelabError(f"the pages' libraries cannot be installed; {hint}\n{e}") from None


def _bundle() -> None:
    (FOLDER / "bundled").unlink(missing_ok=True)
    shutil.rmtree(DIST, ignore_errors=True)
    argv: list[str | Path] = [
        MODULES / ".bin" / "esbuild",
        PAGES / "main.js",
        "--bundle",
        "--minify",
        "--format=esm",
        "--target=es2022",
    ]
    with Step("pages") as step:
        # NODE_PATH: the libraries are not beside the sources.
        environment = {**os.environ, "NODE_PATH": str(MODULES)}
        run_logged([*argv, f"--outdir={DIST}"], step, paths.LOGS / "ui-bundle.log", env=environment)
    for name in ("index.html", "icon.svg"):
        shutil.copy(PAGES / name, DIST / name)


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
