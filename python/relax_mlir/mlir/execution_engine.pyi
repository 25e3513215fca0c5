"""Types of the bindings' execution engine, as far as it is in use. Kept by hand."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.mlir import ir

class ExecutionEngine:
    def __init__(self, module: ir.Module, opt_level: int = 2, shared_libs: Sequence[str] = ...) -> None: ...
    def initialize(self) -> None: ...
    def invoke(self, name: str, *ctypes_args: Any) -> None:
        """Call a function with pointers to its arguments."""

    def raw_lookup(self, func_name: str) -> int:
        """Address of a function's packed wrapper; 0 if there is none."""

    def dump_to_object_file(self, file_name: str) -> None: ...
    @property
    def _CAPIPtr(self) -> object: ...
