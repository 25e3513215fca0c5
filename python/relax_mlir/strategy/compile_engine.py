"""Lower calls of ops and small functions to prim funcs by strategies; the results are cached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import te
from relax_mlir.analysis.structural import structural_equal, structural_hash
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.base import op_class
from relax_mlir.dialects.symbols import bounds_around
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple, struct_info
from relax_mlir.dialects.value import Var
from relax_mlir.error import ArgumentError, UnsupportedError, expect
from relax_mlir.expr import Attrs, Call, Function
from relax_mlir.expr import Tuple as TupleExpr
from relax_mlir.ir_module import IRModule, functions_of
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.legalize.rules import OpCall, Rule, op_call, rule_for
from relax_mlir.lowering.legalize.strategies import computed, out_type, placeholders, strategies_of
from relax_mlir.lowering.pipeline import PREFIX, pipeline
from relax_mlir.lowering.strategy.op_strategy import (
    OpImplementation,
    OpStrategy,
    Selection,
    Strategy,
    StrategyDecision,
    explain_strategy,
    holding,
    register_strategy,
    registrations,
    select,
)
from relax_mlir.lowering.strategy.tuned import history_state, shipped_state
from relax_mlir.mlir import func, ir
from relax_mlir.op.op_registry import Op, written_name
from relax_mlir.passes.fusion.fuse_ops import joined_name
from relax_mlir.symbolic import assuming
from relax_mlir.target import Target
from relax_mlir.te import Tensor as TETensor
from relax_mlir.transform import relax_functions


@dataclass(frozen=True)
class CachedFunc:
    """A function that the engine has lowered.

    Attributes:
        target: the target of the lowering.
        func_name: ``fused_`` and the names of its ops; of more than 80 characters, the first 80 and a hash.
        inputs, outputs: the struct infos of its parameters and results.
        prim_funcs: a module at level R1: the function, which calls prim funcs, and these.
        decisions: the implementations of its ops, and why they were selected.
    """

    target: Target
    func_name: str
    inputs: tuple[StructInfo, ...]
    outputs: tuple[StructInfo, ...]
    prim_funcs: IRModule
    decisions: tuple[StrategyDecision, ...]

    @property
    def names(self) -> list[str]:
        """The names of the prim funcs."""
        return [op.name.value for op in functions_of(self.prim_funcs.mlir) if PRIM_FUNC in op.attributes]


@dataclass
class CompileEngine:
    """Lowers functions, and caches the results per target until the registered strategies change.

    Structurally equal functions share an entry, whatever the names of their variables and symbols.
    """

    _entries: dict[tuple[int, str, object], list[tuple[IRModule, CachedFunc]]] = field(default_factory=dict)
    hits: int = 0

    def lower(self, source: IRModule | Function, target: str | Target = "cpu") -> CachedFunc:
        """Lower a function, or a module with one function, to prim funcs.

        Raises:
            ArgumentError: the number of Relax functions in the module is not one.
            UnsupportedError: an op has no implementation in native code.
        """
        expect("lower: 'source'", source, IRModule | Function, "a Function, or an IRModule of one")
        module = source if isinstance(source, IRModule) else IRModule({"main": source})
        functions = relax_functions(module.mlir)
        if len(functions) != 1:
            raise ArgumentError(f"lower: the module has {len(functions)} Relax functions, expected one")
        target = Target.parse(target)
        chosen = registrations(), history_state(), shipped_state()
        key = (structural_hash(module, map_free_vars=True), str(target), chosen)
        for known, cached in self._entries.get(key, []):
            if structural_equal(known, module, map_free_vars=True):
                self.hits += 1
                return cached
        kept = module.clone()
        cached = _lowered(module, functions[0], target)
        self._entries.setdefault(key, []).append((kept, cached))
        return cached

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()
        self.hits = 0


def _lowered(module: IRModule, function: func.FuncOp, target: Target) -> CachedFunc:
    info = module[function.name.value]
    inputs, outputs = _infos(info)
    kinds = [op_class(op) for op in ops_of(info.operation)]
    names = [written_name(kind.OPERATION_NAME).replace(".", "_") for kind in kinds if kind is not None]
    with explain_strategy() as report:
        lowered = pipeline(f"{PREFIX}calls", str(target))(module)
    name = joined_name(["fused", *names])
    return CachedFunc(target, name, inputs, outputs, lowered, tuple(report.decisions))


def _infos(function: func.FuncOp) -> tuple[tuple[StructInfo, ...], tuple[StructInfo, ...]]:
    inputs = tuple(struct_info(type_) for type_ in function.type.inputs)
    result = struct_info(function.type.results[0])
    return inputs, tuple(result.fields) if isinstance(result, Tuple) else (result,)


# Lower one call of an op by its strategies: the selected implementation, and its outputs.


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


def lower_call(call: Call, inputs: Sequence[TETensor] | None = None, target: str | Target = "cpu") -> LoweredOutput:
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
            rule = rule_for(kind)
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
            raise ArgumentError(f"lower_call: {call.op} takes {len(flat)} tensors, 'inputs' has {len(inputs)}")
        flat = [Tensor(tensor.shape, tensor.dtype) for tensor in inputs]
    variables = [Var(f"x{number}", info) for number, info in enumerate(flat)]
    left = iter(variables)
    args = [TupleExpr([next(left) for _ in info.fields]) if isinstance(info, Tuple) else next(left) for info in infos]
    return variables, args


# The attribute ``FTVMStrategy`` of an op: all its strategies combined.


@dataclass(frozen=True)
class StrategyAttribute:
    """The value of ``Op.get(name).get_attr("FTVMStrategy")``."""

    op: str

    def __call__(
        self,
        attrs: Mapping[str, Any],
        inputs: Sequence[te.Tensor],
        out_type: StructInfo | None = None,
        target: str | Target = "cpu",
    ) -> OpStrategy:
        """All implementations for a call, those of users first; for the arguments see `get_valid_implementations`."""
        strategy = OpStrategy()
        for each in all_strategies(self.op, attrs, inputs, out_type, target):
            strategy.specializations += each.specializations
        return strategy


def attribute_of(op: str) -> StrategyAttribute:
    """The strategy attribute of a Relax op."""
    return StrategyAttribute(op)


def give(op: str, strategy: Strategy) -> None:
    """Register a strategy for any CPU."""
    register_strategy(op)(strategy)
