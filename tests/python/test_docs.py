"""Documents keep what they promise: the code of docs/tutorial/python.md runs from top to bottom, docs/tutorial/tour.ipynb too, and the commands of docs/tutorial/faq.md are ones that exist."""

from __future__ import annotations

import json
import re
import shlex
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
import rocelab
import typer
from rocelab import cli, native
from rocelab.privileges import is_root

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "docs" / "tutorial" / "python.md"


@dataclass(frozen=True)
class Block:
    line: int
    words: str  # behind the three backticks
    text: str


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.M | re.S):
        yield Block(text.count("\n", 0, found.start()) + 2, found[1], found[2])


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As the work tree for who reads scenarios and writes results."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def can_run_live() -> bool:
    return is_root() and (native.ovs_tree() / "vswitchd" / "ovs-vswitchd").exists()


def test_the_code_of_the_python_page_runs(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    ran = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for block in blocks(PYTHON):
            assert block.words in ("python", "python as-root"), f"{PYTHON}:{block.line}: nobody runs this"
            if block.words.endswith("as-root") and not can_run_live():
                continue
            exec(compile("\n" * (block.line - 1) + block.text, PYTHON, "exec"), names)
            ran += 1
    said = capsys.readouterr().out
    assert ran >= 8
    for words in ("mean FCT (ms)", "topology.rate has no unit", "out/wrong.toml", "flow completion time"):
        assert words in said
    assert {path.name for path in (tree / "out").glob("*.*")} >= {
        "fct.pdf",
        "time.svg",
        "queue.png",
        "fast.toml",
    }
    assert (tree / "out" / "search" / "scenario.toml").exists()
    if can_run_live():
        assert "1000 iters in" in said


def test_the_python_of_the_readme_runs(tree: Path) -> None:
    (block,) = [b for b in blocks(ROOT / "README.md") if b.text.startswith("import rocelab")]
    exec(compile("\n" * (block.line - 1) + block.text, "README.md", "exec"), {})
    assert (tree / "fct.pdf").stat().st_size > 1000


FAQ = ROOT / "docs" / "tutorial" / "faq.md"


def commands_of(page: Path) -> list[tuple[int, list[str]]]:
    """Line and words of each `./rocelab` command in the blocks of a page; what a pipe goes to is left out."""
    found = []
    for block in blocks(page):
        for offset, line in enumerate(block.text.splitlines()):
            words = shlex.split(line.partition("|")[0], comments=True)
            if words and words[0] == "./rocelab":
                found.append((block.line + offset, words[1:]))
    return found


def check_parses(words: list[str]) -> None:
    """Options, arguments and files are there."""
    command = typer.main.get_command(cli.app)
    assert isinstance(command, click.Group)
    name, *rest = words
    with command.commands[name].make_context(name, rest) as context:
        scenario = context.params.get("scenario")
        assert scenario is None or Path(scenario).is_file(), scenario


@pytest.mark.parametrize(("line", "words"), commands_of(FAQ), ids=lambda value: str(value)[:60])
def test_the_commands_of_the_questions_work(
    line: int, words: list[str], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_parses(words)
    if words[0] == "run" and words[words.index("--engine") + 1] == "des":
        monkeypatch.setattr(cli, "set_up", lambda **_: None)
        assert cli.main([*words, "--out", "result"]) == 0, f"{FAQ}:{line}"


def test_the_questions_have_the_answers_that_they_promise(tree: Path) -> None:
    """What the text says of the numbers."""
    pfc = rocelab.run(
        "scenarios/quick.toml", set={"transport": ["roce+pfc"], "switch.lossless_buffer": "40KB"}
    )
    assert pfc.table["pauses (frames)"]["roce+pfc"] > 0
    cross = rocelab.run("scenarios/incast_crosstraffic.toml", seeds=1).flows
    victim = cross[cross["group"] == "victim"].set_index("label")["slowdown"]
    assert victim["roce+pfc"] > 1.3 * victim["irn"]
    ecn = {"transport": ["roce+pfc+dcqcn"], "switch.ecn.kmin": "10KB", "switch.ecn.kmax": "40KB"}
    marked = rocelab.run("scenarios/quick.toml", set=ecn)
    assert {"ecn_marked", "np_cnp_sent", "rp_cnp_handled"} <= set(marked.counters["name"])


def test_the_questions_are_the_ten_and_have_a_command_each() -> None:
    text = FAQ.read_text()
    parts = re.split(r"^## ", text, flags=re.M)[1:]
    assert len(parts) == 10
    assert [part.splitlines()[0] for part in parts if "./rocelab" not in part] == [
        "What is real, and what is not?"
    ]


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        *(f"docs/{n}.md" for n in ("README", "tutorial/faq", "reference/glossary", "tutorial/python")),
    ],
)
def test_links_lead_somewhere(page: str) -> None:
    file = ROOT / page
    for target in re.findall(r"\]\(([^)#\s]*)[^)]*\)", file.read_text()):
        assert not target or (file.parent / target).exists(), f"{page}: {target}"


TOUR = ROOT / "docs" / "tutorial" / "tour.ipynb"


def outputs_of(cell: Any) -> str:
    """As text; of pictures and tables their markup."""
    said = ""
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        said += output.get("text", "") + data.get("text/plain", "") + data.get("text/html", "")
        said += "picture" if "image/png" in data else ""
    return said


def test_the_tour_is_kept_without_outputs() -> None:
    for cell in json.loads(TOUR.read_text())["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None
    assert TOUR.stat().st_size < 20_000


def test_the_tour_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a kernel of its own, as Jupyter runs it. Results go elsewhere than a user's."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "emu"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    notebook = nbformat.read(TOUR, as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace(
            'ROOT / "out" / "tour"', f"ROOT.__class__({str(tmp_path / 'out')!r})"
        )
    nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    said = [outputs_of(cell) for cell in notebook.cells if cell.cell_type == "code"]
    everything = "\n".join(said)
    assert "<th>roce+pfc</th>" in said[1], "a result shows its table"
    assert said.count("") <= 1 and everything.count("<svg") == 2 and "picture" in said[-1]
    assert "is no rate" in everything or "40 gigabit" in everything
    assert (
        "equal, frame by frame: True" in everything
        if can_run_live()
        else "skipped: it needs root" in everything
    )
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"first", "web", "sweep", "figure4.9"}


def prose(page: Path) -> list[tuple[int, str]]:
    """Lines of a page with their numbers, without tables, code and what is generated."""
    found, code, generated = [], False, False
    for number, line in enumerate(page.read_text().splitlines(), start=1):
        code ^= line.startswith("```")
        generated = line.startswith("<!-- generated") or (generated and not line.startswith("<!-- end"))
        if not (code or generated or line.startswith(("|", "```", "    "))):
            found.append((number, line))
    return found


def test_lines_of_prose_are_shorter_than_160_characters() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    assert len(pages) > 30
    long = [
        f"{page.relative_to(ROOT)}:{number}"
        for page in pages
        for number, line in prose(page)
        if len(line) > 160 and not any(len(code) > 100 for code in re.findall("`[^`]*`", line))  # a command
    ]
    assert long == [], "one sentence a line; longer ones are wrapped"
