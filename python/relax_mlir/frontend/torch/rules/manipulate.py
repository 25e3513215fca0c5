"""Reshapes, slices and rearrangements of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import op as R
from relax_mlir import symbolic, topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.registry import OpCall, Operand, converted, rule
from relax_mlir.frontend.torch.torch_types import Argument
from relax_mlir.symbolic import Dim, Expr

LAST = 2**40
"""From here on, the end of a slice means "to the end": torch writes ``sys.maxsize``."""


@rule(
    *("view.default", "_unsafe_view.default", "reshape.default", "flatten.using_ints", "unflatten.int"),
    *("unsqueeze.default", "squeeze.default", "squeeze.dim", "squeeze.dims", "view_as.default"),
    *("reshape_as.default", "_reshape_alias.default", "view_copy.default", "unsqueeze_copy.default"),
    "prims::squeeze.default",
)
def reshape(call: OpCall, x: Value, *rest: object) -> Value:
    return R.reshape(x, call.shape)


@rule("transpose.int", "swapaxes.default", "swapdims.default")
def transpose(call: OpCall, x: Value, first: int, second: int) -> Value:
    order = list(range(call.rank))
    if order:
        first, second = call.axis(first, call.rank), call.axis(second, call.rank)
        order[first], order[second] = order[second], order[first]
    return R.permute_dims(x, order)


@rule("t.default", "numpy_T.default", "mT.default")
def transposed(call: OpCall, x: Value) -> Value:
    order = list(range(call.rank))
    if call.name == "mT":
        order[-2:] = order[-1], order[-2]
    else:
        order.reverse()
    return R.permute_dims(x, order)


@rule("permute.default", "permute_copy.default", "prims::transpose.default")
def permute(call: OpCall, x: Value, order: Sequence[int]) -> Value:
    return R.permute_dims(x, [call.axis(axis, call.rank) for axis in order])


@rule("movedim.int", "movedim.intlist")
def movedim(call: OpCall, x: Value, source: Argument, destination: Argument) -> Value:
    rank = call.rank
    sources = [call.axis(a, rank) for a in (source if isinstance(source, list) else [source])]
    places = [call.axis(a, rank) for a in (destination if isinstance(destination, list) else [destination])]
    order = [-1] * rank
    for origin, place in zip(sources, places, strict=True):
        order[place] = origin
    others = iter([axis for axis in range(rank) if axis not in sources])
    return R.permute_dims(x, [next(others) if axis < 0 else axis for axis in order])


@rule("expand.default", "expand_as.default", "broadcast_to.default", "expand_copy.default")
def expand(call: OpCall, x: Value, *rest: object) -> Value:
    return R.broadcast_to(x, call.shape)


@rule("prims::broadcast_in_dim.default")
def broadcast_in_dim(call: OpCall, x: Value, shape: Argument, places: Sequence[int]) -> Value:
    own = iter(call.importer.shape(call.argument(0).shape))
    spread = [next(own) if axis in places else 1 for axis in range(call.rank)]
    return R.broadcast_to(R.reshape(x, spread), call.shape)


@rule("cat.default", "concat.default")
def cat(call: OpCall, tensors: Sequence[Value], axis: int = 0) -> Value:
    """Concatenate; an empty vector can be combined with any shape, as in torch."""
    shapes = [node.meta["val"].shape for node in call.node.args[0]]
    kept = [t for t, shape in zip(tensors, shapes, strict=True) if len(shape) == call.rank]
    return R.concat([call.tensor(t) for t in kept or tensors], call.axis(axis, call.rank))


@rule("stack.default")
def stack(call: OpCall, tensors: Sequence[Value], axis: int = 0) -> Value:
    axis = call.axis(axis, call.rank)
    return R.concat([R.expand_dims(call.tensor(t), axis) for t in tensors], axis)


@rule("slice.Tensor", "slice_copy.Tensor")
def slice_(call: OpCall, x: Value, axis: int = 0, start: Argument = None, end: Argument = None, step: int = 1) -> Value:
    axis = call.axis(axis, call.rank)
    size = call.importer.dim(call.argument(0).shape[axis])
    begin = 0 if start is None else start
    stop = size if end is None or (isinstance(end, int) and end >= LAST) else end
    if step == 1 and begin == 0 and stop is size:
        return x
    return R.strided_slice(x, [axis], [begin], [stop], [step])


@rule("narrow.default")
def narrow(call: OpCall, x: Value, axis: int, start: Argument, length: Argument) -> Value:
    axis = call.axis(axis, call.rank)
    if isinstance(start, int) and start < 0:
        start = call.importer.dim(call.argument(0).shape[axis]) + start
    return R.strided_slice(x, [axis], [start], [start + length], [1])


@rule("select.int", "select_copy.int")
def select(call: OpCall, x: Value, axis: int, index: Argument) -> Value:
    axis = call.axis(axis, call.rank + 1)
    place = _place(call, axis, index)
    part = R.strided_slice(x, [axis], [place], [place + 1], [1])
    whole = list(call.shape)
    whole.insert(axis, 1)
    return R.squeeze(R.match_shape(part, whole), [axis])  # an index out of range is an error at run time


def _place(call: OpCall, axis: int, index: Argument) -> Dim:
    """Return a position on an axis, counted from the front."""
    place: Dim = index
    if isinstance(place, int) and place < 0:
        return call.importer.dim(call.argument(0).shape[axis]) + place
    return place


@rule(
    *("split.Tensor", "split.sizes", "split_with_sizes.default", "chunk.default", "tensor_split.sections"),
    *("tensor_split.indices", "unsafe_split.Tensor", "unsafe_chunk.default"),
    "split_with_sizes_copy.default",
)
def split(call: OpCall, x: Value, sizes: Argument, axis: int = 0) -> list[Value]:
    axis = call.axis(axis, call.rank)
    at: Dim = 0
    found = []
    for part in call.results:
        size = call.importer.dim(part.shape[axis])
        found.append(R.strided_slice(x, [axis], [at], [at + size], [1]))
        at = at + size
    return found


@rule("unbind.int")
def unbind(call: OpCall, x: Value, axis: int = 0) -> list[Value]:
    axis = call.axis(axis, call.rank + 1)
    return [R.squeeze(R.strided_slice(x, [axis], [i], [i + 1], [1]), [axis]) for i in range(len(call.results))]


@rule("repeat.default", "tile.default")
def repeat(call: OpCall, x: Value, counts: Sequence[Argument]) -> Value:
    own = call.importer.shape(call.argument(0).shape)
    factors = [1] * (call.rank - len(counts)) + list(counts)
    padded = [1] * (call.rank - len(own)) + own
    spread = [dim for size in padded for dim in (1, size)]
    full = [dim for factor, size in zip(factors, padded, strict=True) for dim in (factor, size)]
    return R.reshape(R.broadcast_to(R.reshape(x, spread), full), call.shape)


@rule("repeat_interleave.self_int")
def repeat_interleave(call: OpCall, x: Value, repeats: Argument, axis: int | None = None, *rest: object) -> Value:
    if axis is None:
        x, axis = R.flatten(x), 0
    axis = call.axis(axis, call.rank)
    whole = call.shape
    own = [call.importer.dim(s) for s in call.argument(0).shape] if len(call.argument(0).shape) == call.rank else None
    before = own[: axis + 1] if own is not None else [symbolic.floordiv(whole[0], repeats)]
    after = whole[axis + 1 :]
    spread = R.broadcast_to(R.reshape(x, [*before, 1, *after]), [*before, repeats, *after])
    return R.reshape(spread, whole)


@rule("flip.default", "fliplr.default", "flipud.default")
def flip(call: OpCall, x: Value, axes: Sequence[int] = ()) -> Value:
    if call.name != "flip":
        axes = [1 if call.name == "fliplr" else 0]
    for axis in axes:
        x = R.flip(x, call.axis(axis, call.rank))
    return x


@rule("roll.default")
def roll(call: OpCall, x: Value, shifts: Sequence[Argument], axes: Sequence[int] = ()) -> Value:
    shape = call.shape
    if not axes:
        return R.reshape(_rolled(R.flatten(x), shifts[0], 0, symbolic.product(shape)), shape)
    for shift, axis in zip(shifts, axes, strict=True):
        axis = call.axis(axis, call.rank)
        x = _rolled(x, shift, axis, shape[axis])
    return x


def _rolled(x: Value, shift: Argument, axis: int, size: Dim) -> Value:
    """Move the last `shift` elements of an axis of `x` to its front."""
    if size == 0:
        return x
    places = R.add(
        R.arange(0, size, 1, "int64"),
        R.prim_to_tensor(-shift) if not isinstance(shift, int) else R.const(-shift, "int64"),
    )
    return R.take(x, R.floor_mod(places, R.prim_to_tensor(size)), axis)


@rule("constant_pad_nd.default", "pad.default")
def pad(call: OpCall, x: Value, padding: Sequence[Argument], mode: Argument = 0, value: Operand | None = None) -> Value:
    """Pad; widths are pairs from the last axis to the first, and negative ones crop."""
    if isinstance(mode, str) and mode != "constant":
        return mirrored(call, x, padding, {"reflect": "reflection", "replicate": "replication"}.get(mode, mode))
    fill = (0 if value is None else value) if isinstance(mode, str) else mode
    before, after = widths(call.rank, padding)
    x = cropped(call, x, before, after)
    before, after = [_positive(call, w) for w in before], [_positive(call, w) for w in after]
    if all(isinstance(w, int) and w == 0 for w in (*before, *after)):
        return x
    if isinstance(fill, Value | Expr):
        raise call.unsupported("padding with a number that is computed")
    return call.te(topi.nn.pad, x, before, after, converted(fill, call.dtype))


def _positive(call: OpCall, width: Argument) -> Argument:
    if isinstance(width, int):
        return max(width, 0)
    least, _ = symbolic.bounds(width)
    if least is None or least < 0:
        raise call.unsupported(f"a padding of '{width}' places, which may be negative")
    return width


def widths(rank: int, padding: Sequence[Argument]) -> tuple[list[Argument], list[Argument]]:
    """Return the widths before and after each axis."""
    before, after = [0] * rank, [0] * rank
    for pair in range(len(padding) // 2):
        before[rank - 1 - pair], after[rank - 1 - pair] = padding[2 * pair : 2 * pair + 2]
    return before, after


def cropped(call: OpCall, x: Value, before: Sequence[Argument], after: Sequence[Argument]) -> Value:
    """Crop `x` by the negative widths."""
    shape = call.importer.shape(call.argument(0).shape)
    for axis, (front, back) in enumerate(zip(before, after, strict=True)):
        cut = [-w if isinstance(w, int) and w < 0 else 0 for w in (front, back)]
        if any(cut):
            x = R.strided_slice(x, [axis], [cut[0]], [shape[axis] - cut[1]], [1])
    return x


@rule(
    *("reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default"),
    *("replication_pad1d.default", "replication_pad2d.default", "replication_pad3d.default"),
)
def border_pad(call: OpCall, x: Value, padding: Sequence[Argument]) -> Value:
    return mirrored(call, x, padding, call.name)


def mirrored(call: OpCall, x: Value, padding: Sequence[Argument], kind: str) -> Value:
    before, after = widths(call.rank, padding)
    if any(not isinstance(w, int) or w < 0 for w in (*before, *after)):
        raise call.unsupported("padding by reflection or repetition whose widths are negative or symbols")
    if kind.startswith("reflection"):
        return call.te(topi.nn.mirror_pad, x, before, after, "REFLECT")
    if kind.startswith("replication"):
        return call.te(topi.nn.edge_pad, x, before, after)
    if kind == "circular":
        return call.te(topi.nn.wrap_pad, x, before, after)
    raise call.unsupported(f"padding mode '{kind}'")


@rule("pixel_shuffle.default")
def pixel_shuffle(call: OpCall, x: Value, factor: int) -> Value:
    shape = call.shape
    *lead, channels, _, _ = shape
    height, width = call.importer.shape(call.argument(0).shape[-2:])
    n = len(lead)
    apart = R.reshape(x, [*lead, channels, factor, factor, height, width])
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return R.reshape(R.permute_dims(apart, order), shape)


@rule("pixel_unshuffle.default")
def pixel_unshuffle(call: OpCall, x: Value, factor: int) -> Value:
    *lead, channels, _, _ = call.importer.shape(call.argument(0).shape)
    height, width = call.shape[-2:]
    n = len(lead)
    apart = R.reshape(x, [*lead, channels, height, factor, width, factor])
    return R.reshape(R.permute_dims(apart, [*range(n), n, n + 2, n + 4, n + 1, n + 3]), call.shape)


@rule("channel_shuffle.default", "native_channel_shuffle.default")
def channel_shuffle(call: OpCall, x: Value, groups: int) -> Value:
    batch, channels, *rest = call.shape
    apart = R.reshape(x, [batch, groups, symbolic.floordiv(channels, groups), *rest])
    order = [0, 2, 1, *range(3, call.rank + 1)]
    return R.reshape(R.permute_dims(apart, order), call.shape)


@rule("unfold.default")
def unfold(call: OpCall, x: Value, axis: int, size: int, step: int) -> Value:
    axis = call.axis(axis, call.rank - 1)
    count = call.shape[axis]
    starts = R.multiply(R.arange(0, count, 1, "int64"), R.const(step, "int64"))
    places = R.add(R.reshape(starts, [count, 1]), R.arange(0, size, 1, "int64"))
    found = R.take(x, places, axis)  # (..., count, size, ...)
    order = [a for a in range(call.rank) if a != axis + 1] + [axis + 1]
    return R.permute_dims(found, order)


@rule("diagonal.default")
def diagonal(call: OpCall, x: Value, offset: int = 0, first: int = 0, second: int = 1) -> Value:
    rank = call.rank + 1
    first, second = call.axis(first, rank), call.axis(second, rank)
    others = [axis for axis in range(rank) if axis not in (first, second)]
    moved = R.permute_dims(x, [*others, first, second])
    shape = call.importer.shape(call.argument(0).shape)
    rows, columns = shape[first], shape[second]
    count = call.shape[-1]
    flat = R.reshape(moved, [*(shape[a] for a in others), symbolic.product([rows, columns])])
    start = R.add(
        R.multiply(R.const(max(-offset, 0), "int64"), R.prim_to_tensor(columns)),
        R.const(max(offset, 0), "int64"),
    )
    stride = R.add(R.prim_to_tensor(columns), R.const(1, "int64"))
    places = R.add(start, R.multiply(R.arange(0, count, 1, "int64"), stride))
    return R.take(flat, places, len(others))


@rule("meshgrid.default", "meshgrid.indexing")
def meshgrid(call: OpCall, tensors: Sequence[Value], *, indexing: str = "ij") -> list[Value]:
    shape = call.shape
    axes = list(range(len(tensors)))
    if indexing == "xy" and len(axes) > 1:
        axes[:2] = [1, 0]
    found = []
    for tensor, axis in zip(tensors, axes, strict=True):
        spread = [shape[axis] if a == axis else 1 for a in range(len(shape))]
        found.append(R.broadcast_to(R.reshape(tensor, spread), shape))
    return found


@rule("diff.default")
def diff(
    call: OpCall,
    x: Value,
    n: int = 1,
    axis: int = -1,
    prepend: Value | None = None,
    append: Value | None = None,
) -> Value:
    """Return the differences of adjacent elements, `n` times."""
    axis = call.axis(axis, call.rank)
    parts = [part for part in (prepend, x, append) if part is not None]
    whole = R.concat(parts, axis) if len(parts) > 1 else x
    count: Dim = call.shape[axis] + n
    for _ in range(n):
        after = R.strided_slice(whole, [axis], [1], [count], [1])
        before = R.strided_slice(whole, [axis], [0], [count - 1], [1])
        whole = R.not_equal(after, before) if call.dtype == "bool" else R.subtract(after, before)
        count = count - 1
    return whole
