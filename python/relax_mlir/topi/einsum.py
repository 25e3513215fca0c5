"""Matrix multiplication, Einstein summation and tensordot."""

from __future__ import annotations

import functools
import operator
import string
from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import reductions
from relax_mlir.te.expressions import Expr, ExprLike
from relax_mlir.te.tensors import Tensor, broadcast_element, broadcast_shape
from relax_mlir.topi.common import axis_of, computed, listed, one_or_listed, require
from relax_mlir.topi.elementwise import add
from relax_mlir.topi.tag import COMM_REDUCE

WHAT = "topi.einsum"
ELLIPSIS = "..."


@dataclass(frozen=True)
class _Operand:
    """A tensor with a name for each axis; axes of the ellipsis have numbers, counted from the last one."""

    tensor: Tensor
    names: tuple[str, ...]


def einsum(subscripts: str, *operand: Tensor) -> Tensor:
    """The sum of products of elements, as NumPy's `einsum`: ``einsum("ij,jk->ik", a, b)``.

    Axes of the same name have the same length. A repeated name in an operand selects its diagonal. Axes that are not in
    the result are summed. An ellipsis denotes all other axes, which are broadcast. Without ``->`` the result
    has the axes of the ellipsis and then those that appear once, in alphabetical order.
    """
    if not isinstance(subscripts, str):
        raise ArgumentError(f"{WHAT}: 'subscripts' is {subscripts!r}, expected text")
    given, arrow, result = subscripts.replace(" ", "").partition("->")
    texts = given.split(",")
    tensors = [require(f"{WHAT}: an operand", tensor) for tensor in operand]
    if len(texts) != len(tensors):
        shown = ", ".join(map(repr, tensors))
        raise ShapeError(f"{WHAT}: '{subscripts}' does not fit the {len(tensors)} operands {shown}")
    operands = [_named(subscripts, text, tensor) for text, tensor in zip(texts, tensors, strict=True)]
    sizes = _sizes(operands)
    broadcast = sorted((name for name in sizes if name.isdigit()), key=int, reverse=True)
    out = _result(subscripts, result if arrow else None, "".join(texts), broadcast)
    unknown = [name for name in out if name not in sizes]
    if unknown or len(set(out)) != len(out):
        raise ArgumentError(f"{WHAT}: the result '{result}' names an axis twice, or one that no operand has")
    summed = {
        name: reductions.reduce_axis((0, size), name if name.isalpha() else f"e{name}")
        for name, size in sizes.items()
        if name not in out
    }

    def value(*i: Expr) -> object:
        at: dict[str, ExprLike] = {**dict(zip(out, i, strict=True)), **summed}
        items = [
            item.tensor(
                *(
                    0 if dim == 1 and sizes[name] != 1 else at[name]
                    for name, dim in zip(item.names, item.tensor.shape, strict=True)
                )
            )
            for item in operands
        ]
        product = functools.reduce(operator.mul, items)
        return reductions.sum(product, list(summed.values())) if summed else product

    return computed([sizes[name] for name in out], value, "T_einsum", COMM_REDUCE)


def _named(subscripts: str, text: str, tensor: Tensor) -> _Operand:
    before, ellipsis, after = text.partition(ELLIPSIS)
    if not all(c in string.ascii_letters for c in before + after):
        raise ArgumentError(f"{WHAT}: the axes of '{subscripts}' are not all letters, and one '...' at most")
    rest = tensor.ndim - len(before) - len(after)
    if rest < 0 or (rest and not ellipsis):
        raise ShapeError(f"{WHAT}: '{text}' of '{subscripts}' does not fit {tensor}")
    return _Operand(tensor, (*before, *(str(rest - 1 - n) for n in range(rest)), *after))


def _result(subscripts: str, text: str | None, letters: str, broadcast: Sequence[str]) -> list[str]:
    """The axes of the result."""
    if text is None:
        plain = letters.replace(ELLIPSIS, "")
        return [*broadcast, *sorted(name for name in set(plain) if plain.count(name) == 1)]
    before, ellipsis, after = text.partition(ELLIPSIS)
    if not all(c in string.ascii_letters for c in before + after):
        raise ArgumentError(f"{WHAT}: the axes of '{subscripts}' are not all letters, and one '...' at most")
    return [*before, *(broadcast if ellipsis else ()), *after]


def _sizes(operands: Sequence[_Operand]) -> dict[str, Dim]:
    """The length of each axis; axes of the ellipsis may have length 1 in some operands."""
    sizes: dict[str, Dim] = {}
    for item in operands:
        for name, dim in zip(item.names, item.tensor.shape, strict=True):
            known = sizes.setdefault(name, dim)
            if name.isdigit() and known == 1:
                sizes[name] = dim
            elif not (name.isdigit() and dim == 1) and not symbolic.prove_equal(known, dim):
                label = f"'{name}'" if name.isalpha() else "of the ellipsis"
                raise ShapeError(f"{WHAT}: the axis {label} is {known} and {dim}, not known to be equal")
    return sizes


