"""Lower one call of an op by its strategies: the selected implementation, and its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.base import op_class
from relax_mlir.dialects.bounds import bounds_around
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import Var
from relax_mlir.error import ArgumentError, UnsupportedError, expect
from relax_mlir.expr import Attrs, Call, Function
from relax_mlir.expr import Tuple as TupleExpr
from relax_mlir.ir_module import IRModule
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.legalize.rules import OpCall, Rule, op_call, rule_for
from relax_mlir.lowering.legalize.strategies import computed, out_type, placeholders, strategies_of
from relax_mlir.mlir import ir
from relax_mlir.op.op_registry import Op
from relax_mlir.strategy.implementation import OpImplementation
from relax_mlir.strategy.op_strategy import OpStrategy
from relax_mlir.strategy.selection import Selection, holding, select
from relax_mlir.symbolic import assuming
from relax_mlir.target import Target
from relax_mlir.te import Tensor as TETensor


@dataclass(frozen=True)
class LoweredOutput:
    """The result of `lower_call`.

    Attributes:
        outputs: the computed tensors if the implementation is a tensor expression, else the struct infos of the
            results.
        implementation: the one with the highest priority whose condition holds for all sizes.
        selection: all candidates, and the selected ones; these are several if conditions depend on sizes.
    """

    outputs: tuple[TETensor, ...] | tuple[StructInfo, ...]
    implementation: OpImplementation
    selection: Selection


def get_valid_implementations(
    op: Op | str,
    attrs: Mapping[str, Any],
    inputs: Sequence[TETensor],
    out_type: StructInfo | None = None,
    target: str | Target = "cpu",
) -> list[OpImplementation]:
    """The implementations of an op whose conditions hold for operands like `inputs`, the best first.

    Args:
        op: the op or its name.
        attrs: its attributes, as its builder takes them.
        inputs: placeholders for its tensors.
        out_type: the struct info of the result, which must be the one that the op's shape rule infers.
        target: the target.

    Raises:
        ArgumentError: `out_type` is not the op's.
        UnknownNameError: no such op.
    """
    return holding(all_strategies(op, attrs, inputs, out_type, target))


def all_strategies(
    op: Op | str,
    attrs: Mapping[str, Any],
    inputs: Sequence[TETensor],
    out_type: StructInfo | None,
    target: str | Target,
) -> list[OpStrategy]:
    """The results of an op's strategies for a call; the arguments are those of `get_valid_implementations`."""
    case = _Case.of(Call(op, _variables(inputs), attrs), inputs, Target.parse(target))
    case.require(out_type)
    return case.strategies()


def select_implementation(
    op: Op | str,
    attrs: Mapping[str, Any],
    inputs: Sequence[TETensor],
    out_type: StructInfo | None = None,
    target: str | Target = "cpu",
) -> tuple[OpImplementation, tuple[TETensor, ...] | tuple[StructInfo, ...]]:
    """The implementation with the highest priority that holds for all sizes, and its outputs; see `LoweredOutput`."""
    case = _Case.of(Call(op, _variables(inputs), attrs), inputs, Target.parse(target))
    case.require(out_type)
    lowered = case.lower()
    return lowered.implementation, lowered.outputs


def lower_call(
    call: Call, inputs: Sequence[TETensor] | None = None, target: str | Target = "cpu"
) -> LoweredOutput:
    """Lower a call of a Relax op.

    Args:
        call: ``rx.Call("relax.matmul", [x, y])``, or a call of a module.
        inputs: tensors for the arguments, with tuples flattened; None: placeholders are created.
        target: the target.

    Raises:
        ArgumentError: not a call of an op, or the number of inputs differs from that of the arguments.
        UnsupportedError: the op has no implementation in native code.
    """
    expect("lower_call: 'call'", call, Call, "a Call")
    return _Case.of(call, inputs, Target.parse(target)).lower()


@dataclass(frozen=True)
class _Case:
    """A call in a temporary module."""

    module: IRModule
    op: ir.Operation
    call: OpCall
    rule: Rule
    inputs: Sequence[TETensor] | None
    target: Target

    @classmethod
    def of(cls, call: Call, inputs: Sequence[TETensor] | None, target: Target) -> _Case:
        if not isinstance(call.op, Op) or not call.op.is_builtin:
            raise ArgumentError(f"lower_call: {call.op} is called, expected an op of Relax")
        variables, args = _arguments(call, inputs)
        module = IRModule({"main": Function(variables, Call(call.op, args, call.attrs))})
        name = "relax." + call.op.name.removeprefix("relax.").replace(".", "_")
        with module.context, ir.Location.unknown():
            op = next(iter(ops_of(module["main"].operation, name)))
            kind = op_class(op)
            assert kind is not None
            rule = rule_for(op.name, kind.__module__.rpartition(".")[2])
            if rule is None:
                raise UnsupportedError(f"lower_call: {call.op} has no implementation as a prim func")
            with ir.InsertionPoint(op):
                found = op_call(op, kind.args_of(op))
        return cls(module, op, found, rule, inputs, target)

    def require(self, given: StructInfo | None) -> None:
        """Raise `ArgumentError` if `given` is not the struct info of the op's result."""
        if given is not None and given != out_type(self.call):
            raise ArgumentError(f"{self.op.name} gives {out_type(self.call)}, not {given}")

    def strategies(self) -> list[OpStrategy]:
        with self.module.context, ir.Location.unknown(), assuming(bounds_around(self.op)):
            return strategies_of(self.op, self.call, self.rule, self.target)

    def lower(self) -> LoweredOutput:
        with self.module.context, ir.Location.unknown(), assuming(bounds_around(self.op)):
            strategies = strategies_of(self.op, self.call, self.rule, self.target)
            selection = select(self.op.name, strategies)
            implementation = selection.taken[-1].implementation
            if not implementation.is_expression:
                return LoweredOutput(self.call.results, implementation, selection)
            inputs = placeholders(self.call) if self.inputs is None else self.inputs
            tensors = computed(self.op.name, implementation, Attrs.of(self.op), inputs, self.call)
            return LoweredOutput(tuple(tensors), implementation, selection)


def _variables(inputs: Sequence[TETensor]) -> list[Var]:
    return [Var(f"x{i}", Tensor(tensor.shape, tensor.dtype)) for i, tensor in enumerate(inputs)]


def _arguments(call: Call, inputs: Sequence[TETensor] | None) -> tuple[list[Var], list[Any]]:
    """Parameters for the tensors of a call, and the arguments of the call in terms of them."""
    infos = [arg.struct_info for arg in call.args]
    flat = [i for info in infos for i in (info.fields if isinstance(info, Tuple) else [info])]
    if inputs is not None:
        if len(inputs) != len(flat):
            raise ArgumentError(
                f"lower_call: {call.op} takes {len(flat)} tensors, 'inputs' has {len(inputs)}"
            )
        flat = [Tensor(tensor.shape, tensor.dtype) for tensor in inputs]
    variables = [Var(f"x{number}", info) for number, info in enumerate(flat)]
    left = iter(variables)
    args = [
        TupleExpr([next(left) for _ in info.fields]) if isinstance(info, Tuple) else next(left)
        for info in infos
    ]
    return variables, args
