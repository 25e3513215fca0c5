"""Raise prim funcs to tensor expressions: each loop nest that fills a buffer becomes a computation.

The nests are loops on memrefs that store elements, one in each buffer, or linalg ops. A reduction is a linalg op on a
filled buffer, or a nest that stores a constant, before or in its first iteration, and a nest that combines values with
it.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from relax_mlir import symbolic
from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import LOOP_KIND
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.location import name_of
from relax_mlir.dialects.prim_funcs import PrimParam, prim_params
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import defining_op, entry_block, ops_of
from relax_mlir.loops.values import INDEX
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim, prove_equal
from relax_mlir.te import functions, reductions
from relax_mlir.te.expressions import (
    BOOL,
    DATA_PARALLEL,
    ON_DIMS,
    REDUCTION,
    Binary,
    Call,
    Cast,
    Compare,
    Expr,
    IterVar,
    Load,
    Number,
    Range,
    ScalarVar,
    Size,
    binary,
    compare,
    fold,
    index,
    post_order,
    substitute,
    variables_of,
)
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.tensors import ComputeOp, Tensor, placeholder
from relax_mlir.tir.printer import NAMES_IN_USE, has_script_attributes
from relax_mlir.tir.schedule.combiners import NoCombiner, reductions_of
from relax_mlir.tir.templates import OPERATORS, PREFIXES, Cutter, NoForm, Unit, allocated_dtype, cutter_of

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
RENAMED = {"max": "maximum", "min": "minimum", "Select": "select", "pow": "power"}
"""The functions of tensor expressions that have another name than in the T language."""
OWN_KINDS = ("parallel", "vectorized")
"""The loop annotations that tensor expressions generate."""


class NoStagesError(Exception):
    """The prim func is not a sequence of computations."""


@dataclass(frozen=True, eq=False)
class Store:
    """A value that is stored in a buffer."""

    op: ir.Operation
    buffer: str
    places: tuple[Hashable, ...]
    """The indices: values of the IR, or loops of a linalg op by number."""
    value: ir.Value

    @property
    def element(self) -> tuple[Hashable, ...]:
        return self.buffer, *self.places

    @property
    def memory(self) -> ir.Value:
        """The buffer in the IR; of a linalg op, its result."""
        return self.op.results[0] if len(self.op.results) else self.op.operands[1]


@dataclass(frozen=True, eq=False)
class Read:
    """An element that a linalg op reads: the value of a block argument."""

    argument: ir.Value
    buffer: str
    places: tuple[Hashable, ...]


Statement = Unit | Store | Read


@dataclass
class Nest:
    """Perfectly nested loops that begin at 0, and their body."""

    op: ir.Operation
    axes: dict[Hashable, IterVar]
    """The axes by the variables of the loops, outermost first."""
    body: list[Statement]
    title: str
    initial: list[Statement] = field(default_factory=list)
    """The initial value of a linalg op."""

    @property
    def stores(self) -> list[Store]:
        return [item for item in self.body if isinstance(item, Store)]


@dataclass
class EmptyReduction:
    """``if k <= 0:`` around nests that store the initial values of a reduction whose loops do not run."""

    sizes: list[Dim]
    values: dict[str, str]
    """The stored value of each buffer, as text."""
    refusal: str


def check_empty(found: EmptyReduction | None, reduced: Sequence[IterVar], begun: Mapping[str, Expr]) -> None:
    """Raise `NoStagesError` unless a reduction that stores its initial values in the first iteration also stores them
    when it is empty.
    """
    for axis in reduced:
        length = axis.dom.extent
        if symbolic.prove_less_equal(1, length):
            continue
        if found is None or not any(prove_equal(length, size) for size in found.sizes):
            raise NoStagesError(f"elements stay what they are where the loop {axis.name} has no iterations")
    if found is not None and found.values != {name: repr(value) for name, value in begun.items()}:
        raise NoStagesError(found.refusal)


def dim_of(value: Expr) -> Dim:
    """An expression of sizes as a dimension; raises `NoStagesError` for another one."""

    def dim(item: Expr, parts: list[Dim | None]) -> Dim | None:
        if isinstance(item, Size):
            return item.dim
        if isinstance(item, Number) and isinstance(item.value, int):
            return item.value
        if len(parts) != 2 or any(part is None for part in parts):
            return None
        left, right = (part for part in parts if part is not None)
        if isinstance(item, Binary) and item.operator in ON_DIMS:
            return ON_DIMS[item.operator](left, right)
        if isinstance(item, Call) and item.function in ("max", "min"):
            return (symbolic.maximum if item.function == "max" else symbolic.minimum)(left, right)
        return None

    found = fold(value, dim)
    if found is None:
        raise NoStagesError(f"`{value!r}` is no expression of sizes")
    return found


def is_first(test: Expr, axes: Sequence[IterVar]) -> bool:
    """True if a condition holds exactly in the first iteration of the loops `axes`."""
    compared = [_compared_to_zero(part, "==") for part in _operands(test, "&")]
    return sorted(map(id, compared)) == sorted(map(id, axes))


def _operands(test: Expr, operator: str) -> Iterator[Expr]:
    if isinstance(test, Binary) and test.operator == operator:
        for child in test.children:
            yield from _operands(child, operator)
    else:
        yield test


def _compared_to_zero(test: Expr, operator: str) -> Expr | None:
    """x of ``x == 0``, or of another comparison; None for other expressions."""
    if not isinstance(test, Compare) or test.operator != operator:
        return None
    left, right = test.children
    return left if isinstance(right, Number) and right.value == 0 else None


def _read_first(op: ir.Operation) -> set[ir.Value]:
    """The buffers of which a nest reads an element before storing it."""
    if op.name == "linalg.generic":
        target = op.operands[len(op.operands) - 1]
        arguments = entry_block(op).arguments
        is_read = bool(list(arguments[len(arguments) - 1].uses))
        return {target} if is_read and not _is_filled(target) else set()
    stored: set[tuple[ir.Value, ...]] = set()
    read: set[tuple[ir.Value, ...]] = set()
    found: set[ir.Value] = set()
    for access in ops_of(op, "memref.load", "memref.store", order=ir.WalkOrder.PRE_ORDER):
        if access.name == "memref.load":
            read.add(tuple(access.operands))
            continue
        element = tuple(access.operands)[1:]
        if element in read - stored:
            found.add(element[0])
        stored.add(element)
    return found


def _is_filled(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.name == "linalg.fill"


def _at(op: ir.Operation) -> str:
    """An op in messages."""
    return f"`{op.name}` at {where(op)}"


COMBINERS = {"+": "sum", "*": "prod"}


@dataclass
class Lifted:
    """A prim func as tensor expressions."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    integers: tuple[str, ...]
    blocks: dict[str, Tensor]
    """The result of each block, by block name."""
    loops: dict[ComputeOp, list[IterVar]]
    """The loops of each computation, outermost first."""
    continued: bool = False
    """True if reductions combine with the existing values of the buffer."""


