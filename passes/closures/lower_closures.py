"""Pass ``lower-closures``: lower function values that are unknown at compile time, for the virtual machine."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.diagnostics import where
from relax_mlir.dialects.calls import CallPackedOp, CallPurePackedOp
from relax_mlir.dialects.closures import InvokePureClosureOp
from relax_mlir.dialects.structure import pack, tuple_get_item, unpack
from relax_mlir.dialects.traits import CallsPacked, InvokesClosure, has_trait
from relax_mlir.dialects.types import Callable, Object, StructInfo, Tuple, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.ir_queries import entry_block, ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.passes.closures.specialize_closures import has_callables
from relax_mlir.transform import ModulePass, PassContext, relax_functions

INVOKE = "vm.builtin.invoke_closure"
CHECK = "vm.builtin.check_func_info"


class LowerClosures(ModulePass):
    """Lower calls of function values to calls of a builtin of the virtual machine, which takes functions as objects.

    `make_closure` remains and returns an object. Functions that users pass and that packed functions return are checked
    at run time. Runs after ``specialize-closures`` with ``keep-unknown``.
    """

    name: ClassVar[str] = "lower-closures"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for function in relax_functions(module):
            _check_parameters(function)
            _check_results(function)
            for op in [op for op in ops_of(function.operation) if has_trait(op, InvokesClosure)]:
                with op.location, ir.InsertionPoint(op):
                    _invoke(op)
        for function in relax_functions(module):
            _erase_types(function)


def _check_parameters(function: func.FuncOp) -> None:
    if "sym_visibility" in function.attributes:
        return
    block = entry_block(function)
    with function.location, ir.InsertionPoint.at_block_begin(block):
        for name, argument in zip(parameter_names(function), block.arguments, strict=True):
            _check_functions(argument, f"{function.name.value}: parameter '{name}'")


def _check_results(function: func.FuncOp) -> None:
    """Check at run time that results of packed functions declared as functions are functions."""
    for op in list(ops_of(function.operation)):
        if has_trait(op, CallsPacked):
            name = ir.StringAttr(op.attributes["func"]).value
            with op.location, ir.InsertionPoint.after(op):
                _check_functions(op.results[0], f"{function.name.value}: result of '{name}' at {where(op)}")


def _check_functions(value: ir.Value, context: str) -> None:
    """Check that a value is a function, or that the callable fields of a tuple are."""
    info = struct_info(value.type)
    if isinstance(info, Callable):
        _check(value, context)
    elif isinstance(info, Tuple):
        for index, item in enumerate(info.fields):
            if has_callables(item.to_type()):
                _check_functions(tuple_get_item(Value(value), index).ssa, f"{context}[{index}]")


def _check(value: ir.Value, context: str) -> None:
    spec: list[ir.Attribute] = [ir.UnitAttr.get(), ir.StringAttr.get(context)]
    _call(CallPackedOp.OPERATION_NAME, CHECK, [value], spec, Tuple().to_type())


def _invoke(op: ir.Operation) -> None:
    given = struct_info(op.operands[1].type)
    assert isinstance(given, Tuple)
    values = [op.operands[0], *unpack(op.operands[1], [item.to_type() for item in given.fields])]
    is_pure = op.name == InvokePureClosureOp.OPERATION_NAME
    name = CallPurePackedOp.OPERATION_NAME if is_pure else CallPackedOp.OPERATION_NAME
    unused = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)  # in the position of the VM state
    spec = [unused, *[ir.UnitAttr.get()] * len(values)]
    result = _call(name, INVOKE, values, spec, op.results[0].type)
    op.results[0].replace_all_uses_with(result)
    op.erase()


def _call(
    name: str, callee: str, values: list[ir.Value], spec: list[ir.Attribute], result: ir.Type
) -> ir.Value:
    return ir.Operation.create(
        name,
        results=[result],
        operands=[pack(values, ir.Location.current)],
        attributes={"func": ir.StringAttr.get(callee), "arg_spec": ir.ArrayAttr.get(spec)},
    ).results[0]


def _erase_types(function: func.FuncOp) -> None:
    """Replace function types by the object type in the types of all values."""
    for op in list(ops_of(function.operation)):
        for result in op.results:
            result.set_type(_erased(result.type))
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    argument.set_type(_erased(argument.type))
        if _is_needless(op):
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
    inputs = [argument.type for argument in entry_block(function).arguments]
    results = [_erased(type_) for type_ in function.type.results]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))


def _is_needless(op: ir.Operation) -> bool:
    """True if an op converts a value to the type that it already has."""
    return (
        op.name == "builtin.unrealized_conversion_cast"
        and len(op.operands) == len(op.results) == 1
        and op.operands[0].type == op.results[0].type
    )


def _erased(type_: ir.Type) -> ir.Type:
    return _without_callables(struct_info(type_)).to_type() if has_callables(type_) else type_


def _without_callables(info: StructInfo) -> StructInfo:
    if isinstance(info, Callable):
        return Object()
    return Tuple([_without_callables(item) for item in info.fields]) if isinstance(info, Tuple) else info
