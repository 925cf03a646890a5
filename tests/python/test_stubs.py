"""_rocelab.pyi says what the C++ module has: the names, the arguments in their order, which may be left out, and no more."""

from __future__ import annotations

import ast
import re
from types import ModuleType
from typing import Any

import pytest
from rocelab import native, paths

STUB = paths.ROOT / "emu" / "rocelab" / "_rocelab.pyi"
Arguments = list[tuple[str, bool]]  # name, may be left out


def stubbed() -> dict[str, ast.stmt]:
    """Classes and functions, and `Class.member`."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found[node.name] = node
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
        for member in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(member, ast.FunctionDef):
                found[f"{node.name}.{member.name}"] = member  # type: ignore[attr-defined]
    return found


def built(module: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dir(module):
        if name.startswith("__"):
            continue
        found[name] = value = getattr(module, name)
        if isinstance(value, type) and not issubclass(value, Exception):
            members = {k: v for k, v in vars(value).items() if not k.startswith("_")}
            if "->" in (
                value.__init__.__doc__ or ""
            ):  # pybind11 writes signatures; a class without one cannot be made
                members["__init__"] = value.__init__
            found |= {f"{name}.{k}": v for k, v in members.items()}
    return found


def arguments_of_stub(node: ast.stmt) -> Arguments:
    assert isinstance(node, ast.FunctionDef)
    required = len(node.args.args) - len(node.args.defaults)
    return [(a.arg, i >= required) for i, a in enumerate(node.args.args)]


def arguments_of_doc(doc: str) -> Arguments:
    """Of `name(a: int, b: List[Tuple[str, str]] = []) -> int`."""
    inside = re.match(r"\w+\((.*)\) ->", doc.splitlines()[0])
    assert inside is not None, doc
    parts, depth, part = [], 0, ""
    for character in inside[1] + ",":
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += character
    return [(p.partition(":")[0], " = " in p) for p in parts if p]


def test_the_stub_has_the_names_of_the_module() -> None:
    assert set(stubbed()) == set(built(native.module()))


def test_the_stub_has_the_arguments_of_the_module() -> None:
    stub = stubbed()
    compared = 0
    for name, value in built(native.module()).items():
        doc = getattr(value, "__doc__", None) or ""
        if callable(value) and not isinstance(value, type) and "->" in doc:
            assert arguments_of_stub(stub[name]) == arguments_of_doc(doc), name
            compared += 1
    assert compared > 25


def test_a_stub_that_is_behind_is_found() -> None:
    module = ModuleType("m")
    module.more = lambda: None  # type: ignore[attr-defined]
    assert set(built(module)) == {"more"}
    assert arguments_of_doc("f(a: int, b: List[Tuple[str, str]] = [], *, c: str = 'x') -> int") == [
        ("a", False),
        ("b", True),
        ("*", False),
        ("c", True),
    ]


def test_another_python_is_told_which_one_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    native.module()  # while it can be found
    monkeypatch.setattr("importlib.machinery.EXTENSION_SUFFIXES", [".cpython-399-x86_64-linux-gnu.so"])
    with pytest.raises(
        native.RocelabError, match="another Python .* use /usr/bin/python3 or ./rocelab python"
    ):
        native.module.__wrapped__()
