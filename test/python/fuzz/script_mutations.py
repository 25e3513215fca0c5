"""Mutations of scripts as Python's syntax trees."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from random import Random
from typing import Any

from vocabulary import FAMILIES, HOSTILE_SYMBOLS, SYMBOLS

Mutation = Callable[[ast.Module, Random], bool]
NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    2**31,
    2**63 - 1,
    2**63,
    -(2**63),
    10**30,
    0.5,
    -0.0,
    1e400,
    float("nan"),
    True,
    None,
)
WORDS = (
    "float32",
    "float64",
    "int64",
    "bool",
    "bfloat16",
    "uint8",
    "float8",
    "n",
    "m",
    "",
    "clip",
    "wrap",
    "x\0",
    "é",
)


def _pick(tree: ast.Module, rng: Random, kind: Any, accepts: Callable[[Any], bool] = lambda node: True) -> Any:
    found = [node for node in ast.walk(tree) if isinstance(node, kind) and accepts(node)]
    return rng.choice(found) if found else None


def change_constant(tree: ast.Module, rng: Random) -> bool:
    """Another number, string or None."""
    node = _pick(tree, rng, ast.Constant)
    if node is None:
        return False
    words = (*WORDS, *SYMBOLS, *HOSTILE_SYMBOLS)
    same_kind = rng.random() < 0.8
    node.value = rng.choice(words if isinstance(node.value, str) == same_kind else NUMBERS)
    return True


def small_constant(tree: ast.Module, rng: Random) -> bool:
    """Another small number."""
    node = _pick(tree, rng, ast.Constant, lambda n: isinstance(n.value, int | float) and not isinstance(n.value, bool))
    if node is None:
        return False
    node.value = rng.choice((0, 1, 2, 3, 4)) if isinstance(node.value, int) else rng.choice((0.0, 1.0, -2.0, 0.5))
    return True


def rename_call(tree: ast.Module, rng: Random) -> bool:
    """Another op of the same signature."""
    families = [[n.removeprefix("relax.").removeprefix("nn_") for n in family] for family in FAMILIES]
    names = {name for family in families for name in family}
    node = _pick(tree, rng, ast.Attribute, lambda n: n.attr in names)
    if node is None:
        return False
    node.attr = rng.choice(rng.choice([family for family in families if node.attr in family]))
    return True


def swap_arguments(tree: ast.Module, rng: Random) -> bool:
    """Two arguments exchanged."""
    node = _pick(tree, rng, ast.Call, lambda n: len(n.args) > 1)
    if node is None:
        return False
    i, j = rng.sample(range(len(node.args)), 2)
    node.args[i], node.args[j] = node.args[j], node.args[i]
    return True


def change_arguments(tree: ast.Module, rng: Random) -> bool:
    """An argument more or less, or another keyword."""
    node = _pick(tree, rng, ast.Call)
    if node is None:
        return False
    action = rng.randrange(4)
    if action == 0 and node.args:
        del node.args[rng.randrange(len(node.args))]
    elif action == 1 and node.args:
        node.args.append(copy.deepcopy(rng.choice(node.args)))
    elif action == 2 and node.keywords:
        node.keywords.pop(rng.randrange(len(node.keywords)))
    else:
        name = rng.choice(("axis", "keepdims", "dtype", "out", "step", "name"))
        node.keywords.append(ast.keyword(name, ast.Constant(rng.choice(NUMBERS))))
    return True


def other_name(tree: ast.Module, rng: Random) -> bool:
    """Another variable of the script in the place of one."""
    node = _pick(tree, rng, ast.Name, lambda n: isinstance(n.ctx, ast.Load))
    names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)]
    if node is None:
        return False
    node.id = rng.choice([name for name in names if name not in ("R", "I", "T")] or names)
    return True


def _bodies(tree: ast.Module) -> list[list[ast.stmt]]:
    return [
        body
        for node in ast.walk(tree)
        if not isinstance(node, ast.Module | ast.ClassDef)
        for name in ("body", "orelse")
        if isinstance(body := getattr(node, name, None), list) and body
    ]


def drop_statement(tree: ast.Module, rng: Random) -> bool:
    """A statement less."""
    bodies = [body for body in _bodies(tree) if len(body) > 1]
    if not bodies:
        return False
    body = rng.choice(bodies)
    del body[rng.randrange(len(body))]
    return True


def repeat_statement(tree: ast.Module, rng: Random) -> bool:
    """A statement twice, or at another place."""
    bodies = _bodies(tree)
    if not bodies:
        return False
    source, target = rng.choice(bodies), rng.choice(bodies)
    target.insert(rng.randrange(len(target) + 1), copy.deepcopy(rng.choice(source)))
    return True


def drop_annotation(tree: ast.Module, rng: Random) -> bool:
    """No annotation of a variable: its type is inferred."""
    found = [(body, i) for body in _bodies(tree) for i, s in enumerate(body) if isinstance(s, ast.AnnAssign)]
    if not found:
        return False
    for body, index in found if rng.random() < 0.8 else [rng.choice(found)]:
        statement = body[index]
        assert isinstance(statement, ast.AnnAssign) and statement.value is not None
        body[index] = ast.Assign([statement.target], statement.value)
    return True


def wrap_statements(tree: ast.Module, rng: Random) -> bool:
    """Some statements in a loop or a conditional."""
    bodies = _bodies(tree)
    if not bodies:
        return False
    body = rng.choice(bodies)
    first = rng.randrange(len(body))
    last = min(first + rng.randint(1, 3), len(body))
    kinds = (
        "for q in R.range({n}): pass",
        "for q in range({n}): pass",
        "if {v}: pass",
        "if True: pass",
        "while {v}: pass",
        "with R.dataflow(): pass",
        "def inner(): pass",
    )
    names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)] or ["x"]
    made: Any = ast.parse(rng.choice(kinds).format(n=rng.choice((0, 2, -1, "n")), v=rng.choice(names))).body[0]
    made.body = body[first:last]
    body[first:last] = [made]
    return True


def replace_expression(tree: ast.Module, rng: Random) -> bool:
    """An expression by another one of the script, or by an operator on two of them."""
    parents = [
        (node, name, index)
        for node in ast.walk(tree)
        for name, value in ast.iter_fields(node)
        for index, item in enumerate(value if isinstance(value, list) else [value])
        if isinstance(item, ast.expr) and name not in ("decorator_list", "targets", "target", "bases")
    ]
    expressions = [n for n in ast.walk(tree) if isinstance(n, ast.expr) and not isinstance(n, ast.Starred)]
    if not parents:
        return False
    node, name, index = rng.choice(parents)
    a, b = (copy.deepcopy(rng.choice(expressions)) for _ in range(2))
    operators = (
        ast.Add(),
        ast.Sub(),
        ast.Mult(),
        ast.Div(),
        ast.FloorDiv(),
        ast.Mod(),
        ast.Pow(),
        ast.MatMult(),
    )
    kinds: tuple[Callable[[], ast.expr], ...] = (
        lambda: a,
        lambda: a,
        lambda: ast.BinOp(a, rng.choice(operators), b),
        lambda: ast.Compare(a, [rng.choice((ast.Lt(), ast.Eq(), ast.NotEq(), ast.Is(), ast.In()))], [b]),
        lambda: ast.Subscript(a, b, ast.Load()),
        lambda: ast.UnaryOp(rng.choice((ast.Not(), ast.USub(), ast.Invert())), a),
        lambda: ast.IfExp(a, b, a),
        lambda: ast.Tuple([a, b], ast.Load()),
        lambda: ast.Lambda(ast.arguments([], [], None, [], [], None, []), a),
    )
    new = rng.choice(kinds)()
    value = getattr(node, name)
    if isinstance(value, list):
        value[index] = new
    else:
        setattr(node, name, new)
    return True


VALID: tuple[Mutation, ...] = (
    rename_call,
    rename_call,
    small_constant,
    drop_annotation,
    swap_arguments,
    other_name,
)
HOSTILE: tuple[Mutation, ...] = (
    *(change_constant, change_constant, change_arguments, other_name, drop_statement, repeat_statement),
    *(wrap_statements, replace_expression, replace_expression),
)


def mutate(text: str, mutations: list[tuple[Mutation, int]]) -> str:
    """The script after the mutations, each with its seed; raises `SyntaxError` for text that is no Python."""
    tree = ast.parse(text)
    for mutation, seed in mutations:
        mutation(tree, Random(seed))
    return ast.unparse(ast.fix_missing_locations(tree))
