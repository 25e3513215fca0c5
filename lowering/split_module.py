"""A module of level F or L as parts that are compiled apart: each defines some functions and declares what it uses.

Kernels whose code depends on the target alone, and support functions (`shared_group`), are parts of their own, equal in
all modules that use them, so that their machine code can be kept. Everything else is cut into parts of similar
size, callees near their callers.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relax_mlir.error import CompileError
from relax_mlir.lowering.abi.linkage import SUPPORT_PREFIXES, attribute_name
from relax_mlir.lowering.abi.text import is_declaration, symbol_name
from relax_mlir.lowering.shared_code import shared_group
from relax_mlir.mlir import func, ir, llvm, memref
from relax_mlir.transform.native_pipeline import run_native

BRANCH_OPS = 15
"""How many other ops a branch counts for: what takes LLVM's time is loops."""

PART_OPS = 2000
"""Ops of a part that is not shared, about. To start LLVM takes as long as to compile some 50 ops."""

_BRANCHES = ("cf.cond_br", "llvm.cond_br")
_SYMBOLS = {
    "func.call": "callee",
    "func.constant": "value",
    "llvm.call": "callee",
    "llvm.mlir.addressof": "global_name",
    "memref.get_global": "name",
}
"""The ops that name symbols, and the attributes that do."""

_FUNCTIONS = (func.FuncOp, llvm.LLVMFuncOp)
_EXTERNAL = "#llvm.linkage<external>"


@dataclass(frozen=True)
class Part:
    """A part of a module: MLIR bytecode without locations, which needs no context.

    `exported`: the functions that it defines for others; `external`: what other parts define for it; `group`: that of
    its functions, if other modules have it, too (`shared_group`); `ops`: how large it is.
    """

    bytecode: bytes
    exported: tuple[str, ...]
    external: tuple[str, ...]
    group: str | None
    ops: int


def split_module(module: ir.Module, part_ops: int = PART_OPS) -> list[Part]:
    """The parts of a module of level F or L, which is left as it is; without functions that nobody can call.

    Args:
        module: of functions, globals of the LLVM dialect and constant ones of `memref`; what other modules use of it
            is external.
        part_ops: about how many ops a part has that is not shared.

    Raises CompileError for other ops at the top.
    """
    graph = _Graph.of(module)
    chunks = _chunks(graph, part_ops)
    owners = _owners(graph, chunks)
    crossing = {
        name
        for user, used in graph.references.items()
        for name in used
        if name in owners and owners[name] != owners.get(user)
    }
    return [_part(graph, number, owners, crossing) for number in range(len(chunks))]


@dataclass(frozen=True)
class _Graph:
    """The ops of a module by name, which of them each one uses, and how many ops each function has."""

    module: ir.Module
    ops: Mapping[str, ir.OpView]
    references: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, int]

    @staticmethod
    def of(module: ir.Module) -> _Graph:
        ops: dict[str, ir.OpView] = {}
        references: dict[str, tuple[str, ...]] = {}
        weights: dict[str, int] = {}
        for op in module.body.operations:
            if not isinstance(op, (*_FUNCTIONS, llvm.GlobalOp)) and not _is_table(op):
                raise CompileError(f"split_module: no part can hold the op {op.operation.name}")
            name = symbol_name(op)
            ops[name] = op
            references[name], weight = _contents(op.operation)
            if isinstance(op, _FUNCTIONS) and not is_declaration(op):
                weights[name] = weight
        roots = [name for name, op in ops.items() if not _is_table(op) and _is_external(op)]
        used = _reachable(roots, references)
        return _Graph(
            module,
            {name: op for name, op in ops.items() if name in used},
            references,
            {name: weight for name, weight in weights.items() if name in used},
        )

    def is_copied(self, name: str) -> bool:
        """Whether every part that uses a global has it: constants whose address means nothing."""
        op = self.ops[name]
        return _is_table(op) or (
            isinstance(op, llvm.GlobalOp)
            and "constant" in op.attributes
            and str(op.attributes["linkage"]) in ("#llvm.linkage<internal>", "#llvm.linkage<private>")
            and not self.references[name]
        )


def _is_table(op: ir.OpView) -> bool:
    """Whether a global is a constant of level F."""
    return (
        isinstance(op, memref.GlobalOp) and "constant" in op.attributes and "sym_visibility" in op.attributes
    )


