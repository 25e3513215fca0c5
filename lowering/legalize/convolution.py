"""Legalisation of convolutions: zero padding of the data, then one sum over a window."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from relax_mlir import symbolic, te, topi
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.convolution import (
    SPATIAL,
    Conv1dOp,
    Conv1dTransposeOp,
    Conv2dOp,
    Conv2dTransposeOp,
    Conv3dOp,
    Conv3dTransposeOp,
    Convolution,
)
from relax_mlir.dialects.pooling import has_windows
from relax_mlir.dialects.types import StructInfo, Tensor
from relax_mlir.expr import Attrs
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel
from relax_mlir.lowering.kernels.windows.channel_windows import computes
from relax_mlir.lowering.kernels.windows.window_gemm import reads_windows
from relax_mlir.lowering.kernels.windows.window_params import Kind
from relax_mlir.lowering.legalize.linear_algebra import cast, contraction, matrices, zeroed
from relax_mlir.lowering.legalize.prim_bodies import (
    Index,
    Window,
    dtype_of,
    require_windows,
    reshaped,
    sizes_of,
    surrounded,
)
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, expression, lower
from relax_mlir.lowering.strategy.tuned import Config, get_config
from relax_mlir.mlir import arith, ir, scf, tensor
from relax_mlir.scalars.arithmetic import Scalar, add, compute_dtype, convert, multiply
from relax_mlir.scalars.linalg_builders import generic, identity, projection
from relax_mlir.symbolic import Dim
from relax_mlir.target import Target
from relax_mlir.te import ComputeOp, IterVar, Schedule
from relax_mlir.te import Tensor as TETensor


@lower(Conv1dOp, Conv2dOp, Conv3dOp)
def legalize_convolution(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Lower to sums over windows, which are GEMMs: the rows are the filters, the columns the windows."""
    conv, result = Convolution.of(op.args), op.results[0]
    wide = result.with_dtype(compute_dtype(result.element))
    data, weight = op.operands
    unsure = _unsure(conv, data, weight)
    if conv.groups == 1 and _is_product(conv, weight):
        return [_product_of_channels(lz, conv, _padded(lz, conv, data), weight, result)]
    if _has_windows(conv, data, weight, wide):
        return [_sums_over_windows(lz, conv, data, weight, result, unsure)]
    data = _padded(lz, conv, data)
    if conv.groups == 1:
        return [_product(lz, conv, data, weight, result, unsure)]

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        require_windows(prim, conv.op, unsure, conv.out)
        return Loops.of(conv).sums(prim, prim.ins[0])

    key = (conv.strides, conv.dilation, conv.groups, conv.data, conv.kernel, conv.out, unsure)
    sums = lz.prim(_name(conv), [data, weight], [wide], body, pattern="out_fusable", key=key)
    return [cast(lz, sums[0], result.element)]


def _unsure(conv: Convolution, data: Arg, weight: Arg) -> tuple[str, ...]:
    """The spatial dimensions in which the kernel may be larger than the padded data."""
    images = dict(zip(conv.data, data.shape, strict=True))
    kernels = dict(zip(conv.kernel, weight.shape, strict=True))
    return tuple(
        letter
        for axis, letter in enumerate(conv.spatial)
        if not has_windows(functools.partial(conv.size, axis, kernel=kernels[letter]), images[letter])
    )


def _has_windows(conv: Convolution, data: Arg, weight: Arg, wide: Tensor) -> bool:
    """True if a generated kernel reads windows in place (see `match_windows`)."""
    operand, kernel, total = (str(info.element.storage_type()) for info in (data.info, weight.info, wide))
    product = GemmKernel(operand, total)
    return operand == kernel and (
        computes(Kind.DEPTHWISE, product) if _is_depthwise(conv, weight) else reads_windows(product)
    )


def _is_depthwise(conv: Convolution, weight: Arg) -> bool:
    """True if each channel has a separate filter."""
    sizes = dict(zip(conv.kernel, weight.shape, strict=True))
    return conv.groups > 1 and sizes["I"] == 1 and symbolic.prove_equal(sizes["O"], conv.groups)


