"""`instrument-calls`: functions of level M record when they run, and when the prim and packed functions they call run.

A record is a row of 64-bit words in a buffer of the runtime: the 1-based index of its site (written last; 0:
incomplete), thread, start and end in nanoseconds, and the sizes that the site's formulas mention. Words 0 and 1 of the
buffer are the number of words in use and the capacity; records beyond the capacity are dropped. The module attribute
`relax.profile_sites` describes the sites.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import PACKED, PRIM_FUNC, PROFILE_SITES, SHARED_GROUP
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.abi.runtime_declarations import SHAPES_SUFFIX
from relax_mlir.lowering.instrument.work_formulas import Work
from relax_mlir.lowering.parts.shared_code import SUPPORT_GROUP
from relax_mlir.lowering.runtime_lib.clock import clock_text
from relax_mlir.mlir import arith, func, ir, memref
from relax_mlir.mlir_text import Fragment, functions, is_declaration
from relax_mlir.transform import ModulePass, PassContext

TABLE = "__relax_profile"
HEADER, FIXED = 2, 4
"""Words before the records, and words of a record before its sizes."""
_NOW, _RECORD = "relax.rt.profile_now", "relax.rt.profile_record"

_SHARED = f' attributes {{{SHARED_GROUP} = "{SUPPORT_GROUP}"}}'

_CLOCK = f"""
llvm.mlir.global internal @{TABLE}() : !llvm.ptr {{
  %0 = llvm.mlir.zero : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}}
llvm.func @clock_gettime(i32, !llvm.ptr) -> i32
llvm.func @pthread_self() -> i64
{clock_text(f"func.func private @{_NOW}", "return", _SHARED)}"""


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
func.func private @{_RECORD}.{sizes}(%site: i64, %start: i64{parameters}){_SHARED} {{
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

    def add(
        self, kind: str, name: str, where: ir.Location, formulas: dict[str, str], sizes: Sequence[str]
    ) -> int:
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
