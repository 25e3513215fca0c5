"""Legalisation of batch norm: sums over the channels in training, then one pass over the elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir import symbolic
from relax_mlir.dialects.base import normalize_axis
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.legalize.contraction import zeroed
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.mlir import arith, ir, math
from relax_mlir.scalars.arithmetic import Scalar, compute_dtype, const, convert
from relax_mlir.scalars.linalg_builders import generic, identity, projection
from relax_mlir.symbolic import Dim


@legalization("relax.nn_batch_norm")
def legalize_batch_norm(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    data, gamma, beta, *moving = op.operands
    args, dtype = op.args, _known(data.info.dtype)
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
    dtype = _known(data.info.dtype)
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
    wide, rank = _known(result.dtype), len(ins[0].shape)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        channel = projection(rank, [axis])
        kinds = ["parallel" if i == axis else "reduction" for i in range(rank)]
        maps = [identity(rank), *([channel] * (len(ins) - 1))]
        sums = generic(
            prim.ins, maps, [zeroed(prim)], [channel], kinds, lambda *x: arith.addf(x[-1], term(*x[:-1]))
        )
        number = arith.index_cast(ir.IntegerType.get_signless(64), prim.index(count))
        divisor = arith.sitofp(wide.storage_type(), number)
        return generic([], [], sums, [identity(1)], ["parallel"], lambda total: arith.divf(total, divisor))

    return lz.prim(name, ins, [result], body, key=(axis, str(count)))[0]


def _updated(lz: Legalizer, old: Arg, new: Arg, momentum: float, result: Tensor) -> Arg:
    """Update a moving average after a batch."""
    source, wide, target = _known(old.info.dtype), _known(new.info.dtype), _known(result.dtype)

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
    dtype, rank = _known(data.info.dtype), len(data.shape)
    wide, kinds = compute_dtype(dtype), [_known(p.info.dtype) for p in parameters]

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


def _known(dtype: DType | None) -> DType:
    assert dtype is not None
    return dtype