def _sums_over_windows(
    lz: Legalizer, conv: Convolution, data: Arg, weight: Arg, result: Tensor, unsure: tuple[str, ...]
) -> Arg:
    """The convolution in the layouts `NCHW` and `OIHW`, with copies around it for other layouts."""
    plain = replace(conv, data=f"NC{conv.spatial}", kernel=f"OI{conv.spatial}", out=f"NC{conv.spatial}")
    images = _reordered(lz, f"{_name(conv)}_data", data, conv.data, plain.data)
    kernels = _reordered(lz, f"{_name(conv)}_kernels", weight, conv.kernel, plain.kernel)
    sizes = dict(zip(conv.out, result.dims, strict=True))
    shape = Tensor([sizes[letter] for letter in plain.out], compute_dtype(result.element))
    key = (conv.strides, conv.dilation, conv.groups, conv.before, conv.after, unsure)
    loops = Loops.of(plain, depthwise=_is_depthwise(plain, kernels))

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        require_windows(prim, conv.op, unsure, plain.out)
        return loops.sums(prim, _with_zeros(plain, prim))

    sums = lz.prim(_name(conv), [images, kernels], [shape], body, pattern="out_fusable", key=key)[0]
    if conv.out == plain.out:
        return cast(lz, sums, result.element)
    return _reordered(lz, f"{_name(conv)}_out", sums, plain.out, conv.out, result)


def _reordered(lz: Legalizer, name: str, value: Arg, letters: str, wanted: str, result: Tensor | None = None) -> Arg:
    """Permute `value` from the dimension order `letters` to the order `wanted`."""
    order = [letters.index(letter) for letter in wanted]
    shape = [value.shape[axis] for axis in order]
    return permuted(lz, name, value, order, result or Tensor(shape, value.info.dtype))


def _with_zeros(conv: Convolution, prim: PrimBody, into: ir.Value | None = None) -> ir.Value:
    """Pad the data of a prim func with zeros (see `surrounded`)."""
    sides = [dict(zip(conv.spatial, sizes, strict=True)) for sizes in (conv.before, conv.after)]
    before, after = ([side.get(letter, 0) for letter in conv.data] for side in sides)
    return surrounded(prim, prim.ins[0], before, after, 0, into)


def _name(conv: Convolution) -> str:
    return conv.op.removeprefix("nn_")


def _product(lz: Legalizer, conv: Convolution, data: Arg, weight: Arg, result: Tensor, unsure: tuple[str, ...]) -> Arg:
    """The convolution in one group, as a GEMM."""
    wide = compute_dtype(result.element)
    sizes = dict(zip(conv.out, result.dims, strict=True))
    kernel = dict(zip(conv.kernel, weight.shape, strict=True))
    rows = [sizes["N"], *(sizes[letter] for letter in conv.spatial)]
    window = [*(kernel[letter] for letter in conv.spatial), kernel["I"]]
    patches = _patches(lz, conv, data, Tensor([*rows, *window], wide), unsure)
    order = [
        *(conv.kernel.index(letter) for letter in conv.spatial),
        conv.kernel.index("I"),
        conv.kernel.index("O"),
    ]
    kernels = permuted(lz, f"{_name(conv)}_kernels", weight, order, Tensor([*window, kernel["O"]], wide))
    left = reshaped(patches, [symbolic.product(rows), symbolic.product(window)])
    right = reshaped(kernels, [symbolic.product(window), kernel["O"]])
    product = lz.prim(
        "matmul", [left, right], [Tensor([left.shape[0], kernel["O"]], wide)], matrices, pattern="out_fusable"
    )
    images = reshaped(product[0], [*rows, kernel["O"]])
    places = {"N": 0, "C": len(rows), **{letter: 1 + axis for axis, letter in enumerate(conv.spatial)}}
    return permuted(lz, f"{_name(conv)}_out", images, [places[letter] for letter in conv.out], result)


def _is_product(conv: Convolution, weight: Arg) -> bool:
    """True if windows are single elements, and channels precede the spatial dimensions: no copies are needed."""
    sizes = dict(zip(conv.kernel, weight.shape, strict=True))
    plain = f"NC{conv.spatial}"
    return (
        (conv.data, conv.out, conv.kernel) == (plain, plain, f"OI{conv.spatial}")
        and all(sizes[letter] == 1 for letter in conv.spatial)
        and all(stride == 1 for stride in conv.strides)
    )


