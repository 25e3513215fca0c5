"""Constant folding at import: shapes and integers derived from them, as numbers and symbolic expressions.

A rule gets the known elements of a node's inputs and returns those of its outputs, or None if they cannot be
determined; the op is then emitted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir import symbolic
from relax_mlir.frontend.onnx.dtypes import NARROW
from relax_mlir.frontend.onnx.items import MAX_FOLDED, TensorItem, elements
from relax_mlir.frontend.onnx.registry import Node, normal_axis, normal_domain
from relax_mlir.symbolic import Dim, Expr

Array = np.ndarray[Any, Any]
Folding = Callable[..., Any]

MOVEMENTS = frozenset({"Identity", "Unsqueeze", "Squeeze", "Concat", "Slice", "Reshape"})
"""Ops that are folded for large tensors as well, such as permuted gates of recurrent layers.

Their results are views of the inputs, or as large as these.
"""
MAX_MOVED = 1 << 22
"""The maximum number of elements for which these ops are folded."""

_foldings: dict[str, Folding] = {}


def folds(*names: str) -> Callable[[Folding], Folding]:
    """Register a folding rule for ops."""

    def register(function: Folding) -> Folding:
        for name in names:
            _foldings[name] = function
        return function

    return register


def has_folding(domain: str, name: str) -> bool:
    return normal_domain(domain) == "" and name in _foldings


def fold(node: Node) -> list[TensorItem] | None:
    """Return the outputs of a node whose inputs are known, if a rule can determine them; else None."""
    rule = _foldings.get(node.op) if normal_domain(node.proto.domain) == "" else None
    if rule is None or not node.items:
        return None
    arrays: list[Array | None] = []
    for item in node.items:
        if item is not None and not (isinstance(item, TensorItem) and item.known is not None):
            return None
        if item is not None and item.dtype in NARROW:
            return None
        arrays.append(None if item is None else item.known)
    most = MAX_MOVED if node.op in MOVEMENTS else MAX_FOLDED
    if sum(array.size for array in arrays if array is not None) > most:
        return None
    with np.errstate(all="ignore"):
        found = rule(node, *arrays)
    if found is None:
        return None
    outputs = found if isinstance(found, list) else [found]
    return [_item(output, node) for output in outputs]


def _item(output: Any, node: Node) -> TensorItem:  # noqa: ANN401 - an array or an item
    if isinstance(output, TensorItem):
        return output
    array = np.asarray(output)
    if array.dtype == object:
        if any(isinstance(dim, Expr) for dim in array.reshape(-1)):
            return TensorItem(node.dtype(0), None, array)
        array = array.astype(np.int64)
        return TensorItem(node.dtype(0), None, array.astype(node.dtype(0)))
    return TensorItem(array.dtype.name, None, array)


def _is_symbolic(*arrays: Array | None) -> bool:
    return any(array is not None and array.dtype == object for array in arrays)


# -- movement of elements: works for numbers and expressions


@folds("Identity")
def _identity(node: Node, x: Array) -> Array:
    return x


@folds("Unsqueeze")
def _unsqueeze(node: Node, x: Array, axes: Array | None = None) -> Array | None:
    listed = node.attr("axes") if axes is None else axes.reshape(-1)
    if listed is None:
        return None
    return np.expand_dims(x, tuple(int(axis) for axis in listed)) if len(listed) else x


@folds("Squeeze")
def _squeeze(node: Node, x: Array, axes: Array | None = None) -> Array:
    listed = node.attr("axes") if axes is None else axes.reshape(-1)
    return np.squeeze(x, None if listed is None else tuple(int(axis) for axis in listed))


@folds("Gather")
def _gather(node: Node, x: Array, indices: Array) -> Array | None:
    if _is_symbolic(indices):
        return None
    return np.take(x, indices.astype(np.int64), axis=node.axis())


@folds("Concat")
def _concat(node: Node, *arrays: Array) -> Array:
    parts = [a.astype(object) for a in arrays] if _is_symbolic(*arrays) else list(arrays)
    return np.concatenate(parts, node.axis())


@folds("Slice")
def _slice(node: Node, x: Array, *ranges: Array | None) -> Array | None:
    if _is_symbolic(*ranges):
        return None
    if node.opset < 10:
        starts, ends, axes, steps = node.attr("starts"), node.attr("ends"), node.attr("axes"), None
    else:
        given = [None if r is None else r.reshape(-1).tolist() for r in (*ranges, None, None)]
        starts, ends, axes, steps = given[:4]
    if starts is None or ends is None:
        return None
    slices = [slice(None)] * x.ndim
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis = normal_axis(number if axes is None else int(axes[number]), x.ndim)
        step = 1 if steps is None else int(steps[number])
        stop = None if step < 0 and end < -x.shape[axis] else int(end)
        slices[axis] = slice(int(start), stop, step)
    return x[tuple(slices)]


@folds("Reshape")
def _reshape(node: Node, x: Array, shape: Array | None = None) -> Array | None:
    if shape is None or _is_symbolic(shape):
        return None
    wanted = [
        x.shape[i] if dim == 0 and not node.attr("allowzero", 0) else int(dim)
        for i, dim in enumerate(shape.reshape(-1))
    ]
    return x.reshape(wanted)


@folds("Transpose")
def _transpose(node: Node, x: Array) -> Array:
    return np.transpose(x, node.attr("perm"))


@folds("Expand")
def _expand(node: Node, x: Array, shape: Array) -> Array | None:
    if _is_symbolic(shape) or np.prod(shape, dtype=object) > MAX_FOLDED:
        return None
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(int(dim) for dim in shape.reshape(-1))))


@folds("Tile")
def _tile(node: Node, x: Array, repeats: Array) -> Array | None:
    if _is_symbolic(repeats) or np.prod(repeats, dtype=object) * x.size > MAX_FOLDED:
        return None
    return np.tile(x, [int(count) for count in repeats.reshape(-1)])


@folds("Split")
def _split(node: Node, x: Array, sizes: Array | None = None) -> list[TensorItem] | None:
    count, axis = len(node.proto.output), node.axis()
    listed = node.attr("split") if sizes is None else sizes.reshape(-1).tolist()
    if _is_symbolic(sizes) or (listed is None and x.shape[axis] % count):
        return None
    if listed is None:
        listed = [x.shape[axis] // count] * count
    parts = np.split(x, np.cumsum(listed)[:-1].astype(int), axis)
    return [TensorItem(node.dtype(0), None, part) for part in parts]


@folds("ConstantOfShape")
def _constant_of_shape(node: Node, shape: Array) -> Array | None:
    if _is_symbolic(shape) or np.prod(shape, dtype=object) > MAX_FOLDED:
        return None
    value = node.attr("value")
    filling = np.zeros(1, np.float32) if value is None else np.asarray(value)
    if filling.dtype.kind not in "iub":
        return None
    return np.full([int(dim) for dim in shape.reshape(-1)], filling.reshape(-1)[0], filling.dtype)


@folds("Range")
def _range(node: Node, start: Array, limit: Array, delta: Array) -> Array | None:
    if _is_symbolic(start, limit, delta) or start.dtype.kind not in "iu" or delta.reshape(-1)[0] == 0:
        return None
    bounds = [int(bound.reshape(-1)[0]) for bound in (start, limit, delta)]
    if len(range(*bounds)) > MAX_FOLDED:
        return None
    return np.arange(*bounds, dtype=start.dtype)


# -- arithmetic


@folds("Cast")
def _cast(node: Node, x: Array) -> Any:  # noqa: ANN401 - an array or an item
    from relax_mlir.frontend.onnx.dtypes import NAMES, numpy_dtype

    wanted = NAMES.get(node.attr("to"))
    if wanted is None or wanted in NARROW:
        return None
    if _is_symbolic(x):
        return TensorItem(wanted, None, x) if wanted in ("int64", "int32") else None
    if x.dtype.kind not in "iub" and not (x.dtype.kind == "f" and np.all(np.abs(x) < 2**31)):
        return None
    return x.astype(numpy_dtype(wanted))


def _elementwise(numeric: Callable[..., Any], symbolic_: Callable[..., Any] | None) -> Folding:
    def apply(node: Node, *arrays: Array) -> Array | None:
        if not _is_symbolic(*arrays):
            return np.asarray(numeric(*arrays))
        if symbolic_ is None:
            return None
        broadcast = np.broadcast_arrays(*(array.astype(object) for array in arrays))
        found = [symbolic_(*(_dim(x) for x in one)) for one in zip(*(b.reshape(-1) for b in broadcast), strict=True)]
        if any(result is None for result in found):
            return None
        if all(isinstance(result, bool) for result in found):
            return np.asarray(found, bool).reshape(broadcast[0].shape)
        return elements(found, broadcast[0].shape)

    return apply


def _dim(x: Any) -> Dim:  # noqa: ANN401 - an element of an array of objects
    return x if isinstance(x, Expr) else int(x)


def _fold_variadic(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(*values: Any) -> Any:  # noqa: ANN401 - arrays or dimensions
        result = values[0]
        for value in values[1:]:
            result = function(result, value)
        return result

    return apply


def _divide(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu":
        if not np.all(y):
            raise ZeroDivisionError("division of integers by zero")
        quotient = np.asarray(np.floor_divide(np.abs(x), np.abs(y)))
        return np.asarray(np.where((x < 0) != (y < 0), -quotient, quotient).astype(x.dtype))
    return np.asarray(np.divide(x, y))


def _divide_dims(x: Dim, y: Dim) -> Dim | None:
    """Return a quotient, which ONNX rounds towards zero; None if the signs are unknown."""
    if y == 0 or not symbolic.prove_less_equal(0, x) or not symbolic.prove_less_equal(1, y):
        return None
    return symbolic.floordiv(x, y)


def _decide(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool | None]:
    def decided(x: Dim, y: Dim) -> bool | None:
        result = compare(x, y)
        return result if isinstance(result, bool) else result.decide()

    return decided


def _equal_dims(x: Dim, y: Dim) -> bool | None:
    if symbolic.prove_equal(x, y):
        return True
    return False if symbolic.prove_not_equal(x, y) else None


_foldings["Add"] = _elementwise(np.add, lambda x, y: x + y)
_foldings["Sub"] = _elementwise(np.subtract, lambda x, y: x - y)
_foldings["Mul"] = _elementwise(np.multiply, lambda x, y: x * y)
_foldings["Div"] = _elementwise(_divide, _divide_dims)
_foldings["Neg"] = _elementwise(np.negative, lambda x: -x)
_foldings["Abs"] = _elementwise(np.abs, lambda x: x if symbolic.prove_less_equal(0, x) else None)
_foldings["Min"] = _elementwise(_fold_variadic(np.minimum), _fold_variadic(symbolic.minimum))
_foldings["Max"] = _elementwise(_fold_variadic(np.maximum), _fold_variadic(symbolic.maximum))
_foldings["Sum"] = _elementwise(_fold_variadic(np.add), _fold_variadic(lambda x, y: x + y))
_foldings["Not"] = _elementwise(np.logical_not, None)
_foldings["And"] = _elementwise(np.logical_and, None)
_foldings["Or"] = _elementwise(np.logical_or, None)
_foldings["Xor"] = _elementwise(np.logical_xor, None)
_foldings["Floor"] = _elementwise(np.floor, None)
_foldings["Ceil"] = _elementwise(np.ceil, None)
_foldings["Sqrt"] = _elementwise(np.sqrt, None)
_foldings["Reciprocal"] = _elementwise(np.reciprocal, None)
_foldings["Equal"] = _elementwise(np.equal, _equal_dims)
_foldings["Less"] = _elementwise(np.less, _decide(lambda x, y: x < y))
_foldings["LessOrEqual"] = _elementwise(np.less_equal, _decide(lambda x, y: x <= y))
_foldings["Greater"] = _elementwise(np.greater, _decide(lambda x, y: x > y))
_foldings["GreaterOrEqual"] = _elementwise(np.greater_equal, _decide(lambda x, y: x >= y))


@folds("Mod")
def _mod(node: Node, x: Array, y: Array) -> Array | None:
    if node.attr("fmod", 0) or x.dtype.kind == "f":
        return None

    def dims(a: Dim, b: Dim) -> Dim | None:
        return symbolic.floormod(a, b) if symbolic.prove_less_equal(1, b) else None

    if not _is_symbolic(y) and not np.all(y):
        return None
    result: Array | None = _elementwise(np.mod, dims)(node, x, y)
    return result


@folds("Where")
def _where(node: Node, condition: Array, x: Array, y: Array) -> Any:  # noqa: ANN401 - an array or an item
    if _is_symbolic(condition):
        return None
    if _is_symbolic(x, y):
        x, y = x.astype(object), y.astype(object)
    array = np.where(condition, x, y)
    if array.dtype == object:
        array = elements([_dim(e) for e in array.reshape(-1)], array.shape)
        return TensorItem(node.dtype(1), None, array)
    return array


@folds("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin")
def _reduce(node: Node, x: Array, axes: Array | None = None) -> Array | None:
    if x.dtype.kind not in "iuO" or _is_symbolic(axes):
        return None
    listed = node.attr("axes") if axes is None else axes.reshape(-1).tolist()
    if x.ndim != 1 or (listed is None and node.attr("noop_with_empty_axes", 0)) or x.size == 0:
        return None
    combine = {
        "ReduceProd": lambda a, b: a * b,
        "ReduceSum": lambda a, b: a + b,
        "ReduceMax": symbolic.maximum,
        "ReduceMin": symbolic.minimum,
    }[node.op]
    total = _fold_variadic(combine)(*(_dim(e) for e in x))
    return (
        elements([total], (1,) if node.attr("keepdims", 1) else ())
        if _is_symbolic(x)
        else np.asarray([total] if node.attr("keepdims", 1) else total, x.dtype)
    )


@folds("CastLike")
def _cast_like(node: Node, x: Array, like: Array) -> Array | None:
    return None if _is_symbolic(x, like) or x.dtype.kind not in "iub" else x.astype(like.dtype)
