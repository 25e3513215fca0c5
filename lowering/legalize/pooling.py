"""Legalisation of pooling: a reduction over windows of the data, padded with the neutral element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import ml_dtypes
from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.convolution import SPATIAL
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.pooling import (
    AdaptiveAvgPool1dOp,
    AdaptiveAvgPool2dOp,
    AdaptiveAvgPool3dOp,
    AdaptiveMaxPool1dOp,
    AdaptiveMaxPool2dOp,
    AdaptiveMaxPool3dOp,
    AvgPool1dOp,
    AvgPool2dOp,
    AvgPool3dOp,
    MaxPool1dOp,
    MaxPool2dOp,
    MaxPool3dOp,
    Pooling,
)
from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.legalize.prim_bodies import Index, require_windows, surrounded
from relax_mlir.lowering.legalize.reduce import extreme, pooled
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, expression, lower
from relax_mlir.lowering.strategy.op_strategy import DEFAULT_PLEVEL
from relax_mlir.mlir import arith, ir, linalg, tensor
from relax_mlir.scalars.arithmetic import Scalar, add, compute_dtype, const, convert, maximum
from relax_mlir.scalars.linalg_builders import generic, identity

if TYPE_CHECKING:
    from relax_mlir.dialects.types import StructInfo
    from relax_mlir.expr import Attrs
    from relax_mlir.te import Tensor as TETensor


@lower(MaxPool1dOp, MaxPool2dOp, MaxPool3dOp, AvgPool1dOp, AvgPool2dOp, AvgPool3dOp)
def legalize_pooling(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    pool, result = Pooling.of(op.args), op.results[0]
    wide = compute_dtype(result.element) if pool.is_mean else result.element
    neutral = 0 if pool.is_mean else extreme(result.element, lowest=True)
    found = _reduced(lz, pool, op.operands[0], result.with_dtype(wide), neutral)
    if pool.is_mean:
        return [_means(lz, pool, op.operands[0], found, result)]
    if wide.is_float and _may_see_nothing(pool, op.operands[0]):
        return [_finite(lz, replace(pool, includes_padding=False), op.operands[0], found, result)]
    return [found]


def _name(pool: Pooling) -> str:
    return pool.op.removeprefix("nn_").removeprefix("nn.")


def _ends(pool: Pooling) -> tuple[int, ...]:
    """The padding after the data that windows may reach."""
    return tuple(
        after + (stride - 1 if pool.ceil else 0) for after, stride in zip(pool.after, pool.strides, strict=True)
    )


def _reduced(lz: Legalizer, pool: Pooling, data: Arg, result: Tensor, neutral: float) -> Arg:
    """The sum or the maximum of each window."""
    source, target = data.info.element, result.element
    loops = (*pool.out, *pool.spatial.lower())

    def loop(name: str) -> ir.AffineExpr:
        return ir.AffineDimExpr.get(loops.index(name))

    def place(letter: str) -> ir.AffineExpr:
        if letter not in pool.spatial:
            return loop(letter)
        axis = pool.spatial.index(letter)
        return loop(letter) * pool.strides[axis] + loop(letter.lower()) * pool.dilation[axis]

    def element(x: Scalar, _: Scalar, so_far: Scalar) -> Scalar:
        value = convert(source, target, x)
        return add(target, so_far, value) if pool.is_mean else maximum(target, so_far, value)

    sizes = dict(zip(pool.layout, data.shape, strict=True))
    unsure = [letter for axis, letter in enumerate(pool.spatial) if not pool.has_windows(axis, sizes[letter])]

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        require_windows(prim, pool.op, unsure, pool.out)
        sides = [dict(zip(pool.spatial, sizes, strict=True)) for sizes in (pool.before, _ends(pool))]
        before, after = ([side.get(letter, 0) for letter in pool.layout] for side in sides)
        data = surrounded(prim, prim.ins[0], before, after, neutral)
        count = len(loops)
        window = tensor.empty(list(pool.size), source.storage_type())  # gives the sizes of its loops
        maps = [
            ir.AffineMap.get(count, 0, [place(letter) for letter in pool.layout]),
            ir.AffineMap.get(count, 0, [loop(letter) for letter in pool.spatial.lower()]),
        ]
        first = linalg.fill(const(target, neutral), outs=[prim.outs[0]])
        output = ir.AffineMap.get(count, 0, [loop(letter) for letter in pool.out])
        kinds = ["parallel"] * len(pool.out) + ["reduction"] * len(pool.spatial)
        return generic([data, window], maps, [first], [output], kinds, element)

    key = (pool.size, pool.strides, pool.dilation, pool.layout, pool.out, pool.before, _ends(pool), *unsure)
    return lz.prim(_name(pool), [data], [result], body, pattern="out_fusable", key=key)[0]


def _means(lz: Legalizer, pool: Pooling, data: Arg, sums: Arg, result: Tensor) -> Arg:
    """Divide sums by the number of elements that count in each window."""
    wide, target = sums.info.element, result.element
    if not pool.ceil and (pool.includes_padding or not any((*pool.before, *pool.after))):
        elements = math.prod(pool.size)

        def share(prim: PrimBody) -> Sequence[ir.Value]:
            def mean(total: Scalar, _: Scalar) -> Scalar:
                return convert(wide, target, arith.divf(total, const(wide, elements)))

            rank = len(pool.out)
            return generic(prim.ins, [identity(rank)], prim.outs, [identity(rank)], ["parallel"] * rank, mean)

        return lz.prim(f"{_name(pool)}_mean", [sums], [result], share, pattern="elementwise", key=elements)[0]

    def mean(total: Scalar, count: Index) -> Scalar:
        some = arith.maxsi(count, arith.constant(ir.IndexType.get(), 1))
        return convert(wide, target, arith.divf(total, _as_float(some, wide)))

    return _by_count(lz, f"{_name(pool)}_mean", pool, data, sums, result, mean)


def _may_see_nothing(pool: Pooling, data: Arg) -> bool:
    """True if a window may have no element of the data: it is in the padding, or its taps skip the data."""
    sizes = dict(zip(pool.layout, data.shape, strict=True))
    return any(
        max(pool.before[axis], end) >= (pool.size[axis] - 1) * step + 1
        or (step > 1 and pool.before[axis] > 0 and not symbolic.prove_less_equal(step, sizes[letter]))
        for axis, (letter, step, end) in enumerate(zip(pool.spatial, pool.dilation, _ends(pool), strict=True))
    )


def _finite(lz: Legalizer, pool: Pooling, data: Arg, found: Arg, result: Tensor) -> Arg:
    """The maxima, with the lowest finite value for windows without elements."""
    dtype = result.element

    def greatest(value: Scalar, count: Index) -> Scalar:
        is_empty = arith.cmpi(arith.CmpIPredicate.eq, count, arith.constant(ir.IndexType.get(), 0))
        return arith.select(is_empty, const(dtype, float(ml_dtypes.finfo(dtype.numpy).min)), value)

    return _by_count(lz, f"{_name(pool)}_finite", pool, data, found, result, greatest)


def _by_count(
    lz: Legalizer,
    name: str,
    pool: Pooling,
    data: Arg,
    found: Arg,
    result: Tensor,
    value: Callable[[Scalar, Index], Scalar],
) -> Arg:
    """Apply `value` to each element of `found`, and to the number of elements that count in its window."""
    sizes = dict(zip(pool.layout, data.shape, strict=True))

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        lengths = [prim.index(sizes[letter]) for letter in pool.spatial]

        def element(one: Scalar, _: Scalar) -> Scalar:
            return value(one, _counted(pool, lengths))

        rank = len(pool.out)
        return generic(prim.ins, [identity(rank)], prim.outs, [identity(rank)], ["parallel"] * rank, element)

    key = (
        pool.size,
        pool.strides,
        pool.before,
        pool.after,
        pool.dilation,
        pool.includes_padding,
        pool.layout,
    )
    spatial = tuple(str(sizes[letter]) for letter in pool.spatial)
    return lz.prim(name, [found], [result], body, pattern="elementwise", key=(*key, pool.out, spatial))[0]


def _counted(pool: Pooling, lengths: Sequence[Index]) -> Index:
    """The number of elements that count in the window at the loop indices."""
    index = ir.IndexType.get()

    def number(value: int) -> Index:
        return arith.constant(index, value)

    total = number(1)
    for axis, letter in enumerate(pool.spatial):
        begin = arith.subi(
            arith.muli(linalg.IndexOp(pool.out.index(letter)).result, number(pool.strides[axis])),
            number(pool.before[axis]),
        )
        low = number(-pool.before[axis] if pool.includes_padding else 0)
        high = lengths[axis]
        if pool.includes_padding:
            high = arith.addi(high, number(pool.after[axis]))
        step = number(pool.dilation[axis])
        first = arith.maxsi(arith.ceildivsi(arith.subi(low, begin), step), number(0))
        last = arith.minsi(arith.ceildivsi(arith.subi(high, begin), step), number(pool.size[axis]))
        total = arith.muli(total, arith.maxsi(arith.subi(last, first), number(0)))
    return total


def _as_float(count: Index, dtype: DType) -> Scalar:
    wide = arith.index_cast(ir.IntegerType.get_signless(64), count)
    return arith.sitofp(dtype.storage_type(), wide)


# Adaptive pooling by topi, or as a reduction if one window covers the whole input.

AVERAGES = (AdaptiveAvgPool1dOp, AdaptiveAvgPool2dOp, AdaptiveAvgPool3dOp)
MAXIMA = (AdaptiveMaxPool1dOp, AdaptiveMaxPool2dOp, AdaptiveMaxPool3dOp)


def _adaptive(attrs: Attrs, data: TETensor, out_type: StructInfo, kind: str) -> TETensor:
    """Adaptive pooling of any layout; means of 16-bit floats are computed in float32."""
    from relax_mlir import topi  # most modules have no tensor expressions
    from relax_mlir.topi.manipulate import reordered

    assert isinstance(out_type, Tensor)
    letters = SPATIAL[len(attrs.layout) - 2]
    sizes = dict(zip(attrs.out_layout, out_type.dims, strict=True))
    wide = compute_dtype(dtypes.dtype(data.dtype)).name if kind == "avg" else data.dtype
    given = data if wide == data.dtype else topi.cast(data, wide)
    function = {1: topi.nn.adaptive_pool1d, 2: topi.nn.adaptive_pool, 3: topi.nn.adaptive_pool3d}[len(letters)]
    found = function(given, [sizes[letter] for letter in letters], kind, attrs.layout)
    return reordered(
        "adaptive_pool",
        found if wide == data.dtype else topi.cast(found, data.dtype),
        attrs.layout,
        attrs.out_layout,
    )


@expression(*AVERAGES)
def adaptive_average(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    """The mean of each window."""
    return _adaptive(attrs, inputs[0], out_type, "avg")


@expression(*MAXIMA)
def adaptive_maximum(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    """The maximum of each window."""
    return _adaptive(attrs, inputs[0], out_type, "max")


def _is_one_window(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> bool:
    """True if one window covers the whole input, in the layout of the result."""
    assert isinstance(out_type, Tensor)
    sizes = dict(zip(attrs.out_layout, out_type.dims, strict=True))
    spatial = SPATIAL[len(attrs.layout) - 2]
    return bool(attrs.out_layout == attrs.layout) and all(sizes[letter] == 1 for letter in spatial)


@lower(*AVERAGES, *MAXIMA, name="reduction", when=_is_one_window, priority=DEFAULT_PLEVEL + 1)
def legalize_one_window(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    layout = op.args.str_attr("layout")
    axes = [layout.index(letter) for letter in SPATIAL[len(layout) - 2]]
    return pooled(lz, op, axes, is_mean="avg" in op.args.op)