def _contents(top: ir.Operation) -> tuple[tuple[str, ...], int]:
    """The symbols that the ops of a function or global name, and how many ops they count for."""
    used: dict[str, None] = {}
    weight = 0

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal weight
        weight += 1
        name = op.name
        attribute = _SYMBOLS.get(name)
        if attribute is not None:
            if attribute in op.attributes:  # not in calls of pointers
                used[ir.FlatSymbolRefAttr(op.attributes[attribute]).value] = None
        elif name in _BRANCHES:
            weight += BRANCH_OPS
        return ir.WalkResult.ADVANCE

    top.walk(visit)
    return tuple(used), weight


def _reachable(roots: Sequence[str], references: Mapping[str, Sequence[str]]) -> set[str]:
    """The roots, and all that they use, and so on."""
    found, left = set(roots), list(roots)
    while left:
        more = set(references[left.pop()]) - found
        found |= more
        left += more
    return found


def _chunks(graph: _Graph, part_ops: int) -> list[list[str]]:
    """The functions of each part."""
    groups: dict[str, list[str]] = {}
    rest: list[str] = []
    for name in graph.weights:
        group = shared_group(name)
        (rest if group is None else groups.setdefault(group, [])).append(name)
    return [*_cut(graph, _callees_near(graph, rest), part_ops), *groups.values()]


def _callees_near(graph: _Graph, names: Sequence[str]) -> list[str]:
    """Functions behind those that call them first; support functions, which everybody calls, last."""
    among = set(names)
    order: dict[str, None] = {}
    for root in names:
        left = [root]
        while left:
            name = left.pop()
            if name in order or name.startswith(SUPPORT_PREFIXES):
                continue
            order[name] = None
            left += [used for used in reversed(graph.references[name]) if used in among]
    return [*order, *(name for name in names if name not in order)]


def _cut(graph: _Graph, names: Sequence[str], part_ops: int) -> list[list[str]]:
    """Names in order as parts of about the same weight."""
    total = sum(graph.weights[name] for name in names)
    limit = total / max(1, round(total / part_ops))
    chunks: list[list[str]] = []
    done = 0
    for name in names:
        middle = done + graph.weights[name] / 2
        if not chunks or middle >= limit * len(chunks):
            chunks.append([])
        chunks[-1].append(name)
        done += graph.weights[name]
    return chunks


def _owners(graph: _Graph, chunks: Sequence[Sequence[str]]) -> dict[str, int]:
    """The part that defines each function and each global that is not copied."""
    owners = {name: number for number, names in enumerate(chunks) for name in names}
    for name in graph.ops:
        if isinstance(graph.ops[name], llvm.GlobalOp) and not graph.is_copied(name):
            owners[name] = 0
    return owners


def _part(graph: _Graph, number: int, owners: Mapping[str, int], crossing: set[str]) -> Part:
    own = [name for name in graph.ops if owners.get(name) == number]
    needed = {used for name in own for used in graph.references[name]}
    external = []
    with graph.module.context, ir.Location.unknown():
        part = ir.Module.create()
        for name in graph.module.operation.attributes:
            part.operation.attributes[name] = graph.module.operation.attributes[name]
        with ir.InsertionPoint(part.body):
            for name, op in graph.ops.items():
                if owners.get(name) == number:
                    copy = op.operation.clone()
                    if name in crossing:
                        copy.attributes[attribute_name(op, "linkage")] = ir.Attribute.parse(_EXTERNAL)
                elif name in needed and name not in owners:  # a constant, or what no part defines
                    op.operation.clone()
                elif name in needed:
                    external.append(name)
                    _declare(op)
        run_native("builtin.module(strip-debuginfo)", part)
    bytecode = io.BytesIO()
    part.operation.write_bytecode(bytecode)
    functions = [name for name in own if name in graph.weights]
    exported = tuple(name for name in functions if name in crossing or _is_external(graph.ops[name]))
    group = shared_group(functions[0])
    return Part(
        bytecode.getvalue(), exported, tuple(external), group, sum(graph.weights[name] for name in functions)
    )


def _is_external(op: ir.OpView) -> bool:
    key = attribute_name(op, "linkage")
    return key not in op.attributes or str(op.attributes[key]) == _EXTERNAL


def _declare(op: ir.OpView) -> None:
    """Declare what another part defines."""
    if isinstance(op, func.FuncOp):
        func.FuncOp(op.name.value, op.type, visibility="private")
        return
    left_out = ("linkage", "sym_visibility", "value", "passthrough")
    attributes = {name: op.attributes[name] for name in op.attributes if name not in left_out}
    attributes["linkage"] = ir.Attribute.parse(_EXTERNAL)
    ir.Operation.create(op.operation.name, attributes=attributes, regions=1)
