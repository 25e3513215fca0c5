"""The modules of this project that determine the code of a compilation unit: its cache key depends on their sources."""

from __future__ import annotations

MAKERS = (
    "relax_mlir.capi",
    "relax_mlir.mlir_text",
    "relax_mlir.lowering.base.errors",
    "relax_mlir.lowering.base.module_parts",
    "relax_mlir.lowering.checks.lower_checks",
    "relax_mlir.lowering.llvm.to_llvm",
    "relax_mlir.runtime.compile_parts",
    "relax_mlir.runtime.elf_object",
    "relax_mlir.runtime.elf_tables",
    "relax_mlir.runtime.llvm_codegen",
    "relax_mlir.runtime.machine_code",
    "relax_mlir.runtime.part_lowering",
    "relax_mlir.runtime.process_code",
    "relax_mlir.runtime.process_codegen",
    "relax_mlir.spare_context",
    "relax_mlir.transform.info",
    "relax_mlir.transform.pipeline_parser",
    "relax_mlir.transform.upstream",
)
"""The modules that generate code from MLIR text, and load it.

The key covers only these: reading the state of all sources would take ten times as long, and would take the GIL as
often from the thread that lowers the first module.
"""

PART_PACKAGES = (
    "relax_mlir.lowering.base",
    "relax_mlir.lowering.checks",
    "relax_mlir.lowering.entry",
    "relax_mlir.lowering.llvm",
    "relax_mlir.lowering.runtime_lib",
    "relax_mlir.runtime",
    "relax_mlir.transform",
)
"""The packages that generate code of compilation units; the checks in units raise errors at level V."""

PART_MAKERS = (
    "relax_mlir.capi",
    "relax_mlir.dialects.attributes",
    "relax_mlir.dialects.constants",
    "relax_mlir.dialects.dtypes",
    "relax_mlir.error",
    "relax_mlir.ir_queries",
    "relax_mlir.mlir_text",
    "relax_mlir.spare_context",
)
"""Modules of other packages that also determine the code of compilation units."""
