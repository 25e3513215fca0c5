"""Python's slices on symbolic sizes."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.symbolic import Dim

TO_THE_END = frozenset({2**31 - 1, 2**63 - 1})
"""Bounds by which programs mean "to the end"."""

TO_THE_START = frozenset({-(2**31), -(2**31) + 1, -(2**63), -(2**63) + 1})
"""Bounds by which programs mean "to the start", with negative strides."""

_LONGEST = 2**62
"""Upper limit of dimensions. A longer stride selects one element; dividing by it rounded up would overflow 64 bits."""


@dataclass(frozen=True)
class Slice:
    """The `size` elements ``begin``, ``begin + stride``, … of one dimension."""

    begin: Dim
    stride: int
    size: Dim


def resolve_slice(begin: Dim, end: Dim, stride: int, size: Dim, *, inbound: bool = False) -> Slice:
    """The slice ``[begin:end:stride]`` of a dimension of `size`, as by Python's ``slice.indices``.

    A bound whose sign is not provable gets a formula for both signs. `inbound`: assume that the bounds are in range,
    after adding the size to negative integers.
    """
    low: Dim = 0 if stride > 0 else -1
    high = size if stride > 0 else size - 1

    def resolved(position: Dim) -> Dim:
        if position in TO_THE_END:
            return high
        return low if position in TO_THE_START else _from_end(position, size, inbound=inbound)

    first, last = resolved(begin), resolved(end)
    # Each bound is clamped on the side where it would add elements; beyond the other side there are none.
    if stride > 0:
        first, last = (
            (first, last) if inbound else (symbolic.maximum(first, low), symbolic.minimum(last, high))
        )
        distance = last - first
    else:
        first, last = (
            (first, last) if inbound else (symbolic.minimum(first, high), symbolic.maximum(last, low))
        )
        distance = first - last
    is_short = abs(stride) <= _LONGEST
    count = symbolic.ceildiv(distance, abs(stride)) if is_short else symbolic.minimum(distance, 1)
    return Slice(first, stride, symbolic.maximum(count, 0))


def _from_end(position: Dim, size: Dim, *, inbound: bool) -> Dim:
    """`position`, plus `size` if it is negative."""
    if isinstance(position, int):
        return position + size if position < 0 else position
    if inbound or symbolic.prove_less_equal(0, position):
        return position
    if symbolic.prove_less_equal(position, -1):
        return position + size
    return position + size * symbolic.maximum(symbolic.minimum(-position, 1), 0)
