"""Packed functions as values: each is wrapped into a private function that calls it."""

from __future__ import annotations

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import PARAM_NAME
from relax_mlir.dialects.calls import call_packed, call_pure_packed
from relax_mlir.dialects.closures import MakeClosureOp
from relax_mlir.dialects.extern_func import ExternFuncOp
from relax_mlir.dialects.location import located_at
from relax_mlir.dialects.structure import pack
from relax_mlir.dialects.types import Callable, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import fresh_name, is_used, ops_of, symbol_names
from relax_mlir.mlir import func, ir


def lift_extern_functions(module: ir.Module, outer: func.FuncOp) -> None:
    """Replace the `relax.extern_func` ops in `outer` by closures of private wrappers; unused ops are removed.

    Raises:
        UnsupportedError: the signature of such a function is unknown.
    """
    made: dict[tuple[str, str], str] = {}
    for op in list(ops_of(outer.operation, ExternFuncOp.OPERATION_NAME)):
        if not is_used(op.results[0]):
            op.erase()
            continue
        symbol = ir.StringAttr(op.attributes["func"]).value
        key = symbol, str(op.results[0].type)
        if key not in made:
            made[key] = _wrapper(module, op, symbol)
        with op.location, ir.InsertionPoint(op):
            closure = ir.Operation.create(
                MakeClosureOp.OPERATION_NAME,
                results=[op.results[0].type],
                operands=[pack([], op.location)],
                attributes={"callee": ir.FlatSymbolRefAttr.get(made[key])},
            )
        op.results[0].replace_all_uses_with(closure.results[0])
        op.erase()


def _wrapper(module: ir.Module, op: ir.Operation, symbol: str) -> str:
    """Create a private function that calls the packed function; returns its name."""
    info = struct_info(op.results[0].type)
    assert isinstance(info, Callable)
    if info.params is None or info.result is None:
        raise UnsupportedError(
            f"extern_func at {location_text(op.location)}: what '{symbol}' takes and gives is not known, so that "
            f'it cannot be passed on as a value; write R.ExternFunc("{symbol}", R.Callable((…,), …)), or call it'
        )
    name = fresh_name("".join(c if c.isalnum() else "_" for c in symbol), symbol_names(module.body))
    types = [param.to_type() for param in info.params]
    with op.location, ir.InsertionPoint(module.body):
        wrapper = func.FuncOp(name, ir.FunctionType.get(types, [info.result.to_type()]), visibility="private")
    wrapper.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [ir.DictAttr.get({PARAM_NAME: ir.StringAttr.get(f"arg{number}")}) for number in range(len(types))]
    )
    block = wrapper.add_entry_block()
    builder = call_pure_packed if info.pure else call_packed
    with ir.InsertionPoint(block), op.location, located_at("", 0, 0):
        result = builder(symbol, *map(Value, block.arguments), out=info.result)
        assert result is not None, "it has a result"
        result.ssa.owner.operation.location = op.location
        func.ReturnOp([result.ssa])
    return name
