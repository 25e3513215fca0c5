"""Legalisation of activations and normalisations.

Softmax and the normalisations are one prim func each, named as a kernel that may replace it; the linalg body is
the meaning. It reads the data once per step and keeps only one number per row between steps.
"""

from __future__ import annotations

import math as pymath
from collections.abc import Callable, Sequence

from relax_mlir.dialects.base import normalize_axes, normalize_axis
from relax_mlir.dialects.dtypes import DType
from relax_mlir.lowering.legalize.contraction import accumulator, convert, zero
from relax_mlir.lowering.legalize.emit import elementwise, generic, identity, projection
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.mlir import arith, ir, linalg, math, tensor

Scalar = ir.Value
Activation = Callable[[Scalar], Scalar]


def _constant(like: Scalar, value: float) -> Scalar:
    return arith.constant(like.type, value)


def _gelu(x: Scalar) -> Scalar:
    erf = math.erf(arith.mulf(x, _constant(x, pymath.sqrt(0.5))))
    return arith.mulf(arith.mulf(x, _constant(x, 0.5)), arith.addf(_constant(x, 1.0), erf))


def _gelu_tanh(x: Scalar) -> Scalar:
    cube = arith.mulf(arith.mulf(x, x), x)
    inner = arith.addf(x, arith.mulf(_constant(x, 0.044715), cube))
    tanh = math.tanh(arith.mulf(_constant(x, pymath.sqrt(2.0 / pymath.pi)), inner))
    return arith.mulf(arith.mulf(x, _constant(x, 0.5)), arith.addf(_constant(x, 1.0), tanh))


def _relu(x: Scalar) -> Scalar:
    return arith.maximumf(x, _constant(x, 0.0))


def _silu(x: Scalar) -> Scalar:
    return arith.divf(x, arith.addf(_constant(x, 1.0), math.exp(arith.negf(x))))


FLOAT_ACTIVATIONS: dict[str, Activation] = {
    "relax.nn_gelu": _gelu,
    "relax.nn_gelu_tanh": _gelu_tanh,
    "relax.nn_relu": _relu,
    "relax.nn_silu": _silu,
}
"""What each activation computes on a float scalar of at least 32 bits."""


