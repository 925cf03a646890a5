"""OpenQueue's words, grammar, fields and limits are those of the compiler, in the editors' files and in docs/reference/openqueue.md."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPILER = ROOT / "ovs_patches" / "openqueue"
VIM = COMPILER / "editors" / "vim" / "syntax" / "openqueue.vim"
TEXTMATE = COMPILER / "editors" / "openqueue.tmLanguage.json"
REFERENCE = ROOT / "docs" / "reference" / "openqueue.md"
_OBJECTS = {"packet", "now", "MAX_FRAME", "PORTS"}  # resolve.cc and paths.cc; also queue, buffer, port


def source(name: str) -> str:
    return (COMPILER / name).read_text()


def reserved() -> set[str]:
    return set(re.findall(r'Reserved\{"([A-Za-z]+)"', source("reader.cc")))


def fields() -> set[str]:
    return set(re.findall(r'(?:Field|StateName)\{"(\w+)"', source("fields.cc")))


def properties() -> set[str]:
    return set(re.findall(r'Property\{"(\w+)"', source("fields.cc")))


def units() -> set[str]:
    known = re.findall(r'\{"([A-Za-z/]+)",\s*[\d\']+\}', (ROOT / "base" / "quantity.cc").read_text())
    return {*known, "packet", "packets"}


def library() -> set[str]:
    return set(re.findall(r"^(?:turn )?(\w+)\([^)]*\) (?:=|\{)", source("standard.cc"), re.M))


def all_words() -> set[str]:
    return reserved() | fields() | properties() | library() | _OBJECTS


def rules(text: str) -> str:
    """The rules of a bison grammar, an alternative a line, without actions and without what recovers from errors."""
    body = text.split("\n%%\n")[1]
    flat, depth, quoted = "", 0, False
    for character in body:
        quoted ^= character == '"'
        depth += (character == "{") - (character == "}") if not quoted else 0
        if depth == 0 and (character != "}" or quoted):
            flat += character
    flat = re.sub(r"%prec \w+|%empty", "", flat)
    paragraphs = []
    for rule in re.findall(r"(\w+):((?:\"[^\"]*\"|[^\";])*);", flat):
        alternatives = re.split(r"\|(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", rule[1])
        lines = [" ".join(alternative.split()) or "(nothing)" for alternative in alternatives]
        lines = [line for line in lines if "error" not in line.split()]
        paragraphs.append(f"{rule[0]}: " + "\n    | ".join(lines))
    return "\n".join(paragraphs)


def block(language: str) -> str:
    """The fenced block of that language in the reference."""
    found = re.search(rf"^```{language}\n(.*?)^```$", REFERENCE.read_text(), re.M | re.S)
    assert found, f"docs/reference/openqueue.md has no block ```{language}"
    return found[1].rstrip("\n")


def test_the_compiler_has_words() -> None:
    assert {"select", "turn", "drop", "Queue"} <= reserved()
    assert {"arrival", "currSize", "lineRate", "schedState"} <= fields()
    assert {"congestion", "queuePrio", "schedPrio"} <= properties()
    assert {"fifo", "tailDrop", "dwrr"} <= library()
    assert {"KB", "us", "Gb/s", "packets"} <= units()


def test_vim_knows_every_word() -> None:
    words = {
        word for line in re.findall(r"^syn keyword \w+ (.*)$", VIM.read_text(), re.M) for word in line.split()
    }
    assert words - {"contained"} == all_words() | {"hol"}


def test_textmate_knows_every_word() -> None:
    words: set[str] = set()
    for pattern in json.loads(TEXTMATE.read_text())["patterns"]:
        for group in re.findall(r"\\b\(([\w|]+)\)\\b", pattern.get("match", "")):
            words |= set(group.split("|"))
    assert words == all_words() | {"hol"}


@pytest.mark.parametrize("path", [VIM, TEXTMATE])
def test_editors_know_every_unit(path: Path) -> None:
    text = path.read_text().replace("\\|", "|")
    longest_first = sorted(units(), key=lambda unit: (-len(unit), unit))
    assert "|".join(longest_first) in text


def test_the_reference_prints_the_grammar() -> None:
    assert block("bison") == rules(source("grammar.yy"))


def test_the_reference_names_fields_properties_units_and_the_library() -> None:
    text = REFERENCE.read_text().split("\n## Reference\n")[1]
    named = set(re.findall(r"`([^`\n]+)`", text))
    wanted = fields() | properties() | units() | library() | _OBJECTS
    assert wanted - named == set()


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("kMostText", "lexer.h"),
        ("kDeepestNesting", "lexer.h"),
        ("kMostQueues", "model.h"),
        ("kMostPortQueues", "model.h"),
        ("kMostComponents", "orders.h"),
        ("kMostInstructions", "code.h"),
        ("kMostVisits", "checks.h"),
        ("kMostCases", "actions.cc"),
        ("kMostActions", "actions.cc"),
        ("kMostArms", "selections.cc"),
        ("kDeepestUse", "compile.cc"),
        ("kMostErrors", "diagnostics.h"),
    ],
)
def test_the_reference_gives_the_limits(name: str, file: str) -> None:
    found = re.search(rf"\b{name} = ([\d' *]+)", source(file))
    assert found, f"{file} has no {name}"
    value = 1
    for factor in found[1].replace("'", "").split("*"):
        value *= int(factor)
    limits = REFERENCE.read_text().split("\n### Limits\n")[1].split("\n### ")[0]
    assert f"{value:,}" in limits, f"{name} is {value:,}"


# --- the checks themselves can fail ------------------------------------------------------------------------------------------------


def test_rules_leave_out_actions() -> None:
    text = 'head\n%%\na: "x" b { $$ = "}"; } | %empty {};\nb: "|" { } | error ";";\n\n%%\n'
    assert rules(text) == 'a: "x" b\n    | (nothing)\nb: "|"'
