"""The values of expressions in prim funcs: scalars, literals, and buffers."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from relax_mlir.dialects.dtypes import DType, dtype
from relax_mlir.mlir import arith, ir
from relax_mlir.scalars import arithmetic
from relax_mlir.script.source import Problem
from relax_mlir.symbolic import Dim

Literal: TypeAlias = bool | int | float


@dataclass(frozen=True)
class _Index(DType):
    """The dtype of loop variables, sizes and indices: it behaves as int64, and is ``index`` in the IR."""

    @property
    def numpy(self) -> np.dtype[Any]:
        return np.dtype("int64")


INDEX = _Index("index", "index", "int", 64)
INT64 = "int64"


@dataclass(frozen=True)
class Scalar:
    """A value of one dtype."""

    ssa: ir.Value
    dtype: DType


Term: TypeAlias = Scalar | Literal
"""The value of an expression; a literal takes the dtype of the scalars that it is combined with."""


@dataclass(frozen=True)
class Buffer:
    """A buffer: its memory (a memref, a tensor, or None if it has none), declared shape and dtype."""

    name: str
    ssa: ir.Value
    shape: tuple[Dim, ...] | None
    dtype: DType
    rank: int


def shown(dtype_: DType) -> str:
    """A dtype as shown in messages."""
    return "int64 (an index)" if dtype_ is INDEX else str(dtype_)


def type_name(term: Term) -> str:
    return shown(term.dtype) if isinstance(term, Scalar) else f"the literal {term!r}"


def materialize(node: ast.AST, literal: Literal, wanted: DType) -> Scalar:
    """A literal as a scalar; raises `Problem` if it is not a value of the dtype."""
    if wanted.is_float:
        return Scalar(arithmetic.const(wanted, float(literal)), wanted)
    if isinstance(literal, float) and not literal.is_integer():
        raise Problem(node, f"{literal!r} is no value of dtype {shown(wanted)}", "DTypeError")
    value = int(literal)
    if wanted.kind == "bool":
        if value not in (0, 1):
            raise Problem(node, f"{literal!r} is no value of dtype bool", "DTypeError")
        return Scalar(arithmetic.const(wanted, value), wanted)
    least, greatest = arithmetic.bounds(wanted)
    if not least <= value <= greatest:
        raise Problem(node, f"{literal!r} does not fit {shown(wanted)} ({least} to {greatest})", "DTypeError")
    return Scalar(arithmetic.const(wanted, value), wanted)


def default_dtype(literal: Literal) -> DType:
    """The dtype of a literal without scalar operands: bool, int64 (index) or float32."""
    if isinstance(literal, bool):
        return dtype("bool")
    return INDEX if isinstance(literal, int) else dtype("float32")


def as_scalar(node: ast.AST, term: Term, wanted: DType | None = None) -> Scalar:
    """A term as a scalar; a literal takes `wanted`, or its default dtype."""
    if isinstance(term, Scalar):
        return term
    return materialize(node, term, wanted or default_dtype(term))


def common_dtype(node: ast.AST, what: str, terms: Sequence[Term]) -> DType:
    """The common dtype of terms; raises `Problem`, since only literals and indices are converted implicitly."""
    kinds: list[DType] = []
    for term in terms:
        if isinstance(term, Scalar) and term.dtype not in kinds:
            kinds.append(term.dtype)
    if not kinds:
        literals = [t for t in terms if not isinstance(t, Scalar)]
        return max((default_dtype(t) for t in literals), key=lambda d: ("bool", "int", "float").index(d.kind))
    others = [kind for kind in kinds if kind is not INDEX]
    common = others[0] if others else INDEX
    if any(kind != common for kind in others) or (
        common is not INDEX and INDEX in kinds and common.name != INT64
    ):
        raise Problem(
            node,
            f"{what}: operands are {' and '.join(type_name(t) for t in terms)}; convert one, as in "
            f'T.cast(x, "{common}")',
            "DTypeError",
        )
    return common


def unify(node: ast.AST, what: str, terms: Sequence[Term]) -> list[Scalar]:
    """The terms as scalars of their common dtype."""
    common = common_dtype(node, what, terms)
    return [convert_index(as_scalar(node, term, common), common) for term in terms]


def convert_index(value: Scalar, wanted: DType) -> Scalar:
    """Convert `value` to `wanted` if one of the two is the index dtype and the other int64."""
    if value.dtype == wanted:
        return value
    return Scalar(arith.index_cast(wanted.storage_type(), value.ssa), wanted)


def convert(value: Scalar, wanted: DType) -> Scalar:
    """Convert `value` to `wanted` by the rules of `relax.astype`."""
    int64 = dtype(INT64)
    if value.dtype == wanted:
        return value
    if value.dtype is INDEX:
        return convert(convert_index(value, int64), wanted)
    if wanted is INDEX:
        return convert_index(convert(value, int64), INDEX)
    return Scalar(arithmetic.convert(value.dtype, wanted, value.ssa), wanted)


def as_index(node: ast.AST, term: Term, what: str) -> ir.Value:
    """A term as ``index``: an integer of any dtype."""
    if isinstance(term, bool | float) or (isinstance(term, Scalar) and not term.dtype.is_integer):
        raise Problem(node, f"{what} is {type_name(term)}, expected an integer", "DTypeError")
    return convert(as_scalar(node, term, INDEX), INDEX).ssa
