"""Legalisation of reductions (``linalg.generic`` with reduction iterators over an accumulator) and scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import ARG_REDUCE
from relax_mlir.dialects.base import normalize_axis
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.reduce import (
    ArgmaxOp,
    ArgminOp,
    CollapseSumLikeOp,
    CollapseSumToOp,
    CumprodOp,
    CumsumOp,
    LogicalAllOp,
    LogicalAnyOp,
    LogsumexpOp,
    MaxOp,
    MeanOp,
    MinOp,
    ProdOp,
    StdOp,
    SumOp,
    VarianceOp,
    reduced_axes,
    summed_axes,
)
from relax_mlir.dialects.shapes import reshape
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.lowering.legalize.linear_algebra import cast
from relax_mlir.lowering.legalize.prim_bodies import Window, dtype_of, is_empty, prim_name, sizes_of
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, expression, lower
from relax_mlir.mlir import arith, cf, ir, linalg, math, scf, tensor
from relax_mlir.scalars import arithmetic
from relax_mlir.scalars.arithmetic import (
    Scalar,
    ScalarRule,
    compare,
    compute_dtype,
    const,
    convert,
    narrow,
    widen,
)
from relax_mlir.scalars.linalg_builders import generic, identity

if TYPE_CHECKING:
    from relax_mlir.dialects.types import StructInfo
    from relax_mlir.expr import Attrs
    from relax_mlir.te import Tensor as TETensor


Finish = Callable[[Scalar], Scalar]


@dataclass(frozen=True)
class Reduction:
    """The reduced axes of a tensor of `rank`, and the shape of the result."""

    rank: int
    axes: tuple[int, ...]
    keepdims: bool
    dtype: DType

    @classmethod
    def of(cls, op: OpCall) -> Reduction:
        x = op.operands[0]
        rank = len(x.shape)
        return cls(rank, tuple(reduced_axes(op.args, rank)), op.args.bool_attr("keepdims"), dtype_of(x))

    @property
    def key(self) -> tuple[object, ...]:
        return (self.axes, self.keepdims)

    @property
    def iterators(self) -> list[str]:
        return ["reduction" if axis in self.axes else "parallel" for axis in range(self.rank)]

    def out_map(self) -> ir.AffineMap:
        """The indexing map of the result: reduced axes are left out, or 0 with keepdims."""
        zero = ir.AffineConstantExpr.get(0)
        exprs = [
            zero if axis in self.axes else ir.AffineDimExpr.get(axis)
            for axis in range(self.rank)
            if self.keepdims or axis not in self.axes
        ]
        return ir.AffineMap.get(self.rank, 0, exprs)

    def count(self, prim: PrimBody, dtype: DType) -> Scalar:
        """The number of elements that are reduced to one result, as a float of `dtype`."""
        total = arith.constant(ir.IndexType.get(), 1)
        for axis in self.axes:
            total = arith.muli(total, prim.dim(prim.ins[0], axis))
        integer = arith.index_cast(ir.IntegerType.get_signless(64), total)
        return arith.sitofp(dtype.storage_type(), integer)


def accumulator(prim: PrimBody, dtype: DType, initial: float | int) -> ir.Value:
    """A tensor of the result's shape, filled with `initial`: the result itself if it has `dtype`."""
    out = prim.outs[0]
    if dtype != prim.out_infos[0].dtype:
        out = empty_like_out(prim, dtype)
    filled: ir.Value = linalg.fill(const(dtype, initial), outs=[out])
    return filled


def empty_like_out(prim: PrimBody, dtype: DType) -> ir.Value:
    """An uninitialised tensor of the result's shape."""
    shape = prim.out_infos[0].dims
    sizes = [d if isinstance(d, int) else prim.dim(prim.outs[0], axis) for axis, d in enumerate(shape)]
    return tensor.empty(sizes, dtype.storage_type())


