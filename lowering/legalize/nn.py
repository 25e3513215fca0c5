"""Legalisation of neural network ops: activations, softmax, normalisations, attention and dropout.

Softmax and the normalisations are one prim func each, which names a kernel that may replace it; the linalg body
defines the semantics. It reads the data once per step and stores only one scalar per row between steps.
"""

from __future__ import annotations

import math as pymath
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from relax_mlir import symbolic
from relax_mlir.dialects.base import normalize_axes, normalize_axis
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.nn import (
    AttentionBiasOp,
    AttentionOp,
    AttentionVarLenOp,
    BatchNormOp,
    DropoutOp,
    GroupNormOp,
    InstanceNormOp,
    LayerNormOp,
    LogSoftmaxOp,
    RmsNormOp,
    SoftmaxOp,
    head_group,
)
from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.legalize.linear_algebra import zeroed
from relax_mlir.lowering.legalize.prim_bodies import (
    Index,
    dtype_of,
    elementwise_prim,
    is_empty,
    register,
    sizes_of,
)
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, expression, lower
from relax_mlir.lowering.strategy.op_strategy import KernelRequest
from relax_mlir.mlir import arith, ir, linalg, math, tensor
from relax_mlir.scalars.arithmetic import (
    Scalar,
    ScalarRule,
    add,
    compare,
    compute_dtype,
    const,
    convert,
    maximum,
    multiply,
    narrow,
    widen,
    widened,
)
from relax_mlir.scalars.linalg_builders import broadcast_map, generic, identity, projection
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from relax_mlir.dialects.types import StructInfo
    from relax_mlir.expr import Attrs
    from relax_mlir.te import Tensor as TETensor


def _gelu(dtype: DType, x: Scalar) -> Scalar:
    erf = math.erf(multiply(dtype, x, const(dtype, pymath.sqrt(0.5))))
    return _gated(dtype, x, erf)


def _gelu_tanh(dtype: DType, x: Scalar) -> Scalar:
    cube = multiply(dtype, multiply(dtype, x, x), x)
    inner = add(dtype, x, multiply(dtype, const(dtype, 0.044715), cube))
    tanh = math.tanh(multiply(dtype, const(dtype, pymath.sqrt(2.0 / pymath.pi)), inner))
    return _gated(dtype, x, tanh)


def _gated(dtype: DType, x: Scalar, gate: Scalar) -> Scalar:
    """``x / 2 * (1 + gate)``."""
    return multiply(dtype, multiply(dtype, x, const(dtype, 0.5)), add(dtype, const(dtype, 1.0), gate))


def _relu(dtype: DType, x: Scalar) -> Scalar:
    return maximum(dtype, x, const(dtype, 0))


def _silu(dtype: DType, x: Scalar) -> Scalar:
    """x / (1 + e^-x); for negative x, x e^x / (1 + e^x), because e^-x would overflow before the result is 0."""
    e = math.exp(arith.negf(math.absf(x)))
    negative = compare(dtype, "lt", x, const(dtype, 0))
    top = arith.select(negative, multiply(dtype, x, e), x)
    return arith.divf(top, add(dtype, const(dtype, 1.0), e))


ACTIVATIONS: dict[str, ScalarRule] = {
    "nn_gelu": widened(_gelu),
    "nn_gelu_tanh": widened(_gelu_tanh),
    "nn_relu": widened(_relu),
    "nn_silu": widened(_silu),
}
"""The scalar rule of each activation."""

register(ACTIVATIONS)


