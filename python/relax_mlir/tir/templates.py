"""Recognise T language functions in the IR: the ops that each one emits, and units of a block."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import DTYPE
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.prim_funcs import PrimParam, against_attributes
from relax_mlir.error import DTypeError
from relax_mlir.loops.values import BY_SIZE, INDEX, INTRINSICS, Scalar, convert
from relax_mlir.mlir import arith, func, ir
from relax_mlir.scalars import arithmetic

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
COMPARISON, ATOM = 2, 9
"""The precedence of comparisons, and of calls, names and elements."""
PRECEDENCE = {
    "logical_not": 1,
    **dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), COMPARISON),
    "bitwise_or": 3,
    "bitwise_xor": 4,
    "bitwise_and": 5,
    **dict.fromkeys(("add", "subtract"), 6),
    **dict.fromkeys(("multiply", "truediv", "floordiv", "floormod"), 7),
    "negative": 8,
    "bitwise_not": 8,
}
"""The precedence of operators in Python; binary ones associate to the left, but comparisons, which form chains."""


def step_of(op: ir.Operation, operands: tuple[Ref, ...]) -> Step | None:
    """An op as a step; None for ops with regions or several results."""
    if len(op.results) != 1 or len(op.regions):
        return None
    given = sorted(f"{named.name}={named.attr}" for named in map(op.attributes.__getitem__, range(len(op.attributes))))
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
        first: tuple(sorted(items, key=lambda t: (-len(t.steps), t.name == "cast"))) for first, items in found.items()
    }


class NoForm(Exception):
    """The IR cannot be expressed in the T language."""


@dataclass
class Unit:
    """Consecutive ops: an expression if it has a result, else a statement."""

    kind: str
    ops: Sequence[ir.Operation]
    operands: list[ir.Value]
    dtype: DType | None = None
    template: Template | None = None
    index_operands: frozenset[int] = frozenset()
    """The indices of operands where an index is expected."""

    @property
    def last(self) -> ir.Operation:
        return self.ops[-1]

    @property
    def result(self) -> ir.Value:
        value: ir.Value = self.last.results[0]
        return value

    @property
    def is_expression(self) -> bool:
        return len(self.last.results) == 1 and self.kind != "alloc"


@dataclass
class Cutter:
    """Splits blocks into units; `types` are the known dtypes of values."""

    templates: Mapping[str, Sequence[Template]]
    types: dict[ir.Value, DType]
    buffers: dict[ir.Value, DType]
    units: dict[ir.Value, Unit] = field(default_factory=dict)

    def cut(self, ops: Sequence[ir.Operation]) -> list[Unit]:
        found: list[Unit] = []
        position = 0
        while position < len(ops):
            unit = self.unit(ops, position)
            found.append(unit)
            position += len(unit.ops)
            if unit.is_expression:
                self.units[unit.result] = unit
                if unit.dtype is not None:
                    self.types[unit.result] = unit.dtype
        return found

    def unit(self, ops: Sequence[ir.Operation], position: int) -> Unit:
        op = ops[position]
        for template in self.templates.get(op.name, ()):
            operands = self.match(template, ops, position)
            if operands is not None:
                covered = ops[position : position + len(template.steps)]
                return Unit("function", covered, operands, template.result, template)
        operands = list(op.operands)
        if op.name == "arith.constant":
            return Unit("constant", [op], [], _constant_dtype(op))
        if op.name in ("memref.load", "memref.store"):
            first = 1 if op.name == "memref.load" else 2
            places = operands[first:]
            dtype = self.buffers.get(operands[first - 1])
            if dtype is None:
                raise NoForm
            if op.name == "memref.load":
                return Unit("load", [op], places, dtype, index_operands=frozenset(range(len(places))))
            return Unit("store", [op], [*places, operands[0]], index_operands=frozenset(range(len(places))))
        kinds = {
            "memref.alloc": "alloc",
            "scf.for": "for",
            "scf.while": "while",
            "scf.if": "if",
            "cf.assert": "assert",
            "linalg.index": "axis",
        }
        if op.name not in kinds or (op.name == "scf.for" and len(op.results)):
            raise NoForm
        kind = kinds[op.name]
        if kind == "if" and len(op.results) == 1:
            return Unit("choice", [op], operands, self.yielded(op))
        return Unit(kind, [op], operands, INDEX if kind == "axis" else None)

    def yielded(self, op: ir.Operation) -> DType | None:
        """The dtype of a conditional expression: that of the yielded values."""
        found: DType | None = None
        for region in op.regions:
            inner = [view.operation for view in region.blocks[0].operations]
            units = self.cut(inner[:-1])
            value = inner[-1].operands[0]
            defining = self.units.get(value)
            constant = defining is not None and defining.kind == "constant" and defining in units
            found = found if constant and found is not None else self.types.get(value, found)
        return found

    def match(self, template: Template, ops: Sequence[ir.Operation], position: int) -> list[ir.Value] | None:
        """The arguments, if the ops from `position` on match a template."""
        steps = template.steps
        covered = ops[position : position + len(steps)]
        if len(covered) != len(steps):
            return None
        arguments: dict[int, ir.Value] = {}
        for step, op in zip(steps, covered, strict=True):
            if op.name != step.name or len(op.operands) != len(step.operands):
                return None
            found = step_of(op, step.operands)
            if found is None or found.type != step.type:
                return None
            if found.attributes != step.attributes and step.attributes != LITERAL:
                return None
            for operand, (kind, number) in zip(op.operands, step.operands, strict=True):
                wanted = arguments.setdefault(number, operand) if kind == "arg" else covered[number].results[0]
                if operand != wanted:
                    return None
        inside = set(covered)
        for op in covered[:-1]:
            if any(use.owner.operation not in inside for use in op.results[0].uses):
                return None
        if len(arguments) != len(template.arguments):
            return None
        values = [arguments[i] for i in range(len(arguments))]
        return values if self.fits(template, values) else None

    def fits(self, template: Template, values: Sequence[ir.Value]) -> bool:
        """True if the values have the template's dtypes; a constant matches any dtype of its storage type."""
        constants = 0
        for value, wanted in zip(values, template.arguments, strict=True):
            defining = self.units.get(value)
            known = self.types.get(value)
            if defining is not None and defining.kind == "constant":
                constants += 1
                if value.type != wanted.storage_type():
                    return False
            elif known != wanted:
                return False
        return constants < len(values) or all(
            self.types.get(v) == w for v, w in zip(values, template.arguments, strict=True)
        )


