"""Indexing with tensors, and index updates."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import op as R
from relax_mlir import symbolic, topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.prim_funcs import add_prim_func, window
from relax_mlir.frontend.torch.registry import OpCall, Operand, constant, rule
from relax_mlir.frontend.torch.torch_types import Argument
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer
from relax_mlir.mlir import memref
from relax_mlir.symbolic import Dim

# In-place writes of slices at index tensors, for key/value caches.


def put_slices(
    call: OpCall, x: Value, axis: int, places: Value, count: Dim, values: Value, *, from_end: bool = True
) -> Value:
    """Return `x` with ``x[:, places] = values``, written in order, so that the last of several values at an index wins.

    `places` is a vector of `count` integer indices on `axis`; negative ones count from the end if `from_end`. An index
    out of range is a `BoundsError` at run time. `x` is copied if its old elements are still needed.
    """
    whole = x.tensor_info.known_shape
    assert whole is not None
    shape, rank, dtype = [*whole[:axis], count, *whole[axis + 1 :]], len(whole), str(x.dtype)
    kind = "put_slices" if from_end else "put_slices_in_range"
    name = f"{kind}_{axis}_of_{rank}_{dtype}_{places.dtype}"
    dims = [f"d{number}" for number in range(rank)]
    parameters = [
        ("places", ["count"], str(places.dtype)),
        ("values", [*dims[:axis], "count", *dims[axis + 1 :]], dtype),
        ("x", dims, dtype),
    ]

    def body(b: LoopBuilder, places: Buffer, values: Buffer, x: Buffer) -> None:
        sizes = [1 if number == axis else b.symbols[dims[number]] for number in range(rank)]
        zeros = [0] * rank
        with b.loop(b.symbols["count"]) as i:
            at = places[i].index()
            if from_end:
                at = b.select(at < 0, at + b.symbols[dims[axis]], at)
            new, old = (
                window(buffer, [*zeros[:axis], place, *zeros[axis + 1 :]], sizes)
                for buffer, place in ((values, i), (x, at))
            )
            memref.copy(new, old)

    add_prim_func(call.builder, name, parameters, body)
    given = [places, R.broadcast_to(values, shape), x]
    return R.call_tir_inplace(name, given, 2, x.tensor_info)


def _integers(places: Value) -> Value:
    return places if places.dtype in ("int64", "int32") else R.astype(places, "int64")


@rule("embedding.default")
def embedding(call: OpCall, table: Value, places: Value, *rest: object) -> Value:
    """Look up rows; an index out of range, or a negative one, is an error at run time, as in torch."""
    return call.te(topi.embedding, table, _integers(places))


@rule("index_select.default")
def index_select(call: OpCall, x: Value, axis: int, places: Value) -> Value:
    if not call.rank:
        return x
    flat = R.reshape(_integers(places), [call.shape[call.axis(axis, call.rank)]])
    return _taken(call, x, {call.axis(axis, call.rank): flat}, from_end=False)


@rule("index.Tensor")
def index(call: OpCall, x: Value, indices: Sequence[Value | None]) -> Value:
    x, given = _without_masks(call, x, indices)
    return _taken(call, x, {axis: _integers(places) for axis, places in enumerate(given) if places is not None})


def _taken(call: OpCall, x: Value, given: dict[int, Value], *, from_end: bool = True) -> Value:
    """Return ``x[:, i, :, j]``; index axes replace adjacent indexed axes, otherwise they come first.

    `from_end`: negative indices count from the end; otherwise they are errors at run time.
    """
    axes = sorted(given)
    rank = x.ndim or 0
    others = [axis for axis in range(rank) if axis not in given]
    moved = x if axes == list(range(len(axes))) else R.permute_dims(x, [*axes, *others])
    found: Value = call.te(topi.index_tensor, moved, [given[axis] for axis in axes], from_end)
    wide = (found.ndim or 0) - len(others)
    if axes != list(range(axes[0], axes[-1] + 1)) or axes[0] == 0:
        return found
    front = axes[0]
    order = [*range(wide, wide + front), *range(wide), *range(wide + front, wide + len(others))]
    return R.permute_dims(found, order)


def _without_masks(call: OpCall, x: Value, indices: Sequence[Value | None]) -> tuple[Value, list[Value | None]]:
    """Replace masks by the indices of their true elements, one tensor per axis of the mask."""
    given: list[Value | None] = []
    for position, places in enumerate(indices):
        if places is None or places.dtype not in ("bool", "uint8"):
            given.append(places)
            continue
        rank = places.ndim or 0
        if not rank:
            raise call.unsupported("an index that is a mask of rank 0")
        found = R.nonzero(places)
        if call.rank and _count_of(call, position) is not None:
            count = _count_of(call, position)
            found = R.match_shape(found, (rank, count))
        given += [R.squeeze(R.strided_slice(found, [0], [i], [i + 1], [1]), [0]) for i in range(rank)]
    return x, given


def _count_of(call: OpCall, position: int) -> Dim | None:
    """Return torch's symbol for the number of true elements of a mask: the unbacked dimension of the result."""
    for size in call.result.shape:
        if type(size).__name__ == "SymInt" and str(size.node.expr).startswith("u"):
            return call.importer.dim(size)
    return None


