"""Pass ``bind-symbolic-vars``: bind symbols to integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.analysis.type_inference import infer_call
from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import SYMBOL_BOUNDS
from relax_mlir.dialects.symbols import bounds_attr, read_bounds
from relax_mlir.dialects.types import Tuple, struct_info
from relax_mlir.error import ArgumentError, ParseError, RelaxError, ShapeError, UnknownNameError
from relax_mlir.mlir import func, ir
from relax_mlir.passes.normalize import Normalize
from relax_mlir.rewrite.function_editing import (
    calls_of,
    functions_by_name,
    substitute_symbols,
    symbols_of,
    update_type,
)
from relax_mlir.transform import ModulePass, PassContext, relax_functions


@dataclass(frozen=True)
class BindSymbolicVars(ModulePass):
    """Bind symbols to the values in `bindings` (``n=4,m=8``), in `function`, or in every function that has them.

    Shapes are specialised: a dimension ``2*n`` becomes 8. A later call of the function with other sizes raises
    `ShapeError`, and so does this pass if the module contains such a call. Follows TVM's BindSymbolicVars.

    Raises:
        UnknownNameError: no such function, or a symbol that the function does not have.
        ShapeError: a negative value, or a call in the module whose arguments have another size.
    """

    name: ClassVar[str] = "bind-symbolic-vars"
    bindings: tuple[str, ...]
    function: str | None = None

    @classmethod
    def of(cls, values: Mapping[str, int], function: str | None = None) -> BindSymbolicVars:
        """The pass that binds symbols, by name, to the integers `values`."""
        return cls(tuple(f"{name}={value}" for name, value in values.items()), function)

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        values = _parsed(self.bindings)
        targets = _targets(module, self.function)
        known = {op.name.value: symbols_of(op) for op in targets}
        for name in values:
            if not any(name in names for names in known.values()):
                owner = f"symbol of function '{self.function}'" if self.function else "symbol"
                raise UnknownNameError(owner, name, {n for names in known.values() for n in names})
        bound = []
        for op in targets:
            mapping = {name: values[name] for name in known[op.name.value] if name in values}
            if mapping:
                bind(op, mapping)
                bound.append(op.name.value)
        check_calls(module, bound)
        Normalize().transform(module, ctx)


def bind(function: func.FuncOp, mapping: Mapping[str, int]) -> None:
    """Replace symbols of one function by integers; raises `ShapeError` for a value out of the symbol's bounds."""
    bounds = read_bounds(function)
    for name, value in mapping.items():
        low, high = bounds.get(name, (0, None))
        if value < low or (high is not None and value > high):
            limit = f"from {low}" if high is None else f"from {low} to {high}"
            raise ShapeError(
                f"function '{function.name.value}': symbol '{name}' cannot be {value}: it goes {limit}"
            )
    if bounds:
        kept = {name: pair for name, pair in bounds.items() if name not in mapping}
        function.attributes[SYMBOL_BOUNDS] = bounds_attr(kept)
    substitute_symbols(function.operation, mapping)
    update_type(function)


def check_calls(module: ir.Module, callees: Sequence[str]) -> None:
    """Raise `ShapeError` if a call in the module no longer matches the signature of one of `callees`."""
    functions, calls = functions_by_name(module), calls_of(module)
    for name in callees:
        for call in calls.get(name, ()):
            arguments = struct_info(call.operands[0].type)
            assert isinstance(arguments, Tuple)
            try:
                infer_call(name, functions[name], arguments.fields)
            except RelaxError as error:
                raise ShapeError(f"{where(call)}: {error}; bind the symbols of the caller, too") from None


def _parsed(bindings: Sequence[str]) -> dict[str, int]:
    values: dict[str, int] = {}
    for binding in bindings:
        name, _, text = (part.strip() for part in binding.partition("="))
        try:
            value = int(text)
        except ValueError:
            raise ParseError(f"binding '{binding}' is not SYMBOL=INTEGER") from None
        if not name:
            raise ParseError(f"binding '{binding}' is not SYMBOL=INTEGER")
        if value < 0:
            raise ShapeError(f"symbol '{name}' cannot be {value}: symbols are not negative")
        if values.setdefault(name, value) != value:
            raise ArgumentError(f"symbol '{name}' is bound to {values[name]} and to {value}")
    return values


def _targets(module: ir.Module, function: str | None) -> list[func.FuncOp]:
    functions = relax_functions(module)
    if function is None:
        return functions
    found = [op for op in functions if op.name.value == function]
    if not found:
        raise UnknownNameError("Relax function", function, [op.name.value for op in functions])
    return found
