"""Pass ``remove-redundant-reshape``: merge or remove chains of reshapes and of transpositions."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.dialects.base import implies
from relax_mlir.dialects.traits import IsView, ops_with
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.mlir import func, ir
from relax_mlir.op import permute_dims, reshape
from relax_mlir.rewrite import Binding, ExprMutator
from relax_mlir.transform import FunctionPass, PassContext

VIEWS = frozenset(name.removeprefix("relax.") for name in ops_with(IsView) if name.startswith("relax."))
"""Relax ops that change the shape and keep the order of elements."""


class RemoveRedundantReshape(FunctionPass):
    """Apply the last of a chain of `reshape`, `flatten`, `expand_dims` and `squeeze` ops to the first tensor.

    An op whose result provably has the shape of that tensor is removed. Chains of `permute_dims` become one op, and
    identity permutations are removed.
    """

    name: ClassVar[str] = "remove-redundant-reshape"

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        _Shorten().visit(function)


class _Shorten(ExprMutator):
    def visit_default(self, binding: Binding) -> Value | None:
        return self._view(binding) if binding.op in VIEWS else None

    def _view(self, binding: Binding) -> Value | None:
        source, length = binding.operands[0], 1
        while (made := self.definition(source)) is not None and made.op in VIEWS:
            source, length = made.operands[0], length + 1
        wanted = binding.result.tensor_info
        if implies(source.struct_info, wanted) and wanted.known_shape is not None:
            return source
        if length == 1 or wanted.known_shape is None:
            return None
        return reshape(source, list(wanted.known_shape))

    def visit_permute_dims(self, binding: Binding) -> Value | None:
        axes, source, length = _axes(binding), binding.operands[0], 1
        while (made := self.definition(source)) is not None and made.op == "permute_dims":
            inner = _axes(made)
            if axes is None or inner is None:
                break
            axes, source, length = [inner[axis] for axis in axes], made.operands[0], length + 1
        if axes is None:
            return None
        if axes == sorted(axes):
            return source
        return permute_dims(source, axes) if length > 1 else None


def _axes(binding: Binding) -> list[int] | None:
    """The axes of a `permute_dims`, as non-negative integers; None if the rank is unknown."""
    given, info = binding.attrs["axes"], binding.operands[0].tensor_info
    if info.ndim is None:
        return None
    return _normal(given, info)


def _normal(given: list[int] | None, info: Tensor) -> list[int]:
    assert info.ndim is not None
    return list(reversed(range(info.ndim))) if given is None else [axis % info.ndim for axis in given]