@rule("nonzero.default")
def nonzero(call: OpCall, x: Value) -> Value:
    return R.permute_dims(R.nonzero(x), [1, 0])


@rule("gather.default")
def gather(call: OpCall, x: Value, axis: int, places: Value, *, sparse_grad: bool = False) -> Value:
    if not call.rank or not len(call.argument(0).shape):
        return R.broadcast_to(x, call.shape)
    return call.te(topi.gather, x, call.axis(axis, call.rank), _integers(places), False)


@rule("take.default")
def take(call: OpCall, x: Value, places: Value) -> Value:
    return call.te(topi.index_tensor, R.flatten(x), [_integers(places)])


@rule("take_along_dim.default")
def take_along(call: OpCall, x: Value, places: Value, axis: int | None = None) -> Value:
    """Gather with indices modulo the size; the other dimensions are broadcast against each other."""
    if axis is None:
        return call.te(topi.gather, R.flatten(x), 0, R.flatten(_integers(places)), False)
    own, given = (call.importer.shape(call.argument(index).shape) for index in (0, 1))
    axis = call.axis(axis, call.rank)
    wide = [size if a == axis else call.shape[a] for a, size in enumerate(own)]
    x = x if own == wide else R.broadcast_to(x, wide)
    places = places if given == call.shape else R.broadcast_to(places, call.shape)
    within = R.floor_mod(R.astype(places, "int64"), call.tensor(own[axis], "int64"))
    return call.te(topi.gather, x, axis, within, False)


@rule("index_put.default", "_unsafe_index_put.default")
def index_put(
    call: OpCall, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool = False
) -> Value:
    new = call.tensor(values)
    masks = [item for item in indices if item is not None and item.dtype in ("bool", "uint8")]
    if masks:
        return _masked_put(call, x, indices, new, accumulate)
    axes = [axis for axis, item in enumerate(indices) if item is not None]
    only = indices[axes[0]] if len(axes) == 1 and not accumulate else None
    if only is not None and only.ndim == 1:
        count = call.importer.dim(call.node.args[1][axes[0]].meta["val"].shape[0])
        return put_slices(call, x, axes[0], _integers(only), count, new)
    places = [_integers(item) for item in indices if item is not None]
    if axes == list(range(len(axes))):
        return call.te(topi.index_put, x, places, new, accumulate)
    others = [axis for axis in range(call.rank) if axis not in axes]
    if (new.ndim or 0) > 0:
        new = _values_in_front(call, new, places, axes, len(others))
    order = [*axes, *others]
    put = call.te(topi.index_put, R.permute_dims(x, order), places, new, accumulate)
    return R.permute_dims(put, [order.index(axis) for axis in range(call.rank)])


def _values_in_front(call: OpCall, new: Value, places: Sequence[Value], axes: Sequence[int], rest: int) -> Value:
    """Move the index axes of the values to the front, as in the data while it is updated."""
    wide = max(item.ndim or 0 for item in places)
    whole = wide + rest
    if list(axes) != list(range(axes[0], axes[-1] + 1)):
        return new  # torch has them first, too
    shape = call.importer.shape(call.node.args[2].meta["val"].shape)
    padded = R.reshape(new, [*[1] * (whole - len(shape)), *shape])
    front = axes[0]
    return R.permute_dims(padded, [*range(front, front + wide), *range(front), *range(front + wide, whole)])


def _masked_put(call: OpCall, x: Value, indices: Sequence[Value | None], new: Value, accumulate: bool) -> Value:
    if len(indices) != 1 or indices[0] is None or ((new.ndim or 0) > 0 and _elements(call) != 1):
        raise call.unsupported("an assignment of several values by a mask; use torch.where")
    mask = indices[0]
    if mask.dtype != "bool":
        mask = R.astype(mask, "bool")
    shape = call.importer.shape(call.node.args[1][0].meta["val"].shape)
    wide = R.reshape(mask, [*shape, *[1] * (call.rank - len(shape))])
    number = R.reshape(new, [])
    return R.where(wide, R.add(x, number) if accumulate else number, x)


def _elements(call: OpCall) -> Dim:
    """Return the number of elements of the values."""
    return symbolic.product(call.importer.shape(call.node.args[2].meta["val"].shape))


@rule("masked_scatter.default")
def masked_scatter(call: OpCall, x: Value, mask: Value, source: Value) -> Value:
    """Write the elements of `source`, in order, where the mask is true."""
    shape = call.shape
    wide = R.flatten(R.broadcast_to(mask, shape))
    order = R.subtract(R.cumsum(R.astype(wide, "int64"), 0), R.const(1, "int64"))
    found = R.take(R.flatten(source), order, 0)
    return R.reshape(R.where(wide, found, R.flatten(R.broadcast_to(x, shape))), shape)


_REDUCTIONS = {
    "sum": "add",
    "add": "add",
    "prod": "mul",
    "multiply": "mul",
    "amax": "max",
    "amin": "min",
    "mean": "mean",
}


def _scattered(call: OpCall, x: Value, axis: int, places: Value, source: Value, reduction: str) -> Value:
    if not call.rank:
        x, places, source = (R.reshape(v, [1]) for v in (x, places, source))
        return R.reshape(call.te(topi.scatter_elements, x, _integers(places), source, 0, reduction, False), [])
    axis = call.axis(axis, call.rank)
    return call.te(topi.scatter_elements, x, _integers(places), source, axis, reduction, False)


def _fitting(call: OpCall, source: Value) -> Value:
    """Return the part of `source` that the indices use, which has their shape."""
    wanted = call.importer.shape(call.argument(2).shape)
    own = call.importer.shape(call.argument(3).shape)
    axes = [a for a, (w, o) in enumerate(zip(wanted, own, strict=True)) if w != o]
    if not axes:
        return source
    return R.strided_slice(source, axes, [0] * len(axes), [wanted[a] for a in axes], [1] * len(axes))


@rule("scatter.src")
def scatter(call: OpCall, x: Value, axis: int, places: Value, source: Value) -> Value:
    return _scattered(call, x, axis, places, _fitting(call, source), "update")


@rule("scatter.value")
def scatter_value(call: OpCall, x: Value, axis: int, places: Value, value: Operand) -> Value:
    shape = call.importer.shape(call.argument(2).shape)
    return _scattered(call, x, axis, places, R.full(shape, call.tensor(value), call.dtype), "update")


@rule("scatter_add.default")
def scatter_add(call: OpCall, x: Value, axis: int, places: Value, source: Value) -> Value:
    return _scattered(call, x, axis, places, _fitting(call, source), "add")


@rule("scatter_reduce.two")
def scatter_reduce(
    call: OpCall, x: Value, axis: int, places: Value, source: Value, reduce: str, *, include_self: bool = True
) -> Value:
    if not include_self:
        raise call.unsupported("scatter_reduce with include_self=False")
    return _scattered(call, x, axis, places, _fitting(call, source), _REDUCTIONS[reduce])


