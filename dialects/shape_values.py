"""Shapes as tensors, and tensors as shapes."""

from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.traits import EVERY_FORM, ReadsTensors
from relax_mlir.dialects.types import Shape, Tensor
from relax_mlir.dialects.value import Value, create_one
from relax_mlir.error import ShapeError
from relax_mlir.mlir import ext


class ShapeToTensorOp(RelaxOp, name="shape_to_tensor", traits=[ext.Pure, *EVERY_FORM]):
    """The values of a shape as an int64 vector. Example: the shape ``(n, 4)`` gives ``[n, 4]``."""

    shape: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return Tensor((args.shape(0).ndim,), "int64")


class SizeOp(RelaxOp, name="size", traits=[ext.Pure]):
    """The number of elements of `input`, an int64 tensor of rank 0. Example: shape ``(n, 4)`` gives ``4*n``."""

    input: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.tensor(0)
        return Tensor((), "int64")


class TensorToShapeOp(RelaxOp, name="tensor_to_shape", traits=[ext.Pure, *EVERY_FORM, ReadsTensors]):
    """The elements of an int64 vector as a shape; a `match_shape` of it binds symbols to them.

    A negative element is a `ShapeError` at run time. Example: ``[2, 3]`` gives the shape ``(2, 3)``.
    """

    tensor: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        tensor = args.tensor(0)
        args.require_dtype(0, lambda d: d.name == "int64", "int64")
        if tensor.shape is None:
            return Shape(None)
        if len(tensor.shape) != 1:
            raise ShapeError(f"{args.op}: operand 'tensor' is {tensor}, expected a vector")
        length = tensor.shape[0]
        return Shape(ndim=length) if isinstance(length, int) else Shape(None)


def shape_to_tensor(shape: Value) -> Value:
    """The values of `shape` as an int64 vector (see `ShapeToTensorOp`)."""
    return create_one(ShapeToTensorOp, [shape])


def tensor_to_shape(tensor: Value) -> Value:
    """The elements of `tensor` as a shape (see `TensorToShapeOp`)."""
    return create_one(TensorToShapeOp, [tensor])


def size(input: Value) -> Value:
    """The number of elements of `input` (see `SizeOp`)."""
    return create_one(SizeOp, [input])
