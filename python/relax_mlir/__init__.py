"""TVM Relax rebuilt on MLIR, in Python alone."""

from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.types import Object, Prim, Shape, StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import Value, Var
from relax_mlir.ir_module import IRModule

__all__ = ["BlockBuilder", "IRModule", "Object", "Prim", "Shape", "StructInfo", "Tensor", "Tuple", "Value", "Var"]
