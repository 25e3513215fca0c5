"""Match linalg operations on memrefs as convolutions and poolings that have a kernel over windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from relax_mlir.ir_queries import defining_op, entry_block, is_used
from relax_mlir.lowering.kernels.gemm.contraction import Contraction, Dims, Operand
from relax_mlir.lowering.kernels.gemm.epilogue import PURE, root, writes
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel
from relax_mlir.lowering.kernels.nest.loop_nest import loops_of
from relax_mlir.lowering.kernels.windows.channel_windows import computes
from relax_mlir.lowering.kernels.windows.window_gemm import reads_windows
from relax_mlir.lowering.kernels.windows.window_params import MOST_AXES, Kind, WindowAxis, Windows
from relax_mlir.mlir import ir

_APART = (*PURE, "linalg.fill", "memref.alloc")
"""Name prefixes of operations that may be between a copy and its reader.

None writes to the copied buffer: a fill is that of the result.
"""
_POOLINGS = {"arith.maximumf": Kind.MAX, "arith.addf": Kind.SUM}

_Term = tuple[int, int]
"""A loop, and its factor."""


def match_windows(
    operation: ir.Operation,
    data_map: ir.AffineMap,
    weight: Operand,
    out: Operand,
    kernel: GemmKernel,
    pooling: Kind | None = None,
) -> Contraction | None:
    """Match an operation on windows of its first operand; None if there is no kernel for it.

    It sums products with `weight`, unless it is a `pooling`, for which `weight` only has the sizes of a window.

    Accepted are results whose last dimensions are the spatial ones, contiguous in memory, and weights whose last
    dimensions are the channels that are summed over, if there are any, then the taps.
    """
    terms = [terms_of(expression) for expression in data_map.results]
    if any(not 1 <= len(each) <= 2 for each in terms) or None in out.axes:
        return None
    axes = [_window_axis(axis, each, out) for axis, each in enumerate(terms) if len(each) == 2]
    spatial = [x for x in axes if x is not None]
    if len(spatial) < len(axes) or not 1 <= len(spatial) <= MOST_AXES:
        return None
    plain = {axis: each[0] for axis, each in enumerate(terms) if len(each) == 1}
    loops = {axis: loop for axis, (loop, factor) in plain.items() if factor == 1}
    roles = _roles(loops, weight, out, spatial, kernel, pooling) if len(loops) == len(plain) else None
    if roles is None:
        return None
    columns = tuple(x.window for x in spatial)
    known = {*loops.values(), *columns, *roles.depth, roles.row}
    if not (_ends_with(out, columns) and _ends_with(weight, roles.depth) and {*out.dims, *weight.dims} <= known):
        return None
    copy = copied_into(operation, roles.kind.neutral)
    if copy and (any(copy.before[axis] for axis in loops) or root(copy.source) == root(out.buffer)):
        copy = None
    sizes = dict(zip(weight.axes, ir.MemRefType(weight.buffer.type).shape, strict=True))
    if roles.kind is Kind.MAX and copy is None and lie_apart(data_map, sizes):
        return None  # for which loops without copies are as fast
    data = copy.source if copy else operation.operands[0]
    if copy:
        spatial = [replace(x, before=copy.before[x.axis]) for x in spatial]
    outside = {axis: loop for axis, loop in loops.items() if loop in out.dims and loop != roles.row}
    images = Operand(data, tuple(outside.get(axis) for axis in range(len(terms))))
    windows = Windows(roles.channel, tuple(spatial), roles.kind, copy.operations if copy else ())
    return Contraction(weight, images, out, kernel, (roles.row,), columns, roles.depth, windows=windows)


@dataclass(frozen=True)
class _Roles:
    """The kind of operation, the channel axis of the data, the loop over rows of A, and the reduction loops."""

    kind: Kind
    channel: int
    row: int
    depth: Dims


def _roles(
    loops: Mapping[int, int],
    weight: Operand,
    out: Operand,
    spatial: Sequence[WindowAxis],
    kernel: GemmKernel,
    pooling: Kind | None,
) -> _Roles | None:
    """Assign roles to the loops that alone index an axis of the data (`loops`, by axis); None if no kernel fits."""
    shared = [axis for axis, loop in loops.items() if loop in weight.dims]
    summed = [axis for axis in shared if loops[axis] not in out.dims]
    rows = [loop for loop in out.dims if loop in weight.dims and loop not in loops.values()]
    taps = tuple(x.tap for x in spatial)
    if len(summed) == len(rows) == 1 and not pooling and reads_windows(kernel):
        roles = _Roles(Kind.PRODUCT, summed[0], rows[0], (loops[summed[0]], *taps))
    elif summed or rows or not computes(pooling or Kind.DEPTHWISE, kernel):
        return None
    else:
        # Channel by channel: the channels of the weight, or, for pooling, the axis before the spatial ones.
        own = [axis for axis in ([spatial[0].axis - 1] if pooling and not shared else shared) if axis in loops]
        if len(own) != 1:
            return None
        roles = _Roles(pooling or Kind.DEPTHWISE, own[0], loops[own[0]], taps)
    return roles if all(loop in (*out.dims, *roles.depth) for loop in loops.values()) else None


@dataclass(frozen=True)
class _Copy:
    """A buffer that is a padded copy of another one, the `source`.

    `before`: the elements before each dimension; `operations`: the ops that build the buffer, users first.
    """

    source: ir.Value
    before: tuple[int, ...]
    operations: tuple[ir.Operation, ...]


def copied_into(operation: ir.Operation, value: float) -> _Copy | None:
    """Match the first operand as a copy padded with a constant, built for that operation alone; else None."""
    buffer = operation.operands[0]
    made = defining_op(buffer)
    if made is None or made.name != "memref.alloc":
        return None
    users = [use.owner.operation for use in buffer.uses]
    fills = [user for user in users if user.name == "linalg.fill"]
    parts = [user for user in users if user.name == "memref.subview"]
    ends = [user for user in users if user.name == "memref.dealloc"]
    if len(fills) != 1 or len(parts) != 1 or len(users) != 3 + len(ends) or not writes(fills[0], value):
        return None
    (part,) = parts
    copies = [use.owner.operation for use in part.results[0].uses]
    if len(copies) != 1 or copies[0].name != "memref.copy" or copies[0].operands[1] != part.results[0]:
        return None
    offsets, strides = (list(ir.DenseI64ArrayAttr(part.attributes[f"static_{x}"])) for x in ("offsets", "strides"))
    source = copies[0].operands[0]
    is_whole = len(offsets) == ir.MemRefType(source.type).rank == ir.MemRefType(buffer.type).rank
    if not is_whole or any(offset < 0 for offset in offsets) or set(strides) != {1}:
        return None
    if not _is_right_before(operation, fills[0], copies[0]):
        return None
    return _Copy(source, tuple(offsets), (*ends, copies[0], part, fills[0], made))


def _is_right_before(operation: ir.Operation, fill: ir.Operation, copy: ir.Operation) -> bool:
    """True if the fill, the copy and the operation are in this order, and nothing after the copy writes its source."""
    siblings = [op.operation for op in operation.block.operations]
    if not all(op.block == operation.block for op in (fill, copy)):
        return False
    first, second, last = (siblings.index(op) for op in (fill, copy, operation))
    between = siblings[second + 1 : last] if first < second < last else []
    source = root(copy.operands[0])
    changed = any(op.name == "linalg.fill" and root(op.operands[1]) == source for op in between)
    return first < second < last and not changed and all(op.name.startswith(_APART) for op in between)


def match_pooling(operation: ir.Operation, maps: Sequence[ir.AffineMap]) -> Contraction | None:
    """Match a sum or maximum of each window; None if there is no kernel for it.

    The second operand is not read; it only has the sizes of a window.
    """
    data, window, out = operation.operands
    body = entry_block(operation)
    read_value, unused, total = body.arguments
    value: ir.Value = read_value
    *steps, end = (op.operation for op in body.operations)
    axes = [loops_of(map_) for map_ in maps[1:]]
    if is_used(unused) or axes[0] is None or axes[1] is None:
        return None
    if steps and steps[0].name == "arith.extf" and steps[0].operands[0] == value:
        value = steps.pop(0).results[0]
    if len(steps) != 1 or steps[0].name not in _POOLINGS or {*steps[0].operands} != {value, total}:
        return None
    if list(end.operands) != list(steps[0].results):
        return None
    read, sizes, written = (str(ir.MemRefType(x.type).element_type) for x in (data, window, out))
    if read != sizes:
        return None
    kernel = GemmKernel(read, written)
    operands = Operand(window, axes[0]), Operand(out, axes[1])
    return match_windows(operation, maps[0], *operands, kernel, _POOLINGS[steps[0].name])


def lie_apart(data_map: ir.AffineMap, sizes: Mapping[int | None, int]) -> bool:
    """True if windows do not overlap; `sizes`: those of loops over taps, negative if unknown."""
    for terms in (terms_of(expression) for expression in data_map.results):
        taps = [(sizes[loop], factor) for loop, factor in terms if loop in sizes]
        steps = [factor for loop, factor in terms if loop not in sizes]
        if any(not 0 <= size <= steps[0] or factor != 1 for size, factor in taps):
            return False
    return True


def _window_axis(axis: int, terms: list[_Term], out: Operand) -> WindowAxis | None:
    """The spatial dimension of a sum of two loops: one of the result, and a reduction; None for other sums."""
    (window, step), (tap, dilation) = sorted(terms, key=lambda term: term[0] not in out.dims)
    if window not in out.dims or tap in out.dims or step < 1 or dilation < 1:
        return None
    return WindowAxis(axis, window, tap, step, dilation)


def _ends_with(operand: Operand, dims: Dims) -> bool:
    """True if the last axes of an operand follow these loops, and are contiguous."""
    if operand.axes[-len(dims) :] != dims or not operand.unit_inner:
        return False
    return all(operand.joins(left, right) for left, right in pairwise(dims))


def terms_of(expression: ir.AffineExpr) -> list[_Term]:
    """The loops in a sum, each with its factor; empty for any other expression."""
    if isinstance(expression, ir.AffineAddExpr):
        left, right = terms_of(expression.lhs), terms_of(expression.rhs)
        return [*left, *right] if left and right else []
    if isinstance(expression, ir.AffineDimExpr):
        return [(int(expression.position), 1)]
    if isinstance(expression, ir.AffineMulExpr):
        loop, factor = expression.lhs, expression.rhs
        if isinstance(loop, ir.AffineDimExpr) and isinstance(factor, ir.AffineConstantExpr):
            return [(int(loop.position), int(factor.value))]
    return []
