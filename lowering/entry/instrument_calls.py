"""`instrument-calls`: functions of level M record when they run, and the time and the work of their calls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import PACKED, PRIM_FUNC, PROFILE_SITES, SUPPORT
from relax_mlir.ir_queries import entry_block, ops_of
from relax_mlir.lowering.base.runtime_declarations import SHAPES_SUFFIX
from relax_mlir.lowering.base.signature import element_bytes
from relax_mlir.lowering.base.support import clock_text
from relax_mlir.mlir import arith, func, ir, linalg, memref
from relax_mlir.mlir_text import Fragment, functions, is_declaration
from relax_mlir.transform import ModulePass, PassContext

# Floating-point operations and bytes of a prim func, as formulas of the sizes of its arguments.
#
# Formulas are polynomials with integer coefficients over atoms such as ``a0_1``, which is size 1 of argument 0 (``a2``
# is argument 2 itself, an index). Work that has no such form (a loop that ends depending on data) has no formula.


_ONE = frozenset(
    {f"arith.{n}" for n in ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf")}
)
_FREE_MATH = frozenset({"math.isnan", "math.isinf", "math.isfinite", "math.isnormal", "math.copysign"})


@dataclass(frozen=True)
class Formula:
    """A polynomial: coefficients by sorted tuples of atoms."""

    terms: Mapping[tuple[str, ...], int]

    @staticmethod
    def number(value: int) -> Formula:
        return Formula({(): value} if value else {})

    @staticmethod
    def atom(name: str) -> Formula:
        return Formula({(name,): 1})

    def __add__(self, other: Formula) -> Formula:
        terms = dict(self.terms)
        for key, value in other.terms.items():
            terms[key] = terms.get(key, 0) + value
        return Formula({k: v for k, v in terms.items() if v})

    def __mul__(self, other: Formula) -> Formula:
        total = Formula({})
        for key, value in self.terms.items():
            for more, factor in other.terms.items():
                total += Formula({tuple(sorted((*key, *more))): value * factor})
        return total

    def __str__(self) -> str:
        parts = []
        for key, value in sorted(self.terms.items(), key=lambda term: (-len(term[0]), term[0])):
            factors = [*([str(value)] if value != 1 or not key else []), *key]
            parts.append("*".join(factors))
        return " + ".join(parts) or "0"

    def atoms(self) -> set[str]:
        """The arguments and sizes that it mentions."""
        return {name for key in self.terms for name in key}


ZERO, UNIT = Formula.number(0), Formula.number(1)


class Unknown(Exception):
    """There is no formula."""


class Work:
    """The formulas of one prim func at level M."""

    def __init__(self, function: func.FuncOp) -> None:
        self.entry = function.body.blocks[0]
        self._gathered: dict[int, Formula] = {}
        self._whole: set[int] = set()

    def flops(self) -> Formula | None:
        """Floating-point operations of one call; a fused multiply-add counts as two, a function of `math` as one."""
        try:
            return self._block(self.entry)
        except Unknown:
            return None

    def bytes(self) -> Formula | None:
        """Bytes of the arguments, each counted once; for arguments only read element by element, the bytes read."""
        try:
            for number, argument in enumerate(self.entry.arguments):
                if isinstance(argument.type, ir.MemRefType):
                    self._uses(argument, number)
            total = ZERO
            for number, argument in enumerate(self.entry.arguments):
                if not isinstance(argument.type, ir.MemRefType):
                    continue
                size = self._elements(argument)
                if number not in self._whole and number in self._gathered:
                    size = self._gathered[number]
                total += size * Formula.number(element_bytes(argument.type.element_type))
            return total
        except Unknown:
            return None

    def _uses(self, value: ir.Value, number: int) -> None:
        for use in value.uses:
            op = use.owner.operation
            if op.name in ("memref.dim", "memref.dealloc"):
                continue
            if op.name == "memref.load":
                try:
                    self._gathered[number] = self._gathered.get(number, ZERO) + self._times(op)
                except Unknown:
                    self._whole.add(number)
            else:
                self._whole.add(number)

    def _times(self, op: ir.Operation) -> Formula:
        """The number of executions of an op in one call."""
        times, parent = UNIT, op.parent
        while parent.name != "func.func":
            if parent.name.startswith("linalg."):
                times *= self._domain(parent.operation)
            elif parent.name == "scf.for":
                times *= self._trips(parent.operation)
            elif parent.name != "scf.if":
                raise Unknown
            parent = parent.operation.parent
        return times

    def _block(self, block: ir.Block) -> Formula:
        total = ZERO
        for view in block.operations:
            op = view.operation
            if op.name.startswith("linalg.") and op.regions:
                each = ZERO
                for inner in op.regions:
                    for body in inner.blocks:
                        each += self._block(body)
                total += each * self._domain(op) if each.terms else ZERO
            elif op.name == "scf.for":
                each = self._block(entry_block(op))
                total += each * self._trips(op) if each.terms else ZERO
            elif op.regions:
                if any(self._block(body).terms for region in op.regions for body in region.blocks):
                    raise Unknown
            else:
                total += Formula.number(self._scalar(op))
        return total

    @staticmethod
    def _scalar(op: ir.Operation) -> int:
        if op.name == "func.call":
            raise Unknown
        if op.name == "math.fma":
            return 2
        floats = any(isinstance(r.type, ir.FloatType) for r in op.results)
        return int(op.name in _ONE or (floats and op.name.startswith("math.") and op.name not in _FREE_MATH))

    def _domain(self, op: ir.Operation) -> Formula:
        """The number of iterations of a linalg op."""
        maps = [attribute.value for attribute in linalg.get_indexing_maps(op)]
        total = UNIT
        for loop in range(maps[0].n_dims):
            total *= self._loop(op, maps, loop)
        return total

    def _loop(self, op: ir.Operation, maps: list[ir.AffineMap], loop: int) -> Formula:
        for operand, map in zip(op.operands, maps, strict=True):
            for position, result in enumerate(map.results):
                if isinstance(result, ir.AffineDimExpr) and result.position == loop:
                    return self._size(operand, position)
        raise Unknown

    def _trips(self, op: ir.Operation) -> Formula:
        lower, upper, step = (self._index(v) for v in list(op.operands)[:3])
        if lower.terms or step != UNIT:
            raise Unknown
        return upper

    def _elements(self, value: ir.Value) -> Formula:
        total = UNIT
        for position in range(ir.MemRefType(value.type).rank):
            total *= self._size(value, position)
        return total

    def _size(self, value: ir.Value, position: int) -> Formula:
        type = ir.MemRefType(value.type)
        if not type.is_dynamic_dim(position):
            return Formula.number(type.get_dim_size(position))
        if isinstance(value, ir.BlockArgument):
            if value.owner != self.entry:
                raise Unknown
            return Formula.atom(f"a{value.arg_number}_{position}")
        op = value.owner.operation
        if op.name in ("memref.alloc", "memref.alloca"):
            before = sum(type.is_dynamic_dim(i) for i in range(position))
            return self._index(op.operands[before])
        if op.name == "memref.cast":
            return self._size(op.operands[0], position)
        if op.name == "memref.subview":
            counts = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
            sizes = list(ir.DenseI64ArrayAttr(op.attributes["static_sizes"]))
            if len(sizes) != type.rank:
                raise Unknown
            before = sum(size < 0 for size in sizes[:position])
            return self._index(op.operands[counts[0] + counts[1] + before])
        if op.name == "memref.expand_shape":
            before = sum(type.is_dynamic_dim(i) for i in range(position))
            return self._index(op.operands[1 + before])
        if op.name == "memref.collapse_shape":
            groups = [list(group) for group in ir.ArrayAttr(op.attributes["reassociation"])]
            total = UNIT
            for dim in groups[position]:
                total *= self._size(op.operands[0], ir.IntegerAttr(dim).value)
            return total
        raise Unknown

    def _index(self, value: ir.Value) -> Formula:
        if isinstance(value, ir.BlockArgument):
            if value.owner != self.entry:
                raise Unknown
            return Formula.atom(f"a{value.arg_number}")
        op = value.owner.operation
        if op.name == "arith.constant":
            return Formula.number(ir.IntegerAttr(op.attributes["value"]).value)
        if op.name == "memref.dim":
            position = self._index(op.operands[1])
            if position.atoms():
                raise Unknown
            return self._size(op.operands[0], position.terms.get((), 0))
        if op.name in ("arith.addi", "arith.muli"):
            left, right = (self._index(v) for v in op.operands)
            return left + right if op.name == "arith.addi" else left * right
        if op.name == "arith.subi":
            left, right = (self._index(v) for v in op.operands)
            return left + right * Formula.number(-1)
        if op.name == "arith.select":
            size, otherwise = (self._index(v) for v in list(op.operands)[1:])
            if not otherwise.terms:  # a case without operations: count the other case
                return size
        raise Unknown


# `instrument-calls`: functions of level M record when they run, and when the prim and packed functions they call run.
#
# A record is a row of 64-bit words in a buffer of the runtime: the 1-based index of its site (written last; 0:
# incomplete), thread, start and end in nanoseconds, and the sizes that the site's formulas mention. Words 0 and 1 of
# the buffer are the number of words in use and the capacity; records beyond the capacity are dropped. The module
# attribute `relax.profile_sites` describes the sites.


TABLE = "__relax_profile"
HEADER, FIXED = 2, 4
"""Words before the records, and words of a record before its sizes."""
_NOW, _RECORD = "relax.rt.profile_now", "relax.rt.profile_record"

_SUPPORT = f" attributes {{{SUPPORT}}}"

_CLOCK = f"""
llvm.mlir.global internal @{TABLE}() : !llvm.ptr {{
  %0 = llvm.mlir.zero : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}}
