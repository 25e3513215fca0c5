"""The ops that each T language function emits, as data, with which the printer recognises functions in the IR."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import DType
from relax_mlir.mlir import arith, func, ir
from relax_mlir.scalars import arithmetic
from relax_mlir.tir.expression_parts import BY_SIZE
from relax_mlir.tir.intrinsics import INTRINSICS
from relax_mlir.tir.values import INDEX, Scalar, convert

Ref = tuple[str, int]
"""``("arg", i)`` or ``("op", i)``: an operand of a step."""
LITERAL = "#"
"""Matches the attributes of any constant."""


@dataclass(frozen=True)
class Step:
    """One op of a template: its name, attributes, type and operands."""

    name: str
    attributes: str
    type: str
    operands: tuple[Ref, ...]


@dataclass(frozen=True)
class Template:
    """The ops of a function applied to scalars of known dtypes."""

    name: str
    arguments: tuple[DType, ...]
    result: DType
    steps: tuple[Step, ...]
    literal: bool = False
    """True if the last argument is a literal, which is the template's first op."""


OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "truediv": "/",
    "floordiv": "//",
    "floormod": "%",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
PREFIXES = {"negative": "-", "bitwise_not": "~", "logical_not": "not "}


def step_of(op: ir.Operation, operands: tuple[Ref, ...]) -> Step | None:
    """An op as a step; None for ops with regions or several results."""
    if len(op.results) != 1 or len(op.regions):
        return None
    given = sorted(
        f"{named.name}={named.attr}" for named in map(op.attributes.__getitem__, range(len(op.attributes)))
    )
    return Step(op.name, ";".join(given), str(op.results[0].type), operands)


def _template(
    name: str,
    arguments: Sequence[DType],
    result: DType,
    build: Callable[..., ir.Value],
    *,
    literal: bool = False,
) -> Template | None:
    """The template of the ops that `build` emits for scalars; None if they have regions."""
    types = [a.storage_type() for a in arguments]
    scratch = ir.Module.create(ir.Location.unknown())
    with ir.InsertionPoint(scratch.body), ir.Location.unknown():
        block = func.FuncOp("f", ir.FunctionType.get(types, [])).add_entry_block()
        with ir.InsertionPoint(block):
            last = build(*block.arguments)
    refs: dict[ir.Value, Ref] = {a: ("arg", i) for i, a in enumerate(block.arguments)}
    steps: list[Step] = []
    for view in block.operations:
        step = step_of(view.operation, tuple(refs[operand] for operand in view.operation.operands))
        if step is None:
            return None
        if literal and not steps:
            step = Step(step.name, LITERAL, step.type, ())
        refs[view.operation.results[0]] = ("op", len(steps))
        steps.append(step)
    if not steps or refs.get(last) != ("op", len(steps) - 1):
        return None
    return Template(name, tuple(arguments), result, tuple(steps), literal)


def _all(kinds: Sequence[DType]) -> Iterator[Template | None]:
    boolean = dtypes.dtype("bool")
    for kind in kinds:
        for name, intrinsic in INTRINSICS.items():
            if kind.kind in intrinsic.kinds and not (name == "fma" and kind.is_integer):  # a * b + c for fma
                rule = functools.partial(intrinsic.rule, kind)
                yield _template(name, [kind] * intrinsic.arity, boolean if intrinsic.test else kind, rule)
        choose = functools.partial(arithmetic.select, kind)
        yield _template("Select", [boolean, kind, kind], kind, choose)
        yield from _divisions(kind)
        for other in kinds:
            if other != kind:
                yield _template("cast", [kind], other, functools.partial(_cast, kind, other))
                yield from _bits(kind, other)


def _cast(kind: DType, other: DType, value: ir.Value) -> ir.Value:
    return convert(Scalar(value, kind), other).ssa


def _bits(kind: DType, other: DType) -> Iterator[Template | None]:
    """Reinterpretations of a value as another dtype."""
    if INDEX in (kind, other) or kind.bits != other.bits or not (kind.is_float or other.is_float):
        return
    yield _template("reinterpret", [kind], other, lambda x: arith.bitcast(other.storage_type(), x))


def _divisions(kind: DType) -> Iterator[Template | None]:
    """Divisions by a positive literal, and by sizes."""
    if not kind.is_integer:
        return
    if kind is INDEX:
        for name, by_size in BY_SIZE.items():
            yield _template(name, [kind, kind], kind, by_size)

    def floordiv(x: ir.Value) -> ir.Value:
        by = arithmetic.const(kind, 1)
        return arith.divui(x, by) if kind.kind == "uint" else arith.floordivsi(x, by)

    def floormod(x: ir.Value) -> ir.Value:
        by = arithmetic.const(kind, 1)
        if kind.kind == "uint":
            return arith.remui(x, by)
        return arith.subi(x, arith.muli(arith.floordivsi(x, by), by))

    for build in (floordiv, floormod):
        yield _template(build.__name__, [kind], kind, build, literal=True)


@functools.lru_cache(maxsize=64)
def templates(names: tuple[str, ...]) -> dict[str, tuple[Template, ...]]:
    """The templates over some dtypes (by name, ``index`` among them), by their first op, longest first."""
    kinds = [INDEX if name == "index" else dtypes.dtype(name) for name in names]
    found: dict[str, list[Template]] = {}
    for template in _all(kinds):
        if template is not None:
            found.setdefault(template.steps[0].name, []).append(template)
    return {
        first: tuple(sorted(items, key=lambda t: (-len(t.steps), t.name == "cast")))
        for first, items in found.items()
    }