def _product_of_channels(lz: Legalizer, conv: Convolution, data: Arg, weight: Arg, result: Tensor) -> Arg:
    """The convolution with windows of one element: per image, the GEMM of the filters and its channels."""
    wide = compute_dtype(result.element)
    batch, channels, *spatial = data.shape
    places = symbolic.product(spatial)
    images = reshaped(data, [batch, channels, places])
    kernels = reshaped(weight, [weight.shape[0], channels])
    shape = Tensor([batch, weight.shape[0], places], wide)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        return [contraction(prim, [1, 3], [0, 3, 2], zeroed(prim))]

    product = lz.prim("matmul", [kernels, images], [shape], body, pattern="out_fusable", key="channels")
    return reshaped(cast(lz, product[0], result.element), [batch, weight.shape[0], *spatial])


def _patches(lz: Legalizer, conv: Convolution, data: Arg, patches: Tensor, unsure: tuple[str, ...]) -> Arg:
    """The elements of `data` in the window of each element of the result."""
    loops = Loops(conv, ("N", *conv.spatial, *conv.spatial.lower(), "I"), ())
    source, target = data.info.element, patches.element

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        require_windows(prim, conv.op, unsure, f"N{conv.spatial}")
        rank = len(loops.parallel)
        maps = [loops.of_data()], prim.outs, [identity(rank)], ["parallel"] * rank
        return generic(prim.ins, *maps, lambda x, _: convert(source, target, x))

    key = (conv.strides, conv.dilation, conv.data, unsure)
    return lz.prim(f"{_name(conv)}_patches", [data], [patches], body, pattern="injective", key=key)[0]


def permuted(lz: Legalizer, name: str, value: Arg, order: Sequence[int], result: Tensor) -> Arg:
    """Permute `value`: dimension ``order[i]`` becomes dimension i, in the dtype of `result`."""
    source, target, rank = value.info.element, result.element, len(order)
    if list(order) == list(range(rank)):
        return cast(lz, value, target)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        maps = [projection(rank, [order.index(axis) for axis in range(rank)])], prim.outs, [identity(rank)]
        return generic(prim.ins, *maps, ["parallel"] * rank, lambda x, _: convert(source, target, x))

    return lz.prim(name, [value], [result], body, pattern="injective", key=tuple(order))[0]


def _padded(lz: Legalizer, conv: Convolution, data: Arg) -> Arg:
    """Pad `data` with zeros in a separate prim func; return it unchanged without padding."""
    before, after = (dict(zip(conv.spatial, sizes, strict=True)) for sizes in (conv.before, conv.after))
    if not any((*conv.before, *conv.after)):
        return data
    shape = [
        dim + before.get(letter, 0) + after.get(letter, 0) for letter, dim in zip(conv.data, data.shape, strict=True)
    ]

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        return [_with_zeros(conv, prim, prim.outs[0])]

    key = (conv.data, conv.before, conv.after)
    return lz.prim("pad", [data], [Tensor(shape, data.info.dtype)], body, pattern="injective", key=key)[0]


