"""The counterpart of TVM's ``relax.expr_functor``: visitors and mutators with a method per construct.

>>> from relax_mlir.expr_functor import PyExprVisitor, visitor
>>> @visitor
... class Variables(PyExprVisitor):
...     def visit_var_def_(self, var):
...         print(var.name)
"""

from __future__ import annotations

from typing import TypeVar

from relax_mlir.error import ArgumentError
from relax_mlir.rewrite.constructs import PyExprMutator, PyExprVisitor

ClassT = TypeVar("ClassT", bound=type)


def visitor(cls: ClassT) -> ClassT:
    """Mark a class as a visitor, as in TVM: it must be a `PyExprVisitor`, and is returned unchanged."""
    return _checked("visitor", cls, PyExprVisitor)


def mutator(cls: ClassT) -> ClassT:
    """Mark a class as a mutator, as in TVM: it must be a `PyExprMutator`, and is returned unchanged."""
    return _checked("mutator", cls, PyExprMutator)


def _checked(name: str, cls: ClassT, base: type) -> ClassT:
    if not isinstance(cls, type) or not issubclass(cls, base):
        raise ArgumentError(f"{name} decorates a class derived from {base.__name__}, not {cls!r}")
    return cls


__all__ = ["PyExprMutator", "PyExprVisitor", "mutator", "visitor"]
