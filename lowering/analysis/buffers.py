"""Buffers of a function: sizes as formulas of its arguments, offsets in a workspace, live ranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, Protocol, TypeVar, Union

from relax_mlir.dialects.traits import IsLoop, has_trait
from relax_mlir.ir_queries import FUNCTION, ancestors, loop_values
from relax_mlir.lowering.base.signature import element_bytes
from relax_mlir.mlir import arith, func, ir, memref

# Sizes as formulas of a function's arguments, in machine arithmetic.
#
# Equal formulas have equal values. They differ from dimensions of `symbolic`: their arithmetic may wrap around, divide
# unsigned or select, and is emitted again unchanged. `report` converts them to dimensions where that is possible.


@dataclass(frozen=True)
class Argument:
    """An integer argument of the function."""

    number: int


@dataclass(frozen=True)
class DimOf:
    """A dimension of a memref argument."""

    argument: int
    axis: int


@dataclass(frozen=True)
class Constant:
    """An integer; `attribute` is the text of its typed attribute."""

    attribute: str

    @staticmethod
    def index(value: int) -> Constant:
        return Constant(f"{value} : index")

    @property
    def value(self) -> int:
        return int(self.attribute.split(":")[0])


@dataclass(frozen=True)
class Computed:
    """The result of a pure op with one result."""

    op: str
    attributes: tuple[tuple[str, str], ...]
    """Pairs of name and attribute text."""
    type: str
    operands: tuple[Formula, ...]


Formula = Union[Argument, DimOf, Constant, Computed]  # noqa: UP007 - evaluated before `Computed` is a class


@dataclass(frozen=True)
class Bytes:
    """The size of a buffer: a number of bytes times the dynamic sizes."""

    factor: int
    sizes: tuple[Formula, ...] = ()

    @property
    def is_static(self) -> bool:
        return not self.sizes


# The offsets of the slots in a workspace, as code for the function or as formulas for the report.


ALIGNMENT = 64
"""Slots are aligned to this number of bytes."""

Size = TypeVar("Size")


class Arithmetic(Protocol[Size]):
    """The arithmetic of a layout; values known at compile time are `int`."""

    def bytes(self, size: Bytes) -> Size | int: ...

    def maximum(self, a: Size | int, b: Size | int) -> Size | int: ...

    def aligned(self, size: Size | int) -> Size | int:
        """Round up to a multiple of `ALIGNMENT`."""
        ...

    def add(self, a: Size | int, b: Size | int) -> Size | int: ...


@dataclass(frozen=True)
class Place(Generic[Size]):
    """A slot of the workspace, in bytes."""

    offset: Size | int
    size: Size | int


def lay_out(slots: Sequence[Sequence[Bytes]], arithmetic: Arithmetic[Size]) -> tuple[list[Place[Size]], Size | int]:
    """The place of each slot, and the size of the workspace; a slot is as large as its largest size."""
    end: Size | int = 0
    places: list[Place[Size]] = []
    for sizes in slots:
        first, *others = (arithmetic.bytes(size) for size in sizes)
        largest = first
        for other in others:
            largest = arithmetic.maximum(largest, other)
        places.append(Place(end, largest))
        end = arithmetic.add(end, arithmetic.aligned(largest))
    return places, end


# Buffer sizes that are formulas of a function's arguments, and code that computes them at its entry.


_PURE = frozenset(
    f"arith.{name}"
    for name in [
        "addi",
        "subi",
        "muli",
        "divsi",
        "divui",
        "floordivsi",
        "ceildivsi",
        "ceildivui",
        "remsi",
        "remui",
        "minsi",
        "maxsi",
        "minui",
        "maxui",
        "select",
        "cmpi",
        "index_cast",
        "index_castui",
        "andi",
        "ori",
        "xori",
        "extsi",
        "extui",
        "trunci",
        "shli",
        "shrsi",
        "shrui",
    ]
) | {"affine.apply", "affine.min", "affine.max"}
_COMMUTATIVE = frozenset({"arith.addi", "arith.muli", "arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"})
_DIVISIONS = frozenset(
    f"arith.{n}" for n in ["divsi", "divui", "floordivsi", "ceildivsi", "ceildivui", "remsi", "remui"]
)

# An upper bound on memory. Sizes saturate here, so that their sums cannot overflow and allocation fails cleanly.
TOO_LARGE = 1 << 47


class EntrySizes:
    """Formulas of integers, and their code at the entry of `function`; the `Arithmetic` of layouts as code."""

    def __init__(self, function: func.FuncOp) -> None:
        self.entry = function.body.blocks[0]
        self._formulas: dict[ir.Value, Formula | None] = {}
        self._code: dict[Formula | Bytes, ir.Value] = {}
        self._constants: dict[int, ir.Value] = {}

    def formula(self, value: ir.Value) -> Formula | None:
        """`value` as a formula of the arguments, or None if it is not known at entry."""
        if value not in self._formulas:
            self._formulas[value] = self._find(value)
        return self._formulas[value]

    def _find(self, value: ir.Value) -> Formula | None:
        if isinstance(value, ir.BlockArgument):
            return Argument(value.arg_number) if value.owner == self.entry else None
        op = value.owner.operation
        if op.name == "arith.constant":
            return Constant(str(op.attributes["value"]))
        if op.name == "memref.dim":
            return self._dim(op)
        if op.name not in _PURE:
            return None
        operands = _all_known(map(self.formula, op.operands))
        if operands is None:
            return None
        if op.name in _COMMUTATIVE:
            operands.sort(key=repr)
        attributes = tuple(sorted((name, str(op.attributes[name])) for name in op.attributes))
        return Computed(op.name, attributes, str(value.type), tuple(operands))

    def _dim(self, op: ir.Operation) -> Formula | None:
        position = self.formula(op.operands[1])
        return self._size(op.operands[0], position.value) if isinstance(position, Constant) else None

    def _size(self, source: ir.Value, position: int) -> Formula | None:
        type = ir.MemRefType(source.type)
        if not type.is_dynamic_dim(position):
            return Constant.index(type.get_dim_size(position))
        if isinstance(source, ir.BlockArgument):
            return DimOf(source.arg_number, position) if source.owner == self.entry else None
        op = source.owner.operation
        if op.name == "memref.cast":
            return self._size(op.operands[0], position)
        if op.name == "memref.alloc":
            dynamic = [i for i in range(type.rank) if type.is_dynamic_dim(i)]
            return self.formula(op.operands[dynamic.index(position)])
        return None

    def emit(self, formula: Formula) -> ir.Value:
        """Emit code for a formula at the insertion point (always the entry's start), once per formula."""
        if formula not in self._code:
            self._code[formula] = self._emit(formula)
        return self._code[formula]

    def _emit(self, formula: Formula) -> ir.Value:
        if isinstance(formula, Argument):
            return self.entry.arguments[formula.number]
        if isinstance(formula, Constant):
            attribute = ir.Attribute.parse(formula.attribute)
            return arith.ConstantOp(attribute.type, attribute).result
        if isinstance(formula, DimOf):
            return memref.DimOp(self.entry.arguments[formula.argument], constant(formula.axis)).result
        operands = [self.emit(operand) for operand in formula.operands]
        if formula.op in _DIVISIONS:
            operands[1] = _not_zero(operands[1])
        parsed = {name: ir.Attribute.parse(text) for name, text in formula.attributes}
        type = ir.Type.parse(formula.type)
        return ir.Operation.create(formula.op, results=[type], operands=operands, attributes=parsed).result

    def bytes_of(self, type: ir.MemRefType, dynamic: Iterable[ir.Value]) -> Bytes | None:
        """The size of a buffer with the given dynamic sizes; None if it is not known at entry."""
        sizes = _all_known(map(self.formula, dynamic))
        return None if sizes is None else Bytes(static_bytes(type), tuple(sorted(sizes, key=repr)))

    def bytes(self, size: Bytes) -> ir.Value | int:
        if size.is_static:
            return size.factor
        if size not in self._code:
            self._code[size] = checked_product([constant(size.factor), *map(self._emit_size, size.sizes)])
        return self._code[size]

    def _emit_size(self, formula: Formula) -> ir.Value:
        """Emit code for a size. A negative size counts as 0; a later check rejects it with a better message."""
        value = self.emit(formula)
        return value if isinstance(formula, DimOf | Constant) else arith.MaxSIOp(value, constant(0)).result

    def maximum(self, a: ir.Value | int, b: ir.Value | int) -> ir.Value | int:
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        return arith.MaxUIOp(self.index(a), self.index(b)).result

    def aligned(self, size: ir.Value | int) -> ir.Value | int:
        if isinstance(size, int):
            return -(-size // ALIGNMENT) * ALIGNMENT
        up = arith.AddIOp(size, constant(ALIGNMENT - 1)).result
        return arith.AndIOp(up, constant(-ALIGNMENT)).result

    def add(self, a: ir.Value | int, b: ir.Value | int) -> ir.Value | int:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        return arith.AddIOp(self.index(a), self.index(b)).result

    def index(self, value: ir.Value | int) -> ir.Value:
        """`value` as an SSA value; equal integers share a constant."""
        if not isinstance(value, int):
            return value
        if value not in self._constants:
            self._constants[value] = constant(value)
        return self._constants[value]


def _all_known(formulas: Iterable[Formula | None]) -> list[Formula] | None:
    """The formulas, or None if one of them is None."""
    found = []
    for formula in formulas:
        if formula is None:
            return None
        found.append(formula)
    return found


def static_bytes(type: ir.MemRefType) -> int:
    """The product of the static sizes and the element size, capped at TOO_LARGE."""
    product = element_bytes(type.element_type)
    for i in range(type.rank):
        if not type.is_dynamic_dim(i):
            product *= type.get_dim_size(i)
    return min(product, TOO_LARGE)


def constant(value: int) -> ir.Value:
    return arith.ConstantOp(ir.IndexType.get(), ir.IntegerAttr.get(ir.IndexType.get(), value)).result


def checked_product(factors: list[ir.Value]) -> ir.Value:
    """The product of non-negative index values, or TOO_LARGE if it (or a factor, as unsigned) is larger."""
    limit = constant(TOO_LARGE)
    product = factors[0]
    for factor in factors[1:]:
        low, high = arith.MulUIExtendedOp(product, factor).results
        fits = arith.CmpIOp(arith.CmpIPredicate.eq, high, constant(0)).result
        product = arith.SelectOp(fits, low, limit).result
        product = arith.MinUIOp(product, limit).result
    return product


def _not_zero(value: ir.Value) -> ir.Value:
    """`value`, or 1 instead of 0: code hoisted to the entry must not trap where the original would not have run."""
    zero = arith.ConstantOp(value.type, ir.IntegerAttr.get(value.type, 0)).result
    one = arith.ConstantOp(value.type, ir.IntegerAttr.get(value.type, 1)).result
    is_zero = arith.CmpIOp(arith.CmpIPredicate.eq, value, zero).result
    return arith.SelectOp(is_zero, one, value).result


# Liveness of buffers: alias closure, and live ranges over the operations of the function's entry block.


VIEWS = frozenset(
    {
        "arith.select",
        "builtin.unrealized_conversion_cast",
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.memory_space_cast",
        "memref.reinterpret_cast",
        "memref.subview",
        "memref.transpose",
        "memref.view",
    }
)
_POINTERS = frozenset({"memref.extract_aligned_pointer_as_index", "memref.extract_strided_metadata"})


@dataclass
class Buffer:
    """A `memref.alloc` and its live range.

    `first` and `last` are positions in the entry block between which its memory is read or written (inclusive).
    `carried`: a loop around the allocation passes it on to its next iteration. `escapes`: it is returned. `freed`: its
    deallocations. `aliases`: values that may be (views of) its memory.
    """

    alloc: ir.Operation
    position: int
    first: int = -1
    last: int = -1
    carried: bool = False
    yielded: bool = False
    escapes: bool = False
    freed: list[ir.Operation] = field(default_factory=list)
    aliases: set[ir.Value] = field(default_factory=set)

    @property
    def type(self) -> ir.MemRefType:
        return ir.MemRefType(self.alloc.results[0].type)

    def used(self, position: int) -> None:
        self.first = position if self.first < 0 else min(self.first, position)
        self.last = max(self.last, position)

    def meets(self, other: Buffer) -> bool:
        """True if both are live at some position."""
        return self.first <= other.last and other.first <= self.last


class Liveness:
    """The buffers of a function with structured control flow, and the operations that positions index."""

    def __init__(self, function: func.FuncOp) -> None:
        self.buffers: list[Buffer] = []
        self._position: dict[ir.Operation, int] = {}
        allocs: list[ir.Operation] = []
        self.operations = [op.operation for op in function.body.blocks[0].operations]
        self.end = len(self.operations) - 1

        def visit(op: ir.Operation, position: int) -> ir.WalkResult:
            self._position[op] = position
            if op.name == "memref.alloc":
                allocs.append(op)
            return ir.WalkResult.ADVANCE

        for position, top in enumerate(self.operations):
            top.walk(partial(visit, position=position))
        for alloc in allocs:
            self.buffers.append(self._follow(alloc))

    def _follow(self, alloc: ir.Operation) -> Buffer:
        """Visit every use of a buffer and of its possible aliases."""
        buffer = Buffer(alloc, self._position[alloc])
        aliases: set[ir.Value] = {alloc.results[0]}
        todo: list[ir.Value] = [alloc.results[0]]
        while todo:
            value = todo.pop()
            for use in value.uses:
                for alias in self._use(buffer, use.owner.operation, use.operand_number):
                    if alias not in aliases and isinstance(alias.type, ir.MemRefType | ir.UnrankedMemRefType):
                        aliases.add(alias)
                        todo.append(alias)
        if buffer.first < 0:
            buffer.used(buffer.position)
        buffer.aliases = aliases
        return buffer

    def _use(self, buffer: Buffer, op: ir.Operation, operand: int) -> list[ir.Value]:
        """Record a use; return the values that may now alias the buffer."""
        position = self._position[op]
        if op.name == "memref.dealloc":
            buffer.freed.append(op)
            return []
        if op.name == "memref.dim" or op.name in VIEWS:
            return list(op.results)
        if op.name == "func.return":
            buffer.escapes = True
            buffer.used(self.end)
            return []
        buffer.used(position)
        if op.name in _POINTERS:
            # A bare pointer may be used until the function returns.
            buffer.used(self.end)
        if op.name in ("scf.yield", "scf.condition"):
            parent = op.parent.operation
            buffer.yielded = True
            if has_trait(parent, IsLoop):
                buffer.carried = buffer.carried or parent in ancestors(buffer.alloc)
                return loop_values(parent)
            return [parent.results[operand]] if parent.name == "scf.if" else list(parent.results)
        return loop_values(op) if has_trait(op, IsLoop) else list(op.results)


def is_nested(op: ir.Operation) -> bool:
    """True if `op` is nested in another op of its function."""
    return op.parent is not None and op.parent.operation.name != FUNCTION
