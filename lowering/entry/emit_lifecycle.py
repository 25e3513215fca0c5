"""Tables of a module: `lower-constants` loads constants, `emit-lifecycle` lets the runtime fill and empty tables."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import ClassVar

from relax_mlir.dialects.attributes import CONSTANT
from relax_mlir.ir_queries import callee_of
from relax_mlir.lowering.base.module_parts import own_ops
from relax_mlir.lowering.base.signature import (
    CONSTANTS_ADDRESS,
    MEMORY_ADDRESS,
    PROFILE_ADDRESS,
    RELEASE,
    THREADS_ADDRESS,
)
from relax_mlir.lowering.base.support import CACHED_OBJECT, MEMORY_TABLE, THREADS_TABLE
from relax_mlir.lowering.entry.instrument_calls import TABLE as PROFILE_TABLE
from relax_mlir.mlir import arith, func, ir, llvm
from relax_mlir.mlir_text import Code, Fragment, descriptor, functions, is_declaration, symbol, symbol_name
from relax_mlir.transform import ModulePass, PassContext

# `lower-constants`: calls of `@relax.constant.K` load pointer K of the table that the runtime fills.


TABLE = "__relax_constants"
_POINTER_BYTES = 8


class LowerConstants(ModulePass):
    """Replace calls of constant declarations by memrefs over the memory that `@__relax_constants` points to."""

    name: ClassVar[str] = "lower-constants"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        table = functions(module)
        declarations = {
            name: ir.IntegerAttr(op.attributes[CONSTANT]).value
            for name, op in table.items()
            if CONSTANT in op.attributes and is_declaration(op)
        }
        if not declarations:
            return
        size = max(declarations.values()) + 1
        fragment = Fragment()
        fragment.define(
            f"llvm.mlir.global external @{TABLE}() : !llvm.array<{size} x ptr> {{\n"
            f"  %0 = llvm.mlir.zero : !llvm.array<{size} x ptr>\n  llvm.return %0 : !llvm.array<{size} x ptr>\n}}"
        )
        fragment.splice(module)
        for call in _calls(module, declarations):
            _replace(call, declarations[call.callee.value])
        for name in declarations:
            table[name].operation.erase()


def _calls(module: ir.Module, declarations: Container[str]) -> list[func.CallOp]:
    return [op.opview for op in own_ops(module, "func.call") if callee_of(op) in declarations]


def _replace(call: func.CallOp, position: int) -> None:
    """Replace a call by a contiguous memref over entry `position` of the table."""
    type = ir.MemRefType(call.results[0].type)
    pointer = ir.Type.parse("!llvm.ptr")
    with ir.InsertionPoint(call), call.location:
        table = llvm.AddressOfOp(pointer, TABLE).result
        entry = _address(table, position * _POINTER_BYTES)
        data = llvm.LoadOp(pointer, entry).result
        memref = _memref(data, [type.get_dim_size(i) for i in range(type.rank)], type)
    call.results[0].replace_all_uses_with(memref)
    call.operation.erase()


def _address(base: ir.Value, offset: int) -> ir.Value:
    """The address `base` + `offset` bytes."""
    attributes = {
        "rawConstantIndices": ir.DenseI32ArrayAttr.get([offset]),
        "elem_type": ir.TypeAttr.get(ir.IntegerType.get_signless(8)),
    }
    return ir.Operation.create("llvm.getelementptr", results=[base.type], operands=[base], attributes=attributes).result


def _memref(data: ir.Value, sizes: Sequence[int], type: ir.MemRefType) -> ir.Value:
    """A contiguous memref of static sizes over `data`."""
    word = ir.IntegerType.get_signless(64)
    struct = ir.Type.parse(descriptor(len(sizes)))
    value = ir.Operation.create("llvm.mlir.poison", results=[struct]).result

    def put(item: ir.Value | int, *position: int) -> None:
        nonlocal value
        value = ir.Operation.create(
            "llvm.insertvalue",
            results=[struct],
            operands=[value, arith.ConstantOp(word, item).result if isinstance(item, int) else item],
            attributes={"position": ir.DenseI64ArrayAttr.get(list(position))},
        ).result

    put(data, 0)
    put(data, 1)
    put(0, 2)
    stride = 1
    for i in reversed(range(len(sizes))):
        put(sizes[i], 3, i)
        put(stride, 4, i)
        stride *= sizes[i]
    return ir.Operation.create("builtin.unrealized_conversion_cast", results=[type], operands=[value]).result


# `emit-lifecycle`: the functions through which the runtime fills and empties the globals of a module.
#
# - `__relax_constants_address()` returns a pointer to the constant table, or null.
# - `__relax_memory_address()` returns a pointer to the two function pointers {take, give} of the pool.
# - `__relax_threads_address()` returns a pointer to the pointer of the thread pool, or null.
# - `__relax_profile_address()`, in profiled modules, returns a pointer to the pointer to the records.
# - `__relax_release()` drops the cached function handles.


class EmitLifecycle(ModulePass):
    """Emit ``__relax_release`` and the functions that return the addresses of tables."""

    name: ClassVar[str] = "emit-lifecycle"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        globals = {symbol_name(op): op for op in module.body.operations if isinstance(op, llvm.GlobalOp)}
        fragment = Fragment()
        release = Code()
        for name, op in globals.items():
            if CACHED_OBJECT not in op.attributes:
                continue
            _known(fragment, name)
            cache = release.let(f"llvm.mlir.addressof {symbol(name)} : !llvm.ptr")
            held = release.let(f"llvm.atomicrmw xchg {cache}, {release.null()} acq_rel : !llvm.ptr, !llvm.ptr")
            drop = fragment.declare("relax.rt.drop", "(!llvm.ptr) -> ()")
            release.do(f"func.call {drop}({held}) : (!llvm.ptr) -> ()")
        release.do("func.return")
        fragment.function(f"@{RELEASE}()", release)
        tables = [
            (CONSTANTS_ADDRESS, TABLE),
            (MEMORY_ADDRESS, MEMORY_TABLE),
            (THREADS_ADDRESS, THREADS_TABLE),
        ]
        if PROFILE_TABLE in globals:
            tables.append((PROFILE_ADDRESS, PROFILE_TABLE))
        for function, table in tables:
            address = Code()
            if table in globals:
                _known(fragment, table)
                value = address.let(f"llvm.mlir.addressof {symbol(table)} : !llvm.ptr")
            else:
                value = address.null()
            address.do(f"func.return {value} : !llvm.ptr")
            fragment.function(f"@{function}() -> !llvm.ptr", address)
        fragment.splice(module)


def _known(fragment: Fragment, name: str) -> None:
    """Declare a global of the module to the fragment; `splice` keeps the module's own definition."""
    fragment.define(f"llvm.mlir.global external {symbol(name)}() : !llvm.ptr")
