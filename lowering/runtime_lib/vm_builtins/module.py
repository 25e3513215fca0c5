"""The module of all builtins of the virtual machine."""

from __future__ import annotations

import functools

from relax_mlir.lowering.abi.signature import ENTRY_PREFIX
from relax_mlir.lowering.abi.unpack import ARRAY, DL, OBJECT_BYTES, SHAPE, TENSOR
from relax_mlir.lowering.runtime_lib.mlir_templates import fill_template
from relax_mlir.lowering.runtime_lib.pool import HEAD_BYTES, PAGE_BYTES, PAGED_BYTES
from relax_mlir.lowering.runtime_lib.set_error import set_error_text
from relax_mlir.lowering.runtime_lib.support import MEMORY_TABLE, support_text
from relax_mlir.lowering.runtime_lib.vm_builtins.arguments import Builtins, BuiltinWriter
from relax_mlir.lowering.runtime_lib.vm_builtins.containers import CALL_BYTES, CONTAINERS, CONTAINERS_CALL
from relax_mlir.lowering.runtime_lib.vm_builtins.host_arithmetic import SCALARS
from relax_mlir.lowering.runtime_lib.vm_builtins.shape_heap import SHAPE_HEAP
from relax_mlir.lowering.runtime_lib.vm_builtins.storages import MEMORY
from relax_mlir.lowering.runtime_lib.vm_builtins.value_checks import CHECKS
from relax_mlir.lowering.runtime_lib.vm_core import stack_text
from relax_mlir.mlir_text import Fragment, symbol, symbols_in

MEMORY_ADDRESS = "__relax_vm_memory"
"""The function that returns the address of the module's pointers to the pool."""

BUILTINS: Builtins = {**MEMORY, **SHAPE_HEAP, **CHECKS, **CONTAINERS, **SCALARS}
"""Maps a name in the FFI's registry to its emitter."""

ENTRIES = {name: ENTRY_PREFIX + name for name in BUILTINS}
"""The function of the module for each builtin."""


@functools.cache
def builtins_text() -> str:
    """The module, as MLIR text of level V with checks."""
    fragment = Fragment()
    for name, write in BUILTINS.items():
        writer = BuiltinWriter(name, fragment)
        write(writer)
        parameters = "%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr"
        fragment.function(f"{symbol(ENTRIES[name])}({parameters})", writer.code)
    fragment.define(
        f"func.func @{MEMORY_ADDRESS}() -> !llvm.ptr {{\n"
        "  llvm.call @relax.vm.watch_stacks() : () -> ()\n  llvm.call @relax.vm.watch_discards() : () -> ()\n"
        f"  %0 = llvm.mlir.addressof @{MEMORY_TABLE} : !llvm.ptr\n  return %0 : !llvm.ptr\n}}"
    )
    for declaration in CONTAINERS_CALL:
        fragment.external(declaration)
    known = "\n".join(
        [support_text(), stack_text(), flaw_text(), objects_text(), discard_text(), closures_text()]
    )
    return "\n".join([known, fragment.text(known=symbols_in(known))])


def objects_text() -> str:
    """The functions that create objects; offsets count from the start of an object."""
    dl_tensor = OBJECT_BYTES + DL.BYTES
    return fill_template(
        "vm_objects",
        MEMORY_TABLE=MEMORY_TABLE,
        PAGE_BYTES=PAGE_BYTES,
        PAGED_BYTES=PAGED_BYTES,
        SHAPE=SHAPE,
        SOURCE=dl_tensor,
        TENSOR=TENSOR,
        TENSOR_SLACK=HEAD_BYTES + dl_tensor + 63,
        TENSOR_TABLES=dl_tensor,
        VIEW_HEAD=HEAD_BYTES + dl_tensor + 8,
        VIEW_TABLES=dl_tensor + 8,
    )


def flaw_text() -> str:
    """The function that describes what is wrong with a tensor."""
    return fill_template("tensor_flaw", NDIM=DL.NDIM, SHAPE_AT=DL.SHAPE)


def discard_text() -> str:
    """The functions that create tuples and destroy tuples and closures."""
    cell = 32
    return fill_template(
        "vm_discard",
        ARRAY=ARRAY,
        TUPLE_BYTES=OBJECT_BYTES + cell,
        TUPLE_HEAD=HEAD_BYTES + OBJECT_BYTES + cell,
    )


def closures_text() -> str:
    """The functions that create and run closures."""
    set_error = set_error_text("llvm.func internal @relax.vm.set_error", "llvm.return")
    return fill_template("vm_closures", CALL_BYTES=CALL_BYTES, set_error=set_error)
