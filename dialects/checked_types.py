"""Types of the original Relax design: rank and dtype of a value, without its shape (`Value.checked_type`)."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects import types
from relax_mlir.dialects.types import StructInfo
from relax_mlir.error import ArgumentError


class CheckedType:
    """The type of a value without its shape. Immutable, with structural ``==`` and ``hash``."""


@dataclass(frozen=True)
class DynTensorType(CheckedType):
    """A tensor; `ndim` is -1 if the rank is unknown, `dtype` None if the dtype is."""

    ndim: int = -1
    dtype: str | None = "float32"


@dataclass(frozen=True)
class ShapeType(CheckedType):
    """A shape value; `ndim` is -1 if its rank is unknown."""

    ndim: int = -1


@dataclass(frozen=True)
class PrimType(CheckedType):
    """A symbolic integer."""

    dtype: str = "int64"


@dataclass(frozen=True)
class TupleType(CheckedType):
    """A tuple."""

    fields: tuple[CheckedType, ...] = ()


@dataclass(frozen=True)
class FuncType(CheckedType):
    """A function as a value; both fields are None if they are unknown."""

    arg_types: tuple[CheckedType, ...] | None = None
    ret_type: CheckedType | None = None


@dataclass(frozen=True)
class ObjectType(CheckedType):
    """An opaque object."""


def checked_type(info: StructInfo) -> CheckedType:
    """The type of a value with the struct info `info`."""
    if isinstance(info, types.Tensor):
        dtype = None if info.dtype is None else info.dtype.name
        return DynTensorType(-1 if info.ndim is None else info.ndim, dtype)
    if isinstance(info, types.Shape):
        return ShapeType(-1 if info.ndim is None else info.ndim)
    if isinstance(info, types.Prim):
        return PrimType(info.dtype)
    if isinstance(info, types.Tuple):
        return TupleType(tuple(map(checked_type, info.fields)))
    if isinstance(info, types.Callable):
        if info.params is None or info.result is None:
            return FuncType()
        return FuncType(tuple(map(checked_type, info.params)), checked_type(info.result))
    if isinstance(info, types.Object):
        return ObjectType()
    raise ArgumentError(f"{info} has no type")
