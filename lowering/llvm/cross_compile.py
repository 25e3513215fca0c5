"""A module of level L as LLVM IR text, and as assembly or object files for any target."""

from __future__ import annotations

import ctypes
import functools
import re
import struct
from typing import Any

import ml_dtypes
import numpy as np
from relax_mlir import capi
from relax_mlir.diagnostics import collect
from relax_mlir.error import CompileError, Diagnostic, UnsupportedError
from relax_mlir.lowering.base.module_parts import feature_text
from relax_mlir.lowering.legality import CheckLegality
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from relax_mlir.transform import PassContext

# A module of level L as LLVM IR text, which LLVM versions older than that of MLIR's bindings can also read.


def llvm_ir(module: ir.Module) -> str:
    """The LLVM IR of a module, which is not modified.

    It names no target: the code generator sets data layout and triple.

    Raises:
        VerifyError: the module is not at level L (the message names an op that is not allowed).
        CompileError: MLIR cannot translate an op (the diagnostics name it).
    """
    CheckLegality("llvm").run(module, PassContext())
    diagnostics: list[Diagnostic] = []
    with collect(module.context, diagnostics.append):
        address = capi.library().mlirTranslateModuleToLLVMIRToString(capi.pointer(module.operation))
    if not address:
        raise CompileError("the module cannot be translated to LLVM IR", diagnostics)
    try:
        return ctypes.string_at(address).decode()
    finally:
        capi.library().LLVMDisposeMessage(address)


_FRACTION_BITS = {"half": 10, "bfloat": 7, "float": 23, "double": 52}
_DTYPES = {"half": np.float16, "bfloat": ml_dtypes.bfloat16, "float": np.float32, "double": np.float64}
_FLOATS = re.compile(
    r'(?P<string>"[^"]*")'
    r"|\b(?P<type>half|bfloat|float|double)\b"
    r"|(?<=[\s(\[])(?:"
    r"f0x(?P<bits>[0-9A-Fa-f]+)"
    r"|(?P<sign>[+-])(?:(?P<inf>inf)|(?P<kind>q|s|)nan(?:\(0x(?P<payload>[0-9A-Fa-f]+)\))?)"
    r"|(?P<number>-?\d+\.\d+(?:e[+-]?\d+)?)"
    r")(?=[\s,)\]>]|$)"
)
_SOME_FLOAT = re.compile(r"\d\.\d|f0x|[+-](?:inf|[qs]?nan)")


def with_exact_floats(text: str) -> str:
    """Rewrite the float constants of LLVM IR in a form that every version of LLVM reads.

    Since LLVM 22 there are constants like ``f0x7F800000``, ``+inf`` and ``+nan(0x1)``, and decimal ones that must be
    rounded to their type. They become the hexadecimal form, which is exact; decimal constants of type ``double`` stay.
    """
    return "\n".join(_exact_line(line) if _SOME_FLOAT.search(line) else line for line in text.split("\n"))


def _exact_line(line: str) -> str:
    kind = "double"

    def exact(match: re.Match[str]) -> str:
        nonlocal kind
        if match["string"]:
            return match["string"]
        if match["type"]:
            kind = match["type"]
            return kind
        if kind == "double" and match["number"]:
            return match[0]
        return _hexadecimal(kind, _bits(kind, match))

    return _FLOATS.sub(exact, line)


def _bits(kind: str, match: re.Match[str]) -> int:
    """The bits of a constant; its type is the last one before it in the line."""
    if match["bits"]:
        return int(match["bits"], 16)
    dtype = np.dtype(_DTYPES[kind])
    if match["number"]:
        return int.from_bytes(dtype.type(float(match["number"])).tobytes(), "little")
    width, fraction = 8 * dtype.itemsize, _FRACTION_BITS[kind]
    exponent = (1 << width - 1) - (1 << fraction)
    quiet = 0 if match["inf"] or match["kind"] == "s" else 1 << fraction - 1
    sign = int(match["sign"] == "-") << width - 1
    bits: int = sign | exponent | quiet | int(match["payload"] or "0", 16)
    return bits


def _hexadecimal(kind: str, bits: int) -> str:
    if kind == "double":
        return f"0x{bits:016X}"
    if kind != "float":
        return f"0x{'H' if kind == 'half' else 'R'}{bits:04X}"
    sign, exponent, fraction = bits >> 31, bits >> 23 & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:  # without a float conversion, which would make a signalling NaN quiet
        return f"0x{sign << 63 | 0x7FF << 52 | fraction << 29:016X}"
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


# Compile LLVM IR to assembly or object files for any target, with the LLVM of ``llvmlite``.
#
# This serves inspection and cross-compilation. Code that `relax_mlir.build` runs is compiled by the LLVM of MLIR's
# bindings, which supports only the host and may be newer.


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
    return found.create_target_machine(cpu=cpu, features=features, opt=opt_level, reloc="pic", codemodel="default")


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
