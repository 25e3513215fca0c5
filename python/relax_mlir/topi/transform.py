"""Linear indices, sliding windows, layout transformations, and tensors shaped like others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.te.own_loops import Fresh, LoopOp, element, grid
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.binary import add
from relax_mlir.topi.common import (
    axes_of,
    computed,
    dims_of,
    index_tensor_of,
    listed,
    product,
    require,
    require_equal,
    size,
)
from relax_mlir.topi.scatter import SCATTER, counted_index
from relax_mlir.topi.tag import BROADCAST, ELEMWISE, INJECTIVE


def unravel_index(indices: Tensor, shape: Tensor | Sequence[Any]) -> Tensor:
    """Convert row-major linear indices to indices of a tensor of `shape`; a new first dimension lists the dimensions.

    `shape` is a tensor of integers, or sizes.
    """
    what = "topi.unravel_index"
    places = index_tensor_of(f"{what}: 'indices'", indices)
    if isinstance(shape, Tensor):
        sizes = index_tensor_of(f"{what}: 'shape'", shape)
        rank = sizes.shape[0] if sizes.ndim == 1 else None
        if not isinstance(rank, int):
            raise ShapeError(f"{what}: 'shape' is {sizes}, expected one dimension of known length")
        extents: list[Any] = [sizes(number).astype("int64") for number in range(rank)]
    else:
        extents = [as_expr(size(dim)).astype("int64") for dim in dims_of(f"{what}: 'shape'", shape)]
        rank = len(extents)

    def value(d: Expr, *i: Expr) -> Expr:
        rest = places(*i).astype("int64")
        found: Expr = functions.const(0, "int64")
        for number in reversed(range(rank)):
            own = rest % extents[number] if number else rest
            found = functions.select(d == number, own, found)
            rest = rest // extents[number]
        return found.astype(places.dtype)

    return computed([rank, *places.shape], value, "T_unravel_index", INJECTIVE)


def sliding_window(data: Tensor, axis: int, window_shape: Sequence[int], strides: Sequence[int]) -> Tensor:
    """All windows over the dimensions from `axis` on: their number along each dimension, then the window."""
    what = "topi.sliding_window"
    tensor = require(f"{what}: 'data'", data)
    if not isinstance(axis, int) or not 0 <= axis <= tensor.ndim:
        raise ShapeError(f"{what}: axis {axis!r} of a tensor of {tensor.ndim} dimensions")
    rank = tensor.ndim - axis
    given = [
        *listed(f"{what}: 'window_shape'", window_shape),
        *listed(f"{what}: 'strides'", strides),
    ]
    if (
        len(window_shape) != rank
        or len(strides) != rank
        or not all(isinstance(n, int) and n > 0 for n in given)
    ):
        raise ArgumentError(
            f"{what}: {window_shape!r} and {strides!r} are not {rank} integers from 1 on each"
        )
    counts = [
        symbolic.maximum(symbolic.floordiv(dim - extent, step) + 1, 0)
        for dim, extent, step in zip(tensor.shape[axis:], window_shape, strides, strict=True)
    ]

    def value(*i: Expr) -> Expr:
        outer, inner = i[axis : axis + rank], i[axis + rank :]
        places = [a * step + b for a, b, step in zip(outer, inner, strides, strict=True)]
        return tensor(*i[:axis], *places)

    return computed([*tensor.shape[:axis], *counts, *window_shape], value, "T_sliding_window", INJECTIVE)


def sparse_to_dense(
    sparse_indices: Tensor, output_shape: Sequence[Any], sparse_values: Tensor, default_value: float = 0
) -> Tensor:
    """A tensor of `default_value` with values at given indices.

    Args:
        sparse_indices: integers: one index, one for each value, or a row of indices for each value.
        output_shape: the shape of the result.
        sparse_values: one for all, or one for each.
        default_value: the value of the other elements.
    """
    what = "topi.sparse_to_dense"
    index, values = (
        index_tensor_of(f"{what}: 'sparse_indices'", sparse_indices),
        require(f"{what}: 'sparse_values'", sparse_values),
    )
    shape = dims_of(f"{what}: 'output_shape'", output_shape)
    rank = index.shape[1] if index.ndim == 2 else 1
    if index.ndim > 2 or values.ndim > 1 or rank != len(shape):
        raise ShapeError(f"{what}: {index} and {values} do not fit {len(shape)} dimensions")
    count = index.shape[0] if index.ndim else 1
    if values.ndim:
        require_equal(f"{what}: 'sparse_values'", values.shape, (count,))

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        at, which = [fresh("i") for _ in shape], fresh("j")
        lines: list[str] = []
        found: list[str] = []
        for number, dim in enumerate(shape):
            own = [[], [which], [which, str(number)]][index.ndim]
            more, place = counted_index(element(ins[0], own), dim, fresh)
            lines += more
            found.append(place)
        return [
            grid(at, shape),
            f"    {element(outs[0], at)} = T.cast({default_value!r}, '{values.dtype}')",
            f"for {which} in range({count}):",
            *(f"    {line}" for line in lines),
            f"    {element(outs[0], found)} = {element(ins[1], [which] if values.ndim else [])}",
        ]

    return LoopOp([index, values], [shape], [values.dtype], body, "T_sparse_to_dense", SCATTER).outputs[0]


def expand_like(a: Tensor, shape_like: Tensor, axis: int | Sequence[int]) -> Tensor:
    """`a` repeated along new dimensions `axis`, so that it has the shape of another tensor."""
    what = "topi.expand_like"
    tensor, like = require(f"{what}: 'a'", a), require(f"{what}: 'shape_like'", shape_like)
    new = axes_of(what, axis, like.ndim)
    kept = [number for number in range(like.ndim) if number not in new]
    require_equal(what, tensor.shape, [like.shape[number] for number in kept])
    return computed(
        like.shape, lambda *i: tensor(*(i[number] for number in kept)), "T_expand_like", BROADCAST
    )


def elemwise_sum(xs: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of one shape."""
    if not listed("topi.elemwise_sum: 'xs'", xs):
        raise ArgumentError("topi.elemwise_sum: there is no tensor")
    total = require("topi.elemwise_sum: a tensor", xs[0])
    for other in xs[1:]:
        require_equal("topi.elemwise_sum", total.shape, require("topi.elemwise_sum: a tensor", other).shape)
        total = add(total, other)
    return total


