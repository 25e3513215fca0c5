"""What rounds of shuffles make of as many vectors as there are lanes (a power of two)."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.mlir import arith, vector


def transpose(rows: Sequence[Value]) -> list[Value]:
    """The columns of the square that the vectors are, by log2(lanes) rounds."""
    lanes = len(rows)
    current = list(rows)
    half = lanes // 2
    while half:
        for i in range(lanes):
            if i & half == 0:
                current[i], current[i + half] = _exchange(current[i], current[i + half], half)
        half //= 2
    return current


def sum_each(vectors: Sequence[Value]) -> Value:
    """The sum of each of the vectors: that of vector i in lane i."""
    current = list(vectors)
    half = len(vectors) // 2
    while half:
        pairs = zip(current[:half], current[half:], strict=True)
        current = [arith.addf(*_exchange(a, b, half)) for a, b in pairs]
        half //= 2
    return current[0]


def _exchange(a: Value, b: Value, half: int) -> tuple[Value, Value]:
    """Two vectors that have exchanged what lies off the diagonal in each square block of size 2 * half."""
    lanes = a.type.shape[0]
    low = [i if i & half == 0 else lanes + i - half for i in range(lanes)]
    high = [i + half if i & half == 0 else lanes + i for i in range(lanes)]
    return vector.shuffle(a, b, low), vector.shuffle(a, b, high)