llvm.func @clock_gettime(i32, !llvm.ptr) -> i32
llvm.func @pthread_self() -> i64
{clock_text(f"func.func private @{_NOW}", "return", _SUPPORT)}"""


def _record_function(sizes: int) -> str:
    """The function that appends a record with this number of sizes."""
    parameters = "".join(f", %s{i}: index" for i in range(sizes))
    words = FIXED + sizes
    stores = []
    for i, value in enumerate(["%thread", "%start", "%end", *(f"%c{i}" for i in range(sizes))]):
        stores.append(f"      %p{i} = llvm.getelementptr %row[{8 * (1 + i)}] : (!llvm.ptr) -> !llvm.ptr, i8")
        stores.append(f"      llvm.store {value}, %p{i} : i64, !llvm.ptr")
    casts = "\n".join(f"      %c{i} = arith.index_cast %s{i} : index to i64" for i in range(sizes))
    return f"""
func.func private @{_RECORD}.{sizes}(%site: i64, %start: i64{parameters}){_SUPPORT} {{
  %table = llvm.mlir.addressof @{TABLE} : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %buffer = llvm.load %table atomic acquire {{alignment = 8 : i64}} : !llvm.ptr -> !llvm.ptr
  %on = llvm.icmp "ne" %buffer, %null : !llvm.ptr
  scf.if %on {{
    %end = func.call @{_NOW}() : () -> i64
    %words = arith.constant {words} : i64
    %at = llvm.atomicrmw add %buffer, %words acq_rel : !llvm.ptr, i64
    %after = arith.addi %at, %words : i64
    %limit = llvm.getelementptr %buffer[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %capacity = llvm.load %limit : !llvm.ptr -> i64
    %fits = arith.cmpi sle, %after, %capacity : i64
    scf.if %fits {{
      %row = llvm.getelementptr %buffer[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %thread = llvm.call @pthread_self() : () -> i64
{casts}
{chr(10).join(stores)}
      llvm.store %site, %row atomic release {{alignment = 8 : i64}} : i64, !llvm.ptr
    }}
  }}
  return
}}
"""


@dataclass
class _Sites:
    """The sites found so far; emits the code that writes their records."""

    fragment: Fragment = field(default_factory=Fragment)
    descriptions: list[ir.Attribute] = field(default_factory=list)

    def add(self, kind: str, name: str, where: ir.Location, formulas: dict[str, str], sizes: Sequence[str]) -> int:
        text = ir.StringAttr.get
        entries: dict[str, ir.Attribute] = {"kind": text(kind), "name": text(name)}
        entries["location"] = text(location_text(where))
        entries |= {key: text(value) for key, value in formulas.items()}
        entries["sizes"] = ir.ArrayAttr.get([text(size) for size in sizes])
        self.descriptions.append(ir.DictAttr.get(entries))
        return len(self.descriptions)

    def start(self) -> ir.Value:
        return func.CallOp([ir.IntegerType.get_signless(64)], _NOW, []).results[0]

    def stop(self, site: int, start: ir.Value, sizes: Sequence[ir.Value] = ()) -> None:
        self.fragment.define(_record_function(len(sizes)))
        number = arith.ConstantOp(ir.IntegerType.get_signless(64), site).result
        func.CallOp([], f"{_RECORD}.{len(sizes)}", [number, start, *sizes])


class InstrumentCalls(ModulePass):
    """Record time and sizes of functions and of the prim and packed functions that they call."""

    name: ClassVar[str] = "instrument-calls"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        table = functions(module)
        sites = _Sites()
        sites.fragment.define(_CLOCK)
        for name, function in table.items():
            whole = not (is_declaration(function) or PRIM_FUNC in function.attributes)
            if not whole or name.endswith(SHAPES_SUFFIX):
                continue
            calls = _calls(function)
            _instrument_function(function, sites)
            for call in calls:
                _instrument_call(call, table[call.callee.value], sites)
        sites.fragment.splice(module)
        module.operation.attributes[PROFILE_SITES] = ir.ArrayAttr.get(sites.descriptions)


def _calls(function: func.FuncOp) -> list[func.CallOp]:
    return [op.opview for op in ops_of(function.operation, "func.call")]


def _instrument_function(function: func.FuncOp, sites: _Sites) -> None:
    entry = function.body.blocks[0]
    with function.location:
        with ir.InsertionPoint.at_block_begin(entry):
            start = sites.start()
        site = sites.add("function", function.name.value, function.location, {}, ())
        with ir.InsertionPoint.at_block_terminator(entry):
            sites.stop(site, start)


def _instrument_call(call: func.CallOp, callee: func.FuncOp, sites: _Sites) -> None:
    if PACKED in callee.attributes:
        name = ir.StringAttr(callee.attributes[PACKED]["name"]).value
        kind, formulas, atoms = "packed", {}, []
    elif PRIM_FUNC in callee.attributes and not is_declaration(callee):
        work = Work(callee)
        found = {"flops": work.flops(), "bytes": work.bytes()}
        formulas = {key: str(value) for key, value in found.items() if value is not None}
        atoms = sorted(set().union(*(value.atoms() for value in found.values() if value is not None)))
        kind, name = "prim", callee.name.value
    else:
        return
    with call.location, ir.InsertionPoint(call):
        sizes = [_size(call, atom) for atom in atoms]
        start = sites.start()
    site = sites.add(kind, name, call.location, formulas, atoms)
    with call.location, ir.InsertionPoint.after(call):
        sites.stop(site, start, sizes)


def _size(call: func.CallOp, atom: str) -> ir.Value:
    """The value at the call of an atom in the callee's formula."""
    argument, _, position = atom[1:].partition("_")
    operand = call.operands[int(argument)]
    if not position:
        return operand
    return memref.DimOp(operand, arith.ConstantOp(ir.IndexType.get(), int(position)).result).result


# Profiled sites of a module: the function that runs there, and formulas of its cost.


@dataclass(frozen=True)
class Site:
    """A profiled site in a module.

    Attributes:
        kind: ``function`` (a Relax function as a whole), ``prim`` or ``packed`` (a call of such a function).
        name: the function that runs.
        location: ``file:line:column``, or ``unknown``.
        sizes: the names of the sizes in the formulas: ``a0_1`` is size 1 of argument 0.
        flops, bytes: formulas of floating-point operations and of bytes, sums of products; None if unknown.
    """

    kind: str
    name: str
    location: str
    sizes: tuple[str, ...] = ()
    flops: str | None = None
    bytes: str | None = None


def evaluate(formula: str | None, sizes: Mapping[str, int]) -> int | None:
    """Evaluate a sum of products of integers and sizes."""
    if formula is None:
        return None
    terms = (term.split("*") for term in formula.split(" + "))
    return sum(math.prod(sizes[f] if f in sizes else int(f) for f in term) for term in terms)


def profiled_sites(module: ir.Module) -> tuple[Site, ...]:
    """Return the sites that the pass `instrument-calls` has recorded; site N is at index N - 1."""
    found = []
    for entry in ir.ArrayAttr(module.operation.attributes[PROFILE_SITES]):
        fields = {named.name: named.attr for named in ir.DictAttr(entry)}
        sizes = tuple(str(ir.StringAttr(size).value) for size in ir.ArrayAttr(fields.pop("sizes")))
        texts = {name: str(ir.StringAttr(value).value) for name, value in fields.items()}
        found.append(Site(sizes=sizes, **texts))
    return tuple(found)
