"""The `linalg` dialect: the op classes of the bindings, and builders of the named ops in use.

The bindings' own module defines each named op a second time, in a language that takes longer to import than all other
dialects together. This module does without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.mlir import DIALECTS, extension, ir, library

_OPS = extension(DIALECTS["linalg"])
_LIBRARY = library("_mlirDialectsLinalg")

GenericOp, IndexOp, YieldOp = _OPS.GenericOp, _OPS.IndexOp, _OPS.YieldOp
get_indexing_maps = _LIBRARY.get_indexing_maps


def copy(source: ir.Value, outs: Sequence[ir.Value]) -> Any:  # noqa: ANN401 - a value if `outs` is a tensor
    """Copy a tensor or buffer to `outs`, one of the same shape; return the result, if `outs` is a tensor."""
    cast = ir.Attribute.parse("#linalg.type_fn<cast_signed>")
    return _built(_OPS.CopyOp(_tensors(outs), [source], outs, cast=cast))


def fill(value: ir.Value, outs: Sequence[ir.Value]) -> Any:  # noqa: ANN401 - a value if `outs` is a tensor
    """Fill `outs`, one tensor or buffer, with a scalar; return the result, if `outs` is a tensor."""
    return _built(_OPS.FillOp(_tensors(outs), [value], outs))


def matmul(*ins: ir.Value, outs: Sequence[ir.Value]) -> Any:  # noqa: ANN401 - a value if `outs` is a tensor
    """Add the product of the two matrices `ins` to `outs`, one matrix; return the result, if `outs` is a tensor."""
    return _built(_OPS.MatmulOp(_tensors(outs), ins, outs))


def _tensors(outs: Sequence[ir.Value]) -> list[ir.Type]:
    return [value.type for value in outs if isinstance(value.type, ir.RankedTensorType)]


def _built(op: ir.OpView) -> Any:  # noqa: ANN401 - a value, or no results
    """Fill the region of a named op; return its result, if it has one."""
    _LIBRARY.fill_builtin_region(op.operation)
    return op.results[0] if len(op.results) else op.results
