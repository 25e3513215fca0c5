"""Build a function from its parameters, body and result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.analysis.purity import is_pure as has_no_effects
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import ArgumentError, expect
from relax_mlir.expr.attrs import Attrs
from relax_mlir.expr.emitter import Emitter, adopted
from relax_mlir.mlir import func, ir


def build_function(
    name: str,
    params: Sequence[Var],
    body: Value,
    result: StructInfo | None,
    is_pure: bool | None,
    attrs: Mapping[str, Any] | None,
) -> tuple[ir.Module, ir.Operation]:
    """Build the function in a new module; see `Function`."""
    expect("Function: 'params'", params, list | tuple, "a list of Vars")
    for param in params:
        expect("Function: a parameter", param, Var, "a Var")
    expect("Function: 'body'", body, Value, "an expression, such as a SeqExpr")
    expect("Function: 'is_pure'", is_pure, bool | None, "a bool, or None")
    expect("Function: 'attrs'", attrs, Mapping | None, "a dictionary, or None")
    builder = BlockBuilder()
    emitter = Emitter(builder, anew=True)
    fresh = [Var(param.name, param.struct_info) for param in params]
    with builder.function(name, fresh, result=result):
        for param, var in zip(params, fresh, strict=True):
            emitter.bind(param, var)
        builder.emit_func_output(emitter.value(body))
    module = builder.mod.mlir
    (view,) = module.body.operations
    assert isinstance(view, func.FuncOp)
    if is_pure and not has_no_effects(view):
        raise ArgumentError(f"Function: '{name}' has effects, but is_pure=True")
    with module.context:
        for key, value in _attributes(attrs).items():
            view.attributes[key] = value
    return module, view.operation


def _attributes(attrs: Mapping[str, Any] | None) -> dict[str, ir.Attribute]:
    from relax_mlir.script.statements import attribute

    if isinstance(attrs, Attrs):
        return {key: adopted(value) for key, value in attrs.raw.items()}
    given = {} if attrs is None else attrs
    return {key: attribute(key, value) for key, value in given.items() if key != "global_symbol"}