def tensordot(a: Tensor, b: Tensor, axes: int | Sequence[int] | Sequence[Sequence[int]]) -> Tensor:
    """The sum of products along axes, as NumPy's: the last ones of `a` and the first of `b`, or two lists of them."""
    what = "topi.tensordot"
    first, second = require(f"{what}: 'a'", a), require(f"{what}: 'b'", b)
    if isinstance(axes, int):
        if not 0 <= axes <= min(first.ndim, second.ndim):
            raise ShapeError(f"{what}: {axes} axes of {first} and {second}")
        pairs = [list(range(first.ndim - axes, first.ndim)), list(range(axes))]
    else:
        if len(listed(f"{what}: 'axes'", axes)) != 2:
            raise ArgumentError(f"{what}: 'axes' is {axes!r}, expected a number, or two lists")
        pairs = [one_or_listed(f"{what}: 'axes'", item) for item in axes]
    own = [[axis_of(what, axis, t.ndim) for axis in pair] for pair, t in zip(pairs, (first, second), strict=True)]
    if len(own[0]) != len(own[1]) or any(len(set(pair)) != len(pair) for pair in own):
        raise ShapeError(f"{what}: the axes {pairs} are not as many of both, each once")
    for n, m in zip(*own, strict=True):
        if not symbolic.prove_equal(first.shape[n], second.shape[m]):
            raise ShapeError(f"{what}: axis {n} of {first} and axis {m} of {second} are not known to be equal")
    taps = [reductions.reduce_axis((0, first.shape[n]), f"k{n}") for n in own[0]]
    kept = [[n for n in range(t.ndim) if n not in pair] for t, pair in zip((first, second), own, strict=True)]

    def value(*i: Expr) -> object:
        at: list[dict[int, Expr]] = [dict(zip(pair, taps, strict=True)) for pair in own]
        at[0] |= dict(zip(kept[0], i, strict=False))
        at[1] |= dict(zip(kept[1], i[len(kept[0]) :], strict=True))
        items = [t(*(where[n] for n in range(t.ndim))) for t, where in zip((first, second), at, strict=True)]
        return reductions.sum(items[0] * items[1], taps) if taps else items[0] * items[1]

    shape = [*(first.shape[n] for n in kept[0]), *(second.shape[n] for n in kept[1])]
    return computed(shape, value, "T_tensordot", COMM_REDUCE)


MATMUL = "matmul"
"""The tag of matmuls."""


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Tensor:
    """The matmul of the last two dimensions, with broadcast batch dimensions; `transp_a`, `transp_b`: transposed."""
    what = "topi.matmul"
    left, right = require(f"{what}: 'a'", a), require(f"{what}: 'b'", b)
    if left.ndim < 2 or right.ndim < 2:
        raise ShapeError(f"{what}: {left} and {right} are not both of two dimensions or more")
    rows, inner = left.shape[-2:][::-1] if transp_a else left.shape[-2:]
    other, columns = right.shape[-2:][::-1] if transp_b else right.shape[-2:]
    if not symbolic.prove_equal(inner, other):
        raise ShapeError(f"{what}: {left} and {right} are combined along {inner} and {other}, not known to be equal")
    before = broadcast_shape(what, [left.shape[:-2], right.shape[:-2]])
    k = reductions.reduce_axis((0, inner), "k")

    def at(tensor: Tensor, batch: tuple[Expr, ...], row: Expr, column: Expr) -> Expr:
        return broadcast_element(tensor, [*before, *tensor.shape[-2:]], [*batch, row, column])

    def value(*i: Expr) -> object:
        batch, row, column = i[:-2], i[-2], i[-1]
        x = at(left, batch, k, row) if transp_a else at(left, batch, row, k)
        y = at(right, batch, column, k) if transp_b else at(right, batch, k, column)
        return reductions.sum(x * y, k)

    return computed([*before, rows, columns], value, "T_matmul", MATMUL)


def batch_matmul(tensor_a: Tensor, tensor_b: Tensor, transpose_a: bool = False, transpose_b: bool = True) -> Tensor:
    """The batched matmul of two tensors of three dimensions; by default the second one is transposed."""
    for name, tensor in (("tensor_a", tensor_a), ("tensor_b", tensor_b)):
        if require(f"topi.nn.batch_matmul: '{name}'", tensor).ndim != 3:
            raise ShapeError(f"topi.nn.batch_matmul: {tensor} is not of three dimensions")
    return matmul(tensor_a, tensor_b, transpose_a, transpose_b)


def dense(
    tensor_a: Tensor,
    tensor_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Tensor:
    """``tensor_a @ tensor_b.T + bias``: `tensor_b` are weights of shape ``(outputs, inputs)``.

    `out_dtype`: operands are converted to it first, so that it is also the accumulator dtype.
    """
    what = "topi.nn.dense"
    left, right = require(f"{what}: 'tensor_a'", tensor_a), require(f"{what}: 'tensor_b'", tensor_b)
    if out_dtype is not None:
        wanted = dtypes.dtype(out_dtype).name
        left, right = (t if t.dtype == wanted else t.astype(wanted) for t in (left, right))
    found = matmul(left, right, transpose_a, transpose_b)
    return found if bias is None else add(found, require(f"{what}: 'bias'", bias))
