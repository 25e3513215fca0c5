"""Vectors of elements at a small stride: all elements between them are loaded, and some are selected."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Value
from relax_mlir.mlir import vector

MAX_STEP = 4
"""The maximum stride; elements that are further apart are loaded one by one."""


def load_every(
    step: int, lanes: int, buffer: Value, place: Sequence[Index], first: Index, active: Index | None
) -> Value:
    """Load elements ``first``, ``first + step``, … of the last dimension at `place` in the others: one per lane.

    Nothing is read before the first or after the last element: vector j begins ``j * (lanes - 1)`` elements after the
    first element, so that the last vector ends with the last element. `active`: the number of lanes to load, None for
    all; the others are undefined.
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
    """The lanes of the vector at an offset that are not after the last active element; None for all."""
    if active is None:
        return None
    return simd.mask(emit.add(emit.mul(active, step), 1 - step - offset), lanes)
