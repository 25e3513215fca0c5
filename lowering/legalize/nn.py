"""Legalisation of activations and normalisations.

Softmax and the normalisations are one prim func each, which names a kernel that may replace it; the linalg body
defines the semantics. It reads the data once per step and stores only one scalar per row between steps.
"""

from __future__ import annotations

import math as pymath
from collections.abc import Callable, Sequence

from relax_mlir.dialects.base import normalize_axes, normalize_axis
from relax_mlir.dialects.dtypes import DType
from relax_mlir.lowering.legalize.elementwise import register
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.lowering.legalize.window import sizes_of
from relax_mlir.mlir import arith, ir, linalg, math, tensor
from relax_mlir.scalars.arithmetic import (
    Scalar,
    ScalarRule,
    add,
    compare,
    compute_dtype,
    const,
    maximum,
    multiply,
    narrow,
    widen,
    widened,
)
from relax_mlir.scalars.linalg_builders import generic, identity, projection


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


@legalization("relax.nn_softmax", "relax.nn_log_softmax")
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
        kernel_attrs=norm_attrs(axes, epsilon) if complete else None,
    )


def _layer_norm(
    prim: PrimBody, axes: Sequence[int], epsilon: float, scale: bool, center: bool
) -> Sequence[ir.Value]:
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
        dtype = prim.in_infos[0].dtype
        assert dtype is not None
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
