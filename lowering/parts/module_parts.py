"""Compilation units: parts of a module, each of which defines some functions and declares those that it uses."""

from __future__ import annotations

import io
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import SEPARATE
from relax_mlir.error import CompileError
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.abi.internalize import attribute_name, leave_plain
from relax_mlir.lowering.parts.shared_code import shared_group
from relax_mlir.mlir import func, ir, llvm, memref
from relax_mlir.mlir_text import is_declaration, symbol_name
from relax_mlir.spare_context import PART_DIALECTS
from relax_mlir.transform.native_pipeline import run_native

BRANCH_OPS = 15
"""The number of ops that a branch counts for, because LLVM spends its time on loops."""

_BRANCHES = ("cf.cond_br", "llvm.cond_br", "scf.for", "scf.if")
_SYMBOLS = {
    "func.call": "callee",
    "func.constant": "value",
    "llvm.call": "callee",
    "llvm.mlir.addressof": "global_name",
    "memref.get_global": "name",
}
"""The ops that refer to symbols, and the attributes that do."""

_LOOKED_AT = frozenset((*_BRANCHES, *_SYMBOLS))

_VECTOR_OPS = frozenset(
    f"vector.{name}"
    for name in (
        "bitcast",
        "broadcast",
        "extract",
        "fma",
        "insert",
        "load",
        "maskedload",
        "maskedstore",
        "reduction",
        "shuffle",
        "step",
        "store",
    )
)
"""The vector ops that `convert-to-llvm` converts, if their vectors have one axis; others need a pass before it."""

_VECTORS = ("vector.", "x86.")
"""The dialects whose ops `convert-vector-to-llvm` converts."""

_FUNCTIONS = (func.FuncOp, llvm.LLVMFuncOp)
_EXTERNAL = "#llvm.linkage<external>"


@dataclass(frozen=True)
class Part:
    """A compilation unit of a module; independent of an MLIR context.

    - `source`: MLIR bytecode or text, without locations.
    - `exported`: the functions that it defines for other units; `used_within`: those of them that it also uses itself.
    - `external`: the symbols that other units define for it.
    - `group`: the group of its functions, if other modules have it, too (`shared_group`).
    - `ops`: its size.
    - `is_flat`: it is at level F or L, otherwise at level V.
    - `all_vectors`: it has ops that only `convert-vector-to-llvm` converts.
    - `has_math`: it may have ops of the math dialect.
    - `optimised`: LLVM's optimisations improve it.
    - `has_checks`: its functions, of level V, have checks that may fail.
    - `renamed`: pairs of symbols, in the code and in the module that uses it; functions that differ only in these share
      their code.
    """

    source: bytes
    exported: tuple[str, ...]
    used_within: tuple[str, ...]
    external: tuple[str, ...]
    group: str | None
    ops: int
    is_flat: bool
    all_vectors: bool
    optimised: bool
    has_checks: bool = False
    renamed: tuple[tuple[str, str], ...] = ()
    has_math: bool = True


@dataclass(frozen=True)
class ModuleGraph:
    """The reachable top-level ops of a module by name, and the symbols that they use.

    `references`: the symbols that each uses; `contents`: the names of the ops in each; `weights`: the weighted number
    of ops of each defined function.
    """

    module: ir.Module
    ops: Mapping[str, ir.OpView]
    references: Mapping[str, tuple[str, ...]]
    contents: Mapping[str, frozenset[str]]
    weights: Mapping[str, int]

    @staticmethod
    def of(module: ir.Module) -> ModuleGraph:
        """Build the graph; raise CompileError for top-level ops that a unit cannot contain."""
        ops: dict[str, ir.OpView] = {}
        references: dict[str, tuple[str, ...]] = {}
        contents: dict[str, frozenset[str]] = {}
        weights: dict[str, int] = {}
        for op in module.body.operations:
            if not isinstance(op, (*_FUNCTIONS, llvm.GlobalOp)) and not is_table(op):
                raise _refused(op.operation)
            name = symbol_name(op)
            ops[name] = op
            references[name], contents[name], weight = _inside(op.operation)
            if isinstance(op, _FUNCTIONS) and not is_declaration(op):
                weights[name] = weight
        roots = [name for name, op in ops.items() if not is_table(op) and _is_external(op)]
        used = _reachable(roots, references)
        return ModuleGraph(
            module,
            {name: op for name, op in ops.items() if name in used},
            references,
            contents,
            {name: weight for name, weight in weights.items() if name in used},
        )

    def is_copied(self, name: str) -> bool:
        """True if every unit that uses a global has a copy of it: constants whose address is irrelevant."""
        op = self.ops[name]
        return is_table(op) or (
            isinstance(op, llvm.GlobalOp)
            and "constant" in op.attributes
            and str(op.attributes["linkage"]) in ("#llvm.linkage<internal>", "#llvm.linkage<private>")
            and not self.references[name]
        )

    def crossing(self, owners: Mapping[str, int]) -> set[str]:
        """The symbols that are used by units other than the one that defines them."""
        return {
            name
            for user, used in self.references.items()
            for name in used
            if name in owners and owners[name] != owners.get(user)
        }


