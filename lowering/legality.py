"""The ops allowed at each level of the lowering, as data, and the pass ``check-legality`` that checks them."""

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

PRIM_ARITH = frozenset(
    f"arith.{name}"
    for name in [
        *(
            "addf",
            "addi",
            "andi",
            "bitcast",
            "ceildivsi",
            "ceildivui",
            "cmpf",
            "cmpi",
            "constant",
            "divf",
            "divsi",
        ),
        *("divui", "extf", "extsi", "extui", "floordivsi", "fptosi", "fptoui", "index_cast", "index_castui"),
        *("maximumf", "maxnumf", "maxsi", "maxui", "minimumf", "minnumf", "minsi", "minui", "mulf", "muli"),
        *(
            "negf",
            "ori",
            "remf",
            "remsi",
            "remui",
            "select",
            "shli",
            "shrsi",
            "shrui",
            "sitofp",
            "subf",
            "subi",
        ),
        *("truncf", "trunci", "uitofp", "xori"),
    ]
)
PRIM_MATH = frozenset(
    f"math.{name}"
    for name in [
        *(
            "absf",
            "absi",
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atan2",
            "atanh",
            "cbrt",
            "ceil",
            "copysign",
        ),
        *(
            "cos",
            "cosh",
            "ctlz",
            "ctpop",
            "cttz",
            "erf",
            "erfc",
            "exp",
            "exp2",
            "expm1",
            "floor",
            "fma",
            "fpowi",
        ),
        *(
            "ipowi",
            "isfinite",
            "isinf",
            "isnan",
            "isnormal",
            "log",
            "log10",
            "log1p",
            "log2",
            "powf",
            "round",
        ),
        *("roundeven", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
    ]
)
PRIM_LINALG = frozenset(
    f"linalg.{name}"
    for name in [
        *("generic", "index", "yield", "fill", "copy", "map", "reduce", "broadcast", "transpose"),
        *(
            "abs",
            "add",
            "batch_matmul",
            "batch_matvec",
            "batch_vecmat",
            "ceil",
            "contract",
            "div",
            "div_unsigned",
        ),
        *(
            "dot",
            "elementwise",
            "erf",
            "exp",
            "floor",
            "log",
            "matmul",
            "matvec",
            "max",
            "min",
            "mul",
            "negf",
            "powf",
        ),
        *("reciprocal", "round", "rsqrt", "select", "sqrt", "square", "sub", "tanh", "vecmat"),
        *(
            "conv_1d",
            "conv_2d",
            "conv_3d",
            "conv_2d_nhwc_hwcf",
            "conv_2d_nchw_fchw",
            "depthwise_conv_2d_nhwc_hwc",
        ),
        *("pooling_nhwc_max", "pooling_nhwc_min", "pooling_nhwc_sum", "pooling_nchw_max", "pooling_nchw_sum"),
    ]
)
PRIM_MEMORY = frozenset(
    {
        *(
            "memref.alloc",
            "memref.alloca",
            "memref.cast",
            "memref.collapse_shape",
            "memref.copy",
            "memref.dim",
        ),
        *("memref.expand_shape", "memref.load", "memref.rank", "memref.store", "memref.subview"),
        *("tensor.cast", "tensor.collapse_shape", "tensor.dim", "tensor.empty", "tensor.expand_shape"),
        *(
            "tensor.extract",
            "tensor.extract_slice",
            "tensor.from_elements",
            "tensor.insert",
            "tensor.insert_slice",
        ),
        *("tensor.rank",),
    }
)
PRIM_CONTROL = frozenset(
    {
        *("scf.for", "scf.if", "scf.while", "scf.yield", "scf.condition"),
        *("func.func", "func.return", "func.call", "cf.assert"),
        *(
            "affine.apply",
            "affine.min",
            "affine.max",
            "affine.for",
            "affine.if",
            "affine.load",
            "affine.store",
        ),
        "affine.yield",
    }
)
PRIM_OPS = PRIM_ARITH | PRIM_MATH | PRIM_LINALG | PRIM_MEMORY | PRIM_CONTROL
"""The ops allowed in prim funcs when a module is built.

Each can be lowered for all `PRIM_TYPES` that it accepts, and its bounds requirements are known. The tests try each op
on each type.
"""

PRIM_TYPES = ("f16", "bf16", "f32", "f64", "i1", "i8", "i16", "i32", "i64", "index")
"""The element types in prim funcs."""

NOT_ON = {
    "arith.fptosi": {"i1": "compare with zero"},
    "arith.fptoui": {"i1": "compare with zero"},
    "math.ipowi": {"i1": "write the condition", "index": "cast it to i64"},
}
"""Types that ops of `PRIM_OPS` do not support, with alternatives."""

INSTEAD = {
    "memref.dealloc": "buffers are freed when the function returns",
    "memref.reinterpret_cast": "take a memref.subview, a memref.expand_shape or a memref.collapse_shape",
    "memref.view": "allocate a buffer of the type that you need",
    "memref.atomic_rmw": "prim funcs run on one thread: load, compute and store",
    "scf.parallel": "write scf.for, or a linalg.generic with parallel loops",
    "scf.forall": "write scf.for, or a linalg.generic with parallel loops",
    "tensor.pad": "fill a tensor and tensor.insert_slice into it",
    "tensor.gather": "read the elements by tensor.extract in a linalg.generic",
    "tensor.scatter": "store the elements in a loop, on memrefs",
    "func.call_indirect": "call a prim func by its name",
}
"""Alternatives to ops that are not allowed in prim funcs."""
BY_DIALECT = {
    "vector": "write loops or linalg on elements: the compiler makes vectors of them",
    "affine": "write scf.for, memref.load and memref.store",
    "index": "write arith on values of type index",
    "bufferization": "work on tensors or on memrefs, not on both",
    "llvm": "machine code of your own goes into a packed function",
    "linalg": "write a linalg.generic",
}


def instead_of(op_name: str) -> str:
    """The alternative to an op that is not allowed in prim funcs."""
    return INSTEAD.get(op_name) or BY_DIALECT.get(
        op_name.partition(".")[0], "a packed function can do what prim funcs cannot"
    )


@dataclass(frozen=True)
class Level:
    """A level of the lowering, with the dialects (``linalg``) and ops (``relax.call_tir``) that may appear."""

    name: str
    title: str
    allowed: frozenset[str]
    in_prim_funcs: frozenset[str] | None = None
    """The ops allowed in prim funcs, if they differ from those in Relax functions."""
    encodings: bool = False
    """True if types may contain symbolic shapes, or if the ops of the level cannot have such types."""

    def __str__(self) -> str:
        return f"{self.name} ({self.title})"

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
        Level("relax", "Relax", _RELAX_HOST | {"relax"}, _TENSORS, encodings=True),
        Level("calls", "calls of prim funcs", _RELAX_HOST | ops_with(KeptAtR1), _TENSORS, encodings=True),
        Level(
            "explicit-memory",
            "tensors in planned storages",
            _RELAX_HOST | {"scf.for"} | ops_with(KeptInExplicitMemory),
            _TENSORS,
            encodings=True,
        ),
        Level(
            "vm",
            "builtins of the virtual machine",
            _RELAX_HOST | {"scf.for"} | ops_with(KeptInShapeHeap),
            _TENSORS,
        ),
        Level("tensors", "linalg on tensors", _TENSORS),
        Level("memrefs", "linalg on memrefs", _MEMREFS),
        Level("kernels", "loops and vectors", (_MEMREFS - {"linalg"}) | {"x86"}),
        Level("flat", "flat functions", _FLAT, encodings=True),
        Level("llvm", "LLVM dialect", frozenset({"builtin.module", "llvm"}), encodings=True),
    )
}


