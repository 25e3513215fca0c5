"""Transposes and horizontal sums of N vectors of N lanes (a power of two) by rounds of shuffles."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.mlir import arith, vector


def transpose(rows: Sequence[Value]) -> list[Value]:
    """Transpose the square of vectors in log2(lanes) rounds."""
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
    """The horizontal sum of each vector: lane i holds the sum of vector i."""
    current = list(vectors)
    half = len(vectors) // 2
    while half:
        pairs = zip(current[:half], current[half:], strict=True)
        current = [arith.addf(*_exchange(a, b, half)) for a, b in pairs]
        half //= 2
    return current[0]


def _exchange(a: Value, b: Value, half: int) -> tuple[Value, Value]:
    """Exchange the off-diagonal parts of two vectors in each square block of size 2 * half."""
    lanes = a.type.shape[0]
    low = [i if i & half == 0 else lanes + i - half for i in range(lanes)]
    high = [i + half if i & half == 0 else lanes + i for i in range(lanes)]
    return vector.shuffle(a, b, low), vector.shuffle(a, b, high)
