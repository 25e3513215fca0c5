"""`cross_build`: code for a machine of another architecture, by the LLVM that comes with ``llvmlite``."""

from __future__ import annotations

from relax_mlir.analysis.well_formed import verify_linkable
from relax_mlir.dialects.constants import require
from relax_mlir.error import expect
from relax_mlir.export.compiled_code import CompiledCode
from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.constants.constant_table import TableEntry, constant_table, table_entries
from relax_mlir.lowering.llvm import cross_compile
from relax_mlir.lowering.llvm.llvm_ir import llvm_ir
from relax_mlir.lowering.pipeline import phases
from relax_mlir.runtime.cache_key import module_constants, source_hash
from relax_mlir.runtime.engine import Interface
from relax_mlir.runtime.run_phase import run_phase
from relax_mlir.target import Target
from relax_mlir.transform import PassContext


def cross_build(mod: IRModule, target: str | Target) -> CompiledCode:
    """Compile a module, which is left as it is, for any machine that has the FFI; here its code is only exported.

    Args:
        mod: what `relax_mlir.build` takes.
        target: for example ``"cpu -mcpu=neoverse-n1"``.

    Returns:
        Code that `relax_mlir.export.export_library` writes.

    Raises:
        UnsupportedError: an op cannot be compiled, or llvmlite is not installed or has no code generator for the
            target. CompileError: llvmlite's LLVM is too old for the code. VerifyError, PassError: as from `build`.
    """
    expect("cross_build: 'mod'", mod, IRModule, "an IRModule (BlockBuilder.get() gives one)")
    expect("cross_build: 'target'", target, str | Target, "a Target or its text")
    target = Target.parse(target)
    require(module_constants(mod.mlir))
    mod.verify()
    verify_linkable(mod.mlir)
    facts = Interface.of_source(mod.mlir, str(target), source_hash(mod.mlir))
    work = mod.clone()
    table: list[TableEntry] = []
    for phase in phases(str(target)):
        run_phase(phase, work, verify_each=True)
        if phase.name == "kernels":
            table = table_entries(work.mlir)
            facts = facts.with_facts_of(work.mlir)
    code = cross_compile.object_file(llvm_ir(work.mlir), target, PassContext.current().opt_level)
    return CompiledCode(facts.with_entries_of(work.mlir), constant_table(table), (code,))
