"""Linear algebra: matrix products with NumPy's batching and broadcasting on symbolic shapes."""

from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, broadcast
from relax_mlir.dialects.binary import common_dtype
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.traits import MultipliesMatrices
from relax_mlir.dialects.types import Tensor, dim_text, shape_text
from relax_mlir.dialects.value import Value, ValueLike, as_values, create_one, require_insertion_point
from relax_mlir.error import DTypeError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

MaybeDim = Dim | None


class MatmulOp(RelaxOp, name="matmul", traits=[ext.Pure, MultipliesMatrices]):
    """Matrix product over the last two dimensions, as NumPy's ``matmul``.

    A 1-D operand is a row (left) or a column (right), and its dimension does not appear in the result; the other
    dimensions are batches, which broadcast. float16 and bfloat16 accumulate in float32 and are rounded once; integers
    wrap around; bool is the logical or of ands. `out_dtype` selects a wider dtype of the same kind for accumulation and
    result; ``unit`` is the operands' dtype.

    Example: shapes ``(b, 1, s, 4)`` and ``(h, 4, t)`` give ``(b, h, s, t)``.
    """

    op_pattern = OpPatternKind.OUT_ELEMWISE_FUSABLE

    x1: ext.Operand[Any]
    x2: ext.Operand[Any]
    out_dtype: ir.TypeAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x1, x2 = args.tensor(0), args.tensor(1)
        dtype = common_dtype(args, (0, 1))
        if not args.is_unit("out_dtype"):
            dtype = _wider(
                args.op, dtype, dtypes.from_element_type(ir.TypeAttr(args.attrs["out_dtype"]).value)
            )
        return Tensor(_matmul_shape(args.op, x1.shape, x2.shape), dtype)

    @classmethod
    def multiply_adds(cls, args: OpArgs) -> symbolic.Dim | None:
        x1, x2 = args.tensor(0).known_shape, args.tensor(1).known_shape
        if x1 is None or x2 is None:
            return None
        result = Tensor(_matmul_shape(args.op, x1, x2)).known_shape
        return None if result is None else symbolic.product(result) * x1[-1]


def _wider(op: str, dtype: DType | None, wanted: DType) -> DType:
    if dtype is not None and (dtype.kind != wanted.kind or wanted.bits < dtype.bits):
        raise DTypeError(
            f"{op}: out_dtype {wanted} is no wider {dtype.kind} than the operands' dtype {dtype}"
        )
    if dtype is not None and wanted != dtype and wanted.bits == dtype.bits:
        raise DTypeError(f"{op}: out_dtype {wanted} cannot hold the operands' dtype {dtype}")
    return wanted


def _matmul_shape(
    op: str, x1: tuple[MaybeDim, ...] | None, x2: tuple[MaybeDim, ...] | None
) -> tuple[MaybeDim, ...] | None:
    for name, shape in (("x1", x1), ("x2", x2)):
        if shape == ():
            raise ShapeError(f"{op}: operand '{name}' has rank 0; use multiply for scalars")
    if x1 is None or x2 is None:
        return None
    inner1, inner2 = x1[-1], x2[max(len(x2) - 2, 0)]
    where = f"{op}: shapes {shape_text(x1)} and {shape_text(x2)}"
    if inner1 is not None and inner2 is not None and not symbolic.prove_equal(inner1, inner2):
        if symbolic.prove_not_equal(inner1, inner2):
            raise ShapeError(f"{where}: the summed dimensions {inner1} and {inner2} differ")
        raise ShapeError(
            f"{where}: cannot tell whether the summed dimensions {dim_text(inner1)} and {dim_text(inner2)} are "
            "equal; match_shape one of the tensors first"
        )
    batch = broadcast(op, x1[:-2], x2[:-2])
    assert batch is not None
    return batch + x1[-2:-1] + (x2[-1:] if len(x2) > 1 else ())


def matmul(x1: ValueLike, x2: ValueLike, out_dtype: str | None = None) -> Value:
    """``x1 @ x2`` (see `MatmulOp`)."""
    require_insertion_point("matmul")
    wanted = (
        ir.UnitAttr.get() if out_dtype is None else ir.TypeAttr.get(dtypes.dtype(out_dtype).element_type())
    )
    return create_one(MatmulOp, as_values(x1, x2, of=MatmulOp), {"out_dtype": wanted})
