"""Types of the bindings of `arith` in use. Made by `relax_mlir.mlir.generate_stubs`."""

import enum
from collections.abc import Sequence
from typing import Any, Literal

from relax_mlir.mlir import ir

class AddFOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any | ir.Attribute | None = ...,
        roundingmode: Any | ir.Attribute | None = ...,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @fastmath.setter
    def fastmath(self, value: Any) -> None: ...
    @property
    def roundingmode(self) -> ir.Attribute | None: ...
    @roundingmode.setter
    def roundingmode(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class AddIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        overflowFlags: Any | ir.Attribute | None = ...,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def overflowFlags(self) -> ir.Attribute: ...
    @overflowFlags.setter
    def overflowFlags(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class AndIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

class BitcastOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        *,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def out(self) -> ir.OpResult: ...

class CmpFOp(ir.OpView):
    def __init__(
        self,
        predicate: Any | ir.Attribute,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any | ir.Attribute | None = ...,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def predicate(self) -> ir.Attribute: ...
    @predicate.setter
    def predicate(self, value: Any) -> None: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @fastmath.setter
    def fastmath(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class CmpFPredicate(enum.IntEnum):
    AlwaysFalse = 0
    OEQ = 1
    OGT = 2
    OGE = 3
    OLT = 4
    OLE = 5
    ONE = 6
    ORD = 7
    UEQ = 8
    UGT = 9
    UGE = 10
    ULT = 11
    ULE = 12
    UNE = 13
    UNO = 14
    AlwaysTrue = 15

class CmpIOp(ir.OpView):
    def __init__(
        self,
        predicate: Any | ir.Attribute,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def predicate(self) -> ir.Attribute: ...
    @predicate.setter
    def predicate(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class CmpIPredicate(enum.IntEnum):
    eq = 0
    ne = 1
    slt = 2
    sle = 3
    sgt = 4
    sge = 5
    ult = 6
    ule = 7
    ugt = 8
    uge = 9

class ConstantOp(ir.OpView):
    def __init__(
        self,
        result: Any,
        value: Any,
        *,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | Literal[False] | None = ...,
    ) -> None: ...
    @property
    def value(self) -> Any: ...
    @property
    def result(self) -> ir.OpResult: ...
    @classmethod
    def create_index(
        cls, value: int, *, loc: ir.Location | None = ..., ip: ir.InsertionPoint | Literal[False] | None = ...
    ) -> Any: ...
    @property
    def type(self) -> Any: ...
    @property
    def literal_value(self) -> float | int: ...

class DivFOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any | ir.Attribute | None = ...,
        roundingmode: Any | ir.Attribute | None = ...,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @fastmath.setter
    def fastmath(self, value: Any) -> None: ...
    @property
    def roundingmode(self) -> ir.Attribute | None: ...
    @roundingmode.setter
    def roundingmode(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class ExtFOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        *,
        fastmath: Any | ir.Attribute | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute | None: ...
    @fastmath.setter
    def fastmath(self, value: Any) -> None: ...
    @property
    def out(self) -> ir.OpResult: ...

class ExtUIOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        *,
        nonNeg: bool | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def nonNeg(self) -> bool: ...
    @nonNeg.setter
    def nonNeg(self, value: Any) -> None: ...
    @property
    def out(self) -> ir.OpResult: ...

class FPToSIOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        *,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def out(self) -> ir.OpResult: ...

class IndexCastOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        *,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def out(self) -> ir.OpResult: ...

class IndexCastUIOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        *,
        nonNeg: bool | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def nonNeg(self) -> bool: ...
    @nonNeg.setter
    def nonNeg(self, value: Any) -> None: ...
    @property
    def out(self) -> ir.OpResult: ...

class MaxSIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

class MaxUIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

class MinSIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

class MinUIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

class MulFOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any | ir.Attribute | None = ...,
        roundingmode: Any | ir.Attribute | None = ...,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @fastmath.setter
    def fastmath(self, value: Any) -> None: ...
    @property
    def roundingmode(self) -> ir.Attribute | None: ...
    @roundingmode.setter
    def roundingmode(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class MulIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        overflowFlags: Any | ir.Attribute | None = ...,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def overflowFlags(self) -> ir.Attribute: ...
    @overflowFlags.setter
    def overflowFlags(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class MulSIExtendedOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def low(self) -> ir.OpResult: ...
    @property
    def high(self) -> ir.OpResult: ...

class MulUIExtendedOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def low(self) -> ir.OpResult: ...
    @property
    def high(self) -> ir.OpResult: ...

class NegFOp(ir.OpView):
    def __init__(
        self,
        operand: ir.Value,
        *,
        fastmath: Any | ir.Attribute | None = ...,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def operand(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @fastmath.setter
    def fastmath(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class OrIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

class RemFOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any | ir.Attribute | None = ...,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @fastmath.setter
    def fastmath(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class SIToFPOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        *,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def out(self) -> ir.OpResult: ...

class SelectOp(ir.OpView):
    def __init__(
        self,
        condition: ir.Value,
        true_value: ir.Value,
        false_value: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def condition(self) -> ir.Value: ...
    @property
    def true_value(self) -> ir.Value: ...
    @property
    def false_value(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

class ShLIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        overflowFlags: Any | ir.Attribute | None = ...,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def overflowFlags(self) -> ir.Attribute: ...
    @overflowFlags.setter
    def overflowFlags(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class ShRSIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        isExact: bool | None = ...,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def isExact(self) -> bool: ...
    @isExact.setter
    def isExact(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class ShRUIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        isExact: bool | None = ...,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def isExact(self) -> bool: ...
    @isExact.setter
    def isExact(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class SubFOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any | ir.Attribute | None = ...,
        roundingmode: Any | ir.Attribute | None = ...,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @fastmath.setter
    def fastmath(self, value: Any) -> None: ...
    @property
    def roundingmode(self) -> ir.Attribute | None: ...
    @roundingmode.setter
    def roundingmode(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class SubIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        overflowFlags: Any | ir.Attribute | None = ...,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def overflowFlags(self) -> ir.Attribute: ...
    @overflowFlags.setter
    def overflowFlags(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class TruncFOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        *,
        roundingmode: Any | ir.Attribute | None = ...,
        fastmath: Any | ir.Attribute | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def roundingmode(self) -> ir.Attribute | None: ...
    @roundingmode.setter
    def roundingmode(self, value: Any) -> None: ...
    @property
    def fastmath(self) -> ir.Attribute | None: ...
    @fastmath.setter
    def fastmath(self, value: Any) -> None: ...
    @property
    def out(self) -> ir.OpResult: ...

class TruncIOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        *,
        overflowFlags: Any | ir.Attribute | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def overflowFlags(self) -> ir.Attribute: ...
    @overflowFlags.setter
    def overflowFlags(self, value: Any) -> None: ...
    @property
    def out(self) -> ir.OpResult: ...

class UIToFPOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        *,
        nonNeg: bool | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def nonNeg(self) -> bool: ...
    @nonNeg.setter
    def nonNeg(self, value: Any) -> None: ...
    @property
    def out(self) -> ir.OpResult: ...

class XOrIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def addf(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    roundingmode: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def addi(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    overflow_flags: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def andi(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def bitcast(
    out: ir.Type, in_: ir.Value, *, loc: ir.Location | None = ..., ip: ir.InsertionPoint | None = ...
) -> ir.OpResult: ...
def ceildivsi(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def ceildivui(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def cmpf(
    predicate: Any | ir.Attribute,
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def cmpi(
    predicate: Any | ir.Attribute,
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def constant(
    result: ir.Type,
    value: Any | float | int | ir.Attribute,
    *,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | Literal[False] | None = ...,
) -> ir.Value: ...
def divf(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    roundingmode: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def divsi(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    is_exact: bool | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def divui(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    is_exact: bool | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def extf(
    out: ir.Type,
    in_: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def extsi(
    out: ir.Type, in_: ir.Value, *, loc: ir.Location | None = ..., ip: ir.InsertionPoint | None = ...
) -> ir.OpResult: ...
def extui(
    out: ir.Type,
    in_: ir.Value,
    *,
    non_neg: bool | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def floordivsi(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def fptosi(
    out: ir.Type, in_: ir.Value, *, loc: ir.Location | None = ..., ip: ir.InsertionPoint | None = ...
) -> ir.OpResult: ...
def fptoui(
    out: ir.Type, in_: ir.Value, *, loc: ir.Location | None = ..., ip: ir.InsertionPoint | None = ...
) -> ir.OpResult: ...
def index_cast(
    out: ir.Type, in_: ir.Value, *, loc: ir.Location | None = ..., ip: ir.InsertionPoint | None = ...
) -> ir.OpResult: ...
def index_castui(
    out: ir.Type,
    in_: ir.Value,
    *,
    non_neg: bool | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def maximumf(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def maxsi(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def maxui(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def minimumf(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def minsi(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def minui(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def mulf(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    roundingmode: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def muli(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    overflow_flags: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def negf(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def ori(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def remf(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def remsi(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def remui(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def select(
    condition: ir.Value,
    true_value: ir.Value,
    false_value: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def shli(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    overflow_flags: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def shrsi(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    is_exact: bool | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def shrui(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    is_exact: bool | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def sitofp(
    out: ir.Type, in_: ir.Value, *, loc: ir.Location | None = ..., ip: ir.InsertionPoint | None = ...
) -> ir.OpResult: ...
def subf(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    roundingmode: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def subi(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    overflow_flags: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def truncf(
    out: ir.Type,
    in_: ir.Value,
    *,
    roundingmode: Any | ir.Attribute | None = ...,
    fastmath: Any | ir.Attribute | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def trunci(
    out: ir.Type,
    in_: ir.Value,
    *,
    overflow_flags: Any | ir.Attribute | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def uitofp(
    out: ir.Type,
    in_: ir.Value,
    *,
    non_neg: bool | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def xori(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
