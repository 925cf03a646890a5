"""The pages' requests. What changes something is a POST; guard.py has looked at who asks."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, List, Optional

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field

from rocelab import __version__, paths
from rocelab.errors import RocelabError
from rocelab.ui import bundle, causes, compare, flows, network, places, series
from rocelab.ui.database import opened
from rocelab.ui.gallery import MOST_TEXT, Conflict, Gallery
from rocelab.ui.queue import Order, RunQueue
from rocelab.ui.results import Results, runs
from rocelab.ui.sweeps import Sweeps

_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_OURS = paths.ROOT / "scenarios"
_POINTS = Query(600, ge=10, le=4000)
_WHOLE = Query(0, ge=0, lt=1 << 62)


class OrderBody(BaseModel):
    """Of a run for the queue."""

    scenario: str = Field(max_length=300)
    engine: str = Field(max_length=10)
    result: str = Field(max_length=100)
    labels: List[str] = Field([], max_items=100)
    seeds: List[int] = Field([], max_items=1000)
    overrides: List[str] = Field([], max_items=100)
    pcap: bool = False
    label: str = Field("", max_length=300)


class TextBody(BaseModel):
    """Of a scenario: to check, or to save."""

    path: str = Field(max_length=300)
    text: str = Field(max_length=MOST_TEXT)
    digest: Optional[str] = Field(None, max_length=64)


class NumberBody(BaseModel):
    """Of a run in the queue."""

    number: int


def make_app(pages: Path, scenarios: Path, results: Path, queue: RunQueue) -> FastAPI:
    app = FastAPI(title="rocelab", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    gallery = Gallery(scenarios, bundle.FOLDER / "gallery.json" if scenarios == _OURS else None)
    known = Results(results)
    _add_errors(app)
    _add_pages(app, pages)
    _add_results(app, results, known)
    _add_sweeps(app, Sweeps(results, scenarios))

    @app.get("/api/session")
    def session() -> Response:
        return _json(
            {
                "version": __version__,
                "root": os.geteuid() == 0,
                "results": str(results),
                "scenarios": str(scenarios),
            }
        )

    @app.get("/api/scenarios")
    def list_scenarios() -> Response:
        return _json(gallery.entries())

    @app.get("/api/sketch")
    def sketch(path: str) -> Response:
        return _json(gallery.sketch(path))

    @app.get("/api/scenario")
    def scenario(path: str) -> Response:
        return _json(gallery.text(path))

    @app.post("/api/check")
    def check(body: TextBody) -> Response:
        return _json(gallery.check(body.path, body.text))

    @app.post("/api/scenario")
    def save(body: TextBody) -> Response:
        return _json(gallery.save(body.path, body.text, body.digest))

    @app.get("/api/queue")
    async def list_queue() -> Response:
        return _json(queue.entries())

    @app.get("/api/now")
    def now(number: int) -> Response:
        """Of a run of the queue: its state, and its network while it lasts."""
        run = queue.run(number)
        look = run.under_way.look(run.progress) if run.under_way is not None else {"nodes": []}
        entry = {key: value for key, value in run.as_dict().items() if key != "lines"}
        return _json({"entry": entry, "network": look})

    @app.post("/api/queue")
    async def enqueue(body: OrderBody) -> Response:
        order = Order(
            body.scenario,
            body.engine,
            body.result,
            tuple(body.labels),
            tuple(body.seeds),
            tuple(body.overrides),
            body.pcap,
            body.label,
        )
        return _json(queue.add(order).as_dict())

    @app.post("/api/stop")
    async def stop(body: NumberBody) -> Response:
        if not queue.stop(body.number):
            raise RocelabError(f"run {body.number} has ended already")
        return _json(queue.entries())

    return app


def _add_results(app: FastAPI, results: Path, known: Results) -> None:
    @app.get("/api/results")
    def list_results() -> Response:
        return _json(known.entries())

    @app.get("/api/runs")
    def list_runs(result: str) -> Response:
        with opened(results, result) as db:
            return _json(runs(db))

    @app.get("/api/network")
    def show_network(result: str, run: int = _WHOLE) -> Response:
        with opened(results, result) as db:
            return _json(network.network(db, run))

    @app.get("/api/moments")
    def moments(result: str, run: int = _WHOLE) -> Response:
        with opened(results, result, run) as db:
            return _json(causes.moments(db, run))

    @app.get("/api/port")
    def port(
        result: str,
        port: str,
        run: int = _WHOLE,
        begin: int = _WHOLE,
        end: int = _WHOLE,
        points: int = _POINTS,
    ) -> Response:
        with opened(results, result, run) as db:
            return _json(series.port(db, run, port, begin, end or db.end_ps(run), points))

    @app.get("/api/chain")
    def chain(result: str, port: str, run: int = _WHOLE, time: int = _WHOLE) -> Response:
        with opened(results, result, run) as db:
            return _json(causes.chain(db, run, port, time))

    @app.get("/api/flows")
    def list_flows(
        result: str,
        run: int = _WHOLE,
        sort: str = "flow",
        descending: bool = False,
        find: str = Query("", max_length=100),
        limit: int = Query(100, ge=1),
    ) -> Response:
        with opened(results, result, run) as db:
            return _json(flows.table(db, run, sort, descending, find, limit))

    @app.get("/api/flow")
    def flow(result: str, flow: int, run: int = _WHOLE, points: int = _POINTS) -> Response:
        with opened(results, result, run) as db:
            return _json(
                {**flows.life(db, run, flow, points), "captures": _captures(results, result, db.summary(run))}
            )

    @app.get("/api/compare")
    def show_compare(set: List[str] = Query([]), points: int = _POINTS) -> Response:
        return _json(compare.compare(results, compare.parse(set), points))


def _add_sweeps(app: FastAPI, known: Sweeps) -> None:
    @app.get("/api/sweeps")
    def list_sweeps() -> Response:
        return _json(known.entries())

    @app.get("/api/sweep")
    def sweep(name: str) -> Response:
        return _json(known.sweep(name))

    @app.get("/api/sweep-label")
    def sweep_label(name: str, label: str) -> Response:
        return _json(known.cell(name, label))


def _captures(results: Path, result: str, summary: dict[str, Any]) -> list[str]:
    """Of a run with --pcap, as one types them."""
    try:
        folder = places.inside(results, f"{result}/pcap/{summary['label']}-seed{summary['seed']}")
    except places.NoSuchPlace:
        return []
    return sorted(str(path) for path in folder.glob("*.pcap*")) if folder.is_dir() else []


def _add_pages(app: FastAPI, pages: Path) -> None:
    files = {path.name: path.read_bytes() for path in sorted(pages.iterdir()) if path.suffix in _TYPES}
    index = files.pop("index.html").decode()

    @app.get("/")
    async def page(request: Request) -> Response:
        return Response(index.replace("{{nonce}}", request.scope["nonce"]), media_type="text/html")

    @app.get("/{name}")
    async def file(name: str) -> Response:
        if name not in files:
            return _error(404, "there is no such page")
        return Response(files[name], media_type=_TYPES[Path(name).suffix])


def _add_errors(app: FastAPI) -> None:
    """Errors that one can act on are a line each, with status 400; the pages show it."""

    def answer(
        status: int, text: Callable[[Exception], str]
    ) -> Callable[[Request, Exception], Awaitable[Response]]:
        async def handler(_: Request, error: Exception) -> Response:
            return _error(status, text(error))

        return handler

    app.add_exception_handler(RocelabError, answer(400, str))
    app.add_exception_handler(Conflict, answer(409, str))
    app.add_exception_handler(places.NoSuchPlace, answer(404, lambda e: f"there is no {e}"))
    app.add_exception_handler(RequestValidationError, answer(400, lambda e: _first_line(e)))


def _first_line(error: Exception) -> str:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    return f"{' '.join(map(str, first['loc'][1:]))}: {first['msg']}"


def _error(status: int, text: str) -> Response:
    return Response(json.dumps({"error": text}), status, media_type="application/json")


def _json(value: Any) -> Response:
    """Values that are JSON already: FastAPI would go over each of a hundred thousand numbers."""
    return Response(json.dumps(value, separators=(",", ":")), media_type="application/json")
