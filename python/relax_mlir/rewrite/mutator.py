"""`ExprVisitor`, `ExprMutator` and `DataflowMutator`: a method per op, called on every binding of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.capi import changed
from relax_mlir.dialects.create import full
from relax_mlir.dialects.dialect import Relax, import_families
from relax_mlir.dialects.structure import is_pure, make_tuple
from relax_mlir.dialects.traits import EndsBlock, has_trait
from relax_mlir.dialects.types import StructInfo, Tensor
from relax_mlir.dialects.value import Value, Var, as_value
from relax_mlir.error import ArgumentError, RelaxError, UnknownNameError
from relax_mlir.expr import bindings as views
from relax_mlir.expr.bindings import NAMES, Binding, binding_of
from relax_mlir.ir_module import IRModule, relax_functions
from relax_mlir.ir_queries import FunctionTable, enclosing_function, entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.effects import make_effects_explicit
from relax_mlir.rewrite.replace import Replacer

# `ExprVisitor`: a method per op, called on every binding of a program.

SCRATCH = ""
"""The name of scratch functions: `verify` refuses it, so no function of a program has it."""
PREFIX = "visit_"
OWN = frozenset({"default", "function"})
"""The names after ``visit_`` that denote no op."""

Target = Any
"""The argument of `visit`: an `IRModule`, a module or a function of the bindings, or one op (a dataflow block)."""


def op_names() -> set[str]:
    """The names of ops in visitor methods."""
    import_families()
    return {*NAMES.values(), *(op.OPERATION_NAME.removeprefix("relax.") for op in Relax.operations)}


class Walker:
    """The common base of visitors and mutators: finds the method of an op, and looks up definitions and users."""

    def __init_subclass__(cls, **kwargs: Any) -> None:  # noqa: ANN401 - passed on
        super().__init_subclass__(**kwargs)
        known = {*op_names(), *OWN}
        for name in vars(cls):
            op = name.removeprefix(PREFIX)
            foreign = op.partition("_")[0] in ("arith", "tensor", "index", "scf")
            if name.startswith(PREFIX) and op not in known and not foreign:
                raise UnknownNameError(
                    f"op in the method of class {cls.__name__}:", op, known, "methods are called visit_<op>"
                )

    def definition(self, value: Value) -> Binding | None:
        """The binding that defines `value`; None for a parameter of the function."""
        return views.definition(value)

    def constant_value(self, value: Value) -> np.ndarray[Any, Any] | None:
        """The elements of `value` if it is a constant, else None."""
        return views.constant_value(value)

    def same(self, first: Value, second: Value) -> bool:
        """True if both are the same value of the program."""
        return views.same(first, second)

    def users(self, value: Value) -> list[Binding]:
        """The bindings that use `value`, each once, in no particular order; terminators of blocks are not included."""
        found = [binding_of(use.owner.operation) for use in value.ssa.uses]
        return list(dict.fromkeys(item for item in found if not has_trait(item.operation, EndsBlock)))

    def _method(self, binding: Binding) -> Callable[[Binding], Any]:
        name = PREFIX + binding.op.replace(".", "_")
        found: Callable[[Binding], Any] = getattr(self, name, None) or self.visit_default
        return found

    def visit_default(self, binding: Binding) -> Any:  # noqa: ANN401 - a mutator's replacement, or nothing
        """Called for bindings whose op has no method."""


class ExprVisitor(Walker):
    """Visits every binding in program order, including those in branches and dataflow blocks.

    Subclasses define ``visit_<op>(self, binding)`` for the ops that they handle (``visit_add``, ``visit_nn_relu``,
    ``visit_tuple``, ``visit_if``, ``visit_dataflow``), `visit_default` for all others, and `visit_function`. A method
    for an op that does not exist is an error when the class is defined.

    >>> class CountAdds(ExprVisitor):
    ...     count = 0
    ...
    ...     def visit_add(self, binding):
    ...         self.count += 1
    """

    def visit(self, target: Target) -> None:
        """Visit an `IRModule`, a module or function of the bindings, or the body of an op."""
        context, roots = roots_of(target)
        with context:
            for root in roots:
                if isinstance(root, func.FuncOp):
                    self.visit_function(root.name.value, parameters(root))
                for op in bindings_in(root.operation):
                    found = binding_of(op)
                    self._method(found)(found)

    def visit_function(self, name: str, params: list[Var]) -> None:
        """Called for every function, before its bindings."""


def roots_of(target: Target) -> tuple[ir.Context, list[Any]]:
    """The context of `target`, and the functions (or the op) to visit."""
    if isinstance(target, IRModule):
        target = target.mlir
    if isinstance(target, ir.Module):
        return target.context, list(relax_functions(target))
    if isinstance(target, ir.Operation | ir.OpView):
        return target.context, [target]
    raise ArgumentError(f"visit: {target!r} ({type(target).__name__}) is neither a module, a function nor an op")


def parameters(function: func.FuncOp) -> list[Var]:
    """The parameters of a function, by name."""
    found = []
    for name, argument in zip(parameter_names(function), entry_block(function).arguments, strict=True):
        param = Var(name, Value(argument).struct_info)
        param.bind(argument)
        found.append(param)
    return found


def bindings_in(root: ir.Operation) -> Iterator[ir.Operation]:
    """All ops inside `root` except terminators, in program order."""
    for region in root.regions:
        for block in region.blocks:
            for view in list(block.operations):
                if not has_trait(view.operation, EndsBlock):
                    yield view.operation
                    yield from bindings_in(view.operation)


Replacement = Any
"""The result of a method: None, a `Value`, a number or array (a constant), or a sequence of these (a tuple)."""


class ExprMutator(Walker):
    """Visits every binding of the program once, in order, and replaces it if its method returns a replacement.

    Subclasses define ``visit_<op>(self, binding)`` and `visit_default`, as for an `ExprVisitor`. A method returns

    - None: the binding is kept;
    - a value: it replaces all uses of the binding's result;
    - a number: it is replaced by this number in the shape and dtype of the result; an array: by this constant;
    - a list or tuple of these: it is replaced by a tuple; ``()`` also removes a `print`, an `assert_op`, or a
      `call_packed` without result.

    Ops that the method emits with builders (`R.add`, ``x * 2``) are inserted before the binding and get its location,
    the last one its name. They may use the binding's own result; in that case, the binding is kept. Bindings that
    become unused are removed, and the types of the users are deduced again, down to the result of the function; if a
    declared type does not follow from the new one, a `match_shape` checks it at run time.

    Emitted ops are not visited in the same walk. With ``repeat = True`` walks are repeated until no method replaces
    anything; after `max_walks` walks, an error names an op that is still replaced.

    Functions with `call_packed` have their effects made explicit first (see the pass ``explicit-effects``), so that a
    value may be replaced by any equal value.

    >>> class Halve(ExprMutator):
    ...     def visit_divide(self, binding):
    ...         x, y = binding.operands
    ...         if self.constant_value(y) is not None and (self.constant_value(y) == 2).all():
    ...             return x * 0.5
    """

    repeat: ClassVar[bool] = False
    max_walks: ClassVar[int] = 32
    dataflow_only: ClassVar[bool] = False

    _replacer: Replacer | None = None

    def visit(self, target: Target) -> int:
        """Rewrite an `IRModule` (verified at the end), a module or function, or the body of an op, in place.

        Returns the number of replaced bindings. If it raises, the target may be partly rewritten; a pass restores its
        module.

        Raises:
            ArgumentError: a method returned no valid replacement, emitted an op with side effects in a dataflow block,
                or still replaces something after `max_walks` walks.
            ShapeError, DTypeError: a binding that uses a replaced value does not accept the new type.
        """
        context, roots = roots_of(target)
        total = 0
        with context, ir.Location.unknown():
            for root in roots:
                try:
                    total += self._visit_root(root)
                finally:
                    changed(root)
        if isinstance(target, IRModule):
            target.verify()
        return total

    def users(self, value: Value) -> list[Binding]:
        """As for visitors, without the bindings that replacements have left unused."""
        replacer = self._replacer
        found = super().users(value)
        return found if replacer is None else [item for item in found if not replacer.is_dead(item.operation)]

    def _visit_root(self, root: Any) -> int:  # noqa: ANN401 - a view or an op
        operation = root.operation
        function = _function_of(operation)
        make_effects_explicit(function.opview)
        total = 0
        for _ in range(self.max_walks if self.repeat else 1):
            count, last = self._walk(function, operation)
            total += count
            if not count or not self.repeat:
                return total
        raise ArgumentError(
            f"{type(self).__name__} still replaces bindings after {self.max_walks} walks over the program, "
            f"{last} for instance: its methods undo each other, or one replaces what it made itself"
        )

    def _walk(self, function: ir.Operation, root: ir.Operation) -> tuple[int, str]:
        module = function.parent.operation
        scratch = scratch_function(module)
        self._replacer = Replacer(FunctionTable(module), scratch.operation, scratch.add_entry_block())
        self._last = ""
        try:
            self._visit_block(entry_block(function), root, inside=False)
            self._replacer.sweep()
            return self._replacer.count, self._last
        finally:
            self._replacer = None
            scratch.operation.erase()

    def _visit_block(self, block: ir.Block, root: ir.Operation, inside: bool) -> None:
        """Visit a block. `inside`: true if its bindings are visited, false if only their types are updated."""
        replacer = self._replacer
        assert replacer is not None
        inside = inside or block.owner.operation == root
        for view in list(block.operations):
            op = view.operation
            replacer.refresh(op)
            if has_trait(op, EndsBlock):
                continue
            for region in op.regions:
                for nested in region.blocks:
                    self._visit_block(nested, root, inside)
            if len(op.regions):
                replacer.refresh_results(op)
            binding = binding_of(op)
            if inside and (binding.in_dataflow or not self.dataflow_only):
                self._rewrite(binding, replacer)

    def _rewrite(self, binding: Binding, replacer: Replacer) -> None:
        method = self._method(binding)
        name = f"{type(self).__name__}.{method.__name__}"
        with ir.InsertionPoint(replacer.scratch_block):
            try:
                given = method(binding)
                result = None if given is None else replacement(given, binding, name)
            except RelaxError as error:
                error.add_hint(f"in {name}, on {binding!r} of function '{binding.function}'")
                raise
        emitted = replacer.emitted()
        for op in emitted:
            if binding.in_dataflow and not is_pure(op):
                raise ArgumentError(
                    f"{name} emits {binding_of(op).op} in a dataflow block, which holds pure ops without control "
                    "flow only; use an ExprMutator outside of dataflow blocks"
                )
        replacer.place(binding.operation, emitted, result)
        if given is not None:
            self._last = repr(binding)
            if result is None:
                replacer.remove(binding.operation)


class DataflowMutator(ExprMutator):
    """An `ExprMutator` that visits only bindings in dataflow blocks; its replacements must be pure."""

    dataflow_only: ClassVar[bool] = True


def _function_of(op: ir.Operation) -> ir.Operation:
    function = enclosing_function(op)
    if function is None:
        raise ArgumentError(f"visit: {op.name} stands in no function")
    return function


def scratch_function(module: ir.Operation) -> func.FuncOp:
    """A temporary private function in `module`, into which methods emit, so that builders can resolve callees."""
    with ir.InsertionPoint(entry_block(module)):
        return func.FuncOp(SCRATCH, ir.FunctionType.get([], []), visibility="private")


def replacement(given: Replacement, binding: Binding, name: str, replaced: Value | None = None) -> Value | None:
    """The replacement of the result of a binding, or of `replaced`; None for an op without result, which is removed.

    Raises:
        ArgumentError: `given`, the result of the method `name`, is no replacement.
    """
    if isinstance(given, Value):
        return given
    if replaced is not None:
        return _converted(given, replaced.struct_info, name)
    if len(binding.operation.results):
        return _converted(given, binding.result.struct_info, name)
    if not isinstance(given, tuple) or given:
        raise ArgumentError(f"{name} returns {given!r} for {binding.op}, which has no result; () removes it")
    return None


def _converted(given: Replacement, info: StructInfo, name: str) -> Value:
    if isinstance(given, Value):
        return given
    if isinstance(given, Binding):
        return given.result
    if isinstance(given, bool | int | float):
        shape = info.known_shape if isinstance(info, Tensor) else None
        number = as_value(given, info)
        return full(shape, number) if shape else number
    if isinstance(given, np.ndarray | np.generic):
        return as_value(given)
    if isinstance(given, Sequence) and not isinstance(given, str):
        fields = getattr(info, "fields", (info,) * len(given))
        if len(fields) != len(given):
            raise ArgumentError(f"{name} returns {len(given)} values for a binding of type {info}")
        return make_tuple(*(_converted(g, f, name) for g, f in zip(given, fields, strict=True)))
    raise ArgumentError(f"{name} returns {given!r} ({type(given).__name__}), expected None, a value, or several")
