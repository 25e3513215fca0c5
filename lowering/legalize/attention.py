"""Legalisation of attention: one prim func, which names a kernel that may replace it.

Its linalg body, two contractions around a softmax, defines the semantics; it reads every operand in place.
"""

from __future__ import annotations

import math as pymath
from collections.abc import Callable, Sequence

from relax_mlir.dialects.nn import head_group
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.mlir import arith, ir, linalg, math, tensor
from relax_mlir.scalars.arithmetic import Scalar, compute_dtype, const, narrow, widen
from relax_mlir.scalars.linalg_builders import broadcast_map, generic, identity, projection
from relax_mlir.symbolic import Dim


@legalization("relax.nn_attention", "relax.nn_attention_bias")
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
        dtype = prim.in_infos[0].dtype
        query, key = prim.in_infos[0].known_shape, prim.in_infos[1].known_shape
        assert dtype is not None and query is not None and key is not None
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
        last = self.prim.out_infos[0].known_shape
        assert last is not None
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
            maps.append(broadcast_map(self.prim.in_infos[3].known_shape or (), self.shape))
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
        query = self.prim.in_infos[0].known_shape
        assert query is not None
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
