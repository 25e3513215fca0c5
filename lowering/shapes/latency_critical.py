"""Latency-critical functions: calls with small arguments take microseconds, whatever the arguments contain.

Such calls can hold the GIL: releasing and reacquiring it costs a third of a small call.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from relax_mlir.dialects.attributes import PATTERN, PRIM_FUNC
from relax_mlir.dialects.traits import IsInstant, has_trait
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple, struct_info
from relax_mlir.ir_queries import callee_of
from relax_mlir.mlir import func, ir, linalg
from relax_mlir.passes.fusion.prim_loops import AROUND, over_rows

MAX_CALLS = 16
MAX_STATIC = 1024
"""Maximum number of elements of a static tensor whose size is not that of an argument."""

_LINEAR = frozenset({"elementwise", "broadcast", "injective", "reduction"})
"""Patterns of prim funcs whose time may be linear in their tensors; their loops decide."""

_BESIDE_LOOPS = AROUND | {"linalg.fill"}
"""Other ops of prim funcs, no slower than the loops; a linalg op reads or accumulates into the result of a fill."""


def is_latency_critical(function: func.FuncOp, callees: Mapping[str, func.FuncOp]) -> bool:
    """True if a Relax function of level R1 performs a few linear steps, on tensors no larger than its arguments.

    Sizes are compared by their dimensions. A tensor that may be larger than all arguments, or whose size is unknown,
    makes the function long. So do all other ops: loops, calls of functions, GEMMs.
    """
    params = [struct_info(type_) for type_ in function.type.inputs]
    allowed = {_size(info) for info in params if isinstance(info, Tensor)}
    if None in allowed or len(params) != sum(isinstance(info, Tensor) for info in params):
        return False
    calls = 0
    for op in (view.operation for view in function.entry_block.operations):
        if op.name == "relax.call_tir":
            calls += 1
            if not _is_linear(callees[callee_of(op)]):
                return False
        elif not has_trait(op, IsInstant):
            return False
        for info in (leaf for result in op.results for leaf in _leaves(struct_info(result.type))):
            size = _size(info) if isinstance(info, Tensor) else None
            if size is None or not (size in allowed or (not size[1] and size[0] <= MAX_STATIC)):
                return False
    return calls <= MAX_CALLS


def _is_linear(prim: func.FuncOp) -> bool:
    """True if the run time of a prim func is linear in the size of its arguments and results."""

    if PRIM_FUNC not in prim.attributes or prim.is_external:
        return False
    if over_rows(prim):
        return True
    pattern = ir.StringAttr(prim.attributes[PATTERN]).value if PATTERN in prim.attributes else ""
    ops = (view.operation for view in prim.entry_block.operations)
    return pattern in _LINEAR and all(op.name in _BESIDE_LOOPS or _is_over_argument(op) for op in ops)


def _is_over_argument(loop: ir.Operation) -> bool:
    """True if a loop nest has one iteration per element of an argument; other reductions may have more."""
    maps = linalg.get_indexing_maps(loop) if loop.name.startswith("linalg.") else None
    return maps is not None and any(
        isinstance(value.owner, ir.Block) and map_.value.is_permutation
        for value, map_ in zip(loop.operands, maps, strict=True)
    )


def _leaves(info: StructInfo) -> Iterator[StructInfo]:
    if isinstance(info, Tuple):
        for field in info.fields:
            yield from _leaves(field)
    else:
        yield info


def _size(info: Tensor) -> tuple[int, tuple[str, ...]] | None:
    """The number of elements as an integer and dynamic dimensions; None if it is not known."""
    if info.known_shape is None or info.dtype is None:
        return None
    static = [dim for dim in info.known_shape if isinstance(dim, int)]
    return math.prod(static), tuple(sorted(str(dim) for dim in info.known_shape if not isinstance(dim, int)))
