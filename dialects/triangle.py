"""Diagonals and triangles of matrices: eye, tril, triu."""

from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.cast import dtype_attr, dtype_of
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.number_attributes import int_attr
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.types import DimLike, Tensor, as_dim, dims_attr, dims_from_attr
from relax_mlir.dialects.value import Value, create_one, require_insertion_point
from relax_mlir.error import ShapeError
from relax_mlir.mlir import ext, ir


class EyeOp(RelaxOp, name="eye", traits=[ext.Pure]):
    """A matrix of `shape` (rows, columns) with 1 on diagonal `k`, counted upwards from the main one, and 0 elsewhere.

    Example: shape ``[2, 3]`` and k 1 give ``[[0, 1, 0], [0, 0, 1]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    shape: ir.ArrayAttr
    k: ir.IntegerAttr
    dtype: ir.TypeAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("shape",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.int_attr("k")
        shape = dims_from_attr(args.attrs["shape"])
        if len(shape) != 2 or None in shape:
            raise ShapeError(f"{args.op}: shape {args.attrs['shape']} is not the known size of a matrix")
        return Tensor(shape, dtype_of(args, "dtype"))


class EyeLikeOp(RelaxOp, name="eye_like", traits=[ext.Pure]):
    """The matrix of `eye` with the shape of the matrix `x`, in `dtype` (``unit``: that of `x`).

    Example: ``[[7, 7], [7, 7]]`` gives ``[[1, 0], [0, 1]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: ext.Operand[Any]
    k: ir.IntegerAttr
    dtype: ir.TypeAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.int_attr("k")
        x = args.tensor(0)
        if x.ndim not in (None, 2):
            raise ShapeError(f"{args.op}: operand 'x' is {x}, expected a matrix")
        shape = (None, None) if x.shape is None else x.shape
        return Tensor(shape, x.dtype if args.is_unit("dtype") else dtype_of(args, "dtype"))


class TriangleOp(RelaxOp):
    """Base of tril and triu on the last two dimensions; `k` moves the diagonal up."""

    op_pattern = OpPatternKind.INJECTIVE

    x: ext.Operand[Any]
    k: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.int_attr("k")
        x = args.tensor(0)
        if x.ndim is not None and x.ndim < 2:
            raise ShapeError(f"{args.op}: operand 'x' is {x}, expected at least two dimensions")
        return x


class TrilOp(TriangleOp, name="tril", traits=[ext.Pure]):
    """The lower triangle: 0 above diagonal `k`. Example: ``[[1, 2], [3, 4]]`` gives ``[[1, 0], [3, 4]]``."""


class TriuOp(TriangleOp, name="triu", traits=[ext.Pure]):
    """The upper triangle: 0 below diagonal `k`. Example: ``[[1, 2], [3, 4]]`` gives ``[[1, 2], [0, 4]]``."""


def eye(n: DimLike, m: DimLike = None, k: int = 0, dtype: str | DType = "float32") -> Value:
    """A matrix of `n` rows and `m` columns (default `n`) with ones on diagonal `k` (see `EyeOp`)."""
    require_insertion_point("eye")
    shape = dims_attr([as_dim(n), as_dim(n if m is None else m)])
    return create_one(EyeOp, [], {"shape": shape, "k": int_attr(k, "eye: 'k'"), "dtype": dtype_attr(dtype)})


def eye_like(x: Value, k: int = 0, dtype: str | DType | None = None) -> Value:
    """The matrix of `eye` with the shape of `x` (see `EyeLikeOp`)."""
    require_insertion_point("eye_like")
    kind = ir.UnitAttr.get() if dtype is None else dtype_attr(dtype)
    return create_one(EyeLikeOp, [x], {"k": int_attr(k, "eye_like: 'k'"), "dtype": kind})


def tril(x: Value, k: int = 0) -> Value:
    """The lower triangle of `x`, up to diagonal `k` (see `TrilOp`)."""
    require_insertion_point("tril")
    return create_one(TrilOp, [x], {"k": int_attr(k, "tril: 'k'")})


def triu(x: Value, k: int = 0) -> Value:
    """The upper triangle of `x`, from diagonal `k` on (see `TriuOp`)."""
    require_insertion_point("triu")
    return create_one(TriuOp, [x], {"k": int_attr(k, "triu: 'k'")})