@lower(SoftmaxOp, LogSoftmaxOp)
def legalize_softmax(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    kernel = op.args.op.removeprefix("nn_")
    data = op.operands[0]
    axis = normalize_axis(op.args.op, op.args.int_attr("axis"), len(data.shape))
    return [softmax(lz, data, axis, kernel)]


def softmax(lz: Legalizer, data: Arg, axis: int, kernel: str = "softmax") -> Arg:
    """Call the prim func ``softmax`` or ``log_softmax`` along `axis`, which is not negative."""
    return lz.prim(
        kernel,
        [data],
        [data.info],
        lambda prim: _softmax(prim, axis, logarithm=kernel == "log_softmax"),
        pattern="opaque",
        key=axis,
        kernel=kernel,
        kernel_attrs={"axis": _i64(axis)},
    )[0]


def _softmax(prim: PrimBody, axis: int, *, logarithm: bool) -> Sequence[ir.Value]:
    rows = Rows(prim, [axis])

    def exponential(x: Scalar, largest: Scalar) -> Scalar:
        return math.exp(arith.subf(x, largest))

    largest = rows.reduce([], -pymath.inf, lambda x, total: arith.maximumf(total, x))
    total = rows.reduce([largest], 0.0, lambda x, top, total: arith.addf(total, exponential(x, top)))

    def result(x: Scalar, top: Scalar, sum_: Scalar) -> Scalar:
        if logarithm:
            return arith.subf(arith.subf(x, top), math.log(sum_))
        return arith.divf(exponential(x, top), sum_)

    return rows.map([largest, total], [], result)


@lower(LayerNormOp)
def legalize_layer_norm(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    center, scale = op.args.bool_attr("center"), op.args.bool_attr("scale")
    axes, epsilon = _axes(op), op.args.float_attr("epsilon")
    data, gamma, beta = op.operands
    affine = [*([gamma] if scale else []), *([beta] if center else [])]
    complete = center and scale
    return lz.prim(
        "layer_norm",
        [data, *affine],
        op.results,
        lambda prim: _layer_norm(prim, axes, epsilon, scale, center),
        key=(tuple(axes), epsilon, scale, center),
        kernel="layer_norm" if complete else None,
        kernel_attrs=norm_attrs(axes, epsilon) if complete else None,
    )


def _layer_norm(prim: PrimBody, axes: Sequence[int], epsilon: float, scale: bool, center: bool) -> Sequence[ir.Value]:
    return normalized(Rows(prim, axes), prim.ins[1:], epsilon, scale, center)


def normalized(
    rows: Rows,
    parameters: Sequence[ir.Value],
    epsilon: float,
    scale: bool,
    center: bool,
    at: Sequence[int] | None = None,
) -> list[ir.Value]:
    """Normalise the rows by mean and deviation, then scale and shift them by `parameters` (see `Rows.map`)."""
    mean = rows.divided_by_count(rows.reduce([], 0.0, lambda x, total: arith.addf(total, x)))

    def square(x: Scalar, mean: Scalar, total: Scalar) -> Scalar:
        difference = arith.subf(x, mean)
        return arith.addf(total, arith.mulf(difference, difference))

    inverse = rows.inverse_root(rows.reduce([mean], 0.0, square), epsilon)

    def result(x: Scalar, mean: Scalar, inverse: Scalar, *affine: Scalar) -> Scalar:
        value = arith.mulf(arith.subf(x, mean), inverse)
        if scale:
            value = arith.mulf(value, affine[0])
        return arith.addf(value, affine[-1]) if center else value

    return rows.map([mean, inverse], parameters, result, at)


@lower(RmsNormOp)
def legalize_rms_norm(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    axes, epsilon = _axes(op), op.args.float_attr("epsilon")
    return lz.prim(
        "rms_norm",
        op.operands,
        op.results,
        lambda prim: _rms_norm(prim, axes, epsilon),
        key=(tuple(axes), epsilon),
        kernel="rms_norm",
        kernel_attrs=norm_attrs(axes, epsilon),
    )


def _rms_norm(prim: PrimBody, axes: Sequence[int], epsilon: float) -> Sequence[ir.Value]:
    rows = Rows(prim, axes)
    squares = rows.reduce([], 0.0, lambda x, total: arith.addf(total, arith.mulf(x, x)))
    inverse = rows.inverse_root(squares, epsilon)
    return rows.map([inverse], prim.ins[1:], lambda x, inv, weight: arith.mulf(arith.mulf(x, inv), weight))


class Rows:
    """Steps of a computation on the rows of a prim func's first input; a row spans `axes`.

    Scalars are computed in the accumulator dtype of the data; a tensor of one scalar per row has the data's
    shape without `axes`.
    """

    def __init__(
        self, prim: PrimBody, axes: Sequence[int], data: ir.Value | None = None, out: ir.Value | None = None
    ) -> None:
        """`data` and `out`: views of the prim func's first input and output, if these have another shape."""
        dtype = prim.in_infos[0].element
        self._prim, self._axes = prim, list(axes)
        self._data = prim.ins[0] if data is None else data
        self._out = prim.outs[0] if out is None else out
        self._sizes = sizes_of(prim, self._data)
        self._dtype, self._wide = dtype, compute_dtype(dtype)
        self._outer = [axis for axis in range(self._rank) if axis not in axes]
        self._row_map = projection(self._rank, self._outer)

    @property
    def _rank(self) -> int:
        return len(self._sizes)

    def reduce(self, per_row: Sequence[ir.Value], start: float, step: Callable[..., Scalar]) -> ir.Value:
        """``step(x, *scalars of the row, total)`` folded over each row from `start`."""
        rank = self._rank
        out = linalg.fill(const(self._wide, start), outs=[self._per_row()])
        iterators = ["reduction" if axis in self._axes else "parallel" for axis in range(rank)]
        return generic(
            [self._data, *per_row],
            [identity(rank), *[self._row_map] * len(per_row)],
            [out],
            [self._row_map],
            iterators,
            lambda x, *rest: step(self._widened(x), *rest),
        )[0]

    def map(
        self,
        per_row: Sequence[ir.Value],
        along: Sequence[ir.Value],
        body: Callable[..., Scalar],
        at: Sequence[int] | None = None,
    ) -> list[ir.Value]:
        """The output: ``body(x, *scalars of the row, *scalars of `along`)``.

        Tensors of `along` have the dimensions `at` of the data, by default those of a row.
        """
        rank, place = self._rank, projection(self._rank, self._axes if at is None else at)

        def scalar(x: Scalar, *rest: Scalar) -> Scalar:
            numbers = [*rest[: len(per_row)], *map(self._widened, rest[len(per_row) : -1])]
            return narrow(self._dtype, body(self._widened(x), *numbers))

        return generic(
            [self._data, *per_row, *along],
            [identity(rank), *[self._row_map] * len(per_row), *[place] * len(along)],
            [self._out],
            [identity(rank)],
            ["parallel"] * rank,
            scalar,
        )

    def divided_by_count(self, totals: ir.Value) -> ir.Value:
        """`totals` divided by the number of elements of a row."""
        count = self._count()
        return self._update(totals, lambda total: arith.divf(total, count))

    def inverse_root(self, totals: ir.Value, epsilon: float) -> ir.Value:
        """``1 / sqrt(totals / count + epsilon)``."""
        count = self._count()

        def inverse(total: Scalar) -> Scalar:
            mean = arith.divf(total, count)
            root = math.sqrt(arith.addf(mean, const(self._wide, epsilon)))
            return arith.divf(const(self._wide, 1.0), root)

        return self._update(totals, inverse)

    def _update(self, values: ir.Value, body: Callable[[Scalar], Scalar]) -> ir.Value:
        rank = len(self._outer)
        return generic([], [], [values], [identity(rank)], ["parallel"] * rank, body)[0]

    def _widened(self, x: Scalar) -> Scalar:
        return widen(self._dtype, x)

    def _per_row(self) -> ir.Value:
        sizes = [size for axis, size in enumerate(self._sizes) if axis in self._outer]
        return tensor.empty(sizes, self._wide.storage_type())

    def _count(self) -> Scalar:
        """The number of elements of a row, as a float."""
        count = self._prim.index(1)
        for axis in self._axes:
            count = arith.muli(count, self._prim.dim(self._data, axis))
        i64 = ir.IntegerType.get_signless(64)
        return arith.sitofp(self._wide.storage_type(), arith.index_cast(i64, count))


def _axes(op: OpCall) -> list[int]:
    return normalize_axes(op.args.op, op.args.ints_attr("axes"), len(op.operands[0].shape))


def _i64(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def norm_attrs(axes: Sequence[int], epsilon: float) -> dict[str, ir.Attribute]:
    """The attributes of the kernels of norms."""
    return {
        "axes": ir.ArrayAttr.get([_i64(axis) for axis in axes]),
        "epsilon": ir.FloatAttr.get(ir.F64Type.get(), epsilon),
    }


# Legalisation of attention: one prim func, which names a kernel that may replace it.
#
# Its linalg body, two contractions around a softmax, defines the semantics; it reads every operand in place.


@lower(AttentionOp, AttentionBiasOp)
def legalize_attention(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    scale = None if op.args.is_unit("scale") else op.args.float_attr("scale")
    causal = None if op.args.is_unit("causal_mask") else op.args.str_attr("causal_mask")
    attributes: dict[str, ir.Attribute] = {}
    if scale is not None:
        attributes["scale"] = ir.FloatAttr.get(ir.F64Type.get(), scale)
    if causal is not None:
        attributes["causal_mask"] = ir.StringAttr.get(causal)
    return lz.prim(
        "attention",
        op.operands,
        op.results,
        lambda prim: _Reference(prim, scale, causal).build(),
        key=(scale, causal),
        kernel="attention",
        kernel_attrs=attributes,
    )


class _Reference:
    """The body of the prim func: scores, weights, and sums of values, each computed as a whole tensor."""

    def __init__(self, prim: PrimBody, scale: float | None, causal: str | None) -> None:
        dtype, query, key = prim.in_infos[0].element, prim.in_infos[0].dims, prim.in_infos[1].dims
        self.prim, self.scale, self.causal = prim, scale, causal
        self.dtype, self.wide = dtype, compute_dtype(dtype)
        self.shape: tuple[Dim, ...] = (query[0], query[2], query[1], key[1])
        """The shape of the scores."""
        self.sizes = [self._size(0, query, 0), self._size(0, query, 2), self._size(0, query, 1)]
        self.sizes.append(self._size(1, key, 1))
        self.group = head_group(query[2], key[2]) or 1

    def build(self) -> Sequence[ir.Value]:
        query, key, value, *bias = self.prim.ins
        scores = self._sum(query, key, (0, 2, 1, 4), (0, 3, 1, 4), self._empty(self.sizes))
        weights = self._softmax(self._masked(scores, *bias))
        if self.dtype == self.wide:
            return [self._sum(weights, value, (0, 2, 1, 4), (0, 4, 2, 3), self.prim.outs[0], grouped=2)]
        last = self.prim.out_infos[0].dims
        batch, heads, queries, _ = self.sizes
        sums = self._empty([batch, queries, heads, self._size(2, last, 3)])
        sums = self._sum(weights, value, (0, 2, 1, 4), (0, 4, 2, 3), sums, grouped=2)
        return self._elementwise([sums], self.prim.outs[0], lambda x, _: narrow(self.dtype, x))

    def _size(self, operand: int, shape: Sequence[Dim | None], axis: int) -> int | ir.Value:
        size = shape[axis]
        return size if isinstance(size, int) else self.prim.dim(self.prim.ins[operand], axis)

    def _empty(self, sizes: Sequence[int | ir.Value]) -> ir.Value:
        return tensor.empty(list(sizes), self.wide.storage_type())

    def _sum(
        self,
        left: ir.Value,
        right: ir.Value,
        left_axes: Sequence[int],
        right_axes: Sequence[int],
        out: ir.Value,
        grouped: int = 1,
    ) -> ir.Value:
        """Sum products over loop 4 into `out`, whose axes are loops 0 to 3. Loop `grouped` counts heads."""
        head = ir.AffineDimExpr.get(grouped)
        shared = ir.AffineExpr.get_floor_div(head, self.group) if self.group > 1 else head
        exprs = [shared if axis == grouped else ir.AffineDimExpr.get(axis) for axis in right_axes]

        def body(a: Scalar, b: Scalar, total: Scalar) -> Scalar:
            return arith.addf(total, arith.mulf(self._widened(a), self._widened(b)))

        maps = [projection(5, left_axes), ir.AffineMap.get(5, 0, exprs)]
        out = linalg.fill(const(self.wide, 0), outs=[out])
        iterators = ["parallel"] * 4 + ["reduction"]
        return generic([left, right], maps, [out], [projection(5, range(4))], iterators, body)[0]

    def _masked(self, scores: ir.Value, *bias: ir.Value) -> ir.Value:
        """Scale the scores, add the bias, and set the keys that the causal mask hides from a query to -inf."""
        factor, shift = self._factor(), self._causal_shift()

        def body(score: Scalar, *rest: Scalar) -> Scalar:
            value = arith.mulf(score, factor)
            if bias:
                value = arith.addf(value, self._widened(rest[0]))
            if shift is None:
                return value
            last = arith.addi(linalg.IndexOp(2).result, shift)
            visible = arith.cmpi(arith.CmpIPredicate.sle, linalg.IndexOp(3).result, last)
            return arith.select(visible, value, const(self.wide, -pymath.inf))

        maps = [identity(4)]
        if bias:
            maps.append(broadcast_map(self.prim.in_infos[3].dims, self.shape))
        return self._elementwise([scores, *bias], self._empty(self.sizes), body, maps)[0]

    def _elementwise(
        self,
        ins: Sequence[ir.Value],
        out: ir.Value,
        body: Callable[..., Scalar],
        maps: Sequence[ir.AffineMap] | None = None,
    ) -> list[ir.Value]:
        maps = maps or [identity(4)] * len(ins)
        return generic(ins, maps, [out], [identity(4)], ["parallel"] * 4, body)

    def _softmax(self, scores: ir.Value) -> ir.Value:
        def exponential(x: Scalar, top: Scalar) -> Scalar:
            return math.exp(arith.subf(x, top))

        top = self._reduce([scores], -pymath.inf, lambda x, best: arith.maximumf(best, x))
        total = self._reduce([scores, top], 0.0, lambda x, top, sum_: arith.addf(sum_, exponential(x, top)))
        row = projection(4, range(3))
        return self._elementwise(
            [scores, top, total],
            self._empty(self.sizes),
            lambda x, top, total, _: arith.divf(exponential(x, top), total),
            [identity(4), row, row],
        )[0]

    def _reduce(self, ins: Sequence[ir.Value], start: float, step: Callable[..., Scalar]) -> ir.Value:
        """Fold `step` over the keys, from the scores and tensors with one scalar per query."""
        out = linalg.fill(const(self.wide, start), outs=[self._empty(self.sizes[:3])])
        row = projection(4, range(3))
        iterators = ["parallel"] * 3 + ["reduction"]
        return generic(ins, [identity(4), *[row] * (len(ins) - 1)], [out], [row], iterators, step)[0]

    def _widened(self, x: Scalar) -> Scalar:
        return x if x.type == self.wide.storage_type() else widen(self.dtype, x)

    def _factor(self) -> Scalar:
        element = self.wide.storage_type()
        if self.scale is not None:
            return arith.constant(element, self.scale)
        query = self.prim.in_infos[0].dims
        if isinstance(query[3], int):
            return arith.constant(element, 1.0 / pymath.sqrt(max(query[3], 1)))
        size = arith.maxui(self.prim.dim(self.prim.ins[0], 3), self.prim.index(1))
        size = arith.index_cast(ir.IntegerType.get_signless(64), size)
        return arith.divf(arith.constant(element, 1.0), math.sqrt(arith.sitofp(element, size)))

    def _causal_shift(self) -> ir.Value | None:
        """The last key that a query sees, relative to the index of the query."""
        if self.causal is None:
            return None
        if self.causal == "TopLeft":
            return self.prim.index(0)
        return arith.subi(*(self.prim.dim(self.prim.ins[operand], 1) for operand in (1, 0)))


# Legalisation of batch norm: sums over the channels in training, then one pass over the elements.


@lower(BatchNormOp)
def legalize_batch_norm(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    data, gamma, beta, *moving = op.operands
    args, dtype = op.args, data.info.element
    axis, wide = normalize_axis(args.op, args.int_attr("axis"), len(data.shape)), compute_dtype(dtype)
    used = moving
    if args.bool_attr("training"):
        used = _statistics(lz, data, axis, wide)
        momentum = args.float_attr("momentum")
        moving = [
            _updated(lz, old, new, momentum, result)
            for old, new, result in zip(moving, used, op.results[1:], strict=True)
        ]
    scale, center = args.bool_attr("scale"), args.bool_attr("center")
    parameters = [*used, *([gamma] if scale else []), *([beta] if center else [])]
    return [
        _normalised(lz, data, parameters, op.results[0], axis, args.float_attr("epsilon"), scale, center),
        *moving,
    ]


def _statistics(lz: Legalizer, data: Arg, axis: int, wide: DType) -> list[Arg]:
    """Mean and biased variance of each channel."""
    dtype = data.info.element
    count = symbolic.product([dim for i, dim in enumerate(data.shape) if i != axis])
    result = Tensor([data.shape[axis]], wide)

    def plain(x: Scalar) -> Scalar:
        return convert(dtype, wide, x)

    def squared(x: Scalar, mean: Scalar) -> Scalar:
        distance = arith.subf(convert(dtype, wide, x), mean)
        return arith.mulf(distance, distance)

    mean = _mean(lz, "batch_mean", [data], axis, count, result, plain)
    return [mean, _mean(lz, "batch_variance", [data, mean], axis, count, result, squared)]


def _mean(
    lz: Legalizer,
    name: str,
    ins: Sequence[Arg],
    axis: int,
    count: Dim,
    result: Tensor,
    term: Callable[..., Scalar],
) -> Arg:
    """The mean of the terms of each channel; NaN without elements."""
    wide, rank = result.element, len(ins[0].shape)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        channel = projection(rank, [axis])
        kinds = ["parallel" if i == axis else "reduction" for i in range(rank)]
        maps = [identity(rank), *([channel] * (len(ins) - 1))]
        sums = generic(prim.ins, maps, [zeroed(prim)], [channel], kinds, lambda *x: arith.addf(x[-1], term(*x[:-1])))
        number = arith.index_cast(ir.IntegerType.get_signless(64), prim.index(count))
        divisor = arith.sitofp(wide.storage_type(), number)
        return generic([], [], sums, [identity(1)], ["parallel"], lambda total: arith.divf(total, divisor))

    return lz.prim(name, ins, [result], body, key=(axis, str(count)))[0]


def _updated(lz: Legalizer, old: Arg, new: Arg, momentum: float, result: Tensor) -> Arg:
    """Update a moving average after a batch."""
    source, wide, target = old.info.element, new.info.element, result.element

    def element(before: Scalar, batch: Scalar, _: Scalar) -> Scalar:
        kept = arith.mulf(const(wide, 1 - momentum), convert(source, wide, before))
        return convert(wide, target, arith.addf(kept, arith.mulf(const(wide, momentum), batch)))

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        return generic(prim.ins, [identity(1)] * 2, prim.outs, [identity(1)], ["parallel"], element)

    return lz.prim("moving_average", [old, new], [result], body, pattern="elementwise", key=momentum)[0]


def _normalised(
    lz: Legalizer,
    data: Arg,
    parameters: Sequence[Arg],
    result: Tensor,
    axis: int,
    epsilon: float,
    scale: bool,
    center: bool,
) -> Arg:
    """Normalise the elements by mean and variance, with gamma and beta if they are used."""
    dtype, rank = data.info.element, len(data.shape)
    wide, kinds = compute_dtype(dtype), [p.info.element for p in parameters]

    def element(*scalars: Scalar) -> Scalar:
        x, *given, _ = scalars
        mean, variance, *rest = (convert(kind, wide, p) for kind, p in zip(kinds, given, strict=True))
        deviation = math.sqrt(arith.addf(variance, const(wide, epsilon)))
        value = arith.divf(arith.subf(convert(dtype, wide, x), mean), deviation)
        if scale:
            value = arith.mulf(value, rest.pop(0))
        if center:
            value = arith.addf(value, rest.pop(0))
        return convert(wide, dtype, value)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        maps = [identity(rank), *([projection(rank, [axis])] * len(parameters))]
        return generic(prim.ins, maps, prim.outs, [identity(rank)], ["parallel"] * rank, element)

    key = (axis, epsilon, scale, center)
    return lz.prim("batch_norm", [data, *parameters], [result], body, pattern="broadcast", key=key)[0]


# Legalisation of group norm and instance norm: one prim func each, which names a kernel that may replace it.
#
# The body splits the channels of a group norm into two dimensions, groups and the channels of a group.


@lower(GroupNormOp, InstanceNormOp)
def legalize_group_norm(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    name, args, rank = op.args.op, op.args, len(op.operands[0].shape)
    channel = normalize_axis(name, args.int_attr("channel_axis"), rank)
    axes = sorted(normalize_axes(name, args.ints_attr("axes"), rank))
    groups = args.int_attr("num_groups") if name == "nn_group_norm" else 0
    epsilon, center, scale = args.float_attr("epsilon"), args.bool_attr("center"), args.bool_attr("scale")
    data, gamma, beta = op.operands

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        if is_empty(prim.out_infos[0]):
            return list(prim.outs)
        if groups == 0:
            return normalized(Rows(prim, axes), prim.ins[1:], epsilon, scale, center, at=[channel])
        split = [axis + (axis > channel) for axis in axes]
        data, out = (_split(prim, value, channel, groups) for value in (prim.ins[0], prim.outs[0]))
        parameters = [_split(prim, value, 0, groups) for value in prim.ins[1:]]
        rows = Rows(prim, [channel + 1, *split], data, out)
        (result,) = normalized(rows, parameters, epsilon, scale, center, at=[channel, channel + 1])
        return [tensor.collapse_shape(prim.outs[0].type, result, _pairs(rank, channel))]

    i64 = ir.IntegerType.get_signless(64)
    return lz.prim(
        name.removeprefix("nn_"),
        [data, *([gamma] if scale else []), *([beta] if center else [])],
        op.results,
        body,
        key=(groups, channel, tuple(axes), epsilon, scale, center),
        kernel="group_norm",
        kernel_attrs={
            **norm_attrs(axes, epsilon),
            "channel_axis": ir.IntegerAttr.get(i64, channel),
            "num_groups": ir.IntegerAttr.get(i64, groups),
            "scale": ir.BoolAttr.get(scale),
            "center": ir.BoolAttr.get(center),
        },
    )


def _pairs(rank: int, axis: int) -> list[list[int]]:
    """For each dimension of a tensor, its dimensions after `axis` is split in two."""
    return [[place + (place > axis)] if place != axis else [axis, axis + 1] for place in range(rank)]


def _split(prim: PrimBody, value: ir.Value, axis: int, groups: int) -> ir.Value:
    """Split dimension `axis` of a tensor into `groups` parts."""
    sizes = sizes_of(prim, value)
    channels = sizes[axis]
    if isinstance(channels, int):
        part: int | Index = channels // groups
    else:
        part = arith.divui(channels, prim.index(groups))
    sizes[axis : axis + 1] = [groups, part]
    dynamic = ir.ShapedType.get_dynamic_size()
    static = [size if isinstance(size, int) else dynamic for size in sizes]
    source = ir.RankedTensorType(value.type)
    return tensor.expand_shape(
        ir.RankedTensorType.get(static, source.element_type),
        value,
        _pairs(source.rank, axis),
        [size for size in sizes if not isinstance(size, int)],
        static,
    )


# Legalisation of ops that keep the order of elements: batch_flatten, dropout, and gradient markers.


@lower(DropoutOp)
def legalize_dropout(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    data = op.operands[0]
    dtype = dtype_of(data)
    ones = elementwise_prim(lz, OpCall(op.args, (data,), (data.info,)), lambda x: const(dtype, 1))
    return [data, *ones]


# Attention over packed sequences of different lengths, as loops over each sequence.


def _attention_kernel(attrs: Attrs, inputs: Sequence[TETensor]) -> KernelRequest:
    """The attention kernel that may replace the loops."""
    names = {"starts": inputs[3], "key_starts": inputs[4]}
    told: dict[str, str | float] = {
        name: "unsigned" if at.dtype.startswith("u") else "signed" for name, at in names.items()
    }
    told |= {name: attrs[name] for name in ("scale", "causal_mask") if attrs[name] is not None}
    return KernelRequest("attention_var_len", told)


@expression(AttentionVarLenOp, kernel=_attention_kernel)
def attention_var_len(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    """For each query of each sequence: the weighted sum of the values of the visible keys."""
    # Most modules have no tensor expressions.
    from relax_mlir.lowering.legalize.attention_loops import attention_loops

    return attention_loops(attrs, inputs, out_type)
