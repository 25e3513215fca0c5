"""Compile a module at level V (func, scf, vector, memref, arith) and call its functions on NumPy arrays.

Only for tests of kernels: calls go through ``ctypes`` and the C interface of the functions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from relax_mlir.capi import library_path
from relax_mlir.lowering.expand import ExpandFloats
from relax_mlir.lowering.llvm.link_kernels import LinkKernels
from relax_mlir.lowering.llvm.to_llvm import BFloat16Bits
from relax_mlir.lowering.loops.parallelize_loops import OutlineParallelLoops
from relax_mlir.mlir import ExecutionEngine, PassManager, ir
from relax_mlir.target import Target
from relax_mlir.transform import PassContext

LOWERING = (
    "convert-linalg-to-loops",
    "fold-memref-alias-ops",
    "expand-strided-metadata",
    "canonicalize",
    "cse",
    "convert-vector-to-scf{full-unroll=true}",
    "lower-affine",
    "convert-scf-to-cf",
    "convert-vector-to-llvm",
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "finalize-memref-to-llvm",
    "convert-to-llvm",
    "canonicalize",
    "cse",
    "reconcile-unrealized-casts",
)


def link(module: ir.Module, target: Target | str) -> ir.Module:
    """Replace the declarations of kernels by their functions; return the module."""
    LinkKernels(str(target)).run(module, PassContext())
    return module


def lower(module: ir.Module, target: str = "cpu") -> None:
    """Bring a module to the LLVM dialect."""
    ExpandFloats(target).run(module, PassContext())
    OutlineParallelLoops("cpu -mcpu=x86-64 -num-threads=2").run(module, PassContext())
    PassManager.parse(f"builtin.module({','.join(LOWERING)})", module.context).run(module.operation)
    BFloat16Bits().run(module, PassContext())


def descriptor(array: np.ndarray) -> ctypes.Structure:
    """The memref descriptor of an array (any dtype, any strides that are multiples of the item size)."""
    rank = array.ndim

    class Descriptor(ctypes.Structure):
        _fields_ = (
            ("allocated", ctypes.c_void_p),
            ("aligned", ctypes.c_void_p),
            ("offset", ctypes.c_longlong),
            ("shape", ctypes.c_longlong * rank),
            ("strides", ctypes.c_longlong * rank),
        )

    strides = [stride // array.itemsize for stride in array.strides]
    counts = ctypes.c_longlong * rank
    data = array.ctypes.data
    return Descriptor(data, data, 0, counts(*array.shape), counts(*strides))


class Compiled:
    """A compiled module; the functions to be called need the attribute ``llvm.emit_c_interface``.

    LLVM does not optimise it (`opt_level` 0), as it does not optimise the output of our generators.
    """

    def __init__(self, module: ir.Module, opt_level: int = 0) -> None:
        lower(module)
        self.engine = ExecutionEngine(module, opt_level=opt_level)
        self.engine.initialize()
        self._library = ctypes.CDLL(str(library_path()))

    def address(self, name: str) -> int:
        """Address of a symbol."""

        class StringRef(ctypes.Structure):
            _fields_ = (("data", ctypes.c_char_p), ("length", ctypes.c_size_t))

        get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
        get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        get_name = ctypes.pythonapi.PyCapsule_GetName
        get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
        look_up = self._library.mlirExecutionEngineLookup
        look_up.restype, look_up.argtypes = ctypes.c_void_p, [ctypes.c_void_p, StringRef]
        capsule = self.engine._CAPIPtr
        encoded = name.encode()
        found = look_up(get_pointer(capsule, get_name(capsule)), StringRef(encoded, len(encoded)))
        if not found:
            raise LookupError(f"no symbol {name!r} in the compiled module")
        return int(found)

    def bind(self, name: str, arguments: Sequence[Any]) -> Callable[[], None]:
        """A call of a function with these arrays, ints and bools, which can be repeated cheaply."""
        prototype, values, kept = [], [], []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                kept.append(descriptor(argument))
                prototype.append(ctypes.c_void_p)
                values.append(ctypes.addressof(kept[-1]))
            else:
                prototype.append(ctypes.c_bool if isinstance(argument, bool) else ctypes.c_longlong)
                values.append(argument)
        function = ctypes.CFUNCTYPE(None, *prototype)(self.address(f"_mlir_ciface_{name}"))

        def call(keep: object = (kept, arguments, self)) -> None:
            function(*values)

        return call

    def __call__(self, name: str, *arguments: np.ndarray | int | bool) -> None:
        self.bind(name, arguments)()