@dataclass
class _Buffers:
    """The buffers of a prim func by name, and the values that hold them."""

    shapes: dict[str, tuple[tuple[Dim, ...], DType]]
    names: dict[ir.Value, str]
    taken: set[str]
    """The names of buffers, symbols and loops."""
    current: dict[str, ir.Value] = field(default_factory=dict)
    """The value with the elements of each buffer, if it is a tensor."""

    def fresh(self, base: str) -> str:
        """A name that is not taken."""
        name, count = base, 0
        while name in self.taken:
            count += 1
            name = f"{base}{count}"
        self.taken.add(name)
        return name

    def allocate(self, op: ir.Operation, sizes: Sequence[Dim], element: DType) -> None:
        """Add the buffer of an allocation; `sizes` are its dynamic ones."""
        type_, dynamic = ir.ShapedType(op.results[0].type), iter(sizes)
        shape = tuple(
            next(dynamic) if type_.is_dynamic_dim(axis) else int(type_.get_dim_size(axis)) for axis in range(type_.rank)
        )
        name = self.fresh("buffer")
        self.shapes[name] = (shape, element)
        self.hold(name, op.results[0])

    def hold(self, name: str, value: ir.Value) -> None:
        """Record the value that has the elements of a buffer now."""
        self.names[value] = name
        self.current[name] = value

    def name_of(self, value: ir.Value) -> str:
        """The buffer that a value holds; raises `NoForm` if it is outdated."""
        name = self.names.get(value)
        if name is None or self.current[name] != value:
            raise NoForm
        return name


