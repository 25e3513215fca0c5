"""What schedules of reductions over windows have in common."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import te
from relax_mlir.dialects import dtypes
from relax_mlir.expr import Attrs
from relax_mlir.strategy.knobs import Config
from relax_mlir.target import Target
from relax_mlir.te import ComputeOp, IterVar, Schedule, Tensor

WINDOW_PLEVEL = 20
"""The priority of implementations that were measured to be faster than generated kernels where they hold."""
SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
"""The letters of spatial dimensions in layouts."""
DTYPES = ("float32", "float64", "float16", "bfloat16")
"""What they compute; 16-bit floats are added in float32."""


def against_dtype(dtype: str) -> str:
    """Why a dtype of the result is not computed; "" if it is."""
    return "" if dtype in DTYPES else f"needs a result of floats, got {dtype}"


def against_layout(attrs: Attrs, layouts: dict[str, str]) -> str:
    """Why layouts are not those that are computed; "" if they are."""
    for name, wanted in layouts.items():
        if attrs[name] != wanted:
            return f"needs {name} {wanted}, got {attrs[name]}"
    return ""


def wide_dtype(dtype: str) -> str:
    """The dtype of sums: float32 for floats of 16 bits."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def lanes_of(tensor: Tensor, target: Target) -> int:
    """How many elements of a tensor fill a vector register."""
    return target.lanes(dtypes.dtype(tensor.dtype).bits)


def sums_of(out: Tensor) -> tuple[Schedule, Tensor]:
    """A schedule of `out`, and the tensor in it that holds the sums, which goes into registers.

    That is what `out` is computed of, or a tensor of its own of which it is a copy.
    """
    s, op = te.create_schedule(out.op), out.op
    assert isinstance(op, ComputeOp)
    if op.reduce_axis:
        return s, s.cache_write(out, "local")
    (sums,) = [
        t for t in op.input_tensors if isinstance(t.op, ComputeOp) and t.op.reduce_axis and t.ndim == out.ndim
    ]
    s[sums].set_scope("local")
    return s, sums


def copied_inputs(s: Schedule, sums: Tensor) -> None:
    """Schedule what the sums read that is computed, such as data with zeros around: copies, made first."""
    for tensor in sums.op.input_tensors:
        if not isinstance(tensor.op, ComputeOp):
            continue
        for below in tensor.op.input_tensors:
            if isinstance(below.op, ComputeOp):
                s[below].compute_inline()
        first, second, *_, last = tensor.op.axis
        s[tensor].vectorize(last)
        s[tensor].parallel(s[tensor].fuse(first, second))


def tile_space(
    config: Config, s: Schedule, out: Tensor, lanes: int, rows: Sequence[int]
) -> tuple[list[IterVar], list[IterVar]]:
    """Split the last two spatial axes of `out` by knobs: the loops outside of a tile, and those of a tile."""
    assert isinstance(out.op, ComputeOp)
    *outer, width = out.op.axis[2:]
    inner: list[IterVar] = []
    if outer:
        config.define_split("rows", outer[-1], candidates=[[n] for n in rows])
        row_outer, row_inner = config["rows"].apply(s, out, outer.pop())
        outer.append(row_outer)
        inner.append(row_inner)
    widths = dict.fromkeys([lanes, 2 * lanes, max(lanes // 2, 1)])
    config.define_split("width", width, candidates=[[n] for n in widths])
    width_outer, width_inner = config["width"].apply(s, out, width)
    return [*outer, width_outer], [*inner, width_inner]


def sum_in_registers(s: Schedule, sums: Tensor, out: Tensor, place: IterVar, taps: Sequence[IterVar]) -> None:
    """Compute the sums at a loop of `out`: their reduction around their elements, the last axis on vectors."""
    assert isinstance(sums.op, ComputeOp)
    s[sums].compute_at(s[out], place)
    *others, last = sums.op.axis
    s[sums].reorder(*sums.op.reduce_axis, *others, last)
    s[sums].vectorize(last)
    for axis in (*others, *taps):
        s[sums].unroll(axis)
