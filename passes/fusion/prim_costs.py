"""Cost per element and access order of the loops of a prim func, by which fusion decides."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.passes.fusion.prim_loops import loops_of, maps_of

CHEAP = 4
"""Maximum weight of a loop that is recomputed rather than stored: about one memory access."""

_HEAVY = 100
_LIGHT_MATH = frozenset({"math.absf", "math.absi", "math.ceil", "math.copysign", "math.floor", "math.fma"})
_WEIGHTS = {"arith.divf": 4, "math.sqrt": 8, "math.rsqrt": 8, "tensor.extract": 2}
_FREE = frozenset({"arith.constant", "linalg.index", "linalg.yield"})


@dataclass(frozen=True)
class LoopTraits:
    """`weight`: work per element, in additions; `scattered`: True if elements are not read in memory order."""

    weight: int
    scattered: bool

    @property
    def is_cheap(self) -> bool:
        return self.weight <= CHEAP

    @property
    def is_heavy(self) -> bool:
        return self.weight >= _HEAVY


def traits_of(function: func.FuncOp) -> LoopTraits:
    """The traits of a mergeable prim func: the maximum weight of its loops, and whether any loop is scattered."""
    found = [_loop_traits(loop) for loop in loops_of(function)]
    steps = [
        ir.DenseI64ArrayAttr(op.operation.attributes["static_strides"])
        for op in function.entry_block.operations
        if op.operation.name in ("tensor.extract_slice", "tensor.insert_slice")
    ]
    uneven = any(len(step) and step[len(step) - 1] != 1 for step in steps)
    return LoopTraits(max(x.weight for x in found), uneven or any(x.scattered for x in found))


def _loop_traits(loop: ir.Operation) -> LoopTraits:
    body = [op.operation for op in entry_block(loop).operations]
    maps = maps_of(loop)
    last = int(maps[0].n_dims) - 1
    scattered = any(_is_scattered(map_, last) for map_ in maps)
    gathers = [op for op in body if op.name == "tensor.extract"]
    return LoopTraits(
        sum(map(_weight, body)), scattered or any(not _ends_in_index(op, last) for op in gathers)
    )


def _weight(op: ir.Operation) -> int:
    if op.name in _FREE:
        return 0
    if op.name in _WEIGHTS:
        return _WEIGHTS[op.name]
    return _HEAVY if op.name.startswith("math.") and op.name not in _LIGHT_MATH else 1


def _is_scattered(map_: ir.AffineMap, last: int) -> bool:
    """True if the innermost loop indexes an axis other than the last one."""
    return any(isinstance(x, ir.AffineDimExpr) and x.position == last for x in list(map_.results)[:-1])


def _ends_in_index(gather: ir.Operation, last: int) -> bool:
    if len(gather.operands) < 2:
        return True
    owner = gather.operands[len(gather.operands) - 1].owner
    if isinstance(owner, ir.Block) or owner.operation.name != "linalg.index":
        return False
    return bool(owner.operation.attributes["dim"].value == last)
