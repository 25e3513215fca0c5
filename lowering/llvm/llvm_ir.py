"""A module of level L as LLVM IR text, which LLVM versions older than that of MLIR's bindings can also read."""

from __future__ import annotations

import ctypes
import re
import struct

import ml_dtypes
import numpy as np
from relax_mlir import capi
from relax_mlir.diagnostics import collect
from relax_mlir.error import CompileError, Diagnostic
from relax_mlir.lowering.legality import CheckLegality
from relax_mlir.mlir import ir
from relax_mlir.transform import PassContext


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