def accumulate(
    prim: PrimBody, reduction: Reduction, initial: ir.Value, combine: ScalarRule, *others: ir.Value
) -> ir.Value:
    """Reduce the input into `initial` with ``combine(dtype, x, *others, acc)``; `others` have the result's shape."""
    wide = compute_dtype(reduction.dtype)
    out_map = reduction.out_map()

    def body(x: Scalar, *rest: Scalar) -> Scalar:
        return combine(wide, widen(reduction.dtype, x), *rest)

    maps = [identity(reduction.rank), *(out_map for _ in others)]
    inputs = [prim.ins[0], *others]
    return generic(inputs, maps, [initial], [out_map], reduction.iterators, body)[0]


def map_result(value: ir.Value, finish: Finish) -> ir.Value:
    """Apply `finish` to each element of `value`, in place."""
    rank = ir.RankedTensorType(value.type).rank
    return generic([], [], [value], [identity(rank)], ["parallel"] * rank, finish)[0]


def store(prim: PrimBody, dtype: DType, value: ir.Value) -> Sequence[ir.Value]:
    """`value` in the compute dtype as the result: rounded to its dtype, if that differs."""
    if compute_dtype(dtype) == dtype:
        return [value]
    rank = ir.RankedTensorType(value.type).rank
    parallel = ["parallel"] * rank
    maps = [identity(rank)]
    return generic([value], maps, prim.outs, maps, parallel, lambda x, _: narrow(dtype, x))


def _reduce(lz: Legalizer, op: OpCall, build: Callable[[PrimBody, Reduction, DType], ir.Value]) -> Sequence[Arg]:
    reduction = Reduction.of(op)
    wide = compute_dtype(reduction.dtype)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        return store(prim, reduction.dtype, build(prim, reduction, wide))

    name = prim_name(op, reduction.dtype)
    return lz.prim(name, op.operands, op.results, body, pattern="reduction", key=reduction.key)


