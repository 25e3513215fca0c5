"""Export the methods of a module as Relax functions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from relax_mlir import op as R
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects import types as infos
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import ArgumentError
from relax_mlir.frontend.nn import core, spec
from relax_mlir.frontend.nn.modules import IOEffect
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import ir
from relax_mlir.symbolic import symbol

NUM_INPUT = "num_input"
"""The attribute of a function: the number of its parameters that are not parameters of the module."""
INITIALIZE = "_initialize_effect"
"""The function that returns the initial state of the effects."""


def export(
    module: core.Module, given: Mapping[str, Any] | spec.ModuleSpec, debug: bool
) -> tuple[IRModule, list[tuple[str, core.Parameter]]]:
    """The functions of a module, and its parameters by name; see `Module.export_tvm`."""
    methods = spec.ModuleSpec.from_raw(given, module)
    builder = BlockBuilder()
    state = core.Export(builder, {})
    params = list(module.named_parameters())
    effects: list[tuple[str, core.Effect]] = [("", IOEffect.instance())] if debug else []
    effects += module.named_effects()
    if effects:
        _emit_initialize(state, effects)
    for name, method in zip(methods.method_names, methods.method_specs, strict=True):
        _Method(state, name, method, params, effects, debug).emit()
    return builder.get(), params


def _emit_initialize(export: core.Export, effects: Sequence[tuple[str, core.Effect]]) -> None:
    builder = export.builder
    with builder.function(INITIALIZE), core.exporting(export):
        state = [value for name, effect in effects for value in effect.emit_init(name, builder)]
        builder.emit_func_output(R.make_tuple(*state))


class _Method:
    """A method that is being exported."""

    def __init__(
        self,
        export: core.Export,
        name: str,
        method: spec.MethodSpec,
        params: Sequence[tuple[str, core.Parameter]],
        effects: Sequence[tuple[str, core.Effect]],
        debug: bool,
    ) -> None:
        self.export, self.builder = export, export.builder
        self.name, self.method, self.debug = name, method, debug
        self.params = [] if method.param_mode == "none" else params
        self.effects = [] if method.effect_mode == "none" else effects

    def emit(self) -> None:
        """Add the function."""
        inputs = [variable(name, item) for name, item in zip(self.method.arg_names, self.method.arg_specs, strict=True)]
        states = [var for name, effect in self.effects for var in effect.create(name or "_io")]
        weights = [Var(name, param.struct_info) for name, param in self.params]
        taken = [
            *inputs,
            *_packed(states, "packed_effects", self.method.effect_mode),
            *_packed(weights, "packed_params", self.method.param_mode),
        ]
        pure = not (self.debug or self.effects)
        with self.builder.function(self.name, taken), core.exporting(self.export):
            # Effects and prints are not pure, so that a dataflow block cannot hold them.
            with self.builder.dataflow() if pure else nullcontext():
                self._bind(taken[len(inputs) :], states, weights)
                try:
                    output = self._call(inputs)
                    output = self.builder.emit_output(output) if pure else output
                finally:
                    for _, param in self.params:
                        param.bind(None)
            self.builder.emit_func_output(output)
        function = self.builder.lookup(self.name)
        with self.builder.mod.context:
            count = len(taken) - (1 if self.method.param_mode == "packed" else len(weights))
            function.attributes[NUM_INPUT] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), count)

    def _bind(self, taken: Sequence[Var], states: Sequence[Var], weights: Sequence[Var]) -> None:
        rest = list(taken)
        state = _unpacked(rest, states, self.method.effect_mode)
        for _, effect in self.effects:
            size = len(effect.create(""))
            effect.set_state(state[:size])
            state = state[size:]
        values = _unpacked(rest, weights, self.method.param_mode)
        for (_, param), value in zip(self.params, values, strict=True):
            param.bind(value)

    def _call(self, inputs: Sequence[Var]) -> core.Nested:
        args = [argument(var, item) for var, item in zip(inputs, self.method.arg_specs, strict=True)]
        result = self.method.method(**dict(zip(self.method.arg_names, args, strict=True)))
        output = _output(result, f"'{self.name}'")
        if not self.effects:
            return output
        return [output, [value for _, effect in self.effects for value in effect.finalize()]]


def _packed(variables: list[Var], name: str, mode: str) -> list[Var]:
    if mode != "packed":
        return variables
    return [Var(name, infos.Tuple([var.struct_info for var in variables]))]


def _unpacked(rest: list[Var], variables: Sequence[Var], mode: str) -> list[Value]:
    """Take the values of `variables` from the front of the parameters `rest`."""
    if mode != "packed":
        values: list[Value] = list(rest[: len(variables)])
        del rest[: len(variables)]
        return values
    whole = rest.pop(0)
    return [R.tuple_get_item(whole, index) for index in range(len(variables))]


def variable(name: str, item: spec.Argument) -> Var:
    """The parameter of a function for an argument."""
    return Var(name, struct_info(name, item))


def struct_info(name: str, item: spec.Argument) -> infos.StructInfo:
    """The struct info of a parameter for an argument."""
    if isinstance(item, spec.Int):
        return infos.Shape((name,))
    if isinstance(item, spec.Tensor):
        return infos.Tensor(item.shape, item.dtype)
    if isinstance(item, spec.Object):
        return infos.Object()
    return infos.Tuple([struct_info(f"{name}_{number}", each) for number, each in enumerate(item.elements)])


def argument(value: Value, item: spec.Argument, name: str | None = None) -> core.Nested:
    """The argument of a method for the value of a parameter."""
    name = value.name if name is None and isinstance(value, Var) else name or "argument"
    if isinstance(item, spec.Int):
        return symbol(name)
    if isinstance(item, spec.Tensor):
        return core.Tensor(_expr=value)
    if isinstance(item, spec.Object):
        return item.object_type(_expr=value, _name=name)
    return type(item.elements)(
        argument(R.tuple_get_item(value, number), each, f"{name}_{number}") for number, each in enumerate(item.elements)
    )


def _output(result: core.Nested, what: str) -> core.Nested:
    if isinstance(result, list | tuple):
        return [_output(item, what) for item in result]
    if isinstance(result, int | float) and not isinstance(result, bool):
        return R.const(result)
    value = core.value_of(result)
    if not isinstance(value, Value):
        raise ArgumentError(f"method {what} returns {result!r}, expected tensors, and tuples and lists of them")
    return value


def call_subroutine(module: core.Module, *args: core.Nested, **kwargs: core.Nested) -> core.Nested:
    """Call a private function with the method `forward` of a module; it is built at the first call of its signature."""
    export = core.current_export(type(module).__name__)
    bound = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    for name, item in bound.items():
        if not isinstance(item, core.Tensor):
            raise ArgumentError(
                f"{type(module).__name__}: argument '{name}' of a subroutine is {item!r}, expected a tensor"
            )
    weights = list(module.named_parameters())
    params = [
        *(Var(name, item.struct_info) for name, item in bound.items()),
        *(Var(name, param.struct_info) for name, param in weights),
    ]
    values = [item._expr for item in [*bound.values(), *(param for _, param in weights)]]
    name = _subroutine(export, module, params, list(bound), [param for _, param in weights])
    return core.wrap_nested(export.builder.call(name, *values), name)


def _subroutine(
    export: core.Export,
    module: core.Module,
    params: Sequence[Var],
    names: Sequence[str],
    weights: Sequence[core.Parameter],
) -> str:
    """The name of the function of a module for these parameters, which is added if it is not there."""
    prefix = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", type(module).__name__).lower()
    builder, known = export.builder, export.subroutines
    key = (type(module).forward, str([param.struct_info for param in params]))
    if key in known:
        return known[key]
    name, number = prefix, 0
    while name in builder.symbol_names():
        name, number = f"{prefix}_{number}", number + 1
    outer = [weight._expr for weight in weights]
    inner = BlockBuilder(builder.mod)
    with inner.function(name, params, private=True), core.exporting(core.Export(inner, known)):
        with inner.dataflow():
            for weight, param in zip(weights, params[len(names) :], strict=True):
                weight.bind(param)
            try:
                tensors = [core.Tensor(_expr=param) for param in params[: len(names)]]
                result = module.forward(**dict(zip(names, tensors, strict=True)))
                output = inner.emit_output(_output(result, f"'forward' of {type(module).__name__}"))
            finally:
                for weight, value in zip(weights, outer, strict=True):
                    weight.bind(value)
        inner.emit_func_output(output)
    known[key] = name
    return name
