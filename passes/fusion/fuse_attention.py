"""Pass ``fuse-attention``: recognise attention that is written with matmul and softmax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.traits import EndsBlock, has_trait
from relax_mlir.dialects.value import Value
from relax_mlir.mlir import func, ir
from relax_mlir.passes.shapes import RemoveRedundantReshape
from relax_mlir.rewrite import Binding, ExprMutator
from relax_mlir.symbolic import Dim
from relax_mlir.transform import FunctionPass, PassContext

HEADS_FIRST, KEY_COLUMNS = [0, 2, 1, 3], [0, 2, 3, 1]
"""Axes from (batch, sequence, heads, size) to (batch, heads, sequence, size) and (batch, heads, size, sequence)."""


class FuseAttention(FunctionPass):
    """Replace ``matmul(softmax(matmul(q, k^T) * scale + mask), v)`` by `attention` or `attention_bias`.

    The scale (a scalar constant factor or divisor) and the mask (which must broadcast to the scores) are optional. If
    q, k and v are transposed from (batch, sequence, heads, size) so that heads come first, attention takes the
    untransposed tensors, and the transpositions disappear. Otherwise each matrix of the operands becomes an attention
    of one head. Nothing is replaced if scores or weights have other uses, if softmax is not over the keys, or if
    batches are broadcast.
    """

    name: ClassVar[str] = "fuse-attention"
    opt_level: ClassVar[int] = 2

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        if _Fuse().visit(function):
            RemoveRedundantReshape().run_on_function(function, module, ctx)


@dataclass(frozen=True)
class _Parts:
    """A match of ``softmax(query @ columns * scale + mask) @ value``; `columns` is the transposed key."""

    query: Value
    columns: Binding
    value: Value
    scale: float
    mask: Value | None


class _Fuse(ExprMutator):
    def visit_matmul(self, binding: Binding) -> Value | None:
        parts = self._parts(binding)
        if parts is None:
            return None
        result = self._transposed(parts)
        return result if result is not None else self._by_matrix(parts)

    def _parts(self, binding: Binding) -> _Parts | None:
        weights = self._only_used_here(binding.operands[0])
        if weights is None or weights.op != "nn_softmax" or not _plain(binding):
            return None
        scores = weights.operands[0]
        shape = scores.tensor_info.known_shape
        if shape is None or weights.attrs["axis"] not in (-1, len(shape) - 1):
            return None
        product, mask = self._product(scores), None
        if product is None:
            product, mask = self._summand(scores, shape)
        if product is None or (mask is not None and mask.tensor_info.known_shape is None):
            return None
        made, scale = product
        columns = self.definition(made.operands[1])
        if columns is None or columns.op != "permute_dims":
            return None
        return _Parts(made.operands[0], columns, binding.operands[1], scale, mask)

    def _only_used_here(self, value: Value) -> Binding | None:
        """The op that defines a value with one use, else None."""
        made = self.definition(value)
        if made is None or any(has_trait(use.owner.operation, EndsBlock) for use in value.ssa.uses):
            return None
        return made if len(self.users(value)) == 1 else None

    def _summand(self, total: Value, scores: Sequence[Dim]) -> tuple[tuple[Binding, float] | None, Value | None]:
        """The scaled product in a sum, with its factor, and the mask that is added to it."""
        made = self._only_used_here(total)
        if made is None or made.op != "add":
            return None, None
        for product, mask in (made.operands, reversed(made.operands)):
            found = self._product(product)
            if found is not None and _equal(product.tensor_info.known_shape, scores):
                return found, mask
        return None, None

    def _product(self, value: Value) -> tuple[Binding, float] | None:
        """The matrix product in `value` and its scale factor, or None."""
        made, factor = self._only_used_here(value), 1.0
        if made is not None and made.op in ("multiply", "divide"):
            made, factor = self._scaled(made)
        if made is None or made.op != "matmul" or not _plain(made) or not isfinite(factor):
            return None
        return made, factor

    def _scaled(self, binding: Binding) -> tuple[Binding | None, float]:
        """The op that a constant factor scales, and the factor."""
        left, right = binding.operands
        for product, constant in ((left, right), (right, left)):
            number, shape = self.constant_value(constant), product.tensor_info.known_shape
            if number is None or shape is None or number.size != 1 or number.ndim > len(shape):
                continue
            factor = float(number.reshape(()))
            if binding.op == "multiply":
                return self._only_used_here(product), factor
            if constant is right and factor != 0:
                return self._only_used_here(product), 1.0 / factor
        return None, 0.0

    def _transposed(self, parts: _Parts) -> Value | None:
        """Attention of the untransposed tensors, if all are transposed from (batch, sequence, heads, size)."""
        if parts.query.tensor_info.ndim != 4:
            return None
        query = self._source(parts.query, HEADS_FIRST)
        key, value = self._source(parts.columns.result, KEY_COLUMNS), self._source(parts.value, HEADS_FIRST)
        if query is None or key is None or value is None:
            return None
        return R.permute_dims(R.nn.attention(query, key, value, parts.mask, parts.scale), HEADS_FIRST)

    def _source(self, value: Value, wanted: list[int]) -> Value | None:
        """The value of which `value` is a transposition by the axes `wanted`, in one or several steps."""
        axes = list(range(4))
        while (made := self.definition(value)) is not None and made.op == "permute_dims":
            axes = [_axes(made)[axis] for axis in axes]
            value = made.operands[0]
            if axes == wanted:
                return value
        return None

    def _by_matrix(self, parts: _Parts) -> Value | None:
        """Attention of one head for each matrix; all operands are views."""
        *batch, queries, size = _shape(parts.query)
        axes = _axes(parts.columns)
        rank = len(axes)
        if axes != [*range(rank - 2), rank - 1, rank - 2]:
            return None
        key, value = parts.columns.operands[0], parts.value
        count = symbolic.product(batch)
        mask = None
        if parts.mask is not None:
            lead = _shape(parts.mask)[:-2]
            rows = [1, 1, *_shape(parts.mask)][-2:]
            full = _equal(lead, batch)
            if not full and any(dim != 1 for dim in lead):
                return None
            mask = R.reshape(parts.mask, (count if full else 1, 1, *rows))
        keys, width = _shape(value)[-2:]
        result = R.nn.attention(
            R.reshape(parts.query, (count, queries, 1, size)),
            R.reshape(key, (count, keys, 1, size)),
            R.reshape(value, (count, keys, 1, width)),
            mask,
            parts.scale,
        )
        return R.reshape(result, (*batch, queries, width))


def _plain(binding: Binding) -> bool:
    """True for a product of two matrices of known shapes, in their dtype, without batch broadcasting."""
    infos = [value.tensor_info for value in (*binding.operands, binding.result)]
    dtype = infos[0].dtype
    if dtype is None or any(info.dtype != dtype for info in infos):
        return False
    left, right = (info.known_shape for info in infos[:2])
    if left is None or right is None or len(left) < 2 or len(right) < 2:
        return False
    return _equal(left[:-2], right[:-2])


def _shape(value: Value) -> tuple[Dim, ...]:
    shape = value.tensor_info.known_shape
    assert shape is not None
    return shape


def _equal(first: Sequence[Dim] | None, second: Sequence[Dim]) -> bool:
    return (
        first is not None
        and len(first) == len(second)
        and all(symbolic.prove_equal(x, y) for x, y in zip(first, second, strict=True))
    )


def _axes(binding: Binding) -> list[int]:
    """The axes of a `permute_dims`, as non-negative integers."""
    rank = len(_shape(binding.operands[0]))
    given: list[int] | None = binding.attrs["axes"]
    return list(reversed(range(rank))) if given is None else [axis % rank for axis in given]
