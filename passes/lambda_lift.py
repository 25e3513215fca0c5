"""Pass ``lambda-lift``: lift nested functions to private functions of the module, and wrap packed functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from relax_mlir.analysis.well_formed import defining_symbols, parameter_names
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import FUNCTION_ATTRS, PARAM_NAME
from relax_mlir.dialects.base import dim_attributes
from relax_mlir.dialects.calls import call_packed, call_pure_packed
from relax_mlir.dialects.closures import ExternFuncOp, LambdaOp, MakeClosureOp
from relax_mlir.dialects.control import symbols_in_scope
from relax_mlir.dialects.location import located_at
from relax_mlir.dialects.structure import ShapeExprOp, pack
from relax_mlir.dialects.symbols import all_dims, parameter_symbols, symbols_of_type
from relax_mlir.dialects.traits import CopiedIntoFunctions, ops_with
from relax_mlir.dialects.types import (
    Callable,
    Shape,
    StructInfo,
    as_dim,
    dims_attr,
    dims_from_attr,
    struct_info,
)
from relax_mlir.dialects.value import Value
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import defining_op, entry_block, fresh_name, is_used, ops_of, symbol_names
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.effects import make_effects_explicit
from relax_mlir.symbolic import definitions, symbols
from relax_mlir.transform import ModulePass, PassContext, relax_functions


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


COPIED = ops_with(CopiedIntoFunctions)


class LambdaLift(ModulePass):
    """Lift every `relax.lambda` and `relax.extern_func` to a private function, and create closures of it.

    The op becomes a `relax.make_closure`. Captured values become the last parameters of the function. Symbols that
    neither these nor the function's own parameters define are passed as one more parameter, a shape value. Constants
    are copied into the function.
    """

    name: ClassVar[str] = "lambda-lift"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for function in list(relax_functions(module)):
            lift_extern_functions(module, function)
            lambdas = list(_lambdas(function.operation))
            if lambdas:
                make_effects_explicit(function)
            for op in lambdas:
                _lift(module, function, op)


def _lambdas(root: ir.Operation) -> Iterator[ir.Operation]:
    """All lambdas, inner ones first."""
    yield from (op for op in ops_of(root, LambdaOp.OPERATION_NAME, order=ir.WalkOrder.POST_ORDER))


def _lift(module: ir.Module, outer: func.FuncOp, op: ir.Operation) -> None:
    body = entry_block(op)
    _copy_inside(op, body)
    captured = _outer_operands(op)
    own = [struct_info(argument.type) for argument in body.arguments]
    infos = [struct_info(value.type) for value in captured]
    names = [ir.StringAttr(name).value for name in ir.ArrayAttr(op.attributes["names"])]
    names += [_name_of(outer, value) for value in captured]
    missing = missing_symbols(op, own, infos)
    if missing:
        infos.append(Shape(missing))
        names.append("sizes")
    lifted = _function(module, _symbol_name(module, outer, op), [*own, *infos], distinct_names(names), op.location)
    entry = lifted.add_entry_block()
    terminator = _move(body, entry)
    for old, new in zip([*body.arguments, *captured], entry.arguments, strict=False):
        _replace_inside(old, new, lifted.operation)
    with terminator.location, ir.InsertionPoint(terminator):
        func.ReturnOp([terminator.operands[0]])
    result = terminator.operands[0].type
    terminator.erase()
    inputs = [argument.type for argument in entry.arguments]
    lifted.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, [result]))
    if FUNCTION_ATTRS in op.attributes:
        for item in ir.DictAttr(op.attributes[FUNCTION_ATTRS]):
            lifted.attributes[item.name] = item.attr
    with op.location, ir.InsertionPoint(op):
        if missing:
            captured.append(shape_of_symbols(missing))
        closure = ir.Operation.create(
            MakeClosureOp.OPERATION_NAME,
            results=[op.results[0].type],
            operands=[pack(captured, op.location)],
            attributes={"callee": ir.FlatSymbolRefAttr.get(lifted.name.value)},
        )
    op.results[0].replace_all_uses_with(closure.results[0])
    op.erase()


def _is_inside(op: ir.Operation, ancestor: ir.Operation) -> bool:
    while op != ancestor:
        if op.parent is None:
            return False
        op = op.parent.operation
    return True


def _is_from_outside(value: ir.Value, op: ir.Operation) -> bool:
    owner = value.owner.owner.operation if isinstance(value.owner, ir.Block) else value.owner.operation
    return not _is_inside(owner, op)


def _outer_operands(op: ir.Operation) -> list[ir.Value]:
    """The values that the body of `op` captures, in order."""
    used = (value for inner in ops_of(op) for value in inner.operands)
    return list(dict.fromkeys(value for value in used if _is_from_outside(value, op)))


def _copy_inside(op: ir.Operation, body: ir.Block) -> None:
    """Copy constants, and values that are not Relax values, into the body."""
    again = True
    while again:
        again = False
        for value in _outer_operands(op):
            defining = defining_op(value)
            if defining is None or defining.name not in COPIED:
                continue
            copy = defining.clone(ip=ir.InsertionPoint.at_block_begin(body))
            _replace_inside(value, copy.operation.results[0], op)
            again = True


def _replace_inside(old: ir.Value, new: ir.Value, op: ir.Operation) -> None:
    for use in list(old.uses):
        user = use.owner.operation
        if user != op and _is_inside(user, op):
            user.operands[use.operand_number] = new


def missing_symbols(op: ir.Operation, own: list[StructInfo], captured: list[StructInfo]) -> list[str]:
    """Symbols that the body uses and that neither the parameters nor the body define.

    A dimension defines an outer symbol only if the symbol can be computed for every size: `m*n` does not determine
    ``n`` if ``m`` is 0.
    """
    infos = [*own, *captured]
    found = definitions([dim for info in infos for dim in all_dims(info)])
    certain = {each.symbol for each in found if isinstance(each.scale, int)}
    defined = (set(parameter_symbols(own)) - _symbols_around(op)) | certain
    used = dict.fromkeys(symbol for info in infos for symbol in info.symbols())
    for inner in ops_of(op):
        if inner == op:
            continue
        if inner.name == "relax.match_shape":
            defined |= set(defining_symbols(Shape(dims_from_attr(inner.attributes["pattern"]))))
        used |= dict.fromkeys(_symbols_of_op(inner))
    return [symbol for symbol in used if symbol not in defined]


def _symbols_around(op: ir.Operation) -> set[str]:
    """The symbols in scope at the definition of a nested function."""
    found = symbols_in_scope(op.block, op)
    parent = op.parent
    while parent is not None:
        if parent.name == LambdaOp.OPERATION_NAME:
            found |= {s for a in entry_block(parent.operation).arguments for s in symbols_of_type(a.type)}
        parent = parent.operation.parent
    return found


def used_symbols(function: ir.Operation) -> set[str]:
    """The symbols that occur in a function."""
    infos = [struct_info(argument.type) for argument in entry_block(function).arguments]
    found = {symbol for info in infos for symbol in info.symbols()}
    return found | {symbol for op in ops_of(function) for symbol in _symbols_of_op(op)}


def _symbols_of_op(op: ir.Operation) -> Iterator[str]:
    """The symbols in the attributes and the result types of an op."""
    for _, dims in dim_attributes(op):
        yield from (symbol for dim in dims if dim is not None for symbol in symbols(dim))
    for result in op.results:
        yield from symbols_of_type(result.type)


def shape_of_symbols(names: list[str]) -> ir.Value:
    """A shape value of these symbols, created at the insertion point."""
    dims = [as_dim(name) for name in names]
    return ir.Operation.create(
        ShapeExprOp.OPERATION_NAME, results=[Shape(dims).to_type()], attributes={"values": dims_attr(dims)}
    ).results[0]


def _name_of(outer: func.FuncOp, value: ir.Value) -> str:
    if isinstance(value.owner, ir.Block):
        if value.owner == entry_block(outer):
            number: int = ir.BlockArgument(value).arg_number
            return parameter_names(outer)[number]
        return "captured"
    location = value.owner.operation.location
    return str(location.name_str) if isinstance(location, ir.NameLoc) else "captured"


def distinct_names(names: list[str]) -> list[str]:
    """The names, with numeric suffixes on duplicates."""
    found: list[str] = []
    for name in names:
        fresh, count = name, 0
        while fresh in found:
            count += 1
            fresh = f"{name}_{count}"
        found.append(fresh)
    return found


def _symbol_name(module: ir.Module, outer: func.FuncOp, op: ir.Operation) -> str:
    location = op.location
    name = location.name_str if isinstance(location, ir.NameLoc) else "lambda"
    return fresh_name(f"{outer.name.value}_{name}", symbol_names(module.body))


def _function(
    module: ir.Module, name: str, infos: list[StructInfo], names: list[str], location: ir.Location
) -> func.FuncOp:
    with location, ir.InsertionPoint(module.body):
        types = [info.to_type() for info in infos]
        lifted = func.FuncOp(name, ir.FunctionType.get(types, []), visibility="private")
    lifted.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [ir.DictAttr.get({PARAM_NAME: ir.StringAttr.get(item)}) for item in names]
    )
    return lifted


def _move(source: ir.Block, target: ir.Block) -> ir.Operation:
    """Move all ops; returns the last one."""
    operations = [view.operation for view in source.operations]
    with ir.InsertionPoint(target), ir.Location.unknown():
        mark = func.ReturnOp([]).operation
    for op in operations:
        op.move_before(mark)
    mark.erase()
    return operations[-1]
