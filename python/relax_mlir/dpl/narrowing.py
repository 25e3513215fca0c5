"""Patterns that narrow another one by dtype, shape, struct info, type or attributes of the value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import implies, ir_fields
from relax_mlir.dialects.checked_types import CheckedType
from relax_mlir.dialects.types import DimLike, StructInfo, Tensor, as_dim, shape_text
from relax_mlir.dialects.value import Value
from relax_mlir.dpl.expression_patterns import CallPattern, ExprPattern
from relax_mlir.dpl.matcher import Expression, Found, Matcher, definition_of, equal_dims
from relax_mlir.dpl.patterns import DFPattern, expect_patterns
from relax_mlir.error import UnknownNameError, expect
from relax_mlir.expr.attrs import Attrs
from relax_mlir.expr.compound import Call
from relax_mlir.mlir import ir
from relax_mlir.op.op_registry import Op, op_class_of


class ConditionPattern(DFPattern):
    """The matches of another pattern for which a condition holds."""

    def __init__(self, pattern: DFPattern) -> None:
        expect_patterns(f"{type(self).__name__}: 'pattern'", pattern)
        self.children = (pattern,)
        super().__init__()

    @property
    def pattern(self) -> DFPattern:
        """The pattern to narrow."""
        return self.children[0]

    def holds(self, expression: Expression) -> bool:
        """True if the condition holds for an expression."""
        raise NotImplementedError  # abstract

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        if self.holds(expression):
            yield from matcher.match(self.pattern, expression, found)


class DataTypePattern(ConditionPattern):
    """Tensors of a dtype."""

    def __init__(self, pattern: DFPattern, dtype: str) -> None:
        self.dtype = dtypes.dtype(dtype)
        super().__init__(pattern)

    def holds(self, expression: Expression) -> bool:
        info = expression.struct_info if isinstance(expression, Value) else None
        return isinstance(info, Tensor) and info.dtype == self.dtype


class ShapePattern(ConditionPattern):
    """Tensors that are proved to have a shape, under the bounds of the function's symbols."""

    def __init__(self, pattern: DFPattern, shape: Sequence[DimLike]) -> None:
        expect("has_shape: 'shape'", shape, list | tuple, "a list of dimensions")
        self.shape = tuple(map(as_dim, shape))
        super().__init__(pattern)

    def holds(self, expression: Expression) -> bool:
        info = expression.struct_info if isinstance(expression, Value) else None
        return isinstance(info, Tensor) and equal_dims(info.shape, self.shape)

    def __repr__(self) -> str:
        return f"{self.pattern!r}.has_shape({shape_text(self.shape)})"


class StructInfoPattern(ConditionPattern):
    """Values with this struct info or a more precise one."""

    def __init__(self, pattern: DFPattern, struct_info: StructInfo) -> None:
        expect(
            "has_struct_info: 'struct_info'", struct_info, StructInfo, "a StructInfo, such as Tensor((4,))"
        )
        self.struct_info = struct_info
        super().__init__(pattern)

    def holds(self, expression: Expression) -> bool:
        return isinstance(expression, Value) and implies(expression.struct_info, self.struct_info)


class TypePattern(ConditionPattern):
    """Values of a type (rank and dtype, without the shape)."""

    def __init__(self, pattern: DFPattern, ttype: CheckedType) -> None:
        expect("has_type: 'ttype'", ttype, CheckedType, "a type, such as DynTensorType(2, 'float32')")
        self.type = ttype
        super().__init__(pattern)

    def holds(self, expression: Expression) -> bool:
        return isinstance(expression, Value) and expression.checked_type == self.type


class AttrPattern(ConditionPattern):
    """Calls whose attributes have the given values, each in the form that `Call.attrs` returns."""

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]) -> None:
        expect("has_attr: 'attrs'", attrs, Mapping, 'a dictionary such as {"axis": -1}')
        _check_names(pattern, attrs)
        self.attrs = dict(attrs)
        super().__init__(pattern)

    def holds(self, expression: Expression) -> bool:
        call = definition_of(expression)
        if not isinstance(call, Call):
            return False
        given = call.attrs
        assert isinstance(given, Attrs)
        return all(
            name in given and _equal(given.raw[name], given[name], want) for name, want in self.attrs.items()
        )


def _check_names(pattern: DFPattern, attrs: Mapping[str, Any]) -> None:
    """Raise `UnknownNameError` for an attribute that the op of `pattern` does not have."""
    op = pattern.op if isinstance(pattern, CallPattern) else pattern
    called = op.expr if isinstance(op, ExprPattern) else None
    cls = op_class_of(called.name) if isinstance(called, Op) else None
    for name in attrs if cls is not None else ():
        known = ir_fields(cls)[1] if cls is not None else ()
        if name not in known:
            raise UnknownNameError(f"attribute of {op!r}", name, known)


def _equal(raw: ir.Attribute, value: object, wanted: object) -> bool:
    """True if an attribute (`raw` in the IR, `value` in Python) equals `wanted`."""
    if isinstance(raw, ir.TypeAttr) and isinstance(wanted, str):
        return bool(dtypes.from_element_type(raw.value) == dtypes.dtype(wanted))
    if isinstance(value, np.ndarray) or isinstance(wanted, np.ndarray):
        return np.array_equal(np.asarray(value), np.asarray(wanted))
    if isinstance(value, list | tuple) and isinstance(wanted, list | tuple):
        return list(value) == list(wanted)
    return (
        type(value) is type(wanted) and bool(value == wanted)
        if _are_flags(value, wanted)
        else bool(value == wanted)
    )


def _are_flags(*values: object) -> bool:
    """True if any of the values is a bool, which does not compare equal to a number here."""
    return any(isinstance(value, bool) for value in values)