@lower(SumOp)
def legalize_sum(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    return _reduce(lz, op, lambda prim, r, wide: _sum(prim, r, wide, arithmetic.add))


def summed(lz: Legalizer, op: OpCall, axes: Sequence[int]) -> Sequence[Arg]:
    """The sum of the operand over `axes`, which the result does not have."""
    x = op.operands[0]
    reduction = Reduction(len(x.shape), tuple(axes), keepdims=False, dtype=dtype_of(x))
    wide = compute_dtype(reduction.dtype)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        return store(prim, reduction.dtype, _sum(prim, reduction, wide, arithmetic.add))

    name = prim_name(op, reduction.dtype)
    return lz.prim(name, op.operands, op.results, body, pattern="reduction", key=reduction.key)


@lower(ProdOp)
def legalize_prod(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    return _reduce(lz, op, lambda prim, r, wide: accumulate(prim, r, accumulator(prim, wide, 1), arithmetic.multiply))


@lower(MeanOp)
def legalize_mean(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    return _reduce(lz, op, _mean)


@lower(LogicalAnyOp, LogicalAllOp)
def legalize_truth(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    reduction = Reduction.of(op)
    wide, bool_ = compute_dtype(reduction.dtype), dtypes.dtype("bool")
    combine, initial = (arith.ori, 0) if op.args.op == "logical_any" else (arith.andi, 1)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        start = linalg.fill(const(bool_, initial), outs=[prim.outs[0]])

        def element(x: Scalar, acc: Scalar) -> Scalar:
            truth: Scalar = combine(arithmetic.is_true(wide, widen(reduction.dtype, x)), acc)
            return truth

        maps = [identity(reduction.rank)]
        return generic(prim.ins, maps, [start], [reduction.out_map()], reduction.iterators, element)

    name = prim_name(op, reduction.dtype)
    return lz.prim(name, op.operands, op.results, body, pattern="reduction", key=reduction.key)


def _sum(prim: PrimBody, reduction: Reduction, wide: DType, combine: ScalarRule) -> ir.Value:
    return accumulate(prim, reduction, accumulator(prim, wide, 0), combine)


def _mean(prim: PrimBody, reduction: Reduction, wide: DType) -> ir.Value:
    count = reduction.count(prim, wide)
    total = _sum(prim, reduction, wide, arithmetic.add)
    return map_result(total, lambda acc: arith.divf(acc, count))


@lower(VarianceOp, StdOp)
def legalize_variance(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Two passes: the mean into a temporary, then the sum of squared deviations."""

    def build(prim: PrimBody, reduction: Reduction, wide: DType) -> ir.Value:
        count = reduction.count(prim, wide)
        zeros = linalg.fill(const(wide, 0), outs=[empty_like_out(prim, wide)])
        mean = map_result(accumulate(prim, reduction, zeros, arithmetic.add), lambda acc: arith.divf(acc, count))
        squares = accumulate(prim, reduction, accumulator(prim, wide, 0), _add_squared_distance, mean)
        if op.args.op == "std":
            return map_result(squares, lambda acc: math.sqrt(arith.divf(acc, count)))
        return map_result(squares, lambda acc: arith.divf(acc, count))

    return _reduce(lz, op, build)


def _add_squared_distance(dtype: DType, x: Scalar, mean: Scalar, acc: Scalar) -> Scalar:
    distance = arith.subf(x, mean)
    return arith.addf(acc, arith.mulf(distance, distance))


@lower(MaxOp, MinOp)
def legalize_extremum(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    reduction = Reduction.of(op)
    dtype = reduction.dtype
    greatest = op.args.op == "max"
    combine = arithmetic.maximum if greatest else arithmetic.minimum
    emptiness = Emptiness.of(op.operands[0], reduction)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        emptiness.check(prim, op.args.op)
        wide = compute_dtype(dtype)
        initial = accumulator(prim, wide, extreme(wide, lowest=greatest))
        return store(prim, dtype, accumulate(prim, reduction, initial, combine))

    name, key = prim_name(op, dtype), (*reduction.key, emptiness)
    return lz.prim(name, op.operands, op.results, body, pattern="reduction", key=key)


def pooled(lz: Legalizer, op: OpCall, axes: Sequence[int], is_mean: bool) -> Sequence[Arg]:
    """The mean or the maximum over `axes`, which stay with size 1; without elements, NaN or the lowest value."""
    x = op.operands[0]
    dtype = dtype_of(x)
    reduction = Reduction(len(x.shape), tuple(axes), keepdims=True, dtype=dtype)
    wide = compute_dtype(dtype)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        if is_mean:
            return store(prim, dtype, _mean(prim, reduction, wide))
        initial = accumulator(prim, wide, extreme(wide, lowest=True))
        return store(prim, dtype, accumulate(prim, reduction, initial, arithmetic.maximum))

    name = prim_name(op, dtype)
    return lz.prim(name, op.operands, op.results, body, pattern="reduction", key=reduction.key)


def extreme(dtype: DType, *, lowest: bool) -> float | int:
    """The lowest or the highest value of a dtype, infinities included."""
    if dtype.is_float:
        return float("-inf") if lowest else float("inf")
    if dtype.kind == "bool":
        return 0 if lowest else 1
    return arithmetic.bounds(dtype)[0 if lowest else 1]


@dataclass(frozen=True)
class Emptiness:
    """The axes whose size may be 0: those that are reduced, and those that are kept."""

    reduced: tuple[int, ...]
    kept: tuple[int, ...]

    @classmethod
    def of(cls, x: Arg, reduction: Reduction) -> Emptiness:
        unsure = [axis for axis, dim in enumerate(x.shape) if (symbolic.bounds(dim)[0] or 0) < 1]
        reduced = tuple(axis for axis in unsure if axis in reduction.axes)
        return cls(reduced, tuple(axis for axis in unsure if axis not in reduction.axes))

    def check(self, prim: PrimBody, op: str) -> None:
        """Assert at run time that no reduced axis is empty, unless the result is empty too, like NumPy's argmax."""
        if not self.reduced:
            return
        zero = arith.constant(ir.IndexType.get(), 0)
        is_fine = const(dtypes.dtype("bool"), 1)
        for axis in self.reduced:
            is_fine = arith.andi(is_fine, _is(arith.CmpIPredicate.ne, prim, axis, zero))
        for axis in self.kept:
            is_fine = arith.ori(is_fine, _is(arith.CmpIPredicate.eq, prim, axis, zero))
        axes = " or ".join(map(str, self.reduced))
        message = f"{op}: no elements to reduce: dimension {axes} of the tensor is 0"
        cf.assert_(is_fine, message, loc=ir.Location.unknown())


def _is(predicate: arith.CmpIPredicate, prim: PrimBody, axis: int, value: ir.Value) -> Scalar:
    return arith.cmpi(predicate, prim.dim(prim.ins[0], axis), value)


@lower(ArgmaxOp, ArgminOp)
def legalize_arg_reduce(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Two accumulators, the best value and its position (-1: none yet); no order of iteration is assumed."""
    reduction = Reduction.of(op)
    emptiness = Emptiness.of(op.operands[0], reduction)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        emptiness.check(prim, op.args.op)
        return [_arg_reduce(prim, reduction, greatest=op.args.op == "argmax")]

    name, key = prim_name(op, reduction.dtype), (*reduction.key, emptiness)
    return lz.prim(name, op.operands, op.results, body, pattern="reduction", key=key)


def _arg_reduce(prim: PrimBody, reduction: Reduction, *, greatest: bool) -> ir.Value:
    dtype, int64 = compute_dtype(reduction.dtype), dtypes.dtype("int64")
    sizes = {axis: prim.dim(prim.ins[0], axis) for axis in reduction.axes}
    best = linalg.fill(const(dtype, 0), outs=[empty_like_out(prim, dtype)])
    position = linalg.fill(const(int64, -1), outs=[prim.outs[0]])

    def body(x: Scalar, best_value: Scalar, best_position: Scalar) -> list[Scalar]:
        x = widen(reduction.dtype, x)
        here = arith.index_cast(int64.storage_type(), _flat_position(sizes))
        better, same = _beats(dtype, x, best_value, greatest=greatest)
        earlier = arith.andi(same, compare(int64, "lt", here, best_position))
        is_first = compare(int64, "lt", best_position, const(int64, 0))
        take = arith.ori(is_first, arith.ori(better, earlier))
        return [arith.select(take, x, best_value), arith.select(take, here, best_position)]

    maps = [reduction.out_map()] * 2
    outs = [best, position]
    result = generic([prim.ins[0]], [identity(reduction.rank)], outs, maps, reduction.iterators, body)[1]
    if reduction.dtype.name in ("float32", "float64", "int32", "int64"):
        result.owner.attributes[ARG_REDUCE] = ir.StringAttr.get("max" if greatest else "min")
    return result


def _flat_position(sizes: dict[int, ir.Value]) -> Scalar:
    """The position of the current element in the flattened tensor of the reduced axes, as ``index``."""
    position = arith.constant(ir.IndexType.get(), 0)
    for axis, size in sizes.items():
        position = arith.addi(arith.muli(position, size), linalg.IndexOp(axis).result)
    return position


def _beats(dtype: DType, x: Scalar, best: Scalar, *, greatest: bool) -> tuple[Scalar, Scalar]:
    """Two ``i1``: `x` is better than `best`, and both are equally good; NaN is better than any number."""
    better = compare(dtype, "gt" if greatest else "lt", x, best)
    same = compare(dtype, "eq", x, best)
    if not dtype.is_float:
        return better, same
    x_nan, best_nan = arithmetic.is_nan(x), arithmetic.is_nan(best)
    better = arith.ori(better, arith.andi(x_nan, arithmetic.negate(best_nan)))
    return better, arith.ori(same, arith.andi(x_nan, best_nan))


# Legalisation of collapse_sum_like and collapse_sum_to: a sum, reshaped to the target.


@lower(CollapseSumLikeOp, CollapseSumToOp)
def legalize_collapse(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    data, result = op.operands[0], op.results[0]
    target = result.dims
    axes = summed_axes(data.shape, target)
    if not axes:
        return [data]
    kept = Tensor([dim for axis, dim in enumerate(data.shape) if axis not in axes], result.dtype)
    (total,) = summed(lz, replace(op, operands=(data,), results=(kept,)), axes)
    view = reshape(Value(total.ssa), target)
    return [Arg(view.ssa, result)]


# Legalisation of cumsum and cumprod: a loop over the axis, which carries one value per row.
#
# The prim func names the kernel that replaces it; the loop defines the semantics.


COMBINE = {"cumsum": (arithmetic.add, 0), "cumprod": (arithmetic.multiply, 1)}
"""The combining rule, and the value before the first element."""


@lower(CumsumOp, CumprodOp)
def legalize_scan(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    name, exclusive, result = op.args.op, op.args.bool_attr("exclusive"), op.results[0]
    data = cast(lz, op.operands[0], result.element)
    if op.args.is_unit("axis"):
        data, axis = _flat(data), 0
    else:
        axis = normalize_axis(name, op.args.int_attr("axis"), len(data.shape))
    i64 = ir.IntegerType.get_signless(64)
    return lz.prim(
        name,
        [data],
        [result],
        lambda prim: _scan(prim, name, axis, exclusive),
        key=(axis, exclusive),
        kernel=name,
        kernel_attrs={"axis": ir.IntegerAttr.get(i64, axis), "exclusive": ir.BoolAttr.get(exclusive)},
    )


def _flat(data: Arg) -> Arg:
    """The elements of `data` as a vector; a view."""
    if len(data.shape) == 1:
        return data
    info = Tensor((symbolic.product(data.shape),), data.info.dtype)
    operation = ir.Operation.create("relax.flatten", results=[info.to_type()], operands=[data.ssa])
    return Arg(operation.result, info)


def scan_dtype(dtype: DType) -> DType:
    """The dtype in which elements are accumulated: float64 for floats, else their own."""
    return dtypes.dtype("float64") if dtype.is_float else dtype


def _scan(prim: PrimBody, name: str, axis: int, exclusive: bool) -> Sequence[ir.Value]:
    data, out = prim.ins[0], prim.outs[0]
    dtype = prim.out_infos[0].element
    if is_empty(prim.out_infos[0]):
        return [out]  # upstream refuses a slice that begins at the end
    wide = scan_dtype(dtype)
    combine, initial = COMBINE[name]

    def add(x: Scalar, total: Scalar) -> Scalar:
        return combine(wide, convert(dtype, wide, x), total)

    shape = ir.RankedTensorType(data.type).shape
    if shape[axis] == 1:
        # For a loop of one iteration, upstream leaves slices that it confuses if another axis has size 1.
        if exclusive:
            return [linalg.fill(const(dtype, initial), outs=[out])]
        maps, parallel, first = [identity(len(shape))], ["parallel"] * len(shape), const(wide, initial)
        return generic([data], maps, [out], maps, parallel, lambda x, _: convert(wide, dtype, add(x, first)))
    window = Window(sizes_of(prim, data))
    sizes = [size for place, size in enumerate(window.sizes) if place != axis]
    window.sizes[axis] = 1
    part = ir.RankedTensorType.get(
        [size if isinstance(size, int) else ir.ShapedType.get_dynamic_size() for size in sizes],
        dtype.storage_type(),
    )
    totals = linalg.fill(const(wide, initial), outs=[tensor.empty(sizes, wide.storage_type())])
    maps, parallel = [identity(part.rank)], ["parallel"] * part.rank
    bounds = (prim.index(0), prim.dim(data, axis), prim.index(1))
    loop = scf.ForOp(*bounds, [totals, out])
    with ir.InsertionPoint(loop.body):
        before, done = loop.inner_iter_args
        window.offsets[axis] = loop.induction_variable
        after = generic([window.extract(data, part)], maps, [before], maps, parallel, add)[0]
        shown = window.extract(done, part)
        written = generic(
            [before if exclusive else after],
            maps,
            [shown],
            maps,
            parallel,
            lambda total, _: convert(wide, dtype, total),
        )[0]
        scf.yield_([after, window.insert(written, done)])
    return [loop.results[1]]


@expression(LogsumexpOp)
def logsumexp(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    """logsumexp; 16-bit floats are computed in float32."""
    from relax_mlir import topi  # most modules have no tensor expressions

    (x,) = inputs
    if x.dtype not in ("float16", "bfloat16"):
        return topi.logsumexp(x, attrs.axis, attrs.keepdims)
    return topi.cast(topi.logsumexp(topi.cast(x, "float32"), attrs.axis, attrs.keepdims), x.dtype)