def make_part(
    graph: ModuleGraph,
    number: int,
    owners: Mapping[str, int],
    crossing: set[str],
    *,
    is_flat: bool,
    optimised: bool = False,
    plain: Container[str] = (),
) -> Part:
    """Build unit `number`, which defines the symbols that `owners` assigns to it and exports those in `crossing`.

    `plain`: functions that LLVM should not optimise at all (see `leave_plain`).

    Raises CompileError for ops of other dialects than those of levels V, F and L.
    """
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
                    if name in plain:
                        leave_plain(copy.opview)
                elif name in needed and (name in owners or SEPARATE in op.attributes):
                    external.append(name)
                    _declare(op)
                elif name in needed:  # a constant, or a symbol that no unit defines
                    op.operation.clone()
        run_native("builtin.module(strip-debuginfo)", part, verify=False)
    bytecode = io.BytesIO()
    part.operation.write_bytecode(bytecode)
    functions = [name for name in own if name in graph.weights]
    exported = tuple(name for name in functions if name in crossing or _is_external(graph.ops[name]))
    group = shared_group(graph.ops[functions[0]])
    ops = sum(graph.weights[name] for name in functions)
    contents = {op for name in functions for op in graph.contents[name]}
    if foreign := {op for op in contents if op.partition(".")[0] not in PART_DIALECTS}:
        raise _refused(next(op for name in functions for op in ops_of(graph.ops[name].operation, *foreign)))
    all_vectors = any(map(_needs_conversion, contents))
    used_within = tuple(name for name in exported if name in needed)
    return Part(
        bytecode.getvalue(),
        exported,
        used_within,
        tuple(external),
        group,
        ops,
        is_flat,
        all_vectors,
        optimised,
        has_math=any(op.startswith("math.") for op in contents),
    )


def _refused(op: ir.Operation) -> CompileError:
    return CompileError(f"{location_text(op.location)}: no part of a module can hold the op {op.name}")


def _needs_conversion(op: str) -> bool:
    """True if ops of that name need `convert-vector-to-llvm`."""
    return op.startswith(_VECTORS) and op not in _VECTOR_OPS


def is_table(op: ir.OpView) -> bool:
    """True if a global is a constant of level F."""
    return (
        isinstance(op, memref.GlobalOp) and "constant" in op.attributes and "sym_visibility" in op.attributes
    )


def _inside(top: ir.Operation) -> tuple[tuple[str, ...], frozenset[str], int]:
    """The symbols used in a function or global, the names of its ops, and their weighted number."""
    names: list[str] = []
    found: list[tuple[str, ir.Operation]] = []
    add, looked_at, go_on = names.append, _LOOKED_AT, ir.WalkResult.ADVANCE  # bound to locals, for speed

    def visit(op: ir.Operation) -> ir.WalkResult:
        name = op.name
        add(name)
        if name in looked_at:
            found.append((name, op))
        return go_on

    top.walk(visit)
    used: dict[str, None] = {}
    branches = 0
    for name, op in found:
        if name in _BRANCHES:
            branches += 1
        elif (attribute := _SYMBOLS[name]) in op.attributes:  # absent in calls of pointers
            used[ir.FlatSymbolRefAttr(op.attributes[attribute]).value] = None
    return tuple(used), frozenset(names), len(names) + BRANCH_OPS * branches


def _reachable(roots: Iterable[str], references: Mapping[str, Sequence[str]]) -> set[str]:
    """The roots and everything that they use, transitively."""
    found = set(roots)
    left = list(found)
    while left:
        more = set(references[left.pop()]) - found
        found |= more
        left += more
    return found


def _is_external(op: ir.OpView) -> bool:
    key = attribute_name(op, "linkage")
    return key not in op.attributes or str(op.attributes[key]) == _EXTERNAL


def _declare(op: ir.OpView) -> None:
    """Declare a symbol that another unit defines."""
    if isinstance(op, func.FuncOp):
        func.FuncOp(op.name.value, op.type, visibility="private")
        return
    left_out = ("linkage", "sym_visibility", "value", "passthrough", SEPARATE)
    attributes = {name: op.attributes[name] for name in op.attributes if name not in left_out}
    attributes["linkage"] = ir.Attribute.parse(_EXTERNAL)
    ir.Operation.create(op.operation.name, attributes=attributes, regions=1)
