"""The weights of a library: the constants as compiled code reads them, one behind the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

ALIGNMENT = 64
"""Bytes of a cache line, on which every constant begins."""

SECTION_ALIGNMENT = 1 << 16
"""Bytes of the largest page that Linux uses for files (AArch64), on which they begin as a whole."""


@dataclass(frozen=True)
class WeightsLayout:
    """Where each constant begins, in bytes, and how many they take together."""

    places: tuple[int, ...]
    size: int

    @staticmethod
    def of(constants: Sequence[Array]) -> WeightsLayout:
        """One array that occurs twice is stored once."""
        known: dict[tuple[int, int], int] = {}
        places = []
        end = 0
        for array in constants:
            key = (array.ctypes.data, array.nbytes)
            if key not in known:
                known[key] = end
                end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
            places.append(known[key])
        return WeightsLayout(tuple(places), end)


def write_weights(constants: Sequence[Array], layout: WeightsLayout, stream: IO[bytes]) -> None:
    """Write the constants to a file that begins where the weights do; what lies between them is zeros."""
    for place, array in zip(layout.places, constants, strict=True):
        stream.seek(place)
        stream.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    stream.truncate(layout.size)
