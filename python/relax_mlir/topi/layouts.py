"""Layouts: which dimension of a tensor is which, as TVM's names say it (``NHWC``, ``HWIO``).

Operators are written for one layout. Others are put in its order before, and the result back behind.
"""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.error import ArgumentError, ShapeError, UnsupportedError
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import require
from relax_mlir.topi.manipulate import transpose


def require_layout(what: str, layout: object, letters: str) -> str:
    """A layout that has just the given letters.

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
    """A tensor of a layout, in another one of the same letters."""
    if require(what, tensor).ndim != len(layout):
        raise ShapeError(f"{what}: {tensor} is not of the {len(layout)} dimensions of the layout {layout}")
    return tensor if layout == wanted else transpose(tensor, [layout.index(letter) for letter in wanted])


def in_layout(
    what: str, data: Tensor, layout: str, wanted: str, operator: Callable[[Tensor], Tensor]
) -> Tensor:
    """`operator`, which knows the layout `wanted`, on a tensor of another one; the result has that, too."""
    own = require_layout(what, layout, wanted)
    return reordered(what, operator(reordered(what, data, own, wanted)), wanted, own)


def kernel_in(what: str, kernel: Tensor, layout: str, wanted: str) -> Tensor:
    """Weights of a layout (none: `wanted`) in the layout `wanted`."""
    return reordered(what, kernel, require_layout(what, layout or wanted, wanted), wanted)
