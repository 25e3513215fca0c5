"""Layouts: the order of the dimensions of a tensor, by TVM's names (``NHWC``, ``HWIO``).

Operators are written for one layout. Tensors of other layouts are transposed before and after.
"""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.error import ArgumentError, ShapeError, UnsupportedError
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import require
from relax_mlir.topi.manipulate import transpose


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


def in_layout(
    what: str, data: Tensor, layout: str, wanted: str, operator: Callable[[Tensor], Tensor]
) -> Tensor:
    """Apply `operator`, which expects the layout `wanted`, to a tensor of another layout; convert the result back."""
    own = require_layout(what, layout, wanted)
    return reordered(what, operator(reordered(what, data, own, wanted)), wanted, own)


def kernel_in(what: str, kernel: Tensor, layout: str, wanted: str) -> Tensor:
    """Convert weights to the layout `wanted`, which is also the default layout."""
    return reordered(what, kernel, require_layout(what, layout or wanted, wanted), wanted)
