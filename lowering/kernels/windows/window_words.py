"""The windows of a convolution as a matrix B: in row k and column p it has what tap k of window p sees.

The matrix is in no memory: what packs it (`window_pack`) reads the data by a few numbers, the words. Zeros around the
data are in no memory either.
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
"""Spatial dimensions that the words have room for; those that a convolution lacks have size 1."""
WORDS_PER_AXIS = 7
HEAD = 2
"""Words before those of the spatial dimensions: the address of the data, and how far channels are apart."""
FINISH = HEAD + MOST_AXES * WORDS_PER_AXIS
"""Where the words begin that say what is done to sums at the registers (see `line_finish`)."""
ZERO = FINISH + FINISH_WORDS
"""A word whose bits are all 0."""
WORDS = ZERO + 1


class Kind(Enum):
    """What is computed of windows, by the end of the name of its kernel.

    All but products of matrices go over the windows of each channel by itself.
    """

    PRODUCT = "windows"
    DEPTHWISE = "depthwise"
    """The product of each row of A and the windows of its own channel."""
    SUM = "sums_of_windows"
    MAX = "max_of_windows"
    """Of these A says how many taps there are, and nothing else."""

    @property
    def by_channel(self) -> bool:
        """Whether each row of the result is of the windows of one channel."""
        return self is not Kind.PRODUCT

    @property
    def neutral(self) -> float:
        """What stands around the data, and changes no result."""
        return -math.inf if self is Kind.MAX else 0.0

    def entry(self, kernel: str) -> str:
        """The name of its kernel, from that of the product of two matrices."""
        return f"{kernel}.{self.value}"


@dataclass(frozen=True)
class WindowAxis:
    """A spatial dimension: the axis of the data, the loops over windows and over taps, and their steps in the data.

    `before`: how many zeros are in front of the data.
    """

    axis: int
    window: int
    tap: int
    step: int
    dilation: int
    before: e.Index = 0


@dataclass(frozen=True)
class Windows:
    """How a convolution reads its data: the axis of the channels, and the spatial ones."""

    channel: int
    spatial: tuple[WindowAxis, ...]
    kind: Kind = Kind.PRODUCT
    replaced: tuple[ir.Operation, ...] = ()
    """What would copy the data into neutral elements, and is not needed, users first."""
    finish: LineFinish | None = None
    """What is done to the sums of a depthwise convolution at the registers."""

    def write(
        self,
        words: e.Value,
        data: e.Strided,
        offset: e.Index,
        extent: Mapping[int | None, e.Index],
        element: str,
    ) -> e.Value:
        """Fill the words in for the data from `offset` on; gives the argument for a kernel.

        `extent`: the numbers of windows and of taps along each loop; `element`: the type of sums.
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
    """The type of the words as an argument."""
    return e.flat_memref(ir.IndexType.get())


def reserve_words() -> e.Value:
    """Stack memory for the words (to be reserved outside of loops)."""
    return memref.alloca(ir.MemRefType.get([WORDS], ir.IndexType.get()), [], [])


@dataclass(frozen=True)
class AxisWords:
    """The words of a spatial dimension: of the data its size and how far elements are apart, then the windows'."""

    size: e.Value
    stride: e.Value
    step: e.Value
    dilation: e.Value
    before: e.Value
    windows: e.Value
    taps: e.Value

    def first(self, window: e.Index) -> e.Index:
        """Where a window begins; before the data it is a negative number, which as an unsigned one is large."""
        return e.sub(e.mul(window, self.step), self.before)


@dataclass(frozen=True)
class WindowWords:
    """The words, read from memory; the last of `axes` is that of neighbours."""

    start: e.Value
    channel_stride: e.Value
    axes: Sequence[AxisWords]

    @classmethod
    def read(cls, words: e.Value) -> WindowWords:
        """Those that `Windows.write` wrote."""
        start, channel, *rest = (e.load(words, position) for position in range(FINISH))
        groups = [rest[i : i + WORDS_PER_AXIS] for i in range(0, len(rest), WORDS_PER_AXIS)]
        return cls(start, channel, [AxisWords(*group) for group in groups])
