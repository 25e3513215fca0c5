"""Compile functions on memrefs and call them with NumPy arrays: what the tests of kernels stand on."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from relax_mlir.mlir import ExecutionEngine, PassManager, capi_library, ir

Engine: TypeAlias = Any
Module: TypeAlias = Any

TO_LLVM = (
    "fold-memref-alias-ops",
    "expand-strided-metadata",
    "canonicalize",
    "cse",
    "convert-vector-to-scf{full-unroll=true}",
    "lower-affine",
    "convert-scf-to-cf",
    "convert-vector-to-llvm",
    "convert-math-to-llvm{approximate-log1p=false}",
    "convert-math-to-libm",
    "finalize-memref-to-llvm",
    "convert-to-llvm",
    "canonicalize",
    "cse",
    "reconcile-unrealized-casts",
)


class _StringRef(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("length", ctypes.c_size_t)]


def _lookup(engine: Engine, name: str) -> int:
    library = ctypes.CDLL(str(capi_library()))
    library.mlirExecutionEngineLookup.restype = ctypes.c_void_p
    library.mlirExecutionEngineLookup.argtypes = [ctypes.c_void_p, _StringRef]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule_name = ctypes.pythonapi.PyCapsule_GetName
    capsule_name.restype, capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    capsule = engine._CAPIPtr
    raw = name.encode()
    address = library.mlirExecutionEngineLookup(
        pointer(capsule, capsule_name(capsule)), _StringRef(raw, len(raw))
    )
    assert address, name
    return int(address)


def descriptor(array: np.ndarray) -> ctypes.Array[ctypes.c_int64]:
    """The memref descriptor of an array (any rank and strides)."""
    rank = array.ndim
    words = [array.ctypes.data, array.ctypes.data, 0, *array.shape]
    words += [stride // array.itemsize for stride in array.strides] if array.size else [1] * rank
    return (ctypes.c_int64 * len(words))(*words)


class Compiled:
    """The functions of a module at level V, compiled."""

    def __init__(self, module: Module, opt_level: int = 2, passes: Sequence[str] = TO_LLVM) -> None:
        for op in module.body.operations:
            if op.operation.name == "func.func":
                op.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get(module.context)
        pipeline = f"builtin.module({','.join(passes)})"
        PassManager.parse(pipeline, module.context).run(module.operation)
        self.engine = ExecutionEngine(module, opt_level=opt_level)
        self.engine.initialize()

    def bind(self, name: str, *arrays: np.ndarray) -> Callable[[], None]:
        """A call of the function with these arrays."""
        address = _lookup(self.engine, "_mlir_ciface_" + name)
        function = ctypes.CFUNCTYPE(None, *([ctypes.c_void_p] * len(arrays)))(address)
        descriptors = [descriptor(a) for a in arrays]
        pointers = [ctypes.cast(d, ctypes.c_void_p) for d in descriptors]

        def call(keep: object = (self, arrays, descriptors)) -> None:
            function(*pointers)

        return call

    def __call__(self, name: str, *arrays: np.ndarray) -> None:
        self.bind(name, *arrays)()