@dataclass
class _Expressions:
    """Converts the values of a prim func to tensor expressions."""

    cutter: Cutter
    buffers: _Buffers
    tensors: dict[str, Tensor] = field(default_factory=dict)
    """The filled buffers."""
    known: dict[Hashable, Expr] = field(default_factory=dict)
    """The expressions of values, and of the loops of a linalg op by number."""
    elements: dict[tuple[Hashable, ...], Expr] = field(default_factory=dict)
    """The current values of the elements being computed."""

    def define(self, unit: Unit) -> None:
        """Convert a unit; raises `UnsupportedError` if tensor expressions cannot represent it."""
        self.known[unit.result] = self.expression(unit)

    def expression(self, unit: Unit) -> Expr:
        if unit.kind == "constant":
            return self.constant(unit)
        if unit.kind == "load":
            return self.element(self.buffers.name_of(unit.last.operands[0]), unit.operands)
        if unit.kind == "choice":
            return functions.if_then_else(
                self.known[unit.operands[0]], *(self.branch(region.blocks[0]) for region in unit.last.regions)
            )
        if unit.kind == "axis":
            return self.known[int(ir.IntegerAttr(unit.last.attributes["dim"]).value)]
        assert unit.template is not None
        name, parts = unit.template.name, self.operands(unit)
        if unit.template.literal:
            parts.append(self.constant(Unit("constant", unit.ops[:1], [], unit.template.arguments[0]), bare=True))
        if name in OPERATORS:
            operator = OPERATORS[name]
            return compare(operator, *parts) if operator in COMPARISONS else binary(operator, *parts)
        if name in PREFIXES:
            return -parts[0] if name == "negative" else ~parts[0]
        if name == "cast" and unit.template.result is INDEX:
            return parts[0] if parts[0].dtype == "int64" else parts[0].astype("int64")
        if name == "cast":
            return parts[0].astype(unit.template.result.name)
        function = getattr(functions, RENAMED.get(name, name), None)
        if function is None:
            raise UnsupportedError(f"tir.Schedule: T.{name} has no form in tensor expressions")
        made: Expr = function(*parts)
        return made

    def operands(self, unit: Unit) -> list[Expr]:
        """The operands of a function; constants adopt the dtype of the others."""
        assert unit.template is not None
        first = 1 if unit.template.name == "Select" else 0
        constants = [self.constant_of(value) for value in unit.operands[first:]]
        if len(constants) < 2 or None not in constants:
            constants = [None] * len(constants)
        return [
            self.known[value] if constant is None else self.constant(replace(constant, dtype=kind), bare=True)
            for value, constant, kind in zip(
                unit.operands, [None] * first + constants, unit.template.arguments, strict=True
            )
        ]

    def constant_of(self, value: ir.Value) -> Unit | None:
        unit = self.cutter.units.get(value)
        return unit if unit is not None and unit.kind == "constant" else None

    @staticmethod
    def constant(unit: Unit, *, bare: bool = False) -> Expr:
        """A constant; `bare`: as a Python number, which adopts a dtype."""
        kind, value = unit.dtype, unit.last.attributes["value"]
        assert kind is not None
        if kind.is_float:
            number: float = float(ir.FloatAttr(value).value)
            return Number(number) if bare else Number(number).astype(kind.name)
        integer = int(ir.IntegerAttr(value).value)
        if kind == BOOL:
            return Number(bool(integer))
        if kind.kind == "uint" and integer < 0:
            integer += 1 << kind.bits
        return Number(integer) if bare or kind is INDEX else Number(integer).astype(kind.name)

    def element(self, buffer: str, places: Sequence[Hashable]) -> Expr:
        """The element of a buffer."""
        element = (buffer, *places)
        if element in self.elements:
            return self.elements[element]
        indices = [index(buffer, self.place(place)) for place in places]
        if buffer not in self.tensors:
            shown = ", ".join(map(repr, indices))
            raise UnsupportedError(
                f"tir.Schedule: `{buffer}[{shown}]` reads '{buffer}' before it is filled, or to fill it"
            )
        return Load(self.tensors[buffer], indices)

    def place(self, place: Hashable) -> Expr:
        """An index; an integer of another dtype stays what it is."""
        if place is None:
            return Number(0)
        unit = self.cutter.units.get(place) if isinstance(place, ir.Value) else None
        is_cast = unit is not None and unit.template is not None and unit.template.name == "cast"
        return self.known[unit.operands[0] if unit is not None and is_cast else place]

    def branch(self, block: ir.Block) -> Expr:
        """The value that a block yields."""
        ops = [view.operation for view in block.operations]
        for unit in self.cutter.cut(ops[:-1]):
            if not unit.is_expression:
                raise NoForm
            self.define(unit)
        return self.known[ops[-1].operands[0]]

    def stored_value(self, store: Store) -> Expr:
        """The value of a store, which has the dtype of the buffer."""
        kind, constant = self.buffers.shapes[store.buffer][1], self.constant_of(store.value)
        if constant is not None:
            return _typed(self.constant(replace(constant, dtype=kind), bare=True), kind)
        if self.known[store.value].dtype != kind.name:
            raise NoForm
        return self.known[store.value]

    def stored(self, statements: Sequence[Statement]) -> dict[str, Expr]:
        """The values that statements store, in order, by buffer name."""
        found: dict[str, Expr] = {}
        outer = dict(self.elements)
        for item in statements:
            if isinstance(item, Store):
                found[item.buffer] = self.elements[item.element] = self.stored_value(item)
            elif isinstance(item, Read):
                self.known[item.argument] = self.element(item.buffer, item.places)
            elif item.is_expression:
                self.define(item)
            else:
                raise NoStagesError(f"{_at(item.last)} stores no element")
        self.elements = outer
        return found


