"""`CodegenRegion`: the interface between `run-codegen` and the code generators of libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import COMPOSITE
from relax_mlir.dialects.base import implies
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.traits import CopiedIntoFunctions, WrittenInside, has_trait
from relax_mlir.dialects.types import StructInfo, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError, ShapeError, UnsupportedError, expect
from relax_mlir.expr.bindings import Attrs, Binding, binding_of
from relax_mlir.ir_queries import callee_of, defining_op, entry_block, is_used
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.function_editing import arguments_of


@dataclass(frozen=True)
class CompositeCall:
    """A call of a composite function."""

    composite: str
    """The name of the pattern, such as ``openblas.matmul``."""
    function: func.FuncOp
    """The composite function, whose body holds the matched ops."""
    args: tuple[Value, ...]
    """The arguments, as values for builders."""
    result: StructInfo
    """Struct info of the result."""
    place: str
    """Location of the call in the program: ``file:line:column``."""

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The attributes of the function as Python values, including those of the pattern's ``attrs_getter``."""
        return Attrs.of(self.function.operation)

    @property
    def bindings(self) -> list[Binding]:
        """The bindings of the function, in order, without constants."""
        body = [view.operation for view in list(entry_block(self.function).operations)[:-1]]
        return [binding_of(op) for op in body if not _is_constant(op)]

    def argument_of(self, operand: Value) -> Value | None:
        """The argument or constant of the call that an operand inside the function denotes; None for other values."""
        maker = defining_op(operand.ssa)
        if maker is None:
            return self.args[ir.BlockArgument(operand.ssa).arg_number]
        return Value(maker.clone().operation.results[0]) if _is_constant(maker) else None

    def refuse(self, why: str) -> UnsupportedError:
        """Build the error for a call that the code generator does not support: the call, its location, and `why`."""
        ops = ", ".join(binding.op for binding in self.bindings)
        return UnsupportedError(
            f"'{self.composite}' ({ops}) at {self.place} cannot be generated: {why}; give the pattern a check that "
            "leaves it out, and it is compiled as any other op"
        )


Rule = Callable[[CompositeCall], Value]
"""Emits the computation of a call with builders; returns the value."""


class CodegenRegion:
    """A function with ``relax.codegen``, as its code generator sees it; emitted ops become the new body."""

    def __init__(self, function: func.FuncOp, block: ir.Block, composites: Mapping[str, func.FuncOp]) -> None:
        expect("CodegenRegion: 'function'", function, func.FuncOp, "a function")
        expect("CodegenRegion: 'block'", block, ir.Block, "the block of its new body")
        expect("CodegenRegion: 'composites'", composites, Mapping, "functions by name")
        self.function = function
        """The original function, with calls of composite functions."""
        self.params = tuple(map(Value, block.arguments))
        """Its parameters, as values for builders."""
        self._block, self._composites = block, composites

    @property
    def name(self) -> str:
        """The function's name."""
        return str(self.function.name.value)

    @property
    def result(self) -> StructInfo:
        """Struct info of the result."""
        return struct_info(self.function.type.results[0])

    def each(self, rule: Rule) -> Value:
        """Apply `rule` to each call, in order; returns the result of the function.

        Raises:
            UnsupportedError: the function contains an op other than a call of a composite function.
            ArgumentError, ShapeError: a rule returns no value, or one with less precise struct info than the call's
                result.
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
        """Set the locations of ops emitted for `op`; only the last one gets its name."""
        exact: Any = ir.Location.from_attr(op.location.attr, op.location.context)
        inner = exact.child_loc if isinstance(exact, ir.NameLoc) else op.location
        for index, made in enumerate(emitted):
            made.location = op.location if index == len(emitted) - 1 else inner

    def _drop_unused(self, result: ir.Value) -> None:
        """Remove argument tuples that only composite functions used."""
        for view in reversed(list(self._block.operations)):
            op = view.operation
            is_list = op.name == TUPLE and not is_used(op.results[0])
            if is_list and op.results[0] != result:
                op.erase()

    def _made(self, op: ir.Operation, values: Mapping[ir.Value, ir.Value], rule: Rule) -> Sequence[ir.Value]:
        if op.name == "relax.call" and callee_of(op) in self._composites:
            return [self._ruled(op, values, rule).ssa]
        if not has_trait(op, WrittenInside, CopiedIntoFunctions):
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
    """True if an op depends on no computed value."""
    return not len(op.operands) and has_trait(op, WrittenInside, CopiedIntoFunctions)