@legalization(*FLOAT_ACTIVATIONS)
def legalize_activation(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    dtype = op.results[0].dtype
    assert dtype is not None
    body = _on_floats(FLOAT_ACTIVATIONS[f"relax.{op.args.op}"], dtype) if dtype.is_float else _integer_relu(dtype)
    return lz.prim(op.args.op, op.operands, op.results, elementwise(body), pattern="elementwise")


def _on_floats(activation: Activation, dtype: DType) -> Activation:
    """`activation` on scalars of `dtype`, computed in its accumulator and rounded once."""
    wide = accumulator(dtype)
    return lambda x: convert(activation(convert(x, dtype, wide)), wide, dtype)


def _integer_relu(dtype: DType) -> Activation:
    return lambda x: arith.maxsi(x, zero(dtype)) if dtype.kind == "int" else x


@legalization("relax.nn_softmax", "relax.nn_log_softmax")
def legalize_softmax(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    kernel = op.args.op.removeprefix("nn_")
    data = op.operands[0]
    axis = normalize_axis(op.args.op, op.args.int_attr("axis"), len(data.shape))
    return [softmax(lz, data, axis, kernel)]


def softmax(lz: Legalizer, data: Arg, axis: int, kernel: str = "softmax") -> Arg:
    """Call of the prim func ``softmax`` or ``log_softmax`` along `axis`, counted from the front."""
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


@legalization("relax.nn_layer_norm")
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
        kernel_attrs=_norm_attrs(axes, epsilon) if complete else None,
    )


def _layer_norm(
    prim: PrimBody, axes: Sequence[int], epsilon: float, scale: bool, center: bool
) -> Sequence[ir.Value]:
    rows = Rows(prim, axes)
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

    return rows.map([mean, inverse], prim.ins[1:], result)


@legalization("relax.nn_rms_norm")
def legalize_rms_norm(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    axes, epsilon = _axes(op), op.args.float_attr("epsilon")
    return lz.prim(
        "rms_norm",
        op.operands,
        op.results,
        lambda prim: _rms_norm(prim, axes, epsilon),
        key=(tuple(axes), epsilon),
        kernel="rms_norm",
        kernel_attrs=_norm_attrs(axes, epsilon),
    )


def _rms_norm(prim: PrimBody, axes: Sequence[int], epsilon: float) -> Sequence[ir.Value]:
    rows = Rows(prim, axes)
    squares = rows.reduce([], 0.0, lambda x, total: arith.addf(total, arith.mulf(x, x)))
    inverse = rows.inverse_root(squares, epsilon)
    return rows.map([inverse], prim.ins[1:], lambda x, inv, weight: arith.mulf(arith.mulf(x, inv), weight))


class Rows:
    """Steps of a computation on the rows of a prim func's first input, a row being what lies along `axes`.

    Numbers are computed in the accumulator of the data's dtype; a tensor of one number per row has the data's
    shape without `axes`.
    """

    def __init__(self, prim: PrimBody, axes: Sequence[int]) -> None:
        dtype, shape = prim.in_infos[0].dtype, prim.in_infos[0].shape
        assert dtype is not None and shape is not None
        self._prim, self._axes, self._shape = prim, list(axes), shape
        self._dtype, self._wide = dtype, accumulator(dtype)
        self._outer = [axis for axis in range(len(shape)) if axis not in axes]
        self._row_map = projection(len(shape), self._outer)

    def reduce(
        self, per_row: Sequence[ir.Value], start: float, step: Callable[..., Scalar]
    ) -> ir.Value:
        """``step(x, *numbers of the row, total)`` folded over each row from `start`."""
        rank = len(self._shape)
        out = linalg.fill(arith.constant(self._wide.storage_type(), start), outs=[self._per_row()])
        iterators = ["reduction" if axis in self._axes else "parallel" for axis in range(rank)]
        return generic(
            [self._prim.ins[0], *per_row],
            [identity(rank), *[self._row_map] * len(per_row)],
            [out],
            [self._row_map],
            iterators,
            lambda x, *rest: step(self._widened(x), *rest),
        )[0]

    def map(
        self, per_row: Sequence[ir.Value], along: Sequence[ir.Value], body: Callable[..., Scalar]
    ) -> list[ir.Value]:
        """The output: ``body(x, *numbers of the row, *numbers at the place in the row)``."""
        rank = len(self._shape)

        def scalar(x: Scalar, *rest: Scalar) -> Scalar:
            numbers = [*rest[: len(per_row)], *map(self._widened, rest[len(per_row) : -1])]
            return convert(body(self._widened(x), *numbers), self._wide, self._dtype)

        return generic(
            [self._prim.ins[0], *per_row, *along],
            [identity(rank), *[self._row_map] * len(per_row), *[projection(rank, self._axes)] * len(along)],
            [self._prim.outs[0]],
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
            root = math.sqrt(arith.addf(mean, _constant(mean, epsilon)))
            return arith.divf(_constant(mean, 1.0), root)

        return self._update(totals, inverse)

    def _update(self, values: ir.Value, body: Callable[[Scalar], Scalar]) -> ir.Value:
        rank = len(self._outer)
        return generic([], [], [values], [identity(rank)], ["parallel"] * rank, body)[0]

    def _widened(self, x: Scalar) -> Scalar:
        return convert(x, self._dtype, self._wide)

    def _per_row(self) -> ir.Value:
        sizes = [
            size if isinstance(size, int) else self._prim.dim(self._prim.ins[0], axis)
            for axis, size in enumerate(self._shape)
            if axis in self._outer
        ]
        return tensor.empty(sizes, self._wide.storage_type())

    def _count(self) -> Scalar:
        """Number of elements of a row, as a float."""
        count = self._prim.index(1)
        for axis in self._axes:
            count = arith.muli(count, self._prim.dim(self._prim.ins[0], axis))
        i64 = ir.IntegerType.get_signless(64)
        return arith.sitofp(self._wide.storage_type(), arith.index_cast(i64, count))


def _axes(op: OpCall) -> list[int]:
    return normalize_axes(op.args.op, op.args.ints_attr("axes"), len(op.operands[0].shape))


def _i64(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def _norm_attrs(axes: Sequence[int], epsilon: float) -> dict[str, ir.Attribute]:
    return {
        "axes": ir.ArrayAttr.get([_i64(axis) for axis in axes]),
        "epsilon": ir.FloatAttr.get(ir.F64Type.get(), epsilon),
    }