@dataclass
class _Lifter:
    """Collects the computations of a prim func."""

    reader: _Expressions
    parameters: set[str]
    continues: bool
    """True if a reduction may combine with the existing values of the buffer."""
    awaited: set[ir.Value] = field(default_factory=set)
    """The buffers with which nests combine values."""
    pending: dict[str, tuple[list[IterVar], Expr]] = field(default_factory=dict)
    """The stored values with which later nests combine values, and their axes."""
    initial: dict[str, list[Statement]] = field(default_factory=dict)
    """The values that buffers are filled with."""
    blocks: dict[str, Tensor] = field(default_factory=dict)
    loops: dict[ComputeOp, list[IterVar]] = field(default_factory=dict)
    """The loops of each computation, outermost first."""
    titles: dict[str, int] = field(default_factory=dict)
    continued: bool = False
    """True if a reduction combines with the existing values of the buffer."""
    when_empty: EmptyReduction | None = None
    """The values stored for the following reduction in case it is empty."""

    # -- loops on memrefs

    def statements(self, ops: Sequence[ir.Operation]) -> None:
        """Process the nests of a function on memrefs."""
        for op in ops:
            if op.name == "memref.alloc":
                self.reader.cutter.buffers[op.results[0]] = allocated_dtype(op)
        for unit in self.reader.cutter.cut(ops):
            if unit.is_expression:
                self.reader.define(unit)
            elif unit.kind == "alloc":
                kind = self.reader.cutter.buffers[unit.result]
                self.reader.buffers.allocate(unit.last, [self.size(value) for value in unit.operands], kind)
            elif unit.kind == "if":
                if self.when_empty is not None:
                    raise NoStagesError(self.when_empty.refusal)
                self.when_empty = self.empty_reduction(unit)
            else:
                self.computation(self.nest(unit))
        if self.when_empty is not None:
            raise NoStagesError(self.when_empty.refusal)

    def size(self, value: ir.Value) -> Dim:
        """A size, without its clamp to 0."""
        item = self.reader.known[value]
        is_clamped = isinstance(item, Call) and item.function == "max" and repr(item.children[1]) == "0"
        return dim_of(item.children[0] if is_clamped else item)

    def nest(self, unit: Unit) -> Nest:
        """The loops of a statement; raises `NoStagesError` for other loop annotations, or loops that do not begin at 0.

        The annotations of `te.create_prim_func`, parallel rows and vectorized elements, are ignored: a schedule adds
        its own.
        """
        axes: dict[Hashable, IterVar] = {}
        kinds: list[str] = []
        units = [unit]
        while units and units[-1].kind == "for" and all(item.is_expression for item in units[:-1]):
            for item in units[:-1]:
                self.reader.define(item)
            loop = units[-1].last
            kinds.append(loop.attributes[LOOP_KIND].value if LOOP_KIND in loop.attributes else "")
            variable, axis = self.loop(loop)
            axes[variable] = axis
            units = self.reader.cutter.cut([view.operation for view in entry_block(loop).operations][:-1])
        if any(kinds[1:-1]) or kinds[:-1][:1] == ["vectorized"] or kinds[-1:] == ["parallel"] or "unroll" in kinds:
            raise NoStagesError("a loop has a kind already, which a schedule has given it")
        body = self.body(units)
        titles = [name_of(item.op.location) for item in body if isinstance(item, Store)]
        return Nest(unit.last, axes, body, next(filter(None, titles), ""))

    def loop(self, op: ir.Operation) -> tuple[ir.Value, IterVar]:
        """The variable of a loop, and its axis, data-parallel until the stores are known."""
        begin, end, step = (self.reader.known[value] for value in op.operands)
        if (repr(begin), repr(step)) != ("0", "1") or "unsignedCmp" in op.attributes:
            raise NoStagesError("a loop does not begin at 0")
        variable = entry_block(op).arguments[0]
        self.reader.cutter.types[variable] = INDEX
        axis = IterVar(self.reader.buffers.fresh("i"), Range(0, dim_of(end)), DATA_PARALLEL)
        self.reader.known[variable] = axis
        return variable, axis

    def body(self, units: Sequence[Unit]) -> list[Statement]:
        """The statements of a block."""
        name = self.reader.buffers.name_of
        return [
            Store(unit.last, name(unit.last.operands[1]), tuple(unit.operands[:-1]), unit.operands[-1])
            if unit.kind == "store"
            else unit
            for unit in units
        ]

    def empty_reduction(self, unit: Unit) -> EmptyReduction:
        """The nests of an ``if``; raises `NoStagesError` for another condition."""
        refusal = f"{_at(unit.last)} is a condition, which is no beginning of a reduction"
        sizes = [_compared_to_zero(part, "<=") for part in _operands(self.reader.known[unit.operands[0]], "|")]
        found = [size for size in sizes if size is not None]
        if self.otherwise(unit) or len(found) < len(sizes):
            raise NoStagesError(refusal)
        values: dict[str, str] = {}
        for item in self.inner(unit):
            if item.is_expression:
                self.reader.define(item)
                continue
            nest = self.nest(item)
            self.axes_of(nest)
            values.update((name, repr(value)) for name, value in self.reader.stored(nest.body).items())
        return EmptyReduction([dim_of(size) for size in found], values, refusal)

    def inner(self, unit: Unit) -> list[Unit]:
        """The units of the body of an ``if``."""
        return self.reader.cutter.cut([view.operation for view in entry_block(unit.last).operations][:-1])

    @staticmethod
    def otherwise(unit: Unit) -> bool:
        """True if an ``if`` has an ``else``."""
        return any(len(block.operations) > 1 for block in unit.last.regions[1].blocks)

    # -- linalg ops

    def tensor_ops(self, ops: Sequence[ir.Operation]) -> None:
        """Process the linalg ops of a function on tensors."""
        buffers, waiting = self.reader.buffers, list[ir.Operation]()
        for op in ops:
            if op.name not in ("tensor.empty", "linalg.fill", "linalg.generic"):
                waiting.append(op)
                continue
            units = self.reader.cutter.cut(waiting)
            waiting = []
            for unit in units:
                if not unit.is_expression:
                    raise NoForm
                self.reader.define(unit)
            if op.name == "tensor.empty":
                sizes = [dim_of(self.reader.known[value]) for value in op.operands]
                buffers.allocate(op, sizes, allocated_dtype(op))
                continue
            name = buffers.name_of(op.operands[len(op.operands) - 1])
            if op.name == "linalg.fill":
                self.initial[name] = [Store(op, name, (), op.operands[0])]
            elif len(op.results) == 1:
                self.computation(self.linalg_nest(op, name))
            else:
                raise NoForm
            buffers.hold(name, op.results[0])
        if waiting:
            raise NoForm

    def linalg_nest(self, op: ir.Operation, target: str) -> Nest:
        """The loops of a linalg op."""
        reader, buffers = self.reader, self.reader.buffers
        kinds = ir.ArrayAttr(op.attributes["iterator_types"])
        loops = range(len(kinds))
        accesses = [
            (buffers.name_of(value), _loops_of(ir.AffineMapAttr(map_).value))
            for value, map_ in zip(op.operands, ir.ArrayAttr(op.attributes["indexing_maps"]), strict=True)
        ]
        extents: dict[int, Dim] = {}
        for name, numbers in accesses:
            for number, size in zip(numbers, buffers.shapes[name][0], strict=True):
                if number is not None:
                    extents.setdefault(number, size)
        if not loops or len(extents) < len(loops):
            raise NoForm
        axes: dict[Hashable, IterVar] = {}
        for number in loops:
            axes[number] = IterVar(buffers.fresh("i"), Range(0, extents[number]), DATA_PARALLEL)
        reader.known.update(axes)
        block = entry_block(op)
        ops = [view.operation for view in block.operations]
        body: list[Statement] = []
        for argument, (name, numbers) in zip(block.arguments, accesses, strict=True):
            reader.cutter.types[argument] = buffers.shapes[name][1]
            if list(argument.uses):
                body.append(Read(argument, name, tuple(numbers)))
        body += reader.cutter.cut(ops[:-1])
        body.append(Store(op, target, tuple(accesses[-1][1]), ops[-1].operands[0]))
        return Nest(op, axes, body, self.title(op), self.initial.pop(target, []))

    def title(self, op: ir.Operation) -> str:
        """The original name of a block, if it is an identifier; others of this name get a number."""
        name = name_of(op.location) or ""
        if not name.isidentifier() or keyword.iskeyword(name):
            return ""
        self.titles[name] = self.titles.get(name, -1) + 1
        return f"{name}{self.titles[name] or ''}"

    # -- computations

    def computation(self, nest: Nest) -> None:
        """Add the computation of the buffers that a nest stores to."""
        targets = {store.buffer: store.element for store in nest.stores}
        if not targets:
            raise NoStagesError(f"{_at(nest.op)} stores no element")
        own = self.axes_of(nest)
        reduced = [axis for axis in nest.axes.values() if not any(axis is other for other in own)]
        for axis in reduced:
            axis.iter_type = REDUCTION
        begun = self.beginning(nest, reduced)
        rest = [item for item in nest.body if not _is_condition(item)]
        filled = [name for name in targets if name in self.reader.tensors]
        if filled:
            raise NoStagesError(f"'{filled[0]}' is filled twice")
        if reduced:
            body = self.combined(targets, rest, own, reduced, begun)
        else:
            body = self.reader.stored(rest)
            for store in nest.stores:
                name = store.buffer
                if store.memory in self.awaited and name in body and name not in self.pending:
                    self.pending[name] = own, body.pop(name)
            if not body:
                return
        self.add(nest.title, own, body, list(nest.axes.values()))

    def axes_of(self, nest: Nest) -> list[IterVar]:
        """The spatial axes, in the order of the indices of the stores."""
        found: tuple[Hashable, ...] | None = None
        for store in nest.stores:
            name, places = store.buffer, store.places
            if any(place not in nest.axes for place in places) or len(set(places)) < len(places):
                raise NoStagesError(f"{_at(store.op)} stores '{name}' at other places than the axes of its loops")
            if found is not None and places != found:
                raise NoStagesError(f"{_at(store.op)} stores '{name}' at another place than what is with it")
            found = places
            for place, size in zip(places, self.reader.buffers.shapes[name][0], strict=True):
                axis = nest.axes[place]
                if not prove_equal(axis.dom.extent, size):
                    raise NoStagesError(
                        f"the loop {axis.name} has another length than the dimension of '{name}' that it runs along"
                    )
        return [nest.axes[place] for place in found or ()]

    def beginning(self, nest: Nest, reduced: Sequence[IterVar]) -> dict[str, Expr]:
        """The initial values of a reduction by buffer name, if its own nest stores them."""
        waiting, self.when_empty = self.when_empty, None
        conditions = [item for item in nest.body if _is_condition(item)]
        if not conditions:
            if waiting is not None:
                raise NoStagesError(waiting.refusal)
            return self.reader.stored(nest.initial)
        first = conditions[0]
        assert isinstance(first, Unit)
        before = nest.body[: nest.body.index(first)]
        if any(isinstance(item, Store) for item in before):
            raise NoStagesError("elements are stored before a reduction begins")
        self.reader.stored(before)
        begins = self.body(self.inner(first))
        elements = {store.element for store in nest.stores}
        if (
            len(conditions) > 1
            or self.otherwise(first)
            or not is_first(self.reader.known[first.operands[0]], reduced)
            or any(isinstance(item, Store) and item.element not in elements for item in begins)
        ):
            raise NoStagesError(f"{_at(first.last)} is a condition, which is no beginning of a reduction")
        begun = self.reader.stored(begins)
        check_empty(waiting, reduced, begun)
        return begun

    def combined(
        self,
        targets: Mapping[str, tuple[Hashable, ...]],
        statements: Sequence[Statement],
        own: Sequence[IterVar],
        axes: list[IterVar],
        given: Mapping[str, Expr],
    ) -> dict[str, Expr]:
        """The reductions over `axes` of a nest, by buffer name; `given` are initial values."""
        begun = {name: given[name] if name in given else self.begun(name, own) for name in targets}
        so_far = {name: ScalarVar(name, self.reader.buffers.shapes[name][1]) for name in targets}
        self.reader.elements = {element: so_far[name] for name, element in targets.items()}
        found = self.reader.stored(statements)
        self.reader.elements = {}
        if len(found) == 1:
            ((name, value),) = found.items()
            made = self.named(name, value, so_far[name], axes, begun[name])
            if made is not None:
                return {name: made}
        starts = [value for value in begun.values() if value is not None]
        if len(starts) != len(begun):
            raise NoStagesError(f"nothing says what the reduction '{next(iter(targets))}' begins with")
        if variables_of(*starts):
            raise NoStagesError(f"the initial values of the reduction '{next(iter(targets))}' differ by element")
        try:
            together = reductions_of("_".join(found), list(so_far.values()), list(found.values()), starts, axes)
        except NoCombiner as problem:
            raise NoStagesError(str(problem)) from None
        return dict(zip(found, together, strict=True))

    def named(
        self, name: str, value: Expr, so_far: ScalarVar, axes: list[IterVar], begun: Expr | None
    ) -> Reduction | None:
        """``C[i] + x`` and similar combinations as a built-in reduction; None for others."""
        kind = COMBINERS.get(value.operator) if isinstance(value, Binary) else None
        if isinstance(value, Call) and value.function in ("max", "min"):
            kind = value.function
        sides = [side for side in value.children if side is not so_far]
        if kind is None or len(sides) != 1 or so_far in set(post_order(sides[0])):
            return None
        element = self.reader.buffers.shapes[name][1]
        is_plain = begun is None or _is_identity(kind, begun, element.name)
        made: Reduction = getattr(reductions, kind)(
            _typed(sides[0], element), axis=axes, init=None if is_plain else begun
        )
        return made

    def begun(self, name: str, own: Sequence[IterVar]) -> Expr | None:
        """The initial value of a reduction, stored by another nest; None: the existing value."""
        if name not in self.pending and self.continues:
            self.continued = True
            return None
        if name not in self.pending:
            raise NoStagesError(f"nothing says what the reduction '{name}' begins with")
        axes, value = self.pending.pop(name)
        return substitute(value, dict(zip(axes, own, strict=True)))

    def add(self, title: str, axes: list[IterVar], body: Mapping[str, Expr], loops: list[IterVar]) -> None:
        """Add the computation of some buffers."""
        first, *others = body
        wanted = title if title and not re.fullmatch(r"block\d*", title) else first
        op = ComputeOp(axes, list(body.values()), first if first in self.parameters and not others else wanted)
        self.loops[op] = loops
        for name, tensor in zip(body, op.outputs, strict=True):
            if others:
                tensor.name = name
            self.reader.tensors[name] = tensor
        names = [wanted, *(name for name in body if others and name != wanted)]
        for name, tensor in zip(names, [op.outputs[0], *map(self.reader.tensors.__getitem__, names[1:])], strict=True):
            self.blocks[name if name not in self.blocks else f"{name}_{len(self.blocks)}"] = tensor