@rule("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(call: OpCall, x: Value, axis: int, places: Value, value: Operand) -> Value:
    number = call.fitting(value, call.dtype) if isinstance(value, Value) else value
    return _put_rows(call, x, axis, places, call.tensor(number), from_end=True)


@rule("index_copy.default")
def index_copy(call: OpCall, x: Value, axis: int, places: Value, source: Value) -> Value:
    """Write slices at indices; an index out of range, or a negative one, is an error at run time, as in torch."""
    return _put_rows(call, x, axis, places, source, from_end=False)


def _put_rows(call: OpCall, x: Value, axis: int, places: Value, new: Value, *, from_end: bool) -> Value:
    """Write slices, or one number, at a vector of indices, or at one; a tensor of rank 0 is a vector of one element."""
    count = symbolic.product(call.importer.shape(call.argument(2).shape))
    rows = R.reshape(_integers(places), [count])
    whole = x if call.rank else R.reshape(x, [1])
    slices = new if new.ndim else R.reshape(new, [1] * max(call.rank, 1))
    put = put_slices(call, whole, call.axis(axis, call.rank), rows, count, slices, from_end=from_end)
    return put if call.rank else R.reshape(put, [])


@rule("index_add.default")
def index_add(call: OpCall, x: Value, axis: int, places: Value, source: Value, *, alpha: Operand = 1) -> Value:
    axis = call.axis(axis, call.rank)
    new = call.tensor(source) if alpha == 1 else R.multiply(call.tensor(source), call.tensor(alpha))
    order = [axis, *(a for a in range(call.rank) if a != axis)]
    put = call.te(
        topi.index_put, R.permute_dims(x, order), [_integers(places)], R.permute_dims(new, order), True, False
    )
    return R.permute_dims(put, [order.index(a) for a in range(call.rank)])


@rule("slice_scatter.default")
def slice_scatter(
    call: OpCall,
    x: Value,
    source: Value,
    axis: int = 0,
    start: Argument = None,
    end: Argument = None,
    step: int = 1,
) -> Value:
    axis = call.axis(axis, call.rank)
    size = call.shape[axis]
    count = call.importer.dim(call.argument(1).shape[axis])
    begin: Dim = 0 if start is None else start
    if isinstance(begin, int) and begin < 0:
        begin = symbolic.maximum(0, size + begin)
    begin = symbolic.minimum(begin, size)
    if step == 1:
        return R.slice_scatter(x, call.tensor(source), begin, begin + count, 1, axis)
    return call.te(topi.slice_scatter, x, call.tensor(source), begin, begin + count * step, step, axis)


@rule("select_scatter.default")
def select_scatter(call: OpCall, x: Value, source: Value, axis: int, index: Argument) -> Value:
    axis = call.axis(axis, call.rank)
    size = call.shape[axis]
    place = size + index if isinstance(index, int) and index < 0 else index
    here = R.equal(R.arange(0, size, 1, "int64"), call.tensor(place, "int64"))
    wide = R.reshape(here, [size if a == axis else 1 for a in range(call.rank)])
    return R.where(wide, R.expand_dims(call.tensor(source), axis), x)


@rule("one_hot.default")
def one_hot(call: OpCall, places: Value, count: int = -1) -> Value:
    """One-hot encode; a class that is negative or too large is an error at run time."""
    size = call.shape[-1]
    inside = R.logical_and(
        R.greater_equal(places, R.const(0, str(places.dtype))),
        R.less(R.astype(places, "int64"), call.tensor(size, "int64")),
    )
    R.assert_op(R.all(inside), format="one_hot: a class is negative or beyond the last one")
    steps = R.arange(0, size, 1, "int64")
    return R.astype(R.equal(R.expand_dims(places, -1), steps), call.dtype)


@rule("diagonal_scatter.default")
def diagonal_scatter(call: OpCall, x: Value, source: Value, offset: int = 0, first: int = 0, second: int = 1) -> Value:
    rank = call.rank
    first, second = call.axis(first, rank), call.axis(second, rank)
    if rank != 2 or (first, second) != (0, 1):
        raise call.unsupported("diagonal_scatter of more than two dimensions")
    rows, columns = call.shape
    row, column = R.arange(0, rows, 1, "int64"), R.arange(0, columns, 1, "int64")
    on = R.equal(R.add(R.expand_dims(row, 1), constant(offset, "int64")), column)
    place = R.expand_dims(R.subtract(row, constant(max(-offset, 0), "int64")), 1)
    return R.where(on, R.take(source, R.broadcast_to(place, call.shape), 0), x)