@dataclass(frozen=True)
class Loops:
    """The loops of a convolution by name: those of the result in its layout, then the reduction loops.

    ``N``, ``C`` (of the result, within its group) and the spatial letters; ``I`` and lower-case letters are reduced;
    ``G`` is the group, if there are several. A `depthwise` convolution has ``C`` instead, and no ``I``.
    """

    conv: Convolution
    parallel: tuple[str, ...]
    summed: tuple[str, ...]
    depthwise: bool = False

    @classmethod
    def of(cls, conv: Convolution, depthwise: bool = False) -> Loops:
        parallel = conv.out if depthwise else [part for x in conv.out for part in _in_groups(conv, x, "C")]
        summed = ["I" if letter == "C" else letter.lower() for letter in conv.data if letter != "N"]
        if depthwise:
            summed.remove("I")
        return cls(conv, tuple(parallel), tuple(summed), depthwise)

    def loop(self, name: str) -> ir.AffineExpr:
        return ir.AffineDimExpr.get((*self.parallel, *self.summed).index(name))

    def map(self, exprs: Sequence[ir.AffineExpr]) -> ir.AffineMap:
        return ir.AffineMap.get(len(self.parallel) + len(self.summed), 0, list(exprs))

    def of_data(self) -> ir.AffineMap:
        """The indexing map of the data."""
        exprs: list[ir.AffineExpr] = []
        for letter in self.conv.data:
            if letter == "N" or (letter == "C" and self.depthwise):
                exprs.append(self.loop(letter))
            elif letter == "C":
                exprs += [self.loop(part) for part in _in_groups(self.conv, "I", "I")]
            else:
                axis = self.conv.spatial.index(letter)
                moved = self.loop(letter.lower()) * self.conv.dilation[axis]
                exprs.append(self.loop(letter) * self.conv.strides[axis] + moved)
        return self.map(exprs)

    def of_weight(self) -> ir.AffineMap:
        """The indexing map of the weight."""
        if self.depthwise:
            loops = {"O": "C"} | {letter: letter.lower() for letter in self.conv.spatial}
            zero = ir.AffineConstantExpr.get(0)
            return self.map([self.loop(loops[x]) if x in loops else zero for x in self.conv.kernel])
        names: list[str] = []
        for letter in self.conv.kernel:
            names += _in_groups(self.conv, "C", "C") if letter == "O" else [letter if letter == "I" else letter.lower()]
        return self.map([self.loop(name) for name in names])

    def sums(self, prim: PrimBody, data: ir.Value) -> Sequence[ir.Value]:
        """The sums over windows of `data`, which has the shape of the first input or a larger one."""
        conv = self.conv
        groups = 1 if self.depthwise else conv.groups
        data = _split(prim, data, prim.in_infos[0], conv.data.index("C"), groups)
        weight = _split(prim, prim.ins[1], prim.in_infos[1], conv.kernel.index("O"), groups)
        channel = conv.out.index("C")
        target = _split(prim, zeroed(prim), prim.out_infos[0], channel, groups)
        first, second, out = (info.element for info in (*prim.in_infos, *prim.out_infos))

        def element(a: Scalar, b: Scalar, total: Scalar) -> Scalar:
            return add(out, total, multiply(out, convert(first, out, a), convert(second, out, b)))

        maps = [self.of_data(), self.of_weight()]
        output = self.map([self.loop(name) for name in self.parallel])
        kinds = ["parallel"] * len(self.parallel) + ["reduction"] * len(self.summed)
        sums = generic([data, weight], maps, [target], [output], kinds, element)
        return [_joined(sums[0], prim.outs[0].type, channel, groups)]


def _in_groups(conv: Convolution, letter: str, channel: str) -> list[str]:
    """The loops of one dimension of a tensor; for the channels, one of groups and one of channels in a group."""
    return ["G", letter] if letter == channel and conv.groups > 1 else [letter]


def _split(prim: PrimBody, value: ir.Value, info: Tensor, axis: int, groups: int) -> ir.Value:
    """Split dimension `axis` of a tensor into groups: a view."""
    if groups == 1:
        return value
    shape = info.dims
    sizes, channels = sizes_of(prim, value), symbolic.floordiv(shape[axis], groups)
    sizes[axis : axis + 1] = [groups, channels if isinstance(channels, int) else prim.index(channels)]
    parts = [[i] if i < axis else [i + 1] for i in range(len(shape))]
    parts[axis] = [axis, axis + 1]
    dynamic = int(ir.ShapedType.get_dynamic_size())
    static = [size if isinstance(size, int) else dynamic for size in sizes]
    type_ = ir.RankedTensorType.get(static, ir.RankedTensorType(value.type).element_type)
    unknown = [size for size in sizes if not isinstance(size, int)]
    return tensor.expand_shape(type_, value, parts, unknown, static)


def _joined(value: ir.Value, type_: ir.Type, axis: int, groups: int) -> ir.Value:
    """The inverse of `_split`."""
    if groups == 1:
        return value
    rank = ir.RankedTensorType(type_).rank
    parts = [[i] if i < axis else [i + 1] for i in range(rank)]
    parts[axis] = [axis, axis + 1]
    return tensor.collapse_shape(type_, value, parts)


# Legalisation of transposed convolutions: one GEMM for all taps, each of which is added at its positions.


