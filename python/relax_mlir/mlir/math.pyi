"""Types of the bindings of `math` in use. Made by `relax_mlir.mlir.generate_stubs`."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.mlir import ir

class AbsFOp(ir.OpView):
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

class CopySignOp(ir.OpView):
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

class CountLeadingZerosOp(ir.OpView):
    def __init__(
        self,
        operand: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def operand(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

class ExpOp(ir.OpView):
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

class FloorOp(ir.OpView):
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

class FmaOp(ir.OpView):
    def __init__(
        self,
        a: ir.Value,
        b: ir.Value,
        c: ir.Value,
        *,
        fastmath: Any | ir.Attribute | None = ...,
        roundingmode: Any | ir.Attribute | None = ...,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def a(self) -> ir.Value: ...
    @property
    def b(self) -> ir.Value: ...
    @property
    def c(self) -> ir.Value: ...
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

class LogOp(ir.OpView):
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

class RoundEvenOp(ir.OpView):
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

class SqrtOp(ir.OpView):
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

class TruncOp(ir.OpView):
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

def absf(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def acos(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def acosh(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def asin(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def asinh(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def atan(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def atan2(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def atanh(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def ceil(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def copysign(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def cos(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def cosh(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def ctlz(
    operand: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def ctpop(
    operand: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def erf(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def exp(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def exp2(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def expm1(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def floor(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def fma(
    a: ir.Value,
    b: ir.Value,
    c: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    roundingmode: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def log(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def log10(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def log1p(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def log2(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def powf(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def roundeven(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def rsqrt(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def sin(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def sinh(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def sqrt(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def tan(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def tanh(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def trunc(
    operand: ir.Value,
    *,
    fastmath: Any | ir.Attribute | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
