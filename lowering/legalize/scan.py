"""Legalisation of cumsum and cumprod: a loop over the axis, which carries one value per row.

The prim func names the kernel that replaces it; the loop defines the semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import normalize_axis
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.legalize.contraction import cast
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.lowering.legalize.window import Window, is_empty, sizes_of
from relax_mlir.mlir import ir, linalg, scf, tensor
from relax_mlir.scalars import arithmetic
from relax_mlir.scalars.arithmetic import Scalar, const, convert
from relax_mlir.scalars.linalg_builders import generic, identity

COMBINE = {"cumsum": (arithmetic.add, 0), "cumprod": (arithmetic.multiply, 1)}
"""The combining rule, and the value before the first element."""


@legalization("relax.cumsum", "relax.cumprod")
def legalize_scan(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    name, exclusive, result = op.args.op, op.args.bool_attr("exclusive"), op.results[0]
    assert result.dtype is not None
    data = cast(lz, op.operands[0], result.dtype)
    if op.args.is_unit("axis"):
        data, axis = _flat(data), 0
    else:
        axis = normalize_axis(name, op.args.int_attr("axis"), len(data.shape))
    i64 = ir.IntegerType.get_signless(64)
    return lz.prim(
        name,
        [data],
        [result],
        lambda prim: _scan(prim, name, axis, exclusive),
        key=(axis, exclusive),
        kernel=name,
        kernel_attrs={"axis": ir.IntegerAttr.get(i64, axis), "exclusive": ir.BoolAttr.get(exclusive)},
    )


def _flat(data: Arg) -> Arg:
    """The elements of `data` as a vector; a view."""
    if len(data.shape) == 1:
        return data
    info = Tensor((symbolic.product(data.shape),), data.info.dtype)
    operation = ir.Operation.create("relax.flatten", results=[info.to_type()], operands=[data.ssa])
    return Arg(operation.result, info)


def scan_dtype(dtype: DType) -> DType:
    """The dtype in which elements are accumulated: float64 for floats, else their own."""
    return dtypes.dtype("float64") if dtype.is_float else dtype


def _scan(prim: PrimBody, name: str, axis: int, exclusive: bool) -> Sequence[ir.Value]:
    data, out = prim.ins[0], prim.outs[0]
    dtype = prim.out_infos[0].dtype
    assert dtype is not None
    if is_empty(prim.out_infos[0]):
        return [out]  # upstream refuses a slice that begins at the end
    wide = scan_dtype(dtype)
    combine, initial = COMBINE[name]

    def add(x: Scalar, total: Scalar) -> Scalar:
        return combine(wide, convert(dtype, wide, x), total)

    shape = ir.RankedTensorType(data.type).shape
    if shape[axis] == 1:
        # For a loop of one iteration, upstream leaves slices that it confuses if another axis has size 1.
        if exclusive:
            return [linalg.fill(const(dtype, initial), outs=[out])]
        maps, parallel, first = [identity(len(shape))], ["parallel"] * len(shape), const(wide, initial)
        return generic([data], maps, [out], maps, parallel, lambda x, _: convert(wide, dtype, add(x, first)))
    window = Window(sizes_of(prim, data))
    sizes = [size for place, size in enumerate(window.sizes) if place != axis]
    window.sizes[axis] = 1
    part = ir.RankedTensorType.get(
        [size if isinstance(size, int) else ir.ShapedType.get_dynamic_size() for size in sizes],
        dtype.storage_type(),
    )
    totals = linalg.fill(const(wide, initial), outs=[tensor.empty(sizes, wide.storage_type())])
    maps, parallel = [identity(part.rank)], ["parallel"] * part.rank
    bounds = (prim.index(0), prim.dim(data, axis), prim.index(1))
    loop = scf.ForOp(*bounds, [totals, out])
    with ir.InsertionPoint(loop.body):
        before, done = loop.inner_iter_args
        window.offsets[axis] = loop.induction_variable
        after = generic([window.extract(data, part)], maps, [before], maps, parallel, add)[0]
        shown = window.extract(done, part)
        written = generic(
            [before if exclusive else after],
            maps,
            [shown],
            maps,
            parallel,
            lambda total, _: convert(wide, dtype, total),
        )[0]
        scf.yield_([after, window.insert(written, done)])
    return [loop.results[1]]
