"""Elements of a buffer that lie a few apart, as a vector: all between them are loaded, and some are picked."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Value
from relax_mlir.mlir import vector

MAX_STEP = 4
"""Elements further apart than so many are loaded one by one."""


def load_every(
    step: int, lanes: int, buffer: Value, place: Sequence[Index], first: Index, active: Index | None
) -> Value:
    """Elements ``first``, ``first + step``, … of the last dimension at `place` in the others: one per lane.

    Nothing is read before the first or behind the last one: vector number j begins ``j * (lanes - 1)`` elements behind
    the first one, so that the last vector ends with the last element. `active`: only so many lanes are loaded; the
    others have any value. None: all.
    """
    parts = [
        simd.load(lanes, buffer, *place, emit.add(first, offset), where=_mask(step, lanes, active, offset))
        for offset in range(0, step * (lanes - 1), max(lanes - 1, 1))
    ]
    value = parts[0]
    for number, part in enumerate(parts[1:], start=1):
        offset = number * (lanes - 1)
        known = [lane * step if number == 1 else lane for lane in range(lanes)]
        behind = [lanes + lane * step - offset for lane in range(lanes)]
        numbers = [
            old if lane * step < offset else min(new, 2 * lanes - 1)
            for lane, (old, new) in enumerate(zip(known, behind, strict=True))
        ]
        value = vector.shuffle(value, part, numbers)
    return value


def _mask(step: int, lanes: int, active: Index | None, offset: int) -> Value | None:
    """The lanes of the vector at an offset that are not behind the last element."""
    if active is None:
        return None
    return simd.mask(emit.add(emit.mul(active, step), 1 - step - offset), lanes)
