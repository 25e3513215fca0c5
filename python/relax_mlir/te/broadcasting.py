"""Operators on whole tensors: ``A + 1``, ``A * B``, elementwise, with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relax_mlir.dialects import base
from relax_mlir.error import ArgumentError
from relax_mlir.symbolic import Dim
from relax_mlir.te.compute import compute
from relax_mlir.te.expressions import Expr, ExprLike, as_expr, binary
from relax_mlir.te.tensors import Tensor
from relax_mlir.te.walk import variables_of

NAMES = {
    "+": "T_add",
    "-": "T_subtract",
    "*": "T_multiply",
    "/": "T_divide",
    "//": "T_floor_divide",
    "%": "T_mod",
    "&": "T_bitwise_and",
    "|": "T_bitwise_or",
    "^": "T_bitwise_xor",
    "<<": "T_left_shift",
    ">>": "T_right_shift",
}
"""Names of the operators' results."""
ELEMENTWISE, BROADCAST = "elemwise", "broadcast"
"""The tags of elementwise computations, without and with broadcasting."""


def broadcast_shape(what: str, shapes: Sequence[Sequence[Dim]]) -> tuple[Dim, ...]:
    """The broadcast shape, as for Relax's binary ops.

    Raises:
        ShapeError: two sizes, neither 1, that are not known to be equal.
    """
    found = base.broadcast(what, *(tuple(shape) for shape in shapes))
    assert found is not None
    return tuple(dim for dim in found if dim is not None)


def element(tensor: Tensor, shape: Sequence[Dim], indices: Sequence[ExprLike]) -> Expr:
    """The element of `tensor`, broadcast to `shape`, at `indices`."""
    own = indices[len(indices) - tensor.ndim :]
    wide = shape[len(shape) - tensor.ndim :]
    return tensor(
        *(
            0 if size == 1 and other != 1 else i
            for size, other, i in zip(tensor.shape, wide, own, strict=True)
        )
    )


def broadcast_operator(operator: str, left: object, right: object) -> Tensor:
    """The tensor of ``left operator right``: at least one of them is a tensor, the other a tensor or a scalar."""
    what = f"'{operator}' of tensors"
    tensors = [item for item in (left, right) if isinstance(item, Tensor)]
    for item in (left, right):
        if isinstance(item, Tensor):
            continue
        if isinstance(item, np.ndarray):
            raise ArgumentError(
                f"{what}: an operand is a NumPy array; hand it to emit_te, which makes a constant of it"
            )
        inside = variables_of(as_expr(item))
        if inside:
            tensor = tensors[0]
            raise ArgumentError(
                f"{what}: the element {item!r} beside {tensor.refusal}, or compute the tensor outside of this compute"
            )
    shape = broadcast_shape(what, [tensor.shape for tensor in tensors])

    def value(*indices: Expr) -> Expr:
        a, b = (
            element(item, shape, indices) if isinstance(item, Tensor) else as_expr(item)
            for item in (left, right)
        )
        return binary(operator, a, b)

    same = all(tensor.shape == shape for tensor in tensors)
    return _made(shape, value, NAMES[operator], ELEMENTWISE if same else BROADCAST)


def mapped(tensor: Tensor, function: object, name: str) -> Tensor:
    """Apply `function` to every element."""
    assert callable(function)
    return _made(tensor.shape, lambda *indices: function(tensor(*indices)), name, ELEMENTWISE)


def _made(shape: Sequence[Dim], value: object, name: str, tag: str) -> Tensor:
    assert callable(value)
    found = compute(shape, value, name, tag)
    assert isinstance(found, Tensor)
    return found
