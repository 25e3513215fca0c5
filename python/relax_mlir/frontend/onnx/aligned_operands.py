"""Operands whose dimensions must match, which ONNX checks only at run time."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.value import Value
from relax_mlir.symbolic import Dim


def aligned(values: Sequence[Value]) -> list[Value]:
    """Return the values with dimensions that provably broadcast.

    Two different symbols, neither of which is known to be 1, are assumed to be equal. A call with different sizes for
    them is an error.
    """
    shapes = [value.tensor_info.shape for value in values]
    if any(shape is None for shape in shapes):
        return list(values)
    rank = max(len(shape) for shape in shapes if shape is not None)
    target: list[Dim] = []
    for axis in range(rank):
        dims = [
            shape[axis - rank + len(shape)]
            for shape in shapes
            if shape is not None and axis >= rank - len(shape)
        ]
        target.append(_wanted([dim for dim in dims if dim is not None]))
    return [matched(value, target) for value in values]


def _wanted(dims: Sequence[Dim]) -> Dim:
    others = [dim for dim in dims if dim != 1]
    numbers = [dim for dim in others if isinstance(dim, int)]
    return numbers[0] if numbers else others[0] if others else 1


def wanted_dims(shapes: Sequence[Sequence[Dim]]) -> list[Dim]:
    """Return the assumed dimensions of tensors of equal shapes: per axis an integer if there is one, else the first."""
    return [
        next((dim for dim in dims if isinstance(dim, int)), dims[0]) for dims in zip(*shapes, strict=True)
    ]


def matched(value: Value, target: Sequence[Dim]) -> Value:
    """Match a value to the last dimensions of `target`; those not provably equal are checked by each call."""
    shape = value.tensor_info.shape
    assert shape is not None
    pattern: list[Dim | None] = []
    for dim, wanted in zip(shape, target[len(target) - len(shape) :], strict=True):
        is_open = (
            not isinstance(dim, int) and not symbolic.prove_equal(dim, wanted) if dim is not None else False
        )
        pattern.append(wanted if is_open else dim)
    return R.match_shape(value, pattern) if pattern != list(shape) else value


def broadcast_shape(first: Sequence[Dim], second: Sequence[Dim]) -> list[Dim]:
    """Return the shape of two shapes broadcast against each other, with the assumptions of `aligned`."""
    rank = max(len(first), len(second))
    one = [1] * (rank - len(first)) + list(first)
    other = [1] * (rank - len(second)) + list(second)
    return [_wanted([a, b]) for a, b in zip(one, other, strict=True)]