def lift(function: func.FuncOp, continues: bool = False) -> Lifted:
    """The tensor expressions of a prim func; `continues`: a reduction without an initial value uses the existing one.

    Raises:
        UnsupportedError: it is not a sequence of loop nests that fill buffers.
    """
    name, params = function.name.value, prim_params(function)
    try:
        if params is None or not has_script_attributes(function) or not _has_declared_types(function, params):
            raise NoForm
        return _lifted(function, params, continues)
    except NoForm:
        raise UnsupportedError(
            f"tir.Schedule: prim func '{name}' has no form in the T language, which schedules need"
        ) from None
    except NoStagesError as problem:
        raise UnsupportedError(
            f"tir.Schedule: prim func '{name}' is no sequence of loop nests that fill buffers: {problem}"
        ) from None


def _lifted(function: func.FuncOp, params: Sequence[PrimParam], continues: bool) -> Lifted:
    arguments, on_tensors = list(function.arguments), len(function.type.results)
    buffers = [param for param in params if param.shape is not None]
    stores = ops_of(function.operation, "memref.store")
    written = {params[arguments.index(v)].name for v in {op.operands[1] for op in stores} if v in arguments}
    if on_tensors:
        written = {param.name for param in buffers[-on_tensors:]}
    inputs = [param for param in buffers if param.name not in written]
    outputs = [param for param in buffers if param.name in written]
    integers = tuple(param.name for param in params if param.shape is None)
    if [param.name for param in params] != [*(param.name for param in (*inputs, *outputs)), *integers]:
        raise UnsupportedError(
            f"tir.Schedule: prim func '{function.name.value}': its parameters are not inputs, then outputs, then "
            "integers"
        )
    reader = _reader(function, params)
    for param in inputs:
        reader.tensors[param.name] = placeholder(param.shape or (), str(param.dtype), param.name)
    lifter = _Lifter(reader, {param.name for param in params}, continues)
    *ops, last = [view.operation for view in entry_block(function).operations]
    lifter.awaited = {value for op in ops for value in _read_first(op)}
    ops = [op for op in ops if not len(op.results) or op.results[0] not in reader.known]
    (lifter.tensor_ops if on_tensors else lifter.statements)(ops)
    returned = [reader.buffers.name_of(value) for value in last.operands]
    if last.name != "func.return" or returned != [param.name for param in outputs if on_tensors]:
        raise NoForm
    missing = [param.name for param in outputs if param.name not in reader.tensors]
    if missing:
        raise NoStagesError(f"'{missing[0]}' is not filled")
    return Lifted(
        [reader.tensors[param.name] for param in inputs],
        [reader.tensors[param.name] for param in outputs],
        integers,
        lifter.blocks,
        lifter.loops,
        lifter.continued,
    )


