"""Queries on modules as trees of text, and renamings in them, shared by mutations."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random

from generic_text import Block, Module, Op

TERMINATORS = (
    *("func.return", "scf.yield", "scf.condition", "relax.output", "relax.lambda_return", "linalg.yield"),
    *("cf.br", "cf.cond_br", "llvm.return"),
)
TUPLE = "builtin.unrealized_conversion_cast"


def visible(module: Module, op: Op) -> list[tuple[str, str]]:
    """Values and types that `op` may use: those before it in its block, and in the enclosing blocks."""
    found: list[tuple[str, str]] = []

    def search(block: Block) -> bool:
        mark = len(found)
        found.extend(block.arguments)
        for candidate in block.ops:
            if candidate is op:
                return True
            for region in candidate.regions:
                if any(search(inner) for inner in region):
                    return True
            found.extend(zip(candidate.results, candidate.result_types, strict=False))
        del found[mark:]
        return False

    search(module.top.regions[0][0])
    return found


def pick_op(module: Module, rng: Random, accepts: Callable[[Op], bool] = lambda op: True) -> tuple[Op, Block] | None:
    """An op inside of a function that `accepts`."""
    found = [(op, block) for op, block in module.ops() if op.name != "func.func" and accepts(op)]
    return rng.choice(found) if found else None


def rename_everywhere(module: Module, old: str, new: str) -> None:
    """Replace all uses of one value by another one."""
    for op, _ in module.ops():
        op.operands = [new if operand == old else operand for operand in op.operands]


def map_texts(op: Op, change: Callable[[str], str]) -> None:
    """Change all types and attributes of `op` and what is in it."""
    for inner, _ in op.walk():
        inner.operand_types = [change(t) for t in inner.operand_types]
        inner.result_types = [change(t) for t in inner.result_types]
        for table in inner.attribute_tables():
            for name, value in table.items():
                if value is not None and name not in ("sym_name", "callee", "func"):
                    table[name] = change(value)
        for region in inner.regions:
            for block in region:
                block.arguments = [(name, change(type_)) for name, type_ in block.arguments]


def fresh(module: Module, op: Op) -> Op:
    """A copy of `op` with new names for its values."""
    twin = copy.deepcopy(op)
    taken = {name.split("#")[0] for inner, _ in module.ops() for name in inner.results}
    mapping: dict[str, str] = {}
    for inner, _ in twin.walk():
        names = inner.results + [name for region in inner.regions for block in region for name, _ in block.arguments]
        for name in names:
            base, _, number = name.partition("#")
            if base not in mapping:
                mapping[base] = next(f"%d{i}" for i in range(10**6) if f"%d{i}" not in taken)
                taken.add(mapping[base])
            mapping[name] = mapping[base] + ("#" + number if number else "")
    for inner, _ in twin.walk():
        inner.results = [mapping[name] for name in inner.results]
        inner.operands = [mapping.get(name, name) for name in inner.operands]
        for region in inner.regions:
            for block in region:
                block.arguments = [(mapping.get(n, n), t) for n, t in block.arguments]
    return twin
