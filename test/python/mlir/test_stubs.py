"""The type stubs of the bindings match the bindings."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
from relax_mlir import mlir
from relax_mlir.mlir import generate_stubs

FOLDER = Path(mlir.__file__).parent
ROOT = Path(__file__).resolve().parents[3]
ELSEWHERE = {"ir.DictAttr.__iter__", "ir.OpView.OPERATION_NAME"}
"""Iteration by ``__getitem__``, and attributes of each op class that their base lacks."""


def tree(name: str) -> ast.Module:
    return ast.parse((FOLDER / f"{name}.pyi").read_text(encoding="utf-8"))


def names_of(body: list[ast.stmt]) -> list[str]:
    found = [item.name for item in body if isinstance(item, ast.FunctionDef | ast.ClassDef)]
    targets = [item.target for item in body if isinstance(item, ast.AnnAssign)]
    return [*found, *(target.id for target in targets if isinstance(target, ast.Name))]


def test_generated_stubs_are_current() -> None:
    made = generate_stubs.stubs(ROOT)
    kept = {path.stem for path in FOLDER.glob("*.pyi")} - generate_stubs.BY_HAND
    assert kept == set(made)
    for dialect, text in made.items():
        assert ast.dump(tree(dialect)) == ast.dump(ast.parse(text)), f"{dialect}.pyi is stale: run make stubs"


@pytest.mark.parametrize("name", ["ir", "passmanager", "execution_engine"])
def test_what_stubs_by_hand_say_is_there(name: str) -> None:
    module = importlib.import_module(f"{mlir.provider}.{name}")
    for item in tree(name).body:
        if not isinstance(item, ast.ClassDef):
            continue
        have = set(dir(getattr(module, item.name)))
        missing = [f"{name}.{item.name}.{member}" for member in names_of(item.body) if member not in have]
        assert not set(missing) - ELSEWHERE


def test_ops_are_built_with_the_class_keywords_of_the_stub() -> None:
    stub = next(item for item in tree("ext").body if isinstance(item, ast.ClassDef) and item.name == "Operation")
    hook = next(item for item in stub.body if isinstance(item, ast.FunctionDef) and item.name == "__init_subclass__")
    assert {argument.arg for argument in hook.args.kwonlyargs} == {"name", "traits"}
    assert all(hasattr(mlir.ext, name) for name in ("Operation", "Type", "Attribute", "Dialect", "Pure"))


def test_an_unknown_name_is_reported() -> None:
    text = generate_stubs.stub_text("arith", {"addf", "no_such_builder"})
    assert "def addf(" in text and "no_such_builder" not in text
