"""The virtual machine: bytecode, and what builds, checks, shows and keeps it.

>>> import relax_mlir as rx
>>> ib = rx.vm.ExecBuilder()
"""

from relax_mlir.vm.exec_builder import ExecBuilder, UnusedInputWarning
from relax_mlir.vm.executable import Executable
from relax_mlir.vm.executable_file import load_constants
from relax_mlir.vm.function_info import FunctionInfo, Kernels

__all__ = ["ExecBuilder", "Executable", "FunctionInfo", "Kernels", "UnusedInputWarning", "load_constants"]
