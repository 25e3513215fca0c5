"""Types of the bindings of `vector` in use. Made by `relax_mlir.mlir.generate_stubs`."""

import enum
from collections.abc import Sequence
from typing import Any

from relax_mlir.mlir import ir

class BitCastOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        source: ir.Value,
        *,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

class CombiningKind(enum.IntEnum):
    ADD = 0
    MUL = 1
    MINUI = 2
    MINSI = 3
    MINNUMF = 4
    MAXUI = 5
    MAXSI = 6
    MAXNUMF = 7
    AND = 8
    OR = 9
    XOR = 10
    MAXIMUMF = 12
    MINIMUMF = 11

class InterleaveOp(ir.OpView):
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

class ShuffleOp(ir.OpView):
    def __init__(
        self,
        v1: ir.Value,
        v2: ir.Value,
        mask: Sequence[int] | ir.DenseI64ArrayAttr,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def v1(self) -> ir.Value: ...
    @property
    def v2(self) -> ir.Value: ...
    @property
    def mask(self) -> ir.DenseI64ArrayAttr: ...
    @mask.setter
    def mask(self, value: Any) -> None: ...
    @property
    def vector(self) -> ir.OpResult: ...

class StepOp(ir.OpView):
    def __init__(
        self, result: ir.Type, *, loc: ir.Location | None = ..., ip: ir.InsertionPoint | None = ...
    ) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

def extract(
    source: ir.Value,
    dynamic_position: Sequence[ir.Value],
    static_position: Sequence[int] | ir.DenseI64ArrayAttr,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def load(
    result: ir.Type,
    base: ir.Value,
    indices: Sequence[ir.Value],
    *,
    nontemporal: bool | ir.BoolAttr | None = ...,
    alignment: int | ir.IntegerAttr | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def maskedload(
    result: ir.Type,
    base: ir.Value,
    indices: Sequence[ir.Value],
    mask: ir.Value,
    pass_thru: ir.Value,
    *,
    alignment: int | ir.IntegerAttr | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def maskedstore(
    base: ir.Value,
    indices: Sequence[ir.Value],
    mask: ir.Value,
    value_to_store: ir.Value,
    *,
    alignment: int | ir.IntegerAttr | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpView: ...
def reduction(
    dest: ir.Type,
    kind: Any | ir.Attribute,
    vector: ir.Value,
    *,
    acc: ir.Value | None = ...,
    fastmath: Any | ir.Attribute | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def shuffle(
    v1: ir.Value,
    v2: ir.Value,
    mask: Sequence[int] | ir.DenseI64ArrayAttr,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def store(
    value_to_store: ir.Value,
    base: ir.Value,
    indices: Sequence[ir.Value],
    *,
    nontemporal: bool | ir.BoolAttr | None = ...,
    alignment: int | ir.IntegerAttr | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpView: ...
