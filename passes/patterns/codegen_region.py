"""`CodegenRegion`: what a code generator sees of a function that was made for it, and how it replaces calls in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import COMPOSITE
from relax_mlir.dialects.base import implies
from relax_mlir.dialects.structure import TUPLE, is_pure
from relax_mlir.dialects.traits import CopiedIntoFunctions, WrittenInside, has_trait
from relax_mlir.dialects.types import StructInfo, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError, ShapeError, UnsupportedError, expect
from relax_mlir.expr.attrs import Attrs
from relax_mlir.expr.bindings import Binding, binding_of
from relax_mlir.ir_queries import callee_of, defining_op, entry_block, is_used
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.function_editing import arguments_of


@dataclass(frozen=True)
class CompositeCall:
    """A call of a composite function."""

    composite: str
    """The name of the pattern, ``openblas.matmul``."""
    function: func.FuncOp
    """The function, whose body holds the ops that the pattern has found."""
    args: tuple[Value, ...]
    """The arguments, as values that builders take."""
    result: StructInfo
    """What is known of the result."""
    place: str
    """Where the program has it: ``file:line:column``."""

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The attributes of the function, those of the pattern's `attrs_getter` among them, as Python values."""
        return Attrs.of(self.function.operation)

    @property
    def bindings(self) -> list[Binding]:
        """The bindings of the function, in order, without constants."""
        body = [view.operation for view in list(entry_block(self.function).operations)[:-1]]
        return [binding_of(op) for op in body if not _is_constant(op)]

    def argument_of(self, operand: Value) -> Value | None:
        """What an operand in the function is to the program around the call: an argument, or a constant; else None."""
        maker = defining_op(operand.ssa)
        if maker is None:
            return self.args[ir.BlockArgument(operand.ssa).arg_number]
        return Value(maker.clone().operation.results[0]) if _is_constant(maker) else None

    def refuse(self, why: str) -> UnsupportedError:
        """An error that says which call the code generator does not take, where it stands, and why."""
        ops = ", ".join(binding.op for binding in self.bindings)
        return UnsupportedError(
            f"'{self.composite}' ({ops}) at {self.place} cannot be generated: {why}; give the pattern a check that "
            "leaves it out, and it is compiled as any other op"
        )


Rule = Callable[[CompositeCall], Value]
"""Emits what computes a call, by builders; gives the value."""


class CodegenRegion:
    """A function with ``relax.codegen``, as its code generator sees it: what builders emit becomes its new body."""

    def __init__(self, function: func.FuncOp, block: ir.Block, composites: Mapping[str, func.FuncOp]) -> None:
        self.function = function
        """The function as it was, with calls of composite functions."""
        self.params = tuple(map(Value, block.arguments))
        """Its parameters, as values that builders take."""
        self._block, self._composites = block, composites

    @property
    def name(self) -> str:
        """The function's name."""
        return str(self.function.name.value)

    @property
    def result(self) -> StructInfo:
        """What is known of the result."""
        return struct_info(self.function.type.results[0])

    def each(self, rule: Rule) -> Value:
        """Let `rule` emit what computes each call, in order; gives the function's result.

        Raises:
            UnsupportedError: the function holds an op that is no call of a composite function.
            ArgumentError, ShapeError: a rule gives no value, or one of which less is known than of the call's result.
        """
        values: dict[ir.Value, ir.Value] = dict(
            zip(entry_block(self.function).arguments, (param.ssa for param in self.params), strict=True)
        )
        *body, end = [view.operation for view in entry_block(self.function).operations]
        for op in body:
            before = len(self._block.operations)
            values.update(zip(op.results, self._made(op, values, rule), strict=True))
            self._place(op, [view.operation for view in list(self._block.operations)[before:]])
        self._drop_unused(values[end.operands[0]])
        return Value(values[end.operands[0]])

    @staticmethod
    def _place(op: ir.Operation, emitted: Sequence[ir.Operation]) -> None:
        """Give what has been emitted for `op` its place, and the last one its name."""
        exact: Any = ir.Location.from_attr(op.location.attr, op.location.context)
        inner = exact.child_loc if isinstance(exact, ir.NameLoc) else op.location
        for index, made in enumerate(emitted):
            made.location = op.location if index == len(emitted) - 1 else inner

    def _drop_unused(self, result: ir.Value) -> None:
        """Remove lists of arguments that only composite functions took."""
        for view in reversed(list(self._block.operations)):
            op = view.operation
            is_list = op.name == TUPLE and not is_used(op.results[0])
            if is_list and op.results[0] != result:
                op.erase()

    def _made(self, op: ir.Operation, values: Mapping[ir.Value, ir.Value], rule: Rule) -> Sequence[ir.Value]:
        if op.name == "relax.call" and callee_of(op) in self._composites:
            return [self._ruled(op, values, rule).ssa]
        if not is_pure(op) or not has_trait(op, WrittenInside, CopiedIntoFunctions):
            raise UnsupportedError(
                f"function '{self.name}' for a code generator holds {op.name.removeprefix('relax.')} at "
                f"{location_text(op.location)}, which is no call of a composite function: run fuse-ops-by-pattern, and "
                "merge-composite-functions"
            )
        copy = op.clone().operation
        for index, operand in enumerate(op.operands):
            copy.operands[index] = values[operand]
        return list(copy.results)

    def _ruled(self, op: ir.Operation, values: Mapping[ir.Value, ir.Value], rule: Rule) -> Value:
        function = self._composites[callee_of(op)]
        arguments = tuple(Value(values[value]) for value in arguments_of(op))
        call = CompositeCall(
            ir.StringAttr(function.attributes[COMPOSITE]).value,
            function,
            arguments,
            struct_info(op.results[0].type),
            location_text(op.location),
        )
        try:
            made = rule(call)
        except RelaxError as error:
            error.add_hint(f"while code was generated for '{call.composite}' at {call.place}")
            raise
        expect(f"what the rule for '{call.composite}' gives", made, Value, "a value")
        if not implies(made.struct_info, call.result):
            raise ShapeError(
                f"the rule for '{call.composite}' at {call.place} gives {made.struct_info}, "
                f"but the call is {call.result}"
            )
        return made


def _is_constant(op: ir.Operation) -> bool:
    """Whether an op needs nothing that a function has computed."""
    return not len(op.operands) and is_pure(op) and has_trait(op, WrittenInside, CopiedIntoFunctions)