def shape(array: Tensor, dtype: str = "int32") -> Tensor:
    """The sizes of a tensor, as a tensor."""
    tensor, kind = require("topi.shape: 'array'", array), _integer("topi.shape", dtype)

    def value(d: Expr) -> Expr:
        found: Expr = functions.const(0, kind)
        for number, dim in enumerate(tensor.shape):
            found = functions.select(d == number, as_expr(size(dim)).astype(kind), found)
        return found

    return computed((tensor.ndim,), value, "T_shape", INJECTIVE)


def tensor_size(array: Tensor, dtype: str = "int32") -> Tensor:
    """The number of elements of a tensor, as a tensor."""
    tensor, kind = require("topi.tensor_size: 'array'", array), _integer("topi.tensor_size", dtype)
    return computed((), lambda: as_expr(size(product(tensor.shape))).astype(kind), "T_tensor_size", INJECTIVE)


def _integer(what: str, dtype: str) -> str:
    kind = dtypes.dtype(dtype)
    if not kind.is_integer:
        raise DTypeError(f"{what}: 'dtype' is {kind}, expected an integer")
    return kind.name


def fixed_point_multiply(x: Tensor, multiplier: int, shift: int) -> Tensor:
    """``x * multiplier * 2^(shift - 31)`` of int32, rounded; ties round up."""
    what = "topi.fixed_point_multiply"
    tensor = require(f"{what}: 'x'", x)
    if tensor.dtype != "int32" or not 0 <= multiplier < 2**31 or not -31 < shift < 31:
        raise ArgumentError(
            f"{what}: {tensor}, {multiplier!r} and {shift!r} are not int32, 31 bits, and less than 31 each way"
        )
    right = 31 - min(shift, 0)

    def value(*i: Expr) -> Expr:
        wide = tensor(*i).astype("int64") << max(shift, 0)
        return ((wide * multiplier + (1 << (right - 1))) >> right).astype("int32")

    return computed(tensor.shape, value, "T_fixed_point_multiply", ELEMWISE)


def layout_transform(array: Tensor, src_layout: str, dst_layout: str) -> Tensor:
    """Convert a tensor to another layout, which may be blocked: ``NCHW`` to ``NCHW16c``.

    Raises:
        ShapeError: a size is not provably divisible by the block.
    """
    what = "topi.layout_transform"
    tensor = require(f"{what}: 'array'", array)
    source, target = _parsed(what, src_layout), _parsed(what, dst_layout)
    if tensor.ndim != len(source) or {n.upper() for n, _ in source} != {n.upper() for n, _ in target}:
        raise ArgumentError(
            f"{what}: {src_layout!r} and {dst_layout!r} are no layouts of {tensor} with the same letters"
        )
    wholes: dict[str, Dim] = {}
    for (letter, factor), dim in zip(source, tensor.shape, strict=True):
        if factor and dim != factor:
            raise ShapeError(f"{what}: the blocks {factor}{letter} of {src_layout!r} are {dim} in {tensor}")
        wholes[letter.upper()] = wholes.get(letter.upper(), 1) * dim
    blocks = {letter.upper(): factor for letter, factor in target if factor}
    result: list[Dim] = []
    for letter, factor in target:
        block = blocks.get(letter, 1)
        if not factor and not symbolic.prove_divisible(wholes[letter], block):
            raise ShapeError(f"{what}: {wholes[letter]} of {tensor} is not known to be divisible by {block}")
        result.append(factor or symbolic.floordiv(wholes[letter], block))
    old = {letter.upper(): factor for letter, factor in source if factor}

    def value(*i: Expr) -> Expr:
        at: dict[str, Expr] = {}
        for (letter, factor), index in zip(target, i, strict=True):
            own = index if factor else index * blocks.get(letter, 1)
            at[letter.upper()] = at[letter.upper()] + own if letter.upper() in at else own
        return tensor(
            *(
                at[letter.upper()] % factor
                if factor
                else at[letter] // old[letter]
                if letter in old
                else at[letter]
                for letter, factor in source
            )
        )

    return computed(result, value, "T_layout_trans", INJECTIVE)


def _parsed(what: str, layout: str) -> list[tuple[str, int]]:
    """The letters of a layout with the block sizes; 0 for letters that are no blocks."""
    found: list[tuple[str, int]] = []
    number = ""
    for c in layout if isinstance(layout, str) else "":
        if c.isdigit():
            number += c
            continue
        found.append((c, int(number or 0)))
        number = ""
    letters = [letter for letter, _ in found]
    whole = {letter for letter, factor in found if letter.isupper() and not factor}
    blocks = {letter for letter, factor in found if letter.islower() and factor}
    fits = len(set(letters)) == len(letters) and len(whole) + len(blocks) == len(found)
    if not found or number or not fits or not {letter.upper() for letter in blocks} <= whole:
        raise ArgumentError(
            f"{what}: {layout!r} is no layout: capitals, and small ones of theirs behind a number"
        )
    return found
