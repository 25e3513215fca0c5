"""Compilation units: parts of a module, each of which defines some functions and declares those that it uses."""

from __future__ import annotations

import io
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.capi import PART_DIALECTS
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import (
    AS_GENERATED,
    JOB,
    LATENCY_CRITICAL,
    PRIM_FUNC,
    SEPARATE,
    STRAIGHT_LOOPS,
    SUPPORT,
)
from relax_mlir.dialects.prim_funcs import kernel_spec
from relax_mlir.error import CompileError
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import func, ir, llvm, memref
from relax_mlir.mlir_text import is_declaration, symbol_name
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.pipeline import run_native


def is_support(op: ir.Operation | ir.OpView) -> bool:
    """True for a support function."""
    return SUPPORT in op.attributes


def own_ops(module: ir.Module, *names: str) -> list[ir.Operation]:
    """The ops of the given names, in order, except those in support functions, which most passes never change."""
    tops = [top.operation for top in module.body.operations if not is_support(top)]
    return [op for top in tops for op in ops_of(top, *names)]


# `internalize`: give private functions internal linkage.
#
# LLVM can then drop functions that it has inlined everywhere, which makes a small module compile twice as fast. Support
# functions are rarely on a hot path, so LLVM does not optimise them. Functions on buffers (prim funcs, kernels) are not
# inlined: inlining saves no run time, and makes modules with many calls of few kernels compile three times slower.


_PLAIN = ("optnone", "noinline")


@dataclass(frozen=True)
class Internalize(ModulePass):
    """Give private functions internal linkage, at level F (`llvm.linkage` on `func.func`) or L.

    With `support_is_hot`, LLVM's own heuristics optimise and inline support functions and their callers.
    """

    name: ClassVar[str] = "internalize"
    support_is_hot: bool = False

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for op in module.body.operations:
            if isinstance(op, llvm.LLVMFuncOp | func.FuncOp) and not is_declaration(op):
                internalize(op, self.support_is_hot)


def internalize(op: ir.OpView, support_is_hot: bool) -> None:
    """Give a private function internal linkage, and set its inlining attributes."""
    private = "sym_visibility" in op.attributes
    if private:
        op.attributes[attribute_name(op, "linkage")] = ir.Attribute.parse("#llvm.linkage<internal>")
    if support_is_hot:
        return
    if is_support(op):
        leave_plain(op)
    elif private and _takes_buffers(op):
        _add_passthrough(op, "noinline")


def leave_plain(op: ir.OpView) -> None:
    """Disable LLVM's optimisation of a function; optimising takes a third of its compile time or more."""
    _add_passthrough(op, *_PLAIN)


def attribute_name(op: ir.OpView, attribute: str) -> str:
    """The name of an LLVM function attribute on `op`: prefixed with ``llvm.`` on a `func.func`."""
    return f"llvm.{attribute}" if isinstance(op, func.FuncOp) else attribute


def _takes_buffers(op: ir.OpView) -> bool:
    parameters = str(ir.TypeAttr(op.attributes["function_type"]).value).partition("(")[2]
    return "ptr" in parameters or "memref" in parameters


def _add_passthrough(op: ir.OpView, *names: str) -> None:
    """Add LLVM attributes to those of the function."""
    key = attribute_name(op, "passthrough")
    present = [ir.StringAttr(each).value for each in op.attributes[key]] if key in op.attributes else []
    all_names = dict.fromkeys([*present, *names])
    op.attributes[key] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in all_names])


