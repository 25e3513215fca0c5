"""Docstrings agree with the sources on parameters, errors, units and names."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from figures import product
from relax_mlir import error

ROOT = Path(__file__).resolve().parents[2]
Definition = ast.FunctionDef | ast.ClassDef


class Documented(NamedTuple):
    """A function or class with a docstring, and the names that it and the definitions around it use."""

    place: str
    node: Definition
    docstring: str
    names: frozenset[str]


TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in product().values()}
CLASSES = {node.name: node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
ERRORS = {
    name: {base.__name__ for base in value.__mro__}
    for name, value in vars(error).items()
    if isinstance(value, type) and issubclass(value, Exception)
}
UNITS = ((r"bytes$|bytes_", r"bytes?\b|`Target`"), (r"seconds|timeout", r"second"))
"""Patterns of parameter names, and what their descriptions name."""


def used_names(node: ast.AST) -> Iterator[str]:
    """Yield identifiers, attributes, keywords, and strings that are names."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr
        elif isinstance(inner, ast.arg | ast.keyword) and inner.arg:
            yield inner.arg
        elif isinstance(inner, Definition):
            yield inner.name
        elif isinstance(inner, ast.Constant) and re.fullmatch(r"[\w.-]+", str(inner.value)):
            yield str(inner.value).split(".")[-1].replace("-", "_")


@cache
def names_of(node: Definition) -> frozenset[str]:
    """The names in a definition and in the base classes of a class."""
    names = frozenset(used_names(node))
    for base in node.bases if isinstance(node, ast.ClassDef) else ():
        if isinstance(base, ast.Name) and base.id in CLASSES:
            names |= names_of(CLASSES[base.id])
    return names


def documented() -> Iterator[Documented]:
    def within(node: ast.AST, file: str, outer: frozenset[str]) -> Iterator[Documented]:
        for child in ast.iter_child_nodes(node):
            names = outer
            if isinstance(child, Definition) and (docstring := ast.get_docstring(child)):
                names = outer | names_of(child)
                yield Documented(f"{file}:{child.lineno} {child.name}", child, docstring, names)
            yield from within(child, file, names)

    for path, tree in TREES.items():
        yield from within(tree, str(path.relative_to(ROOT)), frozenset())


DOCUMENTED = list(documented())


def entries(docstring: str, heading: str) -> Iterator[tuple[list[str], str]]:
    """Yield the names and the description of each entry of a section such as ``Args:``."""
    section = re.search(rf"^{heading}:\n((?:    .*\n?|\n)+)", docstring, re.MULTILINE)
    for entry in re.findall(r"^    (?! )(.*(?:\n     .*|\n$)*)", section[1] if section else "", re.MULTILINE):
        names, colon, text = entry.partition(": ")
        assert colon or entry.endswith(":"), f"an entry of '{heading}:' has no colon: {entry}"
        yield [name.strip("`*") for name in re.split(", | or ", names)], text


def parameters(function: ast.FunctionDef) -> list[ast.arg]:
    given = function.args
    listed = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [parameter for parameter in listed if parameter is not None]


def parameter_names(function: ast.FunctionDef) -> set[str]:
    return {parameter.arg for parameter in parameters(function)}


def fields(cls: ast.ClassDef) -> set[str]:
    """Parameters of the constructor, attributes and properties of a class and its base classes."""
    found: set[str] = set()
    for node in cls.body:
        if isinstance(node, ast.FunctionDef):
            found |= {node.name} | (parameter_names(node) if node.name == "__init__" else set())
            stores = (each for each in ast.walk(node) if isinstance(each, ast.Attribute))
            found |= {each.attr for each in stores if isinstance(each.ctx, ast.Store)}
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    for base in cls.bases:
        if isinstance(base, ast.Name) and base.id in CLASSES:
            found |= fields(CLASSES[base.id])
    return found


def test_parameters_exist() -> None:
    """Names under ``Args:`` and ``Attributes:`` are parameters or attributes."""
    wrong, count = [], 0
    for place, node, docstring, _ in DOCUMENTED:
        own = parameter_names(node) if isinstance(node, ast.FunctionDef) else fields(node)
        for heading in ("Args", "Attributes"):
            for names, _ in entries(docstring, heading):
                count += len(names)
                wrong += [f"{place}: no parameter {name}" for name in names if name not in own]
    assert not wrong
    assert count > 500


def test_errors_exist() -> None:
    """Names under ``Raises:`` are classes of the project, of Python, or of a package that it imports."""
    known = {
        *ERRORS,
        *dir(builtins),
        *CLASSES,
        *(name for tree in TREES.values() for name in _imported(tree)),
    }
    wrong, count = [], 0
    for place, _, docstring, _ in DOCUMENTED:
        for names, _ in entries(docstring, "Raises"):
            count += len(names)
            wrong += [f"{place}: no error {name}" for name in names if name.partition(".")[0] not in known]
    assert not wrong
    assert count > 300


def _imported(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def raised(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the errors that the body itself raises, without functions inside it."""
    nodes = list(ast.iter_child_nodes(function))
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            yield node.exc.func.id
        nodes += ast.iter_child_nodes(node)


def test_raised_errors_are_named() -> None:
    """A docstring that names an error names all that the function itself raises, or their base classes."""
    wrong = []
    for place, node, docstring, _ in DOCUMENTED:
        named = {name for name in ERRORS if re.search(rf"\b{name}\b", docstring)}
        if isinstance(node, ast.FunctionDef) and named:
            missing = {name for name in raised(node) if name in ERRORS and not named & ERRORS[name]}
            wrong += [f"{place}: raises {name}" for name in sorted(missing)]
    assert not wrong


def test_names_in_backticks_exist() -> None:
    """A name in single backticks is one of the project; a name of something else has double ones."""
    everywhere = {*dir(builtins), *keyword.kwlist}
    for path, tree in TREES.items():
        everywhere |= {path.stem, *path.relative_to(ROOT).parts}
        everywhere |= {part for name in _imported(tree) for part in name.split(".")}
        modules = (node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module)
        everywhere |= {part for module in modules for part in module.split(".")}
        everywhere |= {node.name for node in ast.walk(tree) if isinstance(node, Definition)}
        for statement in tree.body:
            targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
            everywhere |= {target.id for target in targets if isinstance(target, ast.Name)}
    wrong, count = [], 0
    for place, _, docstring, names in DOCUMENTED:
        for name in re.findall(r"(?<!`)`([a-z_]\w*)`(?!`)", docstring):
            count += 1
            if name not in names and name not in everywhere:
                wrong.append(f"{place}: {name}")
    assert not wrong
    assert count > 4000


@pytest.mark.parametrize(("pattern", "unit"), UNITS)
def test_units(pattern: str, unit: str) -> None:
    wrong, count = [], 0
    for place, _, docstring, _ in DOCUMENTED:
        for heading in ("Args", "Attributes"):
            for names, text in entries(docstring, heading):
                if any(re.search(pattern, name) for name in names):
                    count += 1
                    if not re.search(unit, text):
                        wrong.append(f"{place}: {', '.join(names)}: {text}")
    assert not wrong
    assert count > 2


def test_public_functions_have_annotated_types() -> None:
    wrong = []
    for place, node, _, _ in DOCUMENTED:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            missing = [
                parameter.arg
                for parameter in parameters(node)
                if parameter.annotation is None and parameter.arg not in ("self", "cls", "_")
            ]
            wrong += [f"{place}: {name}" for name in [*missing, *(["return"] if node.returns is None else [])]]
    assert not wrong