def _reader(function: func.FuncOp, params: Sequence[PrimParam]) -> _Expressions:
    """Converter of a prim func that knows its parameters and their sizes."""
    shapes, known = {}, dict[Hashable, Expr]()
    arguments = list(function.arguments)
    for param, argument in zip(params, arguments, strict=True):
        if param.shape is None or param.dtype is None:
            known[argument] = Size(symbolic.symbol(param.name))
        else:
            shapes[param.name] = (tuple(param.shape), param.dtype)
    cutter = cutter_of(function, params)
    for op in ops_of(function.operation, "memref.dim", "tensor.dim"):
        axis, buffer = defining_op(op.operands[1]), op.operands[0]
        if buffer in arguments and axis is not None and axis.name == "arith.constant":
            shape = params[arguments.index(buffer)].shape or ()
            known[op.results[0]] = Size(shape[int(ir.IntegerAttr(axis.attributes["value"]).value)])
            cutter.types[op.results[0]] = INDEX
    symbols = {name for shape, _ in shapes.values() for dim in shape for name in symbolic.symbols(dim)}
    taken = {*NAMES_IN_USE, *(param.name for param in params), *symbols}
    buffers = _Buffers(shapes, {}, taken)
    for param, argument in zip(params, arguments, strict=True):
        buffers.hold(param.name, argument)
    return _Expressions(cutter, buffers, known=known)


