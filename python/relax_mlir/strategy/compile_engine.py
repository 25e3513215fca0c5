"""The compile engine: lowers small functions to prim funcs, and caches the results."""

from __future__ import annotations

from dataclasses import dataclass, field

from relax_mlir.analysis.structural_equal import structural_equal
from relax_mlir.analysis.structural_hash import structural_hash
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.base import op_class
from relax_mlir.dialects.types import StructInfo, Tuple, struct_info
from relax_mlir.error import ArgumentError, expect
from relax_mlir.expr import Function
from relax_mlir.ir_module import IRModule
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.pipeline import PREFIX, pipeline
from relax_mlir.mlir import func
from relax_mlir.module_functions import functions_of
from relax_mlir.op.op_registry import written_name
from relax_mlir.passes.fusion.fused_names import joined_name
from relax_mlir.strategy.registry import registrations
from relax_mlir.strategy.report import StrategyDecision, explain_strategy
from relax_mlir.strategy.shipped import shipped_state
from relax_mlir.strategy.tuned import history_state
from relax_mlir.target import Target
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
