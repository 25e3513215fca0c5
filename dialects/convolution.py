"""Convolutions over one to three dimensions, and transposed ones.

A convolution is a cross-correlation with a kernel, as in neural networks. In a transposed one each element adds a
scaled kernel to the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.dtypes import DType, promote
from relax_mlir.dialects.elementwise import dtype_of
from relax_mlir.dialects.fields import DTypeName, Int, Ints, Operand, Text, TextOrDefault
from relax_mlir.dialects.number_attributes import integers
from relax_mlir.dialects.traits import OpPatternKind
from relax_mlir.dialects.types import Tensor, dim_text
from relax_mlir.error import ArgumentError, ShapeError, UnsupportedError
from relax_mlir.mlir import ext
from relax_mlir.symbolic import Dim

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


class SpatialOp(RelaxOp):
    """Base of the ops over windows: `count` is the number of spatial dimensions.

    One integer applies to all spatial dimensions, and padding of one integer each to both sides.
    """

    count = 0

    @classmethod
    def prepare(cls, what: str, given: dict[str, Any]) -> None:
        for name in given.keys() & {"pool_size", "strides", "output_padding", "dilation"}:
            given[name] = repeated(given[name], what, name, cls.count)
        given["padding"] = both_sides(given["padding"], what, cls.count)
        given["out_layout"] = given["out_layout"] or given.get("layout", given.get("data_layout"))


class AnyConvolutionOp(SpatialOp):
    """Base of the convolutions and the transposed ones, whose kernels have other layouts and results other sizes."""

    op_pattern = OpPatternKind.OUT_ELEMWISE_FUSABLE
    kernel_letters = "OI"

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return Convolution.of(args).result

    @classmethod
    def plain_layouts(cls) -> tuple[str, str]:
        """The layouts of data and kernels that are lowered without copies."""
        return f"NC{SPATIAL[cls.count]}", f"{cls.kernel_letters}{SPATIAL[cls.count]}"


class ConvolutionOp(AnyConvolutionOp):
    """Base of the convolutions."""

    data: Operand
    weight: Operand
    strides: Ints = 1
    padding: Ints = 0
    dilation: Ints = 1
    groups: Int = 1
    data_layout: Text = "NCW"
    kernel_layout: Text = "OIW"
    out_layout: TextOrDefault = None
    out_dtype: DTypeName | None = None
    result: ext.Result[Any]

    @classmethod
    def multiply_adds(cls, args: OpArgs) -> Dim | None:
        found, weight = Convolution.of(args), args.tensor(1).known_shape
        result = found.result.known_shape
        if weight is None or result is None:
            return None
        each = [dim for letter, dim in zip(found.kernel, weight, strict=True) if letter != "O"]
        return symbolic.product(result) * symbolic.product(each)


class Conv1dOp(ConvolutionOp, name="nn_conv1d", traits=[ext.Pure]):
    """The convolution of `data` (batch, channels, width) with `weight`; see `Conv2dOp`.

    Example: shapes ``(n, 8, w)`` and ``(16, 8, 3)`` with padding ``[1, 1]`` give ``(n, 16, w)``.
    """

    count = 1


class Conv2dOp(ConvolutionOp, name="nn_conv2d", traits=[ext.Pure]):
    """The convolution of images `data` with the kernels `weight`, which are not flipped.

    Result ``[n, o, y, x]`` is the sum over ``i, u, v`` of ``weight[o, i, u, v]`` times the element of the zero-padded
    `data`, ``data[n, c + i, y*strides[0] + u*dilation[0] - top, x*strides[1] + v*dilation[1] - left]``. The channels
    are divided into `groups` of consecutive channels: kernel ``o`` of `weight` reads those of its group, which start at
    ``c``. `padding` is top, left, bottom, right. The layouts are permutations of the letters of ``NCHW`` and ``OIHW``.
    `out_dtype` is the dtype of the result (``unit``: that of `data`), to which products are converted before they are
    added; 16-bit floats are accumulated in float32.

    The number of channels must be provably that of `weight` times `groups`. A kernel larger than the padded image is an
    error.

    Example: shapes ``(n, 3, h, w)`` and ``(64, 3, 7, 7)`` with strides ``[2, 2]`` and padding ``[3, 3, 3, 3]`` give
    ``(n, 64, (h - 1) // 2 + 1, (w - 1) // 2 + 1)``.
    """

    strides, padding, dilation = (1, 1), (0, 0), (1, 1)
    data_layout, kernel_layout = "NCHW", "OIHW"
    count = 2


class Conv3dOp(ConvolutionOp, name="nn_conv3d", traits=[ext.Pure]):
    """The convolution of `data` (batch, channels, depth, height, width) with `weight`; see `Conv2dOp`.

    Example: shapes ``(n, 8, d, h, w)`` and ``(16, 8, 1, 1, 1)`` give ``(n, 16, d, h, w)``.
    """

    strides, padding, dilation = (1, 1, 1), (0, 0, 0), (1, 1, 1)
    data_layout, kernel_layout = "NCDHW", "OIDHW"
    count = 3


@dataclass(frozen=True)
class Convolution:
    """The checked attributes of a convolution, or a transposed one; letter positions are indices in the layouts."""

    op: str
    spatial: str
    strides: tuple[int, ...]
    before: tuple[int, ...]
    """The padding before each spatial dimension."""
    after: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    data: str
    kernel: str
    out: str
    result: Tensor
    more: tuple[int, ...] = ()
    """The extra size at the end of each spatial dimension of the result of a transposed convolution."""

    @classmethod
    def of(cls, args: OpArgs) -> "Convolution":
        """The convolution of an op; raises `ShapeError`, `DTypeError`, `ArgumentError`, `UnsupportedError`."""
        is_transposed = args.op.endswith("_transpose")
        count = next(int(c) for c in args.op if c.isdigit())
        spatial = SPATIAL[count]
        strides, dilation = (numbers_of(args, name, count, least=1) for name in ("strides", "dilation"))
        padding = numbers_of(args, "padding", 2 * count, least=0)
        more = numbers_of(args, "output_padding", count, least=0) if is_transposed else ()
        groups = args.int_attr("groups")
        if groups < 1:
            raise ArgumentError(f"{args.op}: groups is {groups}, expected at least 1")
        data, out = (layout_of(args, name, f"NC{spatial}") for name in ("data_layout", "out_layout"))
        kernel = layout_of(args, "kernel_layout", f"{'IO' if is_transposed else 'OI'}{spatial}")
        found = cls(
            *(args.op, spatial, strides, padding[:count], padding[count:], dilation, groups),
            *(data, kernel, out, Tensor(None, result_dtype(args), ndim=count + 2), more),
        )
        image, weight = dims_by_letter(args, 0, data), dims_by_letter(args, 1, kernel)
        if image is None or weight is None:
            return found
        return replace(found, result=Tensor(found.shape(image, weight), found.result.dtype))

    def shape(self, image: dict[str, Dim | None], kernel: dict[str, Dim | None]) -> list[Dim | None]:
        """The shape of the result, in its layout."""
        outputs = kernel["O"]
        if self.more:
            self._check_transposed_channels(image["C"], kernel["I"])
            outputs = None if outputs is None else outputs * self.groups
        else:
            self._check_channels(image["C"], kernel["I"], outputs)
        dims = {"N": image["N"], "C": outputs}
        for axis, letter in enumerate(self.spatial):
            dims[letter] = self.size(axis, image[letter], kernel[letter])
        return [dims[letter] for letter in self.out]

    def size(self, axis: int, image: Dim | None, kernel: Dim | None) -> Dim | None:
        """The size of spatial dimension `axis` of the result."""
        if image is None or kernel is None:
            return None
        padding, reach = self.before[axis] + self.after[axis], (kernel - 1) * self.dilation[axis] + 1
        where = f"{self.op}: in dimension {self.spatial[axis]} the kernel"
        if self.more:
            reach = (image - 1) * self.strides[axis] + reach
            size = reach + self.more[axis] - padding
            if symbolic.prove_less_equal(size, -1):
                raise ShapeError(f"{where}s reach over {dim_text(reach)}, of which padding takes {padding}")
            return size
        padded = image + padding
        if symbolic.prove_less_equal(padded + 1, reach):
            raise ShapeError(f"{where} reaches over {dim_text(reach)}, but the padded data has size {dim_text(padded)}")
        return symbolic.floordiv(padded - reach, self.strides[axis]) + 1

    def _check_channels(self, channels: Dim | None, inputs: Dim | None, outputs: Dim | None) -> None:
        """Raise `ShapeError` if known channels of data and kernels differ."""
        taken = None if inputs is None else inputs * self.groups
        self._check_equal(channels, taken, f"{dim_text(inputs)} in each of {self.groups} groups")
        self._check_groups("weight", outputs, "kernels")

    def _check_transposed_channels(self, channels: Dim | None, inputs: Dim | None) -> None:
        self._check_equal(channels, inputs, dim_text(inputs))
        self._check_groups("data", inputs if channels is None else channels, "channels")

    def _check_equal(self, channels: Dim | None, taken: Dim | None, what: str) -> None:
        if channels is None or taken is None or symbolic.prove_equal(channels, taken):
            return
        hint = "" if symbolic.prove_not_equal(channels, taken) else "; match_shape one of them first"
        raise ShapeError(
            f"{self.op}: operand 'data' has {dim_text(channels)} channels, but 'weight' takes {what}{hint}"
        )

    def _check_groups(self, name: str, count: Dim | None, what: str) -> None:
        if count is not None and not symbolic.prove_divisible(count, self.groups):
            raise ShapeError(
                f"{self.op}: operand '{name}' has {dim_text(count)} {what}, which is not provably a multiple of "
                f"groups, {self.groups}"
            )


def numbers_of(args: OpArgs, name: str, count: int, *, least: int) -> tuple[int, ...]:
    """Attribute `name`, `count` integers ≥ `least`; else raises `ArgumentError`."""
    found = tuple(args.ints_attr(name))
    if len(found) != count or any(number < least for number in found):
        raise ArgumentError(f"{args.op}: {name} is {list(found)}, expected {count} integers that are at least {least}")
    return found


def layout_of(args: OpArgs, name: str, letters: str) -> str:
    """Attribute `name`, a permutation of `letters`; raises `ArgumentError`, `UnsupportedError` for a blocked layout."""
    text = args.str_attr(name)
    if sorted(text) == sorted(letters):
        return text
    if any(c.isdigit() for c in text):
        raise UnsupportedError(
            f"{args.op}: {name} is {text!r}: dimensions in blocks are not supported; give an order of {letters}"
        )
    raise ArgumentError(f"{args.op}: {name} is {text!r}, expected an order of the letters {letters}")


def dims_by_letter(args: OpArgs, index: int, layout: str) -> dict[str, Dim | None] | None:
    """The dimensions of an operand by letter."""
    info = args.tensor(index)
    if info.ndim is not None and info.ndim != len(layout):
        raise ShapeError(
            f"{args.op}: operand '{args.name_of(index)}' is {info}, expected {len(layout)} dimensions ({layout})"
        )
    return None if info.shape is None else dict(zip(layout, info.shape, strict=True))


def result_dtype(args: OpArgs) -> DType | None:
    """The dtype of the result."""
    for index in (0, 1):
        args.require_dtype(index, lambda d: d.kind != "bool", "a number")
    data, weight = args.tensor(0).dtype, args.tensor(1).dtype
    if data is not None and weight is not None:
        promote(data, weight, args.op)
    if args.is_unit("out_dtype"):
        return data
    found = dtype_of(args, "out_dtype")
    if found.kind == "bool":
        raise ArgumentError(f"{args.op}: out_dtype is bool, expected a number")
    return found


def repeated(values: int | Sequence[int], op: str, name: str, count: int) -> list[int]:
    """One integer per spatial dimension; a single integer applies to all."""
    found = integers(values, f"{op}: '{name}'")
    return found * count if len(found) == 1 else found


def both_sides(values: int | Sequence[int], op: str, count: int) -> list[int]:
    """The padding before each spatial dimension, then the padding after each."""
    found = repeated(values, op, "padding", count)
    return found * 2 if len(found) == count else found


class TransposedConvolutionOp(AnyConvolutionOp):
    """Base of the transposed convolutions."""

    kernel_letters = "IO"

    data: Operand
    weight: Operand
    strides: Ints = 1
    padding: Ints = 0
    output_padding: Ints = 0
    dilation: Ints = 1
    groups: Int = 1
    data_layout: Text = "NCW"
    kernel_layout: Text = "IOW"
    out_layout: TextOrDefault = None
    out_dtype: DTypeName | None = None
    result: ext.Result[Any]


class Conv1dTransposeOp(TransposedConvolutionOp, name="nn_conv1d_transpose", traits=[ext.Pure]):
    """The transposed convolution of `data` (batch, channels, width) with `weight`; see `Conv2dTransposeOp`.

    Example: shapes ``(n, 8, w)`` and ``(8, 16, 2)`` with strides ``[2]`` give ``(n, 16, 2*w)``.
    """

    count = 1


class Conv2dTransposeOp(TransposedConvolutionOp, name="nn_conv2d_transpose", traits=[ext.Pure]):
    """The transposed convolution of images `data` with the kernels `weight`.

    Element ``[n, i, y, x]`` of `data`, multiplied by ``weight[i, o, u, v]``, is added for all ``o, u, v`` to element
    ``[n, o, y*strides[0] + u*dilation[0] - top, x*strides[1] + v*dilation[1] - left]`` of the result, which has
    ``(h - 1)*strides[0] - top - bottom + (kernel - 1)*dilation[0] + output_padding[0] + 1`` rows, and so on. The
    channels are divided into `groups` of consecutive channels: those of `data` contribute to as many channels of the
    result as `weight` has outputs. `padding` is top, left, bottom, right. The layouts are permutations of the letters
    of ``NCHW`` and ``IOHW``. `out_dtype` is the dtype of the result (``unit``: that of `data`), to which products are
    converted before they are added; 16-bit floats are accumulated in float32.

    Example: shapes ``(n, 8, h, w)`` and ``(8, 16, 4, 4)`` with strides ``[2, 2]`` and padding ``[1, 1, 1, 1]`` give
    ``(n, 16, 2*h, 2*w)``.
    """

    strides, padding, output_padding, dilation = (1, 1), (0, 0), (0, 0), (1, 1)
    data_layout, kernel_layout = "NCHW", "IOHW"
    count = 2


class Conv3dTransposeOp(TransposedConvolutionOp, name="nn_conv3d_transpose", traits=[ext.Pure]):
    """The transposed convolution of `data` (batch, channels, depth, height, width); see `Conv2dTransposeOp`.

    Example: shapes ``(n, 8, d, h, w)`` and ``(8, 4, 1, 1, 1)`` give ``(n, 4, d, h, w)``.
    """

    strides, padding, output_padding, dilation = (1, 1, 1), (0, 0, 0), (0, 0, 0), (1, 1, 1)
    data_layout, kernel_layout = "NCDHW", "IODHW"
    count = 3
