"""Compile LLVM IR to assembly or object files for any target, with the LLVM of ``llvmlite``.

This serves inspection and cross-compilation. Code that `relax_mlir.build` runs is compiled by the LLVM of MLIR's
bindings, which supports only the host and may be newer.
"""

from __future__ import annotations

import functools
from typing import Any

from relax_mlir.error import CompileError, UnsupportedError
from relax_mlir.lowering.llvm.function_cpu import feature_text
from relax_mlir.lowering.llvm.llvm_ir import with_exact_floats
from relax_mlir.target import Target

EXTRA = "asm"
"""The optional dependency that installs ``llvmlite``."""


def assembly(text: str, target: Target, opt_level: int = 2) -> str:
    """Compile the LLVM IR `text` to assembly.

    Raises:
        UnsupportedError: llvmlite is not installed, or does not support the target.
        CompileError: llvmlite's LLVM cannot read the IR.
    """
    machine, module = compiled(text, target, opt_level)
    return str(machine.emit_assembly(module))


def object_file(text: str, target: Target, opt_level: int = 2) -> bytes:
    """Compile the LLVM IR `text` to a relocatable object of position-independent code; raises as `assembly` does."""
    machine, module = compiled(text, target, opt_level)
    return bytes(machine.emit_object(module))


def compiled(text: str, target: Target, opt_level: int) -> tuple[Any, Any]:
    """Return llvmlite's target machine, and its optimised module of the LLVM IR `text`; raises as `assembly` does."""
    binding = _binding()
    if any(name.startswith("amx") for name in target.features):
        opt_level = max(opt_level, 1)  # at 0, LLVM's code generator aborts the process on AMX tiles
    machine = _machine(binding, target, opt_level)
    try:
        module = binding.parse_assembly(with_exact_floats(text))
    except RuntimeError as error:
        version = ".".join(map(str, binding.llvm_version_info))
        raise CompileError(
            f"llvmlite, with LLVM {version}, cannot read the LLVM IR (a newer llvmlite may): {error}"
        ) from None
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    tuning = binding.create_pipeline_tuning_options(speed_level=opt_level)
    tuning.slp_vectorization = False
    builder = binding.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return machine, module


def _machine(binding: Any, target: Target, opt_level: int) -> Any:  # noqa: ANN401 - llvmlite is untyped
    cpu, features = target.cpu, feature_text(target)
    if cpu == "native":
        cpu = binding.get_host_cpu_name()
        features = f"{binding.get_host_cpu_features().flatten()},{features}"
    try:
        found = binding.Target.from_triple(target.triple)
    except RuntimeError as error:
        raise UnsupportedError(f"no machine code for the triple {target.triple!r}: {error}") from None
    return found.create_target_machine(
        cpu=cpu, features=features, opt=opt_level, reloc="pic", codemodel="default"
    )


@functools.cache
def _binding() -> Any:  # noqa: ANN401 - llvmlite is untyped
    try:
        import llvmlite.binding as binding  # optional: only for machine code that does not run in this process
    except ImportError:
        raise UnsupportedError(
            f"assembly and object files are made by llvmlite, which is not installed: "
            f"pip install 'relax-mlir[{EXTRA}]' brings it"
        ) from None
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding
