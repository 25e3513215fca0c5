"""Types of the bindings of `scf` in use. Made by `relax_mlir.mlir.generate_stubs`."""

from collections.abc import Sequence
from typing import Any, Literal

from relax_mlir.mlir import ir

class ConditionOp(ir.OpView):
    def __init__(
        self,
        condition: ir.Value,
        args: Sequence[ir.Value],
        *,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def condition(self) -> ir.Value: ...
    @property
    def args(self) -> ir.OpOperandList: ...

class ForOp(ir.OpView):
    def __init__(
        self,
        lower_bound: Any,
        upper_bound: Any,
        step: Any,
        iter_args: Sequence[ir.Value] | ir.OpView | ir.Operation | None = ...,
        *,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | Literal[False] | None = ...,
    ) -> None: ...
    @property
    def lowerBound(self) -> ir.Value: ...
    @property
    def upperBound(self) -> ir.Value: ...
    @property
    def step(self) -> ir.Value: ...
    @property
    def initArgs(self) -> ir.OpOperandList: ...
    @property
    def unsignedCmp(self) -> bool: ...
    @unsignedCmp.setter
    def unsignedCmp(self, value: Any) -> None: ...
    @property
    def results_(self) -> ir.OpResultList: ...
    @property
    def region(self) -> ir.Region: ...
    @property
    def body(self) -> ir.Block: ...
    @property
    def induction_variable(self) -> ir.BlockArgument: ...
    @property
    def inner_iter_args(self) -> list[ir.BlockArgument]: ...

class IfOp(ir.OpView):
    def __init__(
        self,
        cond: Any,
        results_: Any = ...,
        *,
        has_else: Any = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | Literal[False] | None = ...,
    ) -> None: ...
    @property
    def condition(self) -> ir.Value: ...
    @property
    def results_(self) -> ir.OpResultList: ...
    @property
    def thenRegion(self) -> ir.Region: ...
    @property
    def elseRegion(self) -> ir.Region: ...
    @property
    def then_block(self) -> ir.Block: ...
    @property
    def else_block(self) -> ir.Block: ...

class IndexSwitchOp(ir.OpView):
    def __init__(
        self,
        results: Any,
        arg: Any,
        cases: Any,
        case_body_builder: Any = ...,
        default_body_builder: Any = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | Literal[False] | None = ...,
    ) -> None: ...
    @property
    def arg(self) -> ir.Value: ...
    @property
    def cases(self) -> ir.DenseI64ArrayAttr: ...
    @cases.setter
    def cases(self, value: Any) -> None: ...
    @property
    def results_(self) -> ir.OpResultList: ...
    @property
    def defaultRegion(self) -> ir.Region: ...
    @property
    def caseRegions(self) -> ir.RegionSequence: ...
    @property
    def default_region(self) -> ir.Region: ...
    @property
    def default_block(self) -> ir.Block: ...
    @property
    def case_regions(self) -> Sequence[ir.Region]: ...
    def case_region(self, i: int) -> ir.Region: ...
    @property
    def case_blocks(self) -> Sequence[ir.Block]: ...
    def case_block(self, i: int) -> ir.Block: ...

class WhileOp(ir.OpView):
    def __init__(
        self,
        results_: Sequence[ir.Type],
        inits: Sequence[ir.Value],
        *,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def inits(self) -> ir.OpOperandList: ...
    @property
    def results_(self) -> ir.OpResultList: ...
    @property
    def before(self) -> ir.Region: ...
    @property
    def after(self) -> ir.Region: ...

class YieldOp(ir.OpView):
    def __init__(
        self,
        results_: Sequence[ir.Value],
        *,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def results_(self) -> ir.OpOperandList: ...

def condition(
    condition: ir.Value,
    args: Sequence[ir.Value],
    *,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpView: ...
def yield_(
    results_: Sequence[ir.Value], *, loc: ir.Location | None = ..., ip: ir.InsertionPoint | None = ...
) -> ir.OpView: ...