# Compilation units: parts of a module, each of which defines some functions and declares those that it uses.


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
    - `is_shared`: other modules have it, too.
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
    is_shared: bool
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
    def of(module: ir.Module, roots: Sequence[str] = ()) -> ModuleGraph:
        """Build the graph; raise CompileError for top-level ops that a unit cannot contain.

        `roots`: the functions that are used from outside; by default those with external linkage.
        """
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
        roots = roots or [name for name, op in ops.items() if not is_table(op) and _is_external(op)]
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

    def is_elsewhere(self, name: str, owners: Mapping[str, int]) -> bool:
        """True if a symbol that a unit uses, and does not own, is defined by another unit, of this module or not."""
        op = self.ops[name]
        shared = isinstance(op, llvm.GlobalOp) and not self.is_copied(name)
        return name in owners or SEPARATE in op.attributes or shared

    def needed(self, names: Iterable[str], owners: Mapping[str, int]) -> set[str]:
        """The symbols that some functions use, directly or in functions that are copied for them."""
        found: set[str] = set()
        left = list(names)
        while left:
            used = set(self.references[left.pop()]) - found
            found |= used
            left += [name for name in used if name not in owners]
        return found

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
    optimised: bool = False,
    is_shared: bool = False,
    plain: Container[str] = (),
) -> Part:
    """Build unit `number`, which defines the symbols that `owners` assigns to it and exports those in `crossing`.

    It has its own copies of the functions without an owner that it uses.

    `plain`: functions that LLVM should not optimise at all (see `leave_plain`).

    Raises CompileError for ops of other dialects than those of levels V, F and L.
    """
    own = [name for name in graph.ops if owners.get(name) == number]
    needed = graph.needed(own, owners)
    bytecode = _part_bytecode(graph, set(own), needed, owners, crossing, plain)
    external = [
        name for name in graph.ops if name in needed and owners.get(name) != number and graph.is_elsewhere(name, owners)
    ]
    functions = [name for name in own if name in graph.weights]
    copied = [name for name in needed if name in graph.weights and name not in owners]
    exported = tuple(name for name in functions if name in crossing or _is_external(graph.ops[name]))
    ops = sum(graph.weights[name] for name in functions)
    contents = {op for name in [*functions, *copied] for op in graph.contents[name]}
    if foreign := {op for op in contents if op.partition(".")[0] not in PART_DIALECTS}:
        raise _refused(next(op for name in functions for op in ops_of(graph.ops[name].operation, *foreign)))
    all_vectors = any(map(_needs_conversion, contents))
    used_within = tuple(name for name in exported if name in needed)
    return Part(
        bytecode,
        exported,
        used_within,
        tuple(external),
        is_shared,
        ops,
        is_flat=True,
        all_vectors=all_vectors,
        optimised=optimised,
        has_math=any(op.startswith("math.") for op in contents),
    )


def _part_bytecode(
    graph: ModuleGraph,
    own: Container[str],
    needed: Container[str],
    owners: Mapping[str, int],
    crossing: Container[str],
    plain: Container[str],
) -> bytes:
    """The module of a unit: its `own` symbols, and copies or declarations of those that it needs."""
    with graph.module.context, ir.Location.unknown():
        part = ir.Module.create()
        for name in graph.module.operation.attributes:
            part.operation.attributes[name] = graph.module.operation.attributes[name]
        with ir.InsertionPoint(part.body):
            for name, op in graph.ops.items():
                if name in own:
                    copy = op.operation.clone()
                    if name in crossing:
                        copy.attributes[attribute_name(op, "linkage")] = ir.Attribute.parse(_EXTERNAL)
                    if name in plain:
                        leave_plain(copy.opview)
                elif name in needed and graph.is_elsewhere(name, owners):
                    _declare(op)
                elif name in needed:
                    op.operation.clone()
        run_native("builtin.module(strip-debuginfo)", part, verify=False)
    bytecode = io.BytesIO()
    part.operation.write_bytecode(bytecode)
    return bytecode.getvalue()


def _refused(op: ir.Operation) -> CompileError:
    return CompileError(f"{location_text(op.location)}: no part of a module can hold the op {op.name}")


def _needs_conversion(op: str) -> bool:
    """True if ops of that name need `convert-vector-to-llvm`."""
    return op.startswith(_VECTORS) and op not in _VECTOR_OPS


def is_table(op: ir.OpView) -> bool:
    """True if a global is a constant of level F."""
    return isinstance(op, memref.GlobalOp) and "constant" in op.attributes and "sym_visibility" in op.attributes


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


# Split a module of level F or L into compilation units of similar size, with callees near their callers.
#
# Functions whose loops are not marked by `mark-straight-loops` are optimised by LLVM. The rest is not: code that is
# generated in its final form, short calls, which LLVM's optimisations do not make shorter, and code that runs once per
# long call.


_FEW_OPS = 200
"""Fewer ops than this do not get their own unit."""

_LOOP = "cf.br"
"""An op that every loop has."""

PART_OPS = 2000
"""Approximate ops of a unit. Starting LLVM takes as long as compiling about 50 ops."""


def split_module(module: ir.Module, part_ops: int = PART_OPS) -> list[Part]:
    """The compilation units of a module of level F or L, without unreachable functions; the module is not modified.

    Args:
        module: contains functions, globals of the LLVM dialect, and constant globals of `memref`; symbols that other
            modules use have external linkage.
        part_ops: approximate number of ops in a unit.

    Raises CompileError for other top-level ops, and for ops of other dialects than those of levels V, F and L.
    """
    graph = ModuleGraph.of(module)
    hot = [name for name in graph.weights if _is_hot(graph, name)]
    rest = [name for name in graph.weights if not _is_hot(graph, name)]
    if hot and _weight(graph, rest) < _FEW_OPS:
        hot, rest = [*hot, *rest], []
    optimised, chunks = (_cut(graph, _callees_near(graph, names), part_ops) for names in (hot, rest))
    owners = _owners(graph, [*optimised, *chunks])
    crossing = graph.crossing(owners)
    plain = {name for name in rest if not (_is_as_written(graph.ops[name]) or _is_short(graph.ops[name]))}
    return [
        make_part(graph, number, owners, crossing, optimised=number < len(optimised), plain=plain)
        for number in range(len(optimised) + len(chunks))
    ]


