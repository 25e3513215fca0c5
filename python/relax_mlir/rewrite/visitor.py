"""`ExprVisitor`: a method per op, called on every binding of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.dialects.dialect import Relax, import_families
from relax_mlir.dialects.traits import EndsBlock, has_trait
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import ArgumentError, UnknownNameError
from relax_mlir.expr import bindings as views
from relax_mlir.expr.bindings import NAMES, Binding, binding_of
from relax_mlir.ir_module import IRModule
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.transform import relax_functions

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
    raise ArgumentError(
        f"visit: {target!r} ({type(target).__name__}) is neither a module, a function nor an op"
    )


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
