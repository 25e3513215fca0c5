"""The code of a module, to look at or to take elsewhere: bytecode, LLVM IR, assembly, object files, for any target.

>>> from relax_mlir.tools import emit_code
>>> print(emit_code.assembly(mod, "cpu -mcpu=neoverse-n1"))

``relax-opt --emit=bytecode|llvm-ir|asm|obj`` does the same. Assembly and objects are made by ``llvmlite`` (the extra
``asm``), whose LLVM may be older than the one that `relax_mlir.build` compiles with. An object's entry points are C
functions ``__tvm_ffi_NAME``; the arrays of its constants are not in it.
"""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.error import expect
from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.legality import violations
from relax_mlir.lowering.llvm import cross_compile
from relax_mlir.lowering.llvm.llvm_ir import llvm_ir as translated
from relax_mlir.lowering.pipeline import pipeline
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from relax_mlir.transform import PassContext
from relax_mlir.transform.info import level


def llvm_ir(mod: IRModule, target: str | Target = "cpu") -> str:
    """The LLVM IR of a module, which is left as it is.

    Args:
        mod: a module at level R0 or R1, which is lowered for the target, or at level L.
        target: the machine, as text or a `Target`.

    Raises:
        UnsupportedError, PassError: the module cannot be lowered. ParseError, UnknownNameError: a bad target.
    """
    expect("llvm_ir: 'mod'", mod, IRModule, "an IRModule (BlockBuilder.get() gives one)")
    expect("llvm_ir: 'target'", target, str | Target, "a Target or its text")
    target = Target.parse(target)
    if any(True for _ in violations(mod.mlir, "llvm")):
        mod = pipeline("relax-to-llvm", str(target))(mod)
    return translated(mod.mlir)


def assembly(mod: IRModule, target: str | Target = "cpu", opt_level: int = 2) -> str:
    """The assembly of a module for a target; arguments and errors are those of `llvm_ir`, and of `object_file`.

    `opt_level`: from 0 to 3, as LLVM's.
    """
    opt_level = level("assembly: 'opt_level'", opt_level)
    return cross_compile.assembly(llvm_ir(mod, target), Target.parse(target), opt_level)


def object_file(mod: IRModule, target: str | Target = "cpu", opt_level: int = 2) -> bytes:
    """The module as a relocatable object (ELF on Linux) of position-independent code.

    Raises:
        UnsupportedError: llvmlite is not installed, or has no code generator for the target.
        CompileError: llvmlite's LLVM is too old for the IR.
    """
    opt_level = level("object_file: 'opt_level'", opt_level)
    return cross_compile.object_file(llvm_ir(mod, target), Target.parse(target), opt_level)


def bytecode(mod: IRModule, target: str | Target = "cpu") -> str:
    """The bytecode of a module of level R0 or R1 as text (see `relax_mlir.vm`); no machine code is made.

    Raises:
        UnsupportedError, PassError: the module cannot be lowered. ParseError, UnknownNameError: a bad target.
    """
    from relax_mlir.vm.build import without_machine_code  # needed for this form only

    expect("bytecode: 'mod'", mod, IRModule, "an IRModule (BlockBuilder.get() gives one)")
    return without_machine_code(mod, Target.parse(target))[0].as_text()


FORMS: dict[str, Callable[[ir.Module, Target], str | bytes]] = {
    "bytecode": lambda module, target: bytecode(IRModule(module), target),
    "llvm-ir": lambda module, target: translated(module),
    "asm": lambda module, target: cross_compile.assembly(
        translated(module), target, PassContext.current().opt_level
    ),
    "obj": lambda module, target: cross_compile.object_file(
        translated(module), target, PassContext.current().opt_level
    ),
}
"""What ``relax-opt --emit`` gives for a module: of level R0 or R1 for bytecode, else of level L."""

__all__ = ["assembly", "bytecode", "llvm_ir", "object_file"]