def split_kernel(module: ir.Module, exported: Sequence[str]) -> list[Part]:
    """The compilation units of a kernel of the library at level F; the module is not modified.

    They export the functions `exported`, have copies of the support functions that the module defines, and use the
    tables of the module that calls them.
    """
    graph = ModuleGraph.of(module, exported)
    names = [name for name in graph.weights if not is_support(graph.ops[name])]
    chunks = _cut(graph, _callees_near(graph, names), PART_OPS)
    owners = {name: number for number, names in enumerate(chunks) for name in names}
    crossing = graph.crossing(owners) | set(exported)
    return [make_part(graph, number, owners, crossing, is_shared=True) for number in range(len(chunks))]


def _weight(graph: ModuleGraph, names: Sequence[str]) -> int:
    return sum(graph.weights[name] for name in names)


def _is_hot(graph: ModuleGraph, name: str) -> bool:
    """True if LLVM should optimise a function: it has loops that are not in their final form."""
    op = graph.ops[name]
    if _is_as_written(op) or _LOOP not in graph.contents[name]:
        return False
    return PRIM_FUNC in op.attributes or JOB in op.attributes


def _is_short(op: ir.OpView) -> bool:
    """True if a function is part of calls that take microseconds, so that its code should be optimised."""
    return LATENCY_CRITICAL in op.attributes or not isinstance(op, func.FuncOp)


def _is_as_written(op: ir.OpView) -> bool:
    """True if a function is generated in its final form."""
    spec = kernel_spec(op)
    has_mark = AS_GENERATED in op.attributes or STRAIGHT_LOOPS in op.attributes
    return has_mark or (spec is not None and not spec.optimise)


def _callees_near(graph: ModuleGraph, names: Sequence[str]) -> list[str]:
    """Functions in depth-first order of calls, so that callees follow callers; support functions come last."""
    among = set(names)
    order: dict[str, None] = {}
    for root in names:
        left = [root]
        while left:
            name = left.pop()
            if name in order or is_support(graph.ops[name]):
                continue
            order[name] = None
            left += [used for used in reversed(graph.references[name]) if used in among]
    return [*order, *(name for name in names if name not in order)]


def _cut(graph: ModuleGraph, names: Sequence[str], part_ops: int) -> list[list[str]]:
    """Split names, in order, into chunks of about the same weight."""
    if not names:
        return []
    total = _weight(graph, names)
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


def _owners(graph: ModuleGraph, chunks: Sequence[Sequence[str]]) -> dict[str, int]:
    """The unit that defines each function and each global that is not copied."""
    owners = {name: number for number, names in enumerate(chunks) for name in names}
    for name in graph.ops:
        if isinstance(graph.ops[name], llvm.GlobalOp) and not graph.is_copied(name):
            owners[name] = 0
    return owners


# The CPU and features that LLVM compiles functions for.


_NAMES = {"sse4_1": "sse4.1", "asimd": "neon", "asimdhp": "fullfp16", "asimddp": "dotprod"}


@dataclass(frozen=True)
class FunctionCpu:
    """The CPU that functions are compiled for if it is not the host's: its LLVM name and features."""

    name: str
    features: str

    @staticmethod
    def of(target: Target) -> FunctionCpu | None:
        """Return the CPU of a target whose features the host has. None means the host's own CPU.

        Also None if the host lacks a feature of the target. Code for the host uses every feature that LLVM detects,
        including those that no target names.
        """
        if target.cpu == "native" or not target.features <= Target.host().features:
            return None
        return FunctionCpu(target.cpu, feature_text(target))


def feature_text(target: Target) -> str:
    """The target's features in LLVM's syntax: ``+avx2,-fma``; missing ones come last and take precedence."""
    wanted = [f"+{_llvm_name(name)}" for name in sorted(target.features)]
    masked = [f"-{_llvm_name(name)}" for name in sorted(target.known_features - target.features)]
    return ",".join([*wanted, *masked])


def _llvm_name(feature: str) -> str:
    """LLVM's name of a feature whose Linux name is ``avx512_bf16``, ``amx_tile`` or ``asimdhp``."""
    if feature.startswith("amx_"):
        return feature.replace("_", "-")
    return _NAMES.get(feature, feature.replace("_", ""))
