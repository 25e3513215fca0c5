"""``linalg.generic`` with named maps and scalar rules as bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.mlir import ir, linalg
from relax_mlir.scalars.arithmetic import Scalar
from relax_mlir.symbolic import Dim

ScalarBody = Callable[..., Scalar]


def generic(
    ins: Sequence[ir.Value],
    in_maps: Sequence[ir.AffineMap],
    outs: Sequence[ir.Value],
    out_maps: Sequence[ir.AffineMap],
    iterators: Sequence[str],
    body: Callable[..., Sequence[Scalar] | Scalar],
) -> list[ir.Value]:
    """Build a ``linalg.generic``; `body` gets one scalar per input and output, and returns one per output.

    Returns the results, which buffers do not have.
    """
    kinds = [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in iterators]
    op = linalg.GenericOp(
        result_tensors=[out.type for out in outs if isinstance(out.type, ir.RankedTensorType)],
        inputs=list(ins),
        outputs=list(outs),
        indexing_maps=ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in (*in_maps, *out_maps)]),
        iterator_types=ir.ArrayAttr.get(kinds),
    )
    element_types = [ir.ShapedType(v.type).element_type for v in (*ins, *outs)]
    block = op.regions[0].blocks.append(*element_types)
    with ir.InsertionPoint(block):
        results = body(*block.arguments)
        linalg.YieldOp([results] if isinstance(results, ir.Value) else list(results))
    return list(op.results)


def identity(rank: int) -> ir.AffineMap:
    return ir.AffineMap.get_identity(rank)


def projection(rank: int, axes: Sequence[int | None]) -> ir.AffineMap:
    """The map ``(d0, …) -> (d_axes[0], …)``, with 0 in place of None."""
    zero = ir.AffineConstantExpr.get(0)
    return ir.AffineMap.get(rank, 0, [zero if axis is None else ir.AffineDimExpr.get(axis) for axis in axes])


def broadcast_map(shape: Sequence[Dim], out_shape: Sequence[Dim]) -> ir.AffineMap:
    """The map that reads a tensor of `shape` at an index of the shape that it broadcasts to."""
    rank, lead = len(out_shape), len(out_shape) - len(shape)
    zero = ir.AffineConstantExpr.get(0)
    exprs = [
        zero if dim == 1 and out_shape[lead + axis] != 1 else ir.AffineDimExpr.get(lead + axis)
        for axis, dim in enumerate(shape)
    ]
    return ir.AffineMap.get(rank, 0, exprs)
