"""Move elements, combine and reshape tensors, and transform layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, UnsupportedError
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.te.tensors import LoopOp, Tensor
from relax_mlir.topi.common import (
    axes_of,
    axis_of,
    computed,
    dim_of,
    dims_of,
    flattened,
    index_tensor_of,
    listed,
    product,
    replaced,
    require,
    require_equal,
    size,
    unflattened,
)
from relax_mlir.topi.elementwise import add
from relax_mlir.topi.indexing import SCATTER, counted_index, held
from relax_mlir.topi.tag import BROADCAST, ELEMWISE, INJECTIVE

MOST_AXES = 64
"""How many dimensions a tensor may get at once; NumPy's arrays have no more."""


def transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The dimensions in another order; reversed by default."""
    tensor = require("topi.transpose: 'a'", a)
    given = list(range(tensor.ndim))[::-1] if axes is None else listed("topi.transpose: 'axes'", axes)
    order = [axis_of("topi.transpose", axis, tensor.ndim) for axis in given]
    if sorted(order) != list(range(tensor.ndim)):
        raise ShapeError(f"topi.transpose: 'axes' is {given}, no order of {tensor.ndim} dimensions")
    shape = [tensor.shape[axis] for axis in order]
    return computed(
        shape, lambda *i: tensor(*(i[order.index(n)] for n in range(tensor.ndim))), "T_transpose", INJECTIVE
    )


def reshape(a: Tensor, newshape: Sequence[Any]) -> Tensor:
    """The elements in row-major order with another shape; one size may be -1.

    Raises:
        ShapeError: the numbers of elements are not provably equal.
    """
    tensor = require("topi.reshape: 'a'", a)
    dims = dims_of("topi.reshape: 'newshape'", newshape)
    shape = _completed(tensor, dims)
    if not symbolic.prove_equal(product(shape), product(tensor.shape)):
        raise ShapeError(
            f"topi.reshape: {product(tensor.shape)} elements of {tensor} do not have the shape "
            f"({', '.join(map(str, dims))}), as far as is known"
        )
    if _without_units(shape) == _without_units(tensor.shape):

        def same(*i: Expr) -> Expr:
            moved = iter([index for index, dim in zip(i, shape, strict=True) if dim != 1])
            return tensor(*(0 if dim == 1 else next(moved) for dim in tensor.shape))

        return computed(shape, same, "T_reshape", INJECTIVE)
    return computed(shape, lambda *i: tensor(*unflattened(flattened(i, shape), tensor.shape)), "T_reshape", INJECTIVE)


def _without_units(shape: Sequence[Dim]) -> list[Dim]:
    return [dim for dim in shape if dim != 1]


def _completed(tensor: Tensor, dims: Sequence[Dim]) -> list[Dim]:
    open_ = [number for number, dim in enumerate(dims) if dim == -1]
    if not open_:
        return list(dims)
    if len(open_) > 1:
        raise ShapeError("topi.reshape: 'newshape' has -1 more than once")
    known = product([dim for dim in dims if dim != -1])
    if known == 0:
        raise ShapeError("topi.reshape: -1 beside a size of 0 may be any size")
    return [symbolic.floordiv(product(tensor.shape), known) if dim == -1 else dim for dim in dims]


def squeeze(a: Tensor, axis: int | Sequence[int] | None = None) -> Tensor:
    """The tensor without dimensions of size 1: all of them, or those of `axis`."""
    tensor = require("topi.squeeze: 'a'", a)
    chosen = (
        [n for n, dim in enumerate(tensor.shape) if dim == 1]
        if axis is None
        else axes_of("topi.squeeze", axis, tensor.ndim)
    )
    for number in chosen:
        if tensor.shape[number] != 1:
            raise ShapeError(f"topi.squeeze: dimension {number} of {tensor} is not known to be 1")
    shape = [dim for number, dim in enumerate(tensor.shape) if number not in chosen]

    def value(*i: Expr) -> Expr:
        rest = iter(i)
        return tensor(*(0 if number in chosen else next(rest) for number in range(tensor.ndim)))

    return computed(shape, value, "T_squeeze", INJECTIVE)


def expand_dims(a: Tensor, axis: int, num_newaxis: int = 1) -> Tensor:
    """Insert `num_newaxis` dimensions of size 1 before dimension `axis`."""
    tensor = require("topi.expand_dims: 'a'", a)
    place = axis_of("topi.expand_dims", axis, tensor.ndim + 1)
    if not isinstance(num_newaxis, int) or not 0 <= num_newaxis <= MOST_AXES:
        raise ArgumentError(f"topi.expand_dims: 'num_newaxis' is {num_newaxis!r}, expected 0 to {MOST_AXES}")
    shape = [*tensor.shape[:place], *[1] * num_newaxis, *tensor.shape[place:]]
    return computed(shape, lambda *i: tensor(*i[:place], *i[place + num_newaxis :]), "T_expand_dims", INJECTIVE)


def _together(what: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    found = [require(f"{what}: a tensor", tensor) for tensor in listed(f"{what}: the tensors", tensors)]
    if not found:
        raise ArgumentError(f"{what}: there is no tensor")
    if len({tensor.dtype for tensor in found}) > 1:
        raise DTypeError(f"{what}: the tensors have dtypes {', '.join(t.dtype for t in found)}; cast them to one")
    return found


def concatenate(a_tuple: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Concatenate tensors along an axis."""
    tensors = _together("topi.concatenate", a_tuple)
    first = tensors[0]
    place = axis_of("topi.concatenate", axis, first.ndim)
    for other in tensors[1:]:
        same = other.ndim == first.ndim and all(
            number == place or symbolic.prove_equal(*pair)
            for number, pair in enumerate(zip(first.shape, other.shape, strict=True))
        )
        if not same:
            raise ShapeError(f"topi.concatenate: {first} and {other} differ beside dimension {place}")
    ends: list[Dim] = []
    for tensor in tensors:
        ends.append((ends[-1] if ends else 0) + tensor.shape[place])

    def value(*i: Expr) -> Expr:
        begins = [0, *ends[:-1]]
        found = tensors[-1](*replaced(i, place, i[place] - size(begins[-1])))
        for tensor, begin, end in reversed(list(zip(tensors[:-1], begins, ends, strict=False))):
            own = tensor(*replaced(i, place, i[place] - size(begin)))
            found = functions.if_then_else(i[place] < size(end), own, found)
        return found

    shape = [*first.shape[:place], ends[-1], *first.shape[place + 1 :]]
    return computed(shape, value, "T_concat", INJECTIVE)


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Stack tensors of the same shape along a new axis."""
    found = _together("topi.stack", tensors)
    place = axis_of("topi.stack", axis, found[0].ndim + 1)
    return concatenate([expand_dims(tensor, place) for tensor in found], place)


def split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:  # noqa: ANN401 - see below
    """Split a tensor along an axis into a number of equal sections, or at a list of indices.

    Raises:
        ShapeError: the size is not provably divisible.
    """
    tensor = require("topi.split: 'ary'", ary)
    place = axis_of("topi.split", axis, tensor.ndim)
    whole = tensor.shape[place]
    if isinstance(indices_or_sections, list | tuple):
        cuts = [held(dim, whole) for dim in dims_of("topi.split: 'indices_or_sections'", indices_or_sections)]
        begins, ends = [0, *cuts], [*cuts, whole]
    else:
        count = dim_of("topi.split: 'indices_or_sections'", indices_or_sections)
        if not isinstance(count, int) or count < 1 or not symbolic.prove_divisible(whole, count):
            raise ShapeError(f"topi.split: {whole} is not known to be divisible in {count} parts")
        part = symbolic.floordiv(whole, count)
        begins, ends = [part * n for n in range(count)], [part * (n + 1) for n in range(count)]

    def made(begin: Dim, end: Dim) -> Tensor:
        length = symbolic.maximum(end - begin, 0)
        shape = [*tensor.shape[:place], length, *tensor.shape[place + 1 :]]
        return computed(shape, lambda *i: tensor(*replaced(i, place, i[place] + size(begin))), "T_split", INJECTIVE)

    return [made(begin, end) for begin, end in zip(begins, ends, strict=True)]


def tile(a: Tensor, reps: Any) -> Tensor:  # noqa: ANN401 - a number of repeats, or a list of them
    """Repeat the whole tensor along its last dimensions, or along new ones; `reps` are the repeats."""
    tensor, counts = require("topi.tile: 'a'", a), dims_of("topi.tile: 'reps'", reps)
    rank = max(tensor.ndim, len(counts))
    old = [*[1] * (rank - tensor.ndim), *tensor.shape]
    times = [*[1] * (rank - len(counts)), *counts]
    shape = [dim * count for dim, count in zip(old, times, strict=True)]

    def value(*i: Expr) -> Expr:
        own = list(zip(i, old, times, strict=True))[rank - tensor.ndim :]
        return tensor(*(index if count == 1 else index % size(dim) for index, dim, count in own))

    return computed(shape, value, "T_tile", INJECTIVE)


def repeat(a: Tensor, repeats: Any, axis: int) -> Tensor:  # noqa: ANN401 - a size
    """Repeat every element `repeats` times along an axis."""
    tensor = require("topi.repeat: 'a'", a)
    place, count = axis_of("topi.repeat", axis, tensor.ndim), dim_of("topi.repeat: 'repeats'", repeats)
    if isinstance(count, int) and count < 0:
        raise ArgumentError(f"topi.repeat: 'repeats' is {count}, expected 0 or more")
    shape = [*tensor.shape[:place], tensor.shape[place] * count, *tensor.shape[place + 1 :]]
    return computed(shape, lambda *i: tensor(*replaced(i, place, i[place] // size(count))), "T_repeat", INJECTIVE)


def flip(a: Tensor, axis: int = 0) -> Tensor:
    """Reverse the elements along an axis."""
    tensor = require("topi.flip: 'a'", a)
    place = axis_of("topi.flip", axis, tensor.ndim)
    last = size(tensor.shape[place] - 1)
    return computed(tensor.shape, lambda *i: tensor(*replaced(i, place, last - i[place])), "T_flip", INJECTIVE)


def strided_slice(
    a: Tensor,
    begin: Sequence[Any],
    end: Sequence[Any],
    strides: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    slice_mode: str = "end",
) -> Tensor:
    """Elements from `begin` to `end`, exclusive, in steps, as Python's slices.

    Args:
        begin, end: integers or symbols; negative integers count from the end. With `slice_mode` "size", `end` has
            lengths, -1 for the rest of the dimension.
        strides: steps, integers other than 0; 1 by default.
        axes: the axes of the slices; by default the first dimensions.
    """
    what = "topi.strided_slice"
    tensor = require(f"{what}: 'a'", a)
    begins, ends = dims_of(f"{what}: 'begin'", begin), dims_of(f"{what}: 'end'", end)
    steps = [1] * len(begins) if strides is None else list(strides)
    places = list(range(len(begins))) if axes is None else [axis_of(what, axis, tensor.ndim) for axis in axes]
    if slice_mode not in ("end", "size"):
        raise ArgumentError(f"{what}: 'slice_mode' is {slice_mode!r}, expected 'end' or 'size'")
    if not len(begins) == len(ends) == len(steps) == len(places) or len(begins) > tensor.ndim:
        raise ShapeError(
            f"{what}: {len(begins)} begins, {len(ends)} ends, {len(steps)} strides and {len(places)} axes for {tensor}"
        )
    if any(isinstance(step, bool) or not isinstance(step, int) or step == 0 for step in steps):
        raise ArgumentError(f"{what}: 'strides' is {steps}, expected integers other than 0")
    shape = list(tensor.shape)
    firsts: dict[int, tuple[Dim, int]] = {}
    for place, first, last, step in zip(places, begins, ends, steps, strict=True):
        whole = tensor.shape[place]
        if slice_mode == "size":
            step, last = 1, whole if last == -1 else held(first, whole) + last
        firsts[place], shape[place] = _range(first, last, step, whole)

    def value(*i: Expr) -> Expr:
        at = [
            index if number not in firsts else index * firsts[number][1] + size(firsts[number][0])
            for number, index in enumerate(i)
        ]
        return tensor(*at)

    return computed(shape, value, "T_strided_slice", INJECTIVE)


def _range(first: Dim, last: Dim, step: int, whole: Dim) -> tuple[tuple[Dim, int], Dim]:
    """The first index of a slice with its step, and the number of elements."""
    if step > 0:
        begin, end = held(first, whole), held(last, whole)
        return (begin, step), symbolic.maximum(symbolic.ceildiv(end - begin, step), 0)
    begin = symbolic.minimum(whole + first if isinstance(first, int) and first < 0 else first, whole - 1)
    end = whole + last if isinstance(last, int) and last < 0 else symbolic.minimum(last, whole - 1)
    end = symbolic.maximum(end, -1)
    return (begin, step), symbolic.maximum(symbolic.ceildiv(begin - end, -step), 0)


def trilu(data: Tensor, k: Any, upper: bool) -> Tensor:  # noqa: ANN401 - a diagonal: an integer or a symbol
    """The elements on and above (`upper`), or on and below, the diagonal `k` of the last two dimensions; else 0."""
    tensor, diagonal = require("topi.trilu: 'data'", data), dim_of("topi.trilu: 'k'", k)
    if tensor.ndim < 2:
        raise ShapeError(f"topi.trilu: {tensor} has no two dimensions")

    def value(*i: Expr) -> Expr:
        row, column = i[-2], i[-1]
        edge = row + size(diagonal)
        zero = functions.const(0, tensor.dtype)
        return functions.select(column >= edge if upper else column <= edge, tensor(*i), zero)

    return computed(tensor.shape, value, "T_trilu", INJECTIVE)


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
    given = [*listed(f"{what}: 'window_shape'", window_shape), *listed(f"{what}: 'strides'", strides)]
    if len(window_shape) != rank or len(strides) != rank or not all(isinstance(n, int) and n > 0 for n in given):
        raise ArgumentError(f"{what}: {window_shape!r} and {strides!r} are not {rank} integers from 1 on each")
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

    def body(b: LoopBuilder, positions: Buffer, given: Buffer, out: Buffer) -> None:
        with b.grid(shape) as at:
            out[at] = b.const(default_value, values.dtype)
        with b.loop(count) as j:
            found = [
                counted_index(b, positions[((), j, (j, number))[index.ndim]], dim) for number, dim in enumerate(shape)
            ]
            out[found] = given[j if values.ndim else ()]

    return LoopOp([index, values], [shape], [values.dtype], body, "T_sparse_to_dense", SCATTER).outputs[0]


def expand_like(a: Tensor, shape_like: Tensor, axis: int | Sequence[int]) -> Tensor:
    """`a` repeated along new dimensions `axis`, so that it has the shape of another tensor."""
    what = "topi.expand_like"
    tensor, like = require(f"{what}: 'a'", a), require(f"{what}: 'shape_like'", shape_like)
    new = axes_of(what, axis, like.ndim)
    kept = [number for number in range(like.ndim) if number not in new]
    require_equal(what, tensor.shape, [like.shape[number] for number in kept])
    return computed(like.shape, lambda *i: tensor(*(i[number] for number in kept)), "T_expand_like", BROADCAST)


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
        ArgumentError: the layouts do not fit the tensor, or do not have the same letters.
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
                at[letter.upper()] % factor if factor else at[letter] // old[letter] if letter in old else at[letter]
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
        raise ArgumentError(f"{what}: {layout!r} is no layout: capitals, and small ones of theirs behind a number")
    return found


# Layouts: the order of the dimensions of a tensor, by TVM's names (``NHWC``, ``HWIO``).
#
# Operators are written for one layout. Tensors of other layouts are transposed before and after.


def require_layout(what: str, layout: object, letters: str) -> str:
    """A layout that consists of the given letters.

    Raises:
        UnsupportedError: a layout with blocks of channels, such as ``NCHW16c``.
        ArgumentError: other letters.
    """
    if isinstance(layout, str) and any(c.isdigit() for c in layout):
        raise UnsupportedError(
            f"{what}: the layout {layout!r} has blocks, and only orders of the letters {letters} are supported"
        )
    if not isinstance(layout, str) or sorted(layout) != sorted(letters):
        raise ArgumentError(f"{what}: the layout is {layout!r}, expected the letters {letters} in an order")
    return layout


def reordered(what: str, tensor: Tensor, layout: str, wanted: str) -> Tensor:
    """Transpose a tensor from `layout` to `wanted`, which has the same letters."""
    if require(what, tensor).ndim != len(layout):
        raise ShapeError(f"{what}: {tensor} is not of the {len(layout)} dimensions of the layout {layout}")
    return tensor if layout == wanted else transpose(tensor, [layout.index(letter) for letter in wanted])


def in_layout(what: str, data: Tensor, layout: str, wanted: str, operator: Callable[[Tensor], Tensor]) -> Tensor:
    """Apply `operator`, which expects the layout `wanted`, to a tensor of another layout; convert the result back."""
    own = require_layout(what, layout, wanted)
    return reordered(what, operator(reordered(what, data, own, wanted)), wanted, own)


def kernel_in(what: str, kernel: Tensor, layout: str, wanted: str) -> Tensor:
    """Convert weights to the layout `wanted`, which is also the default layout."""
    return reordered(what, kernel, require_layout(what, layout or wanted, wanted), wanted)


def reverse_sequence(a: Tensor, seq_lengths: Tensor, seq_axis: int = 1, batch_axis: int = 0) -> Tensor:
    """Reverse the first `seq_lengths` elements along `seq_axis`, for each index of `batch_axis`.

    Lengths are clamped to 0 and the size of the axis.
    """
    what = "topi.reverse_sequence"
    tensor, lengths = require(f"{what}: 'a'", a), index_tensor_of(f"{what}: 'seq_lengths'", seq_lengths)
    along, batch = axis_of(what, seq_axis, tensor.ndim), axis_of(what, batch_axis, tensor.ndim)
    if along == batch:
        raise ShapeError(f"{what}: 'seq_axis' and 'batch_axis' are both {along}")
    require_equal(f"{what}: 'seq_lengths'", lengths.shape, (tensor.shape[batch],))
    whole = tensor.shape[along]

    def value(*i: Expr) -> Expr:
        length = functions.minimum(lengths(i[batch]).astype("int64"), size(whole))
        place = functions.select(i[along] < length, length - 1 - i[along], i[along])
        return tensor(*replaced(i, along, place))

    return computed(tensor.shape, value, "T_reverse_sequence", INJECTIVE)


def sequence_mask(data: Tensor, valid_length: Tensor, mask_value: float = 0, axis: int = 0) -> Tensor:
    """Replace elements at or after `valid_length` along `axis` with `mask_value`; `axis` is 0 or 1.

    The other of the first two dimensions is that of the sequences, and `valid_length` has a length for each.
    """
    what = "topi.sequence_mask"
    tensor = require(f"{what}: 'data'", data)
    lengths = index_tensor_of(f"{what}: 'valid_length'", valid_length)
    if tensor.ndim < 2 or axis not in (0, 1):
        raise ShapeError(f"{what}: axis {axis} of {tensor}, expected 0 or 1, and two dimensions or more")
    require_equal(f"{what}: 'valid_length'", lengths.shape, (tensor.shape[1 - axis],))
    filling = functions.const(mask_value, tensor.dtype)

    def value(*i: Expr) -> Expr:
        return functions.select(i[axis] < lengths(i[1 - axis]).astype("int64"), tensor(*i), filling)

    return computed(tensor.shape, value, "T_sequence_mask", INJECTIVE)
