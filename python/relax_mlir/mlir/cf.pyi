"""Types of the bindings of `cf` in use. Made by `relax_mlir.mlir.generate_stubs`."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.mlir import ir

class AssertOp(ir.OpView):
    def __init__(
        self,
        arg: ir.Value,
        msg: ir.StringAttr | str,
        *,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def arg(self) -> ir.Value: ...
    @property
    def msg(self) -> ir.StringAttr: ...
    @msg.setter
    def msg(self, value: Any) -> None: ...

class CondBranchOp(ir.OpView):
    def __init__(
        self,
        condition: ir.Value,
        trueDestOperands: Sequence[ir.Value],
        falseDestOperands: Sequence[ir.Value],
        trueDest: ir.Block,
        falseDest: ir.Block,
        *,
        branch_weights: Sequence[int] | ir.DenseI32ArrayAttr | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def condition(self) -> ir.Value: ...
    @property
    def trueDestOperands(self) -> ir.OpOperandList: ...
    @property
    def falseDestOperands(self) -> ir.OpOperandList: ...
    @property
    def branch_weights(self) -> ir.DenseI32ArrayAttr | None: ...
    @branch_weights.setter
    def branch_weights(self, value: Any) -> None: ...

def assert_(
    arg: ir.Value,
    msg: ir.StringAttr | str,
    *,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpView: ...
