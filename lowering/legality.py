"""What each level of the lowering may contain, as data, and the pass ``check-legality`` that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.traits import KeptAtR1, KeptInExplicitMemory, KeptInShapeHeap, ops_with
from relax_mlir.error import Diagnostic, UnknownNameError, VerifyError
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.transform import ModulePass, PassContext


@dataclass(frozen=True)
class Level:
    """A level of the lowering: which dialects (``linalg``) and ops (``relax.call_tir``) may appear."""

    name: str
    title: str
    allowed: frozenset[str]
    in_prim_funcs: frozenset[str] | None = None
    """What prim funcs may hold where that differs from Relax functions."""
    encodings: bool = False
    """Whether symbolic shapes may stand in types (which ops of the LLVM dialect do not take anyway)."""
    unranked: bool = False

    def allows(self, op_name: str, in_prim_func: bool) -> bool:
        allowed = self.in_prim_funcs if in_prim_func and self.in_prim_funcs is not None else self.allowed
        return op_name in allowed or op_name.split(".", 1)[0] in allowed


_HOST = frozenset({"builtin", "func", "arith", "index", "cf.assert"})
_CONTROL = frozenset({"scf.if", "scf.for", "scf.while", "scf.yield", "scf.condition"})
_TENSORS = _HOST | {"scf", "linalg", "tensor", "math", "bufferization", "memref", "affine", "vector", "ub"}
_MEMREFS = _HOST | {"scf", "linalg", "memref", "math", "affine", "vector", "llvm", "ub"}
_FLAT = (_HOST - {"cf.assert"}) | {"cf", "memref", "math", "vector", "llvm", "ub", "x86"}
_RELAX_HOST = _HOST | _CONTROL | {"tensor.extract", "tensor.from_elements"}

LEVELS: dict[str, Level] = {
    level.name: level
    for level in (
        Level("relax", "R0: Relax", _RELAX_HOST | {"relax"}, _TENSORS, encodings=True),
        Level("calls", "R1: calls of prim funcs", _RELAX_HOST | ops_with(KeptAtR1), _TENSORS, encodings=True),
        Level(
            "memory",
            "R1, explicit memory",
            _RELAX_HOST | {"scf.for"} | ops_with(KeptInExplicitMemory),
            _TENSORS,
            encodings=True,
        ),
        Level("vm", "R1, shape heap", _RELAX_HOST | {"scf.for"} | ops_with(KeptInShapeHeap), _TENSORS),
        Level("tensors", "T: linalg on tensors", _TENSORS),
        Level("memrefs", "M: linalg on memrefs", _MEMREFS),
        Level("kernels", "V: loops and vectors", (_MEMREFS - {"linalg"}) | {"x86"}),
        Level("flat", "F: flat functions", _FLAT, encodings=True),
        Level("llvm", "L: LLVM dialect", frozenset({"builtin.module", "llvm"}), encodings=True),
    )
}


def level(name: str) -> Level:
    """The level called `name`; raises `UnknownNameError`."""
    if name not in LEVELS:
        raise UnknownNameError("level", name, LEVELS)
    return LEVELS[name]


def violations(module: ir.Module, name: str) -> Iterator[Diagnostic]:
    """What in `module` the level called `name` does not allow."""
    wanted = level(name)
    for top in module.body.operations:
        prim = PRIM_FUNC in top.attributes
        ops = ops_of(top.operation)
        illegal = {op_name for op_name in {op.name for op in ops} if not wanted.allows(op_name, prim)}
        if wanted.encodings and not illegal:
            continue
        for op in ops:
            if op.name in illegal:
                yield _error(op, f"{op.name} is not allowed at level {wanted.title}")
            elif not wanted.encodings and _mentions_symbols(op):
                yield _error(op, f"{op.name} has a symbolic shape in a type at level {wanted.title}")


def _error(op: ir.Operation, message: str) -> Diagnostic:
    return Diagnostic("error", location_text(op.location), message)


def _mentions_symbols(op: ir.Operation) -> bool:
    types = [r.type for r in op.results]
    types += [a.type for region in op.regions for block in region.blocks for a in block.arguments]
    if isinstance(op.opview, func.FuncOp):
        types += [*op.opview.type.inputs, *op.opview.type.results]
    return any(isinstance(t, ir.RankedTensorType) and t.encoding is not None for t in types)


@dataclass(frozen=True)
class CheckLegality(ModulePass):
    """Fail, naming every op that is left over, unless the module is at the given level."""

    name: ClassVar[str] = "check-legality"
    always_verified: ClassVar[bool] = True

    level: str

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raises `VerifyError`."""
        found = list(violations(module, self.level))
        if found:
            raise VerifyError(f"the module is not at level {level(self.level).title}", found[:20])
