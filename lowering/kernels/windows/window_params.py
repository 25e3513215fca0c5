"""The parameter block of window kernels: the data and geometry of the windows, and the clamp epilogue."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from relax_mlir.ir_queries import defining_op, entry_block, is_a
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.emit import address, item_bytes, memref_at
from relax_mlir.lowering.kernels.gemm.epilogue import words_type
from relax_mlir.mlir import arith, ir, memref

# The epilogue of depthwise convolutions in registers: add a bias, then clamp to two bounds.
#
# It covers a bias with ReLU, ReLU6 or another `clip`, which follows most depthwise convolutions. Everything
# else is an epilogue in memory (`gemm.epilogue`), which reads the results again.


CLAMP_PARAMS = 4
"""Parameters: address of the first channel's bias, stride of the bias, and the bits of both bounds."""
_FORMATS = {"f32": ("<f", "<I"), "f64": ("<d", "<q")}


@dataclass(frozen=True)
class LineFinish:
    """The operation that is replaced, the buffer with the bias of each channel and its channel axis, and the bounds.

    `axis`: None for a bias that all channels share. NaN passes the bounds.
    """

    operation: ir.Operation
    bias: e.Value | None
    axis: int | None
    low: float
    high: float


def match_line_finish(
    operation: ir.Operation, sums: e.Value, axes: Mapping[e.Value, tuple[int | None, ...]], row: int
) -> LineFinish | None:
    """Match an epilogue that updates `sums` in place as one in registers; None if it cannot be.

    `axes`: the loops that move its buffers; `row`: the loop over channels.
    """
    element = str(ir.MemRefType(sums.type).element_type)
    *steps, end = (op.operation for op in entry_block(operation).operations)
    inputs = dict(zip(entry_block(operation).arguments, operation.operands, strict=True))
    total: e.Value | None = next((x for x, buffer in inputs.items() if buffer == sums and list(x.uses)), None)
    if element not in _FORMATS or operation.operands[-1] != sums or total is None:
        return None
    bias: e.Value | None = None
    bounds: dict[str, float] = {}
    for step in steps:
        other = _other(step, total)
        if other is None or (bounds and step.name == "arith.addf"):
            return None
        number = _number(other)
        if step.name == "arith.addf" and bias is None and other in inputs and inputs[other] != sums:
            bias = inputs[other]
        elif step.name in ("arith.maximumf", "arith.minimumf") and step.name not in bounds and number is not None:
            bounds[step.name] = number
        else:
            return None
        total = step.results[0]
    low, high = bounds.get("arith.maximumf", -math.inf), bounds.get("arith.minimumf", math.inf)
    in_order = list(bounds) != ["arith.minimumf", "arith.maximumf"] or low <= high
    if list(end.operands) != [total] or not in_order or math.isnan(low) or math.isnan(high):
        return None
    if bias is None:
        return LineFinish(operation, None, None, low, high)
    moved = [loop for loop in axes[bias] if loop is not None]
    if str(ir.MemRefType(bias.type).element_type) != element or moved not in ([], [row]):
        return None
    return LineFinish(operation, bias, axes[bias].index(row) if moved else None, low, high)


def _other(step: ir.Operation, total: e.Value) -> e.Value | None:
    """The other operand of a binary op that uses `total` exactly once; else None."""
    operands = list(step.operands)
    if len(operands) != 2 or operands.count(total) != 1:
        return None
    return operands[1 - operands.index(total)]


def _number(value: e.Value) -> float | None:
    made = defining_op(value)
    return float(made.opview.literal_value) if made is not None and is_a(made, arith.ConstantOp) else None


def finish_words(finish: LineFinish | None, words: e.Value, zero: int, element: str) -> list[e.Index]:
    """The parameters; without a bias they refer to the zero at index `zero` of `words`, for all channels."""
    if finish is None or finish.bias is None:
        start = memref.extract_aligned_pointer_as_index(words)
        at: list[e.Index] = [e.add(start, zero * 8), 0]
    else:
        parts = e.metadata(finish.bias)
        at = [address(parts, 0), 0 if finish.axis is None else parts.strides[finish.axis]]
    low, high = (-math.inf, math.inf) if finish is None else (finish.low, finish.high)
    return [*at, _bits(low, element), _bits(high, element)]


def _bits(number: float, element: str) -> int:
    number_format, bits_format = _FORMATS[element]
    return int(struct.unpack(bits_format, struct.pack(number_format, number))[0])


@dataclass(frozen=True)
class Finisher:
    """The parameters, loaded from memory, for accumulators of type `element`."""

    bias: e.Value
    low: e.Value
    high: e.Value

    @classmethod
    def read(cls, words: e.Value, first: int, element: e.Type) -> Finisher:
        start, stride, low, high = (e.load(words, first + position) for position in range(CLAMP_PARAMS))
        width = ir.IntegerType.get_signless(item_bytes(element) * 8)
        low, high = (arith.bitcast(element, arith.index_castui(width, bits)) for bits in (low, high))
        return cls(memref_at(start, element, [stride]), low, high)

    def apply(self, total: e.Value, channel: e.Index) -> e.Value:
        """Add the bias of a channel to a scalar or vector, and clamp it to the bounds."""
        numbers = e.load(self.bias, channel), self.low, self.high
        if e.is_vector(total.type):
            lanes = ir.VectorType(total.type).shape[0]
            bias, low, high = (simd.splat(number, lanes) for number in numbers)
        else:
            bias, low, high = numbers
        value = arith.addf(total, bias)
        # Compared in this order, which is one instruction, NaN passes.
        above = arith.CmpFOp(arith.CmpFPredicate.OGT, low, value).result
        value = arith.select(above, low, value)
        below = arith.CmpFOp(arith.CmpFPredicate.OLT, high, value).result
        return arith.select(below, high, value)


# The windows of a convolution as a matrix B: row k, column p is the element that tap k of window p reads.
#
# The matrix is not materialised: packing (`window_gemm`) reads the data through a parameter block of some
# integers. Zero padding is not materialised either.


MOST_AXES = 3
"""Spatial dimensions in the parameter block; those that a convolution lacks have size 1."""
WORDS_PER_AXIS = 7
HEAD = 2
"""Parameters before those of the spatial dimensions: the address of the data, and the channel stride."""
FINISH = HEAD + MOST_AXES * WORDS_PER_AXIS
"""Index of the parameters of the epilogue in registers (see `window_params`)."""
ZERO = FINISH + CLAMP_PARAMS
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