def level(name: str) -> Level:
    """Return the level called `name`; raise `UnknownNameError` if there is none."""
    if name not in LEVELS:
        raise UnknownNameError("level", name, LEVELS)
    return LEVELS[name]


def violations(module: ir.Module, name: str) -> Iterator[Diagnostic]:
    """Yield the violations of the level called `name` in `module`."""
    wanted = level(name)
    for top in module.body.operations:
        prim = PRIM_FUNC in top.attributes
        ops = ops_of(top.operation)
        illegal = {op_name for op_name in {op.name for op in ops} if not wanted.allows(op_name, prim)}
        if wanted.encodings and not illegal:
            continue
        for op in ops:
            if op.name in illegal:
                yield _error(op, f"{op.name} is not allowed at level {wanted}")
            elif not wanted.encodings and _mentions_symbols(op):
                yield _error(op, f"{op.name} has a symbolic shape in a type at level {wanted}")


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
    """Fail unless the module is at the given level, naming the ops that are not allowed."""

    name: ClassVar[str] = "check-legality"
    always_verified: ClassVar[bool] = True

    level: str

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raise `VerifyError` if an op is not allowed."""
        found = list(violations(module, self.level))
        if found:
            raise VerifyError(f"the module is not at level {level(self.level)}", found[:20])
