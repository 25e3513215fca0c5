"""Declared parameters of prim funcs: names, shapes and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import PARAMS
from relax_mlir.dialects.types import dims_attr, dims_from_attr
from relax_mlir.error import VerifyError
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim


@dataclass(frozen=True)
class PrimParam:
    """A declared parameter of a prim func: a buffer, or an integer (shape None)."""

    name: str
    shape: tuple[Dim, ...] | None
    dtype: dtypes.DType | None


def prim_params(function: func.FuncOp) -> list[PrimParam] | None:
    """The declared parameters of a prim func; None if there are none, or they do not match its type.

    Raises `VerifyError`, `ParseError` or `UnknownNameError` for a malformed attribute.
    """
    if PARAMS not in function.attributes:
        return None
    try:
        found = [_prim_param(item) for item in ir.ArrayAttr(function.attributes[PARAMS])]
    except (KeyError, ValueError):
        raise VerifyError(
            f"@{function.name.value}: {PARAMS} is {function.attributes[PARAMS]}; expected a list of parameters like "
            '{name = "A", shape = ["n", 4], dtype = "float32"}, or {name = "i"} for an integer'
        ) from None
    return found if len(found) == len(function.type.inputs) else None


def params_attr(params: Sequence[PrimParam]) -> ir.ArrayAttr:
    """The attribute that declares parameters."""
    entries = []
    for param in params:
        entry: dict[str, ir.Attribute] = {"name": ir.StringAttr.get(param.name)}
        if param.shape is not None:
            assert param.dtype is not None, f"buffer {param.name} has no dtype"
            entry |= {"shape": dims_attr(param.shape), "dtype": ir.StringAttr.get(str(param.dtype))}
        entries.append(ir.DictAttr.get(entry))
    return ir.ArrayAttr.get(entries)


def _prim_param(item: ir.Attribute) -> PrimParam:
    """Raises `KeyError` or `ValueError` if malformed, and the errors of `dims_from_attr` and `dtypes.dtype`."""
    entry = {named.name: named.attr for named in ir.DictAttr(item)}
    name = ir.StringAttr(entry["name"]).value
    if "shape" not in entry:
        return PrimParam(name, None, None)
    dims = tuple(d for d in dims_from_attr(entry["shape"]) if d is not None)
    return PrimParam(name, dims, dtypes.dtype(ir.StringAttr(entry["dtype"]).value))