def _has_declared_types(function: func.FuncOp, params: Sequence[PrimParam]) -> bool:
    """True if parameters have the declared types, without layouts."""
    return all(argument.type in _types(param) for param, argument in zip(params, function.arguments, strict=True))


def _types(param: PrimParam) -> list[ir.Type]:
    """The possible types of a parameter."""
    if param.shape is None or param.dtype is None:
        return [ir.IndexType.get()]
    dynamic = int(ir.ShapedType.get_dynamic_size())
    shape = [dim if isinstance(dim, int) else dynamic for dim in param.shape]
    with ir.Location.unknown():
        return [kind.get(shape, param.dtype.storage_type()) for kind in (ir.MemRefType, ir.RankedTensorType)]


def _is_condition(item: Statement) -> bool:
    """True for an ``if`` without results."""
    return isinstance(item, Unit) and item.kind == "if"


def _loops_of(affine: ir.AffineMap) -> list[int | None]:
    """The loop of each dimension; None: the index 0."""
    found: list[int | None] = []
    for expression in affine.results:
        if isinstance(expression, ir.AffineDimExpr):
            found.append(int(ir.AffineDimExpr(expression).position))
        elif isinstance(expression, ir.AffineConstantExpr) and ir.AffineConstantExpr(expression).value == 0:
            found.append(None)
        else:
            raise NoForm
    return found


def _typed(value: Expr, kind: DType) -> Expr:
    """A stored value, cast to the dtype of the buffer."""
    return value if value.dtype == kind.name else value.astype(kind.name)


def _is_identity(name: str, value: Expr, element: str) -> bool:
    """True if the initial value of a reduction is its identity."""
    number = value.children[0] if isinstance(value, Cast) else value
    if isinstance(number, Number) and name in ("sum", "prod"):
        return bool(number.value == (name == "prod"))
    return repr(value) == repr(reductions.identity(name, element))
