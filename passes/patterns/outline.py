"""Outlining of ops of one block into a private function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.attributes import PARAM_NAME, SYMBOL_BOUNDS
from relax_mlir.dialects.bounds import bounds_around, bounds_attr
from relax_mlir.dialects.calls import CallOp
from relax_mlir.dialects.structure import TUPLE, ConstantOp, TupleGetItemOp, pack
from relax_mlir.dialects.traits import CopiedIntoFunctions, has_trait
from relax_mlir.dialects.types import Shape, StructInfo, Tuple, struct_info
from relax_mlir.expr.bindings import Program, is_inside
from relax_mlir.ir_queries import defining_op, entry_block, fresh_name, is_used, symbol_names
from relax_mlir.mlir import func, ir
from relax_mlir.passes.closures.lambda_lift import distinct_names, missing_symbols, shape_of_symbols

MAX_NAME = 80


@dataclass
class Outline:
    """The outlining of ops into a function.

    `ops` are pure ops of one block, in block order. `outputs` are their values with other users. Argument tuples,
    shapes and constants that only these ops use move with them. The call replaces the last op; the caller of this class
    must move users of other outputs that come before it.
    """

    ops: Sequence[ir.Operation]
    outputs: Sequence[ir.Value]
    bind_constants: bool = True
    """True if constants move into the function instead of becoming arguments."""

    _inner: dict[ir.Value, ir.Value] = field(default_factory=dict)
    _inputs: list[ir.Value] = field(default_factory=list)

    def build(self, module: ir.Module, wanted: str, attributes: Mapping[str, ir.Attribute]) -> ir.Operation:
        """Create the function, named `wanted` or a free variant, and return its call; the ops are erased."""
        last = self.ops[-1]
        order = self._with_parts()
        self._inputs = [value for value in self._operands(order) if not self._is_copied(value)]
        infos = [struct_info(value.type) for value in self._inputs]
        results = [value.type for value in self.outputs]
        result = results[0] if len(results) == 1 else Tuple(list(map(struct_info, results))).to_type()
        name = fresh_name(wanted[:MAX_NAME], symbol_names(module.body))
        function = self._declare(module, name, infos, result)
        self._fill(function, order)
        missing = missing_symbols(function.operation, infos, [])
        if missing:
            self._add_sizes(function, Shape(missing))
        for key, value in attributes.items():
            function.attributes[key] = value
        self._bound(function, last)
        call = self._call(last, name, result, missing)
        self._hand_over(call)
        return call

    def _with_parts(self) -> list[ir.Operation]:
        """The ops, each preceded by the `tuple` ops of its operands."""
        found: dict[ir.Operation, None] = {}

        def add(op: ir.Operation) -> None:
            for operand in op.operands:
                maker = defining_op(operand)
                if maker is not None and maker.name == TUPLE and maker not in self.ops:
                    add(maker)
            found[op] = None

        for op in self.ops:
            add(op)
        return list(found)

    @staticmethod
    def _operands(order: Sequence[ir.Operation]) -> list[ir.Value]:
        made = {result for op in order for result in op.results}
        used = dict.fromkeys(operand for op in order for operand in op.operands)
        return [value for value in used if value not in made]

    def _is_copied(self, value: ir.Value) -> bool:
        """True if the function recreates `value` instead of taking it as an argument."""
        maker = defining_op(value)
        if maker is None or len(maker.operands):
            return False
        if maker.name == ConstantOp.OPERATION_NAME:
            return self.bind_constants
        return has_trait(maker, CopiedIntoFunctions) or is_inside(maker)

    def _declare(
        self, module: ir.Module, name: str, infos: Sequence[StructInfo], result: ir.Type
    ) -> func.FuncOp:
        program = Program(self.ops[0])
        names = [getattr(program.expression(value), "name", "") or "value" for value in self._inputs]
        with ir.InsertionPoint(module.body), self.ops[-1].location:
            types = [info.to_type() for info in infos]
            function = func.FuncOp(name, ir.FunctionType.get(types, [result]), visibility="private")
        function.attributes["arg_attrs"] = _named(distinct_names(names))
        return function

    def _fill(self, function: func.FuncOp, order: Sequence[ir.Operation]) -> None:
        entry = function.add_entry_block()
        self._inner = dict(zip(self._inputs, entry.arguments, strict=True))
        with ir.InsertionPoint(entry):
            for op in order:
                for operand in op.operands:
                    if operand not in self._inner:
                        maker = defining_op(operand)
                        assert maker is not None, "parameters are inputs"
                        self._inner[operand] = maker.clone().operation.results[0]
                copy = op.clone().operation
                for index, operand in enumerate(op.operands):
                    copy.operands[index] = self._inner[operand]
                self._inner.update(zip(op.results, copy.results, strict=True))
            outputs = [self._inner[value] for value in self.outputs]
            location = self.ops[-1].location
            with location:
                func.ReturnOp([outputs[0] if len(outputs) == 1 else pack(outputs, location)])

    @staticmethod
    def _add_sizes(function: func.FuncOp, info: Shape) -> None:
        """Add a shape parameter for symbols that no other parameter defines."""
        names = [
            ir.StringAttr(ir.DictAttr(item)[PARAM_NAME]).value
            for item in ir.ArrayAttr(function.attributes["arg_attrs"])
        ]
        entry_block(function).add_argument(info.to_type(), ir.Location.unknown())
        kinds = [argument.type for argument in entry_block(function).arguments]
        function.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(kinds, list(function.type.results))
        )
        function.attributes["arg_attrs"] = _named(distinct_names([*names, "sizes"]))

    def _bound(self, function: func.FuncOp, op: ir.Operation) -> None:
        """Copy the bounds of the caller's symbols to the function."""
        used = {name for kind in function.type.inputs for name in struct_info(kind).symbols()}
        bounds = {name: pair for name, pair in bounds_around(op).items() if name in used}
        if bounds:
            function.attributes[SYMBOL_BOUNDS] = bounds_attr(bounds)

    def _call(self, last: ir.Operation, name: str, result: ir.Type, missing: list[str]) -> ir.Operation:
        arguments, location = list(self._inputs), last.location
        exact: Any = ir.Location.from_attr(location.attr, location.context)
        if len(self.outputs) > 1 and isinstance(exact, ir.NameLoc):
            location = exact.child_loc  # the fields have names
        with ir.InsertionPoint(last), location:
            if missing:
                arguments.append(shape_of_symbols(missing))
            return ir.Operation.create(
                CallOp.OPERATION_NAME,
                results=[result],
                operands=[pack(arguments, location)],
                attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
            )

    def _hand_over(self, call: ir.Operation) -> None:
        """Replace the outputs by the results of the call, and erase the ops."""
        values = [call.results[0]]
        if len(self.outputs) > 1:
            with ir.InsertionPoint.after(call):
                values = [
                    ir.Operation.create(
                        TupleGetItemOp.OPERATION_NAME,
                        results=[value.type],
                        operands=[call.results[0]],
                        attributes={"index": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)},
                        loc=_location(value),
                    ).results[0]
                    for index, value in enumerate(self.outputs)
                ]
        for old, new in zip(self.outputs, values, strict=True):
            old.replace_all_uses_with(new)
        parts = self._with_parts()
        copied = dict.fromkeys(
            maker
            for op in parts
            for value in op.operands
            if self._is_copied(value) and (maker := defining_op(value)) is not None
        )
        for op in dict.fromkeys((*reversed(parts), *copied)):
            if not any(is_used(value) for value in op.results):
                op.erase()


def _named(names: Sequence[str]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.DictAttr.get({PARAM_NAME: ir.StringAttr.get(name)}) for name in names])


def _location(value: ir.Value) -> ir.Location:
    maker = defining_op(value)
    assert maker is not None, "outputs are made by ops"
    return maker.location


def readable_name(ops: Sequence[ir.Operation]) -> str:
    """The name for these ops, such as ``fused_matmul_add``; a call is named by its callee."""
    parts = []
    for op in ops:
        if "callee" in op.attributes:
            parts.append(ir.FlatSymbolRefAttr(op.attributes["callee"]).value.removeprefix("fused_"))
        elif op.name not in (TUPLE, TupleGetItemOp.OPERATION_NAME, ConstantOp.OPERATION_NAME):
            parts.append(op.name.removeprefix("relax."))
    return "_".join(["fused", *parts])
