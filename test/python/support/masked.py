"""Build modules for a CPU with fewer features than the host, and run the machine code for that CPU.

With `relax_mlir.build`, generators use another CPU's target, but LLVM compiles for the host. Here llvmlite compiles for
the target, features masked, into an object that this process loads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import relax_mlir as rx
from llvmlite import binding
from machine_text import Assembly
from relax_mlir.lowering.base.constant_table import constant_table, table_entries
from relax_mlir.lowering.llvm.cross_compile import compiled, llvm_ir
from relax_mlir.lowering.llvm.link_kernels import LinkKernels
from relax_mlir.lowering.pipeline import phases
from relax_mlir.runtime.executable import Engine, Executable, Interface
from relax_mlir.runtime.machine_code import ObjectCode
from relax_mlir.target import Target


def built(mod: rx.IRModule, target: Target) -> tuple[Executable, Assembly]:
    """The executable of a module whose code uses the target's features only, and its assembly."""
    load, code = loadable(mod, target)
    return load(), code


def loadable(mod: rx.IRModule, target: Target) -> tuple[Callable[[], Executable], Assembly]:
    """A function that loads a compiled module into this process, again for each call, and the assembly."""
    work, table = mod.clone(), []
    for phase in phases(str(target)):
        work.apply_(phase.as_pass())
        if phase.name == "kernels":
            table = table_entries(work.mlir)
            work.apply_(LinkKernels(str(target)))
    text = llvm_ir(work.mlir)
    machine, module = compiled(text, target, opt_level=1)
    assembly = machine.emit_assembly(module)
    code = assembled(assembly, machine)

    def load() -> Executable:
        return Executable(Engine(ObjectCode([code]), Interface.of(work.mlir), constant_table(table)))

    return load, Assembly(assembly)


def assembled(assembly: str, machine: Any) -> bytes:
    """The object file of assembly, as inline assembly of a module without functions.

    LLVM generates code once, not separately for text and object file; generation takes thirty times as long as this.
    """
    binding.initialize_native_asmparser()
    lines = assembly.replace("\\", r"\5C").replace('"', r"\22").split("\n")
    module = binding.parse_assembly("\n".join(f'module asm "{line}"' for line in lines))
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return bytes(machine.emit_object(module))
