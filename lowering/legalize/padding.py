"""Lowering of padding by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.base import dims_in
from relax_mlir.dialects.padding import PadOp, filling
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.lowering.legalize.rules import expression
from relax_mlir.te import Tensor


@expression(PadOp)
def pad(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """A padded tensor; the mode determines the padding values."""
    widths = [dim for dim in dims_in(attrs.raw["pad_width"]) if dim is not None]
    before, after, mode = widths[::2], widths[1::2], attrs.pad_mode
    if mode == "constant":
        return topi.nn.pad(inputs[0], before, after, filling(attrs.raw["pad_value"]))
    if mode in ("reflect", "symmetric"):
        return topi.nn.mirror_pad(inputs[0], before, after, mode.upper())
    return (topi.nn.edge_pad if mode == "replicate" else topi.nn.wrap_pad)(inputs[0], before, after)
