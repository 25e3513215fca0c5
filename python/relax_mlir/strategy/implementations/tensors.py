"""Ops on tensors by topi: indexing, layouts, sorting, einsum, reductions, statistics, random numbers, windows."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic, topi
from relax_mlir.dialects.linear_algebra import ELLIPSIS, parsed
from relax_mlir.dialects.rearrange import parse_index_map
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.types import Tensor as TensorInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations import by_expression
from relax_mlir.te import Tensor, functions
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.topi.common import computed, size
from relax_mlir.topi.indexing import gather_vectors, scatter_vectors
from relax_mlir.topi.sampling import multinomial_from_uniform as drawn
from relax_mlir.topi.sampling import random_words
from relax_mlir.topi.tag import INJECTIVE

# Gather elements by tensors of indices, by topi.


@by_expression
def gather_elements(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """One element for each index, along an axis."""
    return topi.gather(inputs[0], attrs.axis, inputs[1])


@by_expression
def gather_nd(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Elements or slices selected by index vectors."""
    return gather_vectors(inputs[0], inputs[1], attrs.batch_dims)


@by_expression
def index_tensor(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Elements or slices selected by broadcast index tensors."""
    return topi.index_tensor(inputs[0], inputs[1:])


# Scatter updates by tensors of indices, by topi.


@by_expression
def scatter_elements(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """One update for each index, along an axis."""
    data, indices, updates = inputs
    return topi.scatter_elements(data, indices, updates, attrs.axis, attrs.reduction)


@by_expression
def scatter_nd(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Updates of elements or slices selected by index vectors."""
    data, indices, updates = inputs
    return scatter_vectors(data, indices, updates, attrs.reduction)


@by_expression
def index_put(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Write values, which are broadcast, at index tensors."""
    data, *places, values = inputs
    return topi.index_put(data, places, values, attrs.accumulate)


# Reversed sequences, by topi.


@by_expression
def reverse_sequence(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Reverse the first elements along an axis, as many as the length of each sequence."""
    return topi.reverse_sequence(inputs[0], inputs[1], attrs.seq_axis, attrs.batch_axis)


# Layout transformation, as a tensor expression.


@by_expression
def layout_transform(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Compute the source index of each element of the result; indices out of range are padding."""
    (x,) = inputs
    mapping = parse_index_map("layout_transform", attrs.index_map)
    assert isinstance(out_type, TensorInfo) and out_type.known_shape is not None

    def value(*i: Expr) -> Expr:
        places: list[Expr] = []
        tests: list[Expr] = []
        for axis, dim in enumerate(x.shape):
            place: Expr = as_expr(0)
            for result, digits in enumerate(mapping.results):
                for digit in digits:
                    if digit.axis != axis:
                        continue
                    part = i[result] if digit.scale == 1 else i[result] // digit.scale
                    if digit is not digits[0]:
                        part = part % (digit.extent or 1)
                    place = place + part * digit.lower if digit.lower > 1 else place + part
            places.append(place)
            if not mapping.is_full(axis, dim):
                tests.append(place < size(dim))
        if not tests:
            return x(*places)
        return functions.if_then_else(
            functions.all(*tests), x(*places), functions.const(attrs.pad_value, x.dtype)
        )

    return computed(out_type.known_shape, value, "T_layout_transform", INJECTIVE)


# Sort, argsort and topk by topi.


@by_expression
def sort(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The elements sorted along an axis."""
    return topi.sort(inputs[0], attrs.axis, is_ascend=not attrs.descending)


@by_expression
def argsort(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The indices that sort along an axis."""
    return topi.argsort(inputs[0], attrs.axis, not attrs.descending, attrs.dtype)


@by_expression
def topk(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor] | Tensor:
    """The first elements in sorted order along an axis, and their indices."""
    return topi.topk(inputs[0], attrs.k, attrs.axis, attrs.ret_type, not attrs.largest, attrs.dtype)


# einsum by topi, two tensors at a time.

LOW_PRECISION = ("float16", "bfloat16")


@by_expression
def einsum(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Multiply the tensors pairwise; each step sums over the axes that neither later operands nor the result use."""
    found = parsed(attrs.subscripts, len(inputs))
    dtype = inputs[0].dtype
    is_wide = len(inputs) > 2 and dtype in LOW_PRECISION
    tensors = [topi.cast(tensor, "float32") for tensor in inputs] if is_wide else list(inputs)
    total, text = tensors[0], found.operands[0]
    for number in range(1, len(tensors) - 1):
        rest = "".join((*found.operands[number + 1 :], found.result))
        pair = text + found.operands[number]
        kept = "".join(dict.fromkeys(c for c in pair if c in rest and c != "."))
        kept = (ELLIPSIS if ELLIPSIS in pair else "") + kept
        total = topi.einsum(f"{text},{found.operands[number]}->{kept}", total, tensors[number])
        text = kept
    if len(tensors) == 1:
        return topi.einsum(f"{text}->{found.result}", total)
    total = topi.einsum(f"{text},{found.operands[-1]}->{found.result}", total, tensors[-1])
    return topi.cast(total, dtype) if is_wide else total


# Reductions of several steps, by topi.


@by_expression
def logsumexp(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """logsumexp; 16-bit floats are computed in float32."""
    (x,) = inputs
    if x.dtype not in ("float16", "bfloat16"):
        return topi.logsumexp(x, attrs.axis, attrs.keepdims)
    return topi.cast(topi.logsumexp(topi.cast(x, "float32"), attrs.axis, attrs.keepdims), x.dtype)


# Medians, binary searches, and samples of distributions, by topi.


@by_expression
def median(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor] | Tensor:
    """The median and its index."""
    return topi.median(inputs[0], attrs.axis, attrs.keepdims)


@by_expression
def searchsorted(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Insertion positions by binary search."""
    return topi.searchsorted(inputs[0], inputs[1], attrs.right, attrs.dtype)


@by_expression
def bucketize(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Bucket indices by binary search."""
    assert isinstance(out_type, TensorInfo)
    return topi.bucketize(inputs[0], inputs[1], attrs.right, str(out_type.dtype))


@by_expression
def multinomial_from_uniform(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Sample by cumulative probabilities."""
    prob, sample, rows = inputs
    return drawn(prob, sample, rows, attrs.dtype)


# Random integers, by topi.


@by_expression
def words(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor]:
    """Blocks of four random words."""
    return random_words(inputs[0], symbolic.to_dim(attrs.count))


# Window functions, by topi.


@by_expression
def hamming_window(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The Hamming window."""
    size = symbolic.to_dim(attrs.window_size)
    return topi.hamming_window(size, attrs.periodic, attrs.alpha, attrs.beta, attrs.dtype)
