"""The virtual machine: build, verify, print, save, load and run bytecode.

>>> import relax_mlir as rx
>>> ib = rx.vm.ExecBuilder()
"""

from relax_mlir.bytecode.exec_builder import ExecBuilder, UnusedInputWarning
from relax_mlir.bytecode.executable import Executable
from relax_mlir.bytecode.executable_file import load_constants
from relax_mlir.bytecode.instructions import FunctionInfo, Kernels
from relax_mlir.vm.build import build
from relax_mlir.vm.builtins import Allocator, VMState, builtin
from relax_mlir.vm.debugger import Debugger, Stop
from relax_mlir.vm.machine import GO_ON, SKIP, Replace, VirtualMachine, VMFunction, VMProfile

__all__ = [
    "GO_ON", "SKIP", "Allocator", "Debugger", "ExecBuilder", "Executable", "FunctionInfo", "Kernels",
    "Replace", "Stop", "UnusedInputWarning", "VMFunction", "VMProfile", "VMState", "VirtualMachine", "build",
    "builtin", "load_constants",
]  # fmt: skip
