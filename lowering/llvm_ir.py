"""A module of level L as text of LLVM IR, also for LLVM libraries that are older than the one in MLIR's bindings."""

from __future__ import annotations

import ctypes
import functools
import re
import struct

import ml_dtypes
import numpy as np
from relax_mlir.diagnostics import collect
from relax_mlir.error import CompileError, Diagnostic
from relax_mlir.lowering.legality import CheckLegality
from relax_mlir.mlir import capi_library, ir
from relax_mlir.transform import PassContext


def llvm_ir(module: ir.Module) -> str:
    """The LLVM IR of a module, which is left as it is.

    It names no target: data layout and triple are set by whoever makes code of it.

    Raises:
        VerifyError: the module is not at level L (the message names an op that is not).
        CompileError: MLIR cannot translate an op (the diagnostics say which).
    """
    CheckLegality("llvm").run(module, PassContext())
    diagnostics: list[Diagnostic] = []
    with collect(module.context, diagnostics.append):
        address = _library().mlirTranslateModuleToLLVMIRToString(_pointer(module.operation._CAPIPtr))
    if not address:
        raise CompileError("the module cannot be translated to LLVM IR", diagnostics)
    try:
        return ctypes.string_at(address).decode()
    finally:
        _library().LLVMDisposeMessage(address)


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(capi_library()))
    translate, dispose = library.mlirTranslateModuleToLLVMIRToString, library.LLVMDisposeMessage
    translate.restype, translate.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    dispose.restype, dispose.argtypes = None, [ctypes.c_void_p]
    return library


def _pointer(capsule: object) -> int:
    """What a Python capsule of the bindings points to."""
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer(capsule, name(capsule)))


_DTYPES = {"half": np.float16, "bfloat": ml_dtypes.bfloat16, "float": np.float32}
_FLOATS = re.compile(
    r"\b(?P<type>half|bfloat|float|double)\b"
    r"|(?<=[\s(\[])(?:f0x(?P<bits>[0-9A-Fa-f]+)|(?P<number>-?\d+\.\d+(?:e[+-]?\d+)?))(?=[\s,)\]]|$)",
    re.MULTILINE,
)


def with_exact_floats(text: str) -> str:
    """LLVM IR whose float constants are written as every version of LLVM reads them.

    Since LLVM 22 there are constants like ``f0x7F800000``, and decimal ones that are to be rounded to their type.
    Here they become the hexadecimal form, which is exact; those of ``double`` in decimal stay.
    """
    return "\n".join(
        line if ' c"' in line or not re.search(r"\d\.\d|f0x", line) else _exact_line(line)
        for line in text.split("\n")
    )


def _exact_line(line: str) -> str:
    kind = ""

    def exact(match: re.Match[str]) -> str:
        nonlocal kind
        if match["type"]:
            kind = match["type"]
            return kind
        return _literal(kind, match)

    return _FLOATS.sub(exact, line)


def _literal(kind: str, match: re.Match[str]) -> str:
    """A constant of the type that stands last before it in the line."""
    if kind not in _DTYPES:
        return f"0x{match['bits']}" if match["bits"] else match[0]
    dtype = np.dtype(_DTYPES[kind])
    if match["bits"]:
        bits = int(match["bits"], 16)
    else:
        bits = int.from_bytes(dtype.type(float(match["number"])).tobytes(), "little")
    if kind != "float":
        return f"0x{'H' if kind == 'half' else 'R'}{bits:04X}"
    sign, exponent, fraction = bits >> 31, bits >> 23 & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:  # by hand: a conversion would make a signalling NaN quiet
        return f"0x{sign << 63 | 0x7FF << 52 | fraction << 29:016X}"
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
