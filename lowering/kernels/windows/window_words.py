"""The windows of a convolution as a matrix B: row k, column p is the element that tap k of window p reads.

The matrix is not materialised: packing (`window_pack`) reads the data through a parameter block of some integers. Zero
padding is not materialised either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core.addresses import address
from relax_mlir.lowering.kernels.windows.line_finish import WORDS as FINISH_WORDS
from relax_mlir.lowering.kernels.windows.line_finish import LineFinish, finish_words
from relax_mlir.mlir import ir, memref

MOST_AXES = 3
"""Spatial dimensions in the parameter block; those that a convolution lacks have size 1."""
WORDS_PER_AXIS = 7
HEAD = 2
"""Parameters before those of the spatial dimensions: the address of the data, and the channel stride."""
FINISH = HEAD + MOST_AXES * WORDS_PER_AXIS
"""Index of the parameters of the epilogue in registers (see `line_finish`)."""
ZERO = FINISH + FINISH_WORDS
"""Index of a parameter whose bits are all 0."""
WORDS = ZERO + 1


class Kind(Enum):
    """The operation on windows; its value is the suffix of the kernel's name.

    All but GEMMs go over the windows of each channel separately.
    """

    PRODUCT = "windows"
    DEPTHWISE = "depthwise"
    """Each row of A times the windows of its channel."""
    SUM = "sums_of_windows"
    MAX = "max_of_windows"
    """For sums and maxima, A only gives the number of taps."""

    @property
    def by_channel(self) -> bool:
        """True if each row of the result belongs to the windows of one channel."""
        return self is not Kind.PRODUCT

    @property
    def neutral(self) -> float:
        """The padding element that changes no result."""
        return -math.inf if self is Kind.MAX else 0.0

    def entry(self, kernel: str) -> str:
        """The name of the kernel, from that of the GEMM."""
        return f"{kernel}.{self.value}"


@dataclass(frozen=True)
class WindowAxis:
    """A spatial dimension: the axis of the data, the loops over windows and over taps, and their steps in the data.

    `before`: zeros before the data.
    """

    axis: int
    window: int
    tap: int
    step: int
    dilation: int
    before: e.Index = 0


@dataclass(frozen=True)
class Windows:
    """The access to the data of a convolution: the channel axis, and the spatial ones."""

    channel: int
    spatial: tuple[WindowAxis, ...]
    kind: Kind = Kind.PRODUCT
    replaced: tuple[ir.Operation, ...] = ()
    """The ops that pad the data, which are not needed; users first."""
    finish: LineFinish | None = None
    """The epilogue of a depthwise convolution in registers."""

    def write(
        self,
        words: e.Value,
        data: e.Strided,
        offset: e.Index,
        extent: Mapping[int | None, e.Index],
        element: str,
    ) -> e.Value:
        """Write the parameter block for the data from `offset`; return the kernel argument.

        `extent`: the number of windows and of taps along each loop; `element`: the accumulator type.
        """
        values: list[e.Index] = [address(data, offset), data.strides[self.channel]]
        values += [1, 0, 1, 1, 0, 1, 1] * (MOST_AXES - len(self.spatial))
        for x in self.spatial:
            values += [data.sizes[x.axis], data.strides[x.axis], x.step, x.dilation, x.before]
            values += [extent[x.window], extent[x.tap]]
        if self.kind is Kind.DEPTHWISE:
            values += [*finish_words(self.finish, words, ZERO, element), 0]
        for position, value in enumerate(values):
            e.store(e.index(value), words, position)
        return memref.cast(words_type(), words)


def words_type() -> e.Type:
    """The type of the parameter block as an argument."""
    return e.flat_memref(ir.IndexType.get())


def reserve_words() -> e.Value:
    """Allocate the parameter block on the stack (outside of loops)."""
    return memref.alloca(ir.MemRefType.get([WORDS], ir.IndexType.get()), [], [])


@dataclass(frozen=True)
class AxisWords:
    """The parameters of a spatial dimension: size and stride of the data, then those of the windows."""

    size: e.Value
    stride: e.Value
    step: e.Value
    dilation: e.Value
    before: e.Value
    windows: e.Value
    taps: e.Value

    def first(self, window: e.Index) -> e.Index:
        """The first position of a window; before the data it is negative, and large as an unsigned integer."""
        return e.sub(e.mul(window, self.step), self.before)


@dataclass(frozen=True)
class WindowWords:
    """The parameter block, loaded from memory; the last of `axes` is the innermost one."""

    start: e.Value
    channel_stride: e.Value
    axes: Sequence[AxisWords]

    @classmethod
    def read(cls, words: e.Value) -> WindowWords:
        """Load the parameters that `Windows.write` has written."""
        start, channel, *rest = (e.load(words, position) for position in range(FINISH))
        groups = [rest[i : i + WORDS_PER_AXIS] for i in range(0, len(rest), WORDS_PER_AXIS)]
        return cls(start, channel, [AxisWords(*group) for group in groups])
