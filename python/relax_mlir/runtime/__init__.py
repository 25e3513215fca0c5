"""Run compiled modules: executables, conversion of arrays, and errors that pass through the TVM FFI unchanged."""

from relax_mlir.ffi import register_errors, to_ffi, to_numpy
from relax_mlir.runtime.executable import CompiledFunction, Executable
from relax_mlir.runtime.fast_call import FastCalls, fast_calls
from relax_mlir.runtime.packed_functions import keep_errors, register_functions

__all__ = ["CompiledFunction", "Executable", "FastCalls", "fast_calls", "keep_errors", "to_ffi", "to_numpy"]

register_errors()
register_functions()