@lower(Conv1dTransposeOp, Conv2dTransposeOp, Conv3dTransposeOp)
def legalize_transposed_convolution(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    data, weight = op.operands
    conv, result = Convolution.of(op.args), op.results[0]
    wide, letters = compute_dtype(result.element), f"NC{conv.spatial}"
    images = _in_order(lz, "data", cast(lz, data, wide), conv.data, letters)
    kernels = _in_order(lz, "kernels", cast(lz, weight, wide), conv.kernel, f"IO{conv.spatial}")
    products = _products(lz, conv, images, kernels)
    sums = _added(lz, conv, products, images, kernels)
    return [_cut(lz, conv, sums, result)]


def _in_order(lz: Legalizer, what: str, value: Arg, layout: str, wanted: str) -> Arg:
    order = [layout.index(letter) for letter in wanted]
    shape = Tensor([value.shape[axis] for axis in order], value.info.dtype)
    return permuted(lz, f"transposed_{what}", value, order, shape)


def _products(lz: Legalizer, conv: Convolution, images: Arg, kernels: Arg) -> Arg:
    """The products of each image's channels with all taps: ``(batch, groups, outputs * taps, places)``."""
    batch, channels, *spatial = images.shape
    groups, places = conv.groups, symbolic.product(spatial)
    own, columns = symbolic.floordiv(channels, groups), symbolic.product(kernels.shape[1:])
    dtype = images.info.dtype
    taps = reshaped(kernels, [groups, own, columns])
    turned = permuted(lz, "transposed_taps", taps, [0, 2, 1], Tensor([groups, columns, own], dtype))
    if groups == 1:
        left, right = reshaped(turned, [columns, own]), reshaped(images, [batch, own, places])
        axes, shape = ([1, 3], [0, 3, 2]), Tensor([batch, columns, places], dtype)
    else:
        left, right = turned, reshaped(images, [batch, groups, own, places])
        axes, shape = ([1, 2, 4], [0, 1, 4, 3]), Tensor([batch, groups, columns, places], dtype)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        return [contraction(prim, *axes, zeroed(prim))]

    key = "channels" if groups == 1 else "groups"
    return lz.prim("matmul", [left, right], [shape], body, pattern="out_fusable", key=key)[0]


def _reach(conv: Convolution, axis: int, length: Dim, size: Dim) -> Dim:
    """The size of the result before padding is cropped."""
    ends = (length - 1) * conv.strides[axis] + (size - 1) * conv.dilation[axis] + 1
    return symbolic.maximum(ends + conv.more[axis], 0)


def _added(lz: Legalizer, conv: Convolution, products: Arg, images: Arg, kernels: Arg) -> Arg:
    """Add the products of each tap at their positions: ``(batch, channels, …)``, before padding is cropped."""
    batch, _, *lengths = images.shape
    _, outputs, *sizes = kernels.shape
    taps, rank = symbolic.product(sizes), len(lengths)
    given = reshaped(products, [batch, outputs * conv.groups, taps, *lengths])
    reaches = [_reach(conv, axis, length, size) for axis, (length, size) in enumerate(zip(lengths, sizes, strict=True))]
    result = Tensor([batch, outputs * conv.groups, *reaches], products.info.dtype)
    dtype = dtype_of(products)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        source = prim.ins[0]
        shape = given.shape
        sizes_of = [dim if isinstance(dim, int) else prim.dim(source, axis) for axis, dim in enumerate(shape)]
        extents = [prim.index(size) for size in sizes]
        part = [sizes_of[0], sizes_of[1], *sizes_of[3:]]
        marker = ir.ShapedType.get_dynamic_size()
        type_ = ir.RankedTensorType.get(
            [size if isinstance(size, int) else marker for size in part], dtype.storage_type()
        )

        def index(value: int) -> Index:
            return arith.constant(ir.IndexType.get(), value)

        loop = scf.ForOp(index(0), prim.index(taps), index(1), [zeroed(prim)])
        with ir.InsertionPoint(loop.body):
            tap, sums = loop.induction_variable, loop.inner_iter_args[0]
            from_source = Window([sizes_of[0], sizes_of[1], 1, *sizes_of[3:]])
            from_source.offsets[2] = tap
            to = Window(part)
            rest: Index = tap
            for axis in reversed(range(rank)):
                own = rest if axis == 0 else arith.remsi(rest, extents[axis])
                rest = rest if axis == 0 else arith.divsi(rest, extents[axis])
                to.offsets[2 + axis] = arith.muli(own, index(conv.dilation[axis]))
                to.strides[2 + axis] = conv.strides[axis]
            before = to.extract(sums, type_)
            maps = [identity(2 + rank)], [before], [identity(2 + rank)], ["parallel"] * (2 + rank)
            added = generic([from_source.extract(source, type_)], *maps, lambda x, total: add(dtype, total, x))
            scf.YieldOp([to.insert(added[0], sums)])
        return [loop.results[0]]

    key = (conv.strides, conv.dilation, conv.more, tuple(map(str, sizes)))
    return lz.prim(f"{_name(conv)}_sums", [given], [result], body, pattern="opaque", key=key)[0]


def _cut(lz: Legalizer, conv: Convolution, sums: Arg, result: Tensor) -> Arg:
    """Crop the padding, and convert to the layout and the dtype of the result."""
    source, target = dtype_of(sums), result.element
    letters = f"NC{conv.spatial}"
    offsets = dict(zip(conv.spatial, conv.before, strict=True))
    rank = len(letters)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        exprs = [ir.AffineDimExpr.get(conv.out.index(c)) + offsets.get(c, 0) for c in letters]
        maps = [ir.AffineMap.get(rank, 0, exprs)], prim.outs, [identity(rank)], ["parallel"] * rank
        return generic(prim.ins, *maps, lambda x, _: convert(source, target, x))

    key = (conv.before, conv.out)
    return lz.prim(f"{_name(conv)}_out", [sums], [result], body, pattern="injective", key=key)[0]


# Grouped convolutions, with register accumulators for several channels or rows at a time.

PLEVEL = 20
"""The priority of implementations that were measured to be faster than generated kernels where they hold."""
DTYPES = ("float32", "float64", "float16", "bfloat16")
"""The supported dtypes; 16-bit floats are accumulated in float32."""
CHANNELS = (8, 4, 16, 2, 12, 6, 10, 14, 7, 5, 3, 9, 11, 13, 15, 1)
"""Channels per tile, in order of preference; they divide the number of channels of a group."""


def _holds(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> bool | str:
    """True for a grouped convolution that is computed directly; the reason why not for others."""
    assert isinstance(out_type, Tensor)
    if attrs.groups == 1:
        return False  # lowered as a matmul: `lowering.kernels.windows.window_gemm`
    weight = inputs[1]
    unless = _against(attrs, weight, out_type)
    if not unless and weight.shape[1] == 1 and weight.shape[0] == attrs.groups:
        unless = "a kernel for each channel"
    return unless or True


def _against(attrs: Attrs, weight: TETensor, out_type: Tensor) -> str:
    """The reason why no implementation supports the call; "" if one does."""
    spatial = SPATIAL[len(attrs.strides)]
    wanted = {"data_layout": f"NC{spatial}", "kernel_layout": f"OI{spatial}", "out_layout": f"NC{spatial}"}
    unless = _against_layout(attrs, wanted) or _against_dtype(str(out_type.dtype))
    if unless:
        return unless
    if not all(isinstance(size, int) and size > 0 for size in weight.shape):
        return f"needs kernels of known size, got {weight}"
    return ""


def _by_channels(attrs: Attrs, outs: Sequence[TETensor], target: Target) -> Schedule:
    """Compute several channels at a time along a row, so that each loaded element serves all of them."""
    (out,) = outs
    config = get_config()
    s, sums = _sums_of(out)
    assert isinstance(out.op, ComputeOp) and isinstance(sums.op, ComputeOp)
    batch, channel = out.op.axis[:2]
    config.define_split("channels", channel, candidates=[[n] for n in _tiles(attrs.groups, out)])
    channels, tile = config["channels"].apply(s, out, channel)
    outer, inner = _tile_space(config, s, out, _lanes_of(sums, target), rows=(1, 2, 4))
    s[out].reorder(batch, channels, *outer, tile, *inner)
    jobs = s[out].fuse(batch, channels)
    config.define_knob("jobs", ["rows", "channels"])
    if config["jobs"].val == "rows" and len(outer) > 1:
        for axis in outer[:-1]:
            jobs = s[out].fuse(jobs, axis)
    s[out].parallel(jobs)
    for axis in (tile, *inner[:-1]):
        s[out].unroll(axis)
    s[out].vectorize(inner[-1])
    small = math.prod(tap.dom.extent for tap in sums.op.reduce_axis[1:]) <= 9
    config.define_knob("unrolled", ["window", "row"] if small else ["row", "window"])
    taps = sums.op.reduce_axis[1:] if config["unrolled"].val == "window" else sums.op.reduce_axis[-1:]
    _sum_in_registers(s, sums, out, outer[-1], taps)
    _copied_inputs(s, sums)
    return s


def _tiles(groups: int, out: TETensor) -> list[int]:
    """The possible numbers of channels per tile; the channels of a group read the same data."""
    channels = out.shape[1]
    if not isinstance(channels, int):
        return list(CHANNELS[:4])
    per_group = channels // groups
    fitting = [number for number in CHANNELS if per_group % number == 0]
    few = [number for number in fitting if number <= 3]
    return [number for number in fitting if number not in few] + few


def _against_dtype(dtype: str) -> str:
    """The reason why a result dtype is not supported; "" if it is."""
    return "" if dtype in DTYPES else f"needs a result of floats, got {dtype}"


def _against_layout(attrs: Attrs, layouts: dict[str, str]) -> str:
    """The reason why the layouts are not supported; "" if they are."""
    for name, wanted in layouts.items():
        if attrs[name] != wanted:
            return f"needs {name} {wanted}, got {attrs[name]}"
    return ""


def _wide_dtype(dtype: str) -> str:
    """The accumulator dtype: float32 for 16-bit floats."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def _lanes_of(tensor: TETensor, target: Target) -> int:
    """The number of elements of a tensor that fill a vector register."""
    return target.lanes(dtypes.dtype(tensor.dtype).bits)


def _sums_of(out: TETensor) -> tuple[Schedule, TETensor]:
    """A schedule of `out`, and the tensor of its accumulators, which are kept in registers.

    The tensor is the input of `out` that reduces, or a local copy of `out` if `out` itself reduces.
    """
    s, op = te.create_schedule(out.op), out.op
    assert isinstance(op, ComputeOp)
    if op.reduce_axis:
        return s, s.cache_write(out, "local")
    (sums,) = [t for t in op.input_tensors if isinstance(t.op, ComputeOp) and t.op.reduce_axis and t.ndim == out.ndim]
    s[sums].set_scope("local")
    return s, sums


def _copied_inputs(s: Schedule, sums: TETensor) -> None:
    """Schedule the computed inputs of the accumulators, such as zero-padded data, as copies made beforehand."""
    for source in sums.op.input_tensors:
        if not isinstance(source.op, ComputeOp):
            continue
        for below in source.op.input_tensors:
            if isinstance(below.op, ComputeOp):
                s[below].compute_inline()
        first, second, *_, last = source.op.axis
        s[source].vectorize(last)
        s[source].parallel(s[source].fuse(first, second))


def _tile_space(
    config: Config, s: Schedule, out: TETensor, lanes: int, rows: Sequence[int]
) -> tuple[list[IterVar], list[IterVar]]:
    """Split the last two spatial axes of `out` by knobs: the loops outside of a tile, and the loops of a tile."""
    assert isinstance(out.op, ComputeOp)
    *outer, width = out.op.axis[2:]
    inner: list[IterVar] = []
    if outer:
        config.define_split("rows", outer[-1], candidates=[[n] for n in rows])
        row_outer, row_inner = config["rows"].apply(s, out, outer.pop())
        outer.append(row_outer)
        inner.append(row_inner)
    widths = dict.fromkeys([lanes, 2 * lanes, max(lanes // 2, 1)])
    config.define_split("width", width, candidates=[[n] for n in widths])
    width_outer, width_inner = config["width"].apply(s, out, width)
    return [*outer, width_outer], [*inner, width_inner]


def _sum_in_registers(s: Schedule, sums: TETensor, out: TETensor, place: IterVar, taps: Sequence[IterVar]) -> None:
    """Compute the accumulators at a loop of `out`: reduction axes outermost, the last axis vectorised."""
    assert isinstance(sums.op, ComputeOp)
    s[sums].compute_at(s[out], place)
    *others, last = sums.op.axis
    s[sums].reorder(*sums.op.reduce_axis, *others, last)
    s[sums].vectorize(last)
    for axis in (*others, *taps):
        s[sums].unroll(axis)


@expression(Conv1dOp, Conv2dOp, Conv3dOp, name="grouped direct", when=_holds, priority=PLEVEL, schedule=_by_channels)
def grouped(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    assert isinstance(out_type, Tensor)
    dtype = str(out_type.dtype)
    data, weight = inputs
    sums = topi.nn.conv(
        data,
        weight,
        attrs.strides,
        attrs.padding,
        attrs.dilation,
        attrs.groups,
        _wide_dtype(dtype),
        counts=out_type.dims[2:],
    )
    return sums if sums.dtype == dtype else sums.astype(dtype)
