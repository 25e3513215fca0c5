"""Legalisation of transposed convolutions: one GEMM for all taps, each of which is added at its positions."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.dialects.transposed_convolution import TransposedConvolution
from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.legalize.contraction import cast, contraction, zeroed
from relax_mlir.lowering.legalize.convolution import permuted, reshaped
from relax_mlir.lowering.legalize.elementwise import dtype_of
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.lowering.legalize.window import Index, Window
from relax_mlir.mlir import arith, ir, scf
from relax_mlir.scalars.arithmetic import add, compute_dtype, convert
from relax_mlir.scalars.linalg_builders import generic, identity
from relax_mlir.symbolic import Dim


@legalization("relax.nn_conv1d_transpose", "relax.nn_conv2d_transpose", "relax.nn_conv3d_transpose")
def legalize_transposed_convolution(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    data, weight = op.operands
    conv, result = TransposedConvolution.of(op.args, len(data.shape) - 2), op.results[0]
    assert result.dtype is not None
    wide = compute_dtype(result.dtype)
    letters = f"NC{conv.spatial}"
    images = _in_order(lz, "data", cast(lz, data, wide), conv.data, letters)
    kernels = _in_order(lz, "kernels", cast(lz, weight, wide), conv.kernel, f"IO{conv.spatial}")
    products = _products(lz, conv, images, kernels)
    sums = _added(lz, conv, products, images, kernels)
    return [_cut(lz, conv, sums, result)]


def _name(conv: TransposedConvolution) -> str:
    return f"conv{len(conv.spatial)}d_transpose"


def _in_order(lz: Legalizer, what: str, value: Arg, layout: str, wanted: str) -> Arg:
    order = [layout.index(letter) for letter in wanted]
    shape = Tensor([value.shape[axis] for axis in order], value.info.dtype)
    return permuted(lz, f"transposed_{what}", value, order, shape)


def _products(lz: Legalizer, conv: TransposedConvolution, images: Arg, kernels: Arg) -> Arg:
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


def _reach(conv: TransposedConvolution, axis: int, length: Dim, size: Dim) -> Dim:
    """The size of the result before padding is cropped."""
    ends = (length - 1) * conv.strides[axis] + (size - 1) * conv.dilation[axis] + 1
    return symbolic.maximum(ends + conv.more[axis], 0)


def _added(lz: Legalizer, conv: TransposedConvolution, products: Arg, images: Arg, kernels: Arg) -> Arg:
    """Add the products of each tap at their positions: ``(batch, channels, …)``, before padding is cropped."""
    batch, _, *lengths = images.shape
    _, outputs, *sizes = kernels.shape
    taps, rank = symbolic.product(sizes), len(lengths)
    given = reshaped(products, [batch, outputs * conv.groups, taps, *lengths])
    reaches = [
        _reach(conv, axis, length, size)
        for axis, (length, size) in enumerate(zip(lengths, sizes, strict=True))
    ]
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
            added = generic(
                [from_source.extract(source, type_)], *maps, lambda x, total: add(dtype, total, x)
            )
            scf.YieldOp([to.insert(added[0], sums)])
        return [loop.results[0]]

    key = (conv.strides, conv.dilation, conv.more, tuple(map(str, sizes)))
    return lz.prim(f"{_name(conv)}_sums", [given], [result], body, pattern="opaque", key=key)[0]


def _cut(lz: Legalizer, conv: TransposedConvolution, sums: Arg, result: Tensor) -> Arg:
    """Crop the padding, and convert to the layout and the dtype of the result."""
    source, target = dtype_of(sums), result.dtype
    assert target is not None
    letters = f"NC{conv.spatial}"
    offsets = dict(zip(conv.spatial, conv.before, strict=True))
    rank = len(letters)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        exprs = [ir.AffineDimExpr.get(conv.out.index(c)) + offsets.get(c, 0) for c in letters]
        maps = [ir.AffineMap.get(rank, 0, exprs)], prim.outs, [identity(rank)], ["parallel"] * rank
        return generic(prim.ins, *maps, lambda x, _: convert(source, target, x))

    key = (conv.before, conv.out)
    return lz.prim(f"{_name(conv)}_out", [sums], [result], body, pattern="injective", key=key)[0]
