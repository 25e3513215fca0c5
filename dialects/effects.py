"""Ops with effects: assertions and printing. They keep their order relative to each other and to packed calls."""

import re
import string
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.calls import StaticArg, arg_spec_of, check_arg_spec
from relax_mlir.dialects.structure import make_tuple, prim_value
from relax_mlir.dialects.traits import EVERY_FORM, HasEffect, ListsArguments, ReadsTensors
from relax_mlir.dialects.types import Prim, StructInfo, Tensor, dims_attr, dims_from_attr
from relax_mlir.dialects.value import Value, create, require_insertion_point
from relax_mlir.error import ArgumentError, expect
from relax_mlir.mlir import ext, ir

PRINT = "relax_mlir.run.print"
"""The packed function that prints: the format, then the values, which it does not change."""

RELATIONS = ("<=", ">=", "==", "!=", "<", ">")
"""Relations that an assertion may test between two symbolic integers."""


class AssertOp(RelaxOp, name="assert_op", traits=[*EVERY_FORM, HasEffect, ListsArguments, ReadsTensors]):
    """Raise ``CheckError`` (an ``AssertionError``) at run time unless a condition holds.

    The condition is the first field of the tuple `args`, a rank-0 bool tensor; or, if `relation` is given ("<=", "==",
    …), that relation between the two symbolic integers in `values`. The other fields, rank-0 tensors and integers,
    replace ``{}`` (or ``{0}``, ``{1}``, …) in `message`; an empty message lists them. Not allowed in dataflow blocks.

    Example: ``"relax.assert_op"(%args) {relation = "==", values = ["n % 4", 0], message = "n is {}"}``.
    """

    args: ext.Operand[Any]
    relation: ir.StringAttr | ir.UnitAttr
    values: ir.ArrayAttr
    message: ir.StringAttr

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("values",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        shown = list(args.tuple(0).fields)
        values = dims_from_attr(args.attrs["values"])
        if args.is_unit("relation"):
            if values:
                raise ArgumentError(f"{args.op}: 'values' are given without a 'relation' between them")
            condition = shown.pop(0) if shown else None
            if not _is_condition(condition):
                raise ArgumentError(f"{args.op}: the condition is {condition}, expected a bool tensor of rank 0")
        else:
            if args.str_attr("relation") not in RELATIONS:
                raise ArgumentError(
                    f"{args.op}: relation '{args.str_attr('relation')}' is none of {', '.join(RELATIONS)}"
                )
            if len(values) != 2 or None in values:
                raise ArgumentError(f"{args.op}: 'values' are the two integers that 'relation' compares")
        for index, info in enumerate(shown):
            if not isinstance(info, Prim) and not _is_scalar(info):
                raise ArgumentError(
                    f"{args.op}: value {index} of the message is {info}, expected an integer or a tensor of rank 0"
                )
        message_pieces(args.op, args.str_attr("message"), len(shown))
        return []


def _is_scalar(info: StructInfo | None) -> bool:
    return isinstance(info, Tensor) and info.shape == () and info.dtype is not None


def _is_condition(info: StructInfo | None) -> bool:
    return isinstance(info, Tensor) and info.shape == () and info.dtype is not None and info.dtype.kind == "bool"


def literal_format(text: str) -> str:
    """The format of a message that shows `text`, braces included, and no values."""
    return text.replace("{", "{{").replace("}", "}}")


def message_pieces(op: str, message: str, count: int) -> list[str | int]:
    """The parts of a message: text, and indices of values; raises `ArgumentError` for a malformed message.

    An empty message lists all `count` values.
    """
    if not message:
        return [piece for i in range(count) for piece in ((", ", i) if i else (i,))]
    pieces: list[str | int] = []
    automatic = 0
    try:
        for text, name, form, conversion in string.Formatter().parse(message):
            if pieces and isinstance(pieces[-1], str):
                text = f"{pieces.pop()}{text}"
            pieces += [text] if text else []
            if name is None:
                continue
            if form or conversion or not re.fullmatch(r"\d*", name):
                raise ArgumentError(f"{op}: '{message}' may show values by {{}} or {{0}} only")
            pieces.append(int(name) if name else automatic)
            automatic += not name
    except ValueError as error:
        raise ArgumentError(f"{op}: '{message}' is no format: {error}") from None
    missing = [piece for piece in pieces if isinstance(piece, int) and piece >= count]
    if missing:
        raise ArgumentError(f"{op}: '{message}' shows value {missing[0]}, but {count} are given")
    return pieces


class PrintOp(RelaxOp, name="print", traits=[HasEffect, ListsArguments]):
    """Write values and a line end to Python's standard output.

    Tensors are formatted as in NumPy. Values replace ``{}`` in `format`, as in Python's ``str.format``; with an empty
    format they are joined by spaces. `arg_spec` is that of `call_dps_packed`. Not allowed in dataflow blocks.
    """

    args: ext.Operand[Any]
    format: ir.StringAttr
    arg_spec: ir.ArrayAttr

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        check_arg_spec(args)
        args.str_attr("format")
        return []


@exported()
def assert_op(condition: Value | bool | str, *values: Value | symbolic.Dim, format: str = "") -> None:
    """Raise ``CheckError`` (an ``AssertionError``) at run time unless `condition` holds.

    `condition`: a rank-0 bool tensor, or a relation between symbolic integers as text (``"n % 4 == 0"``). `format` is
    the message; `values`, rank-0 tensors and integers, replace ``{}`` in it.
    """
    require_insertion_point("assert_op")
    expect("assert_op: 'format'", format, str, "a string")
    given = [v if isinstance(v, Value) else prim_value(v) for v in values]
    attributes: dict[str, ir.Attribute] = {"message": ir.StringAttr.get(format)}
    if isinstance(condition, Value):
        given.insert(0, condition)
        attributes |= {"relation": ir.UnitAttr.get(), "values": ir.ArrayAttr.get([])}
    else:
        expect(
            "assert_op: 'condition'",
            condition,
            str | bool,
            'a bool tensor of rank 0, or text such as "n >= 4"',
        )
        left, relation, right = _comparison("0 == 0" if condition is True else str(condition))
        attributes |= {"relation": ir.StringAttr.get(relation), "values": dims_attr([left, right])}
    create(AssertOp, [make_tuple(*given)], attributes)


def _comparison(text: str) -> tuple[symbolic.Dim, str, symbolic.Dim]:
    """The two sides of ``n % 4 == 0``, and the relation between them."""
    if text == "False":
        return 1, "==", 0
    found = re.fullmatch(r"([^<>=!]+)(<=|>=|==|!=|<|>)([^<>=!]+)", text)
    if found is None:
        raise ArgumentError(f"assert_op: the condition '{text}' is no comparison such as 'n % 4 == 0'")
    return symbolic.parse(found[1].strip()), found[2], symbolic.parse(found[3].strip())


@exported()
def print(*values: Value | StaticArg, format: str = "") -> None:
    """Write `values` (tensors as in NumPy, shapes, integers, strings) to Python's standard output.

    Values replace ``{}`` in `format`; without a format they are joined by spaces.
    """
    expect("print: 'format'", format, str, "a string")
    operands, spec = arg_spec_of("print", values)
    create(PrintOp, [make_tuple(*operands)], {"format": ir.StringAttr.get(format), "arg_spec": spec})
