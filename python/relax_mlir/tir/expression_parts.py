"""Helpers for expressions in prim funcs that do not depend on context."""

from __future__ import annotations

import ast

from relax_mlir.dialects.dtypes import DType
from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import arith, ir
from relax_mlir.script.source import Problem
from relax_mlir.tir.values import (
    Buffer,
    Scalar,
    as_scalar,
)


def divided(node: ast.AST, name: str, value: Scalar, divisor: int) -> Scalar | None:
    """Division by a positive literal, which needs no guard."""
    kind = value.dtype
    if not kind.is_integer or divisor <= 0:
        return None
    by = as_scalar(node, divisor, kind).ssa
    if kind.kind == "uint":
        function = arith.divui if name == "floordiv" else arith.remui
        return Scalar(function(value.ssa, by), kind)
    quotient = arith.floordivsi(value.ssa, by)
    if name == "floordiv":
        return Scalar(quotient, kind)
    return Scalar(arith.subi(value.ssa, arith.muli(quotient, by)), kind)


def is_size(value: ir.Value) -> bool:
    """True if an index is an expression of buffer sizes that is not negative."""
    op = defining_op(value)
    if op is None:
        return False
    if op.name == "arith.constant":
        return isinstance(op.attributes["value"], ir.IntegerAttr) and int(op.attributes["value"].value) >= 0
    if op.name == "memref.dim":
        return defining_op(op.operands[0]) is None
    if op.name == "arith.floordivsi":  # not by 0, since it is only emitted for guarded sizes and constants
        return all(map(is_size, op.operands))
    return op.name in ("arith.addi", "arith.muli", "arith.minsi", "arith.maxsi") and all(
        map(is_size, op.operands)
    )


def floordiv_by_size(value: ir.Value, size: ir.Value) -> ir.Value:
    """The quotient by a size; 0 if the size is 0."""
    zero = arith.constant(ir.IndexType.get(), 0)
    quotient = arith.floordivsi(value, _positive(size))
    return arith.select(arith.cmpi(arith.CmpIPredicate.eq, size, zero), zero, quotient)


def floormod_by_size(value: ir.Value, size: ir.Value) -> ir.Value:
    """The remainder by a size; 0 if the size is 0."""
    divisor = _positive(size)
    return arith.subi(value, arith.muli(arith.floordivsi(value, divisor), divisor))


def _positive(size: ir.Value) -> ir.Value:
    return arith.maxsi(size, arith.constant(ir.IndexType.get(), 1))


BY_SIZE = {"floordiv": floordiv_by_size, "floormod": floormod_by_size}
"""Function name → division by a size."""


def greatest(wanted: DType) -> float:
    import ml_dtypes

    return float(ml_dtypes.finfo(wanted.numpy).max)


def three(node: ast.Call) -> list[ast.expr]:
    if len(node.args) != 3:
        raise Problem(node, f"{ast.unparse(node.func)} takes a condition and two values", "ArgumentError")
    return node.args


def may_load(node: ast.AST) -> bool:
    """True if computing an expression reads memory."""
    return any(isinstance(part, ast.Subscript) for part in ast.walk(node))


def example(buffer: Buffer) -> str:
    names = ", ".join("ijklmnopq"[:9][axis % 9] for axis in range(buffer.rank))
    return f"{buffer.name}[{names or '()'}]"