def _constant_dtype(op: ir.Operation) -> DType:
    """The dtype of a constant; integers are signed."""
    type_ = op.results[0].type
    return INDEX if isinstance(type_, ir.IndexType) else dtypes.from_element_type(type_)


def allocated_dtype(op: ir.Operation) -> DType:
    """The dtype of the elements of an allocation; raises `NoForm` for an invalid attribute or another type."""
    if against_attributes(op):
        raise NoForm
    if DTYPE in op.attributes:
        return dtypes.dtype(ir.StringAttr(op.attributes[DTYPE]).value)
    try:
        return dtypes.from_element_type(ir.ShapedType(op.results[0].type).element_type)
    except DTypeError:
        raise NoForm from None


def cutter_of(function: func.FuncOp, params: Sequence[PrimParam]) -> Cutter:
    """A cutter that knows the parameters of a prim func."""
    kinds: dict[ir.Value, DType] = {}
    buffers: dict[ir.Value, DType] = {}
    for argument, param in zip(function.arguments, params, strict=True):
        if param.dtype is None:
            kinds[argument] = INDEX
        else:
            buffers[argument] = param.dtype
    names = {"index", "bool", "int64", *map(str, buffers.values()), *_types_used(function)}
    return Cutter(templates(tuple(sorted(names))), kinds, buffers)


def _types_used(function: func.FuncOp) -> set[str]:
    """The possible dtypes of values of the function."""
    found: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        for result in op.results:
            type_ = result.type
            text = str(type_.element_type if isinstance(type_, ir.ShapedType) else type_)
            found.update(d.name for d in dtypes.DTYPES.values() if d.mlir.removeprefix("u") == text)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    return found
