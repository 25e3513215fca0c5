"""Types of the bindings' pass manager, as far as it is in use. Kept by hand."""

from collections.abc import Callable
from typing import Any, overload

from relax_mlir.mlir import ir

class PassManager:
    def __init__(self, anchor_op: str = "any", context: ir.Context | None = None) -> None: ...
    @staticmethod
    def parse(pipeline: str, context: ir.Context | None = None) -> PassManager:
        """Read a pipeline as text; raises a `ValueError` if it cannot be read."""

    @overload
    def add(self, pipeline: str) -> None: ...
    @overload
    def add(
        self,
        run: Callable[[ir.Operation, Any], None],
        name: str | None = None,
        argument: str | None = "",
        description: str | None = "",
        op_name: str | None = "",
    ) -> None: ...
    def enable_ir_printing(
        self,
        print_before_all: bool = False,
        print_after_all: bool = True,
        print_module_scope: bool = False,
        print_after_change: bool = False,
        print_after_failure: bool = False,
        large_elements_limit: int | None = None,
        large_resource_limit: int | None = None,
        enable_debug_info: bool = False,
        print_generic_op_form: bool = False,
        tree_printing_dir_path: str | None = None,
    ) -> None: ...
    def enable_verifier(self, enable: bool) -> None:
        """Verify after each pass, or not."""

    def run(self, operation: ir._OperationBase) -> None:
        """Run the pipeline on `operation`; raises an `MLIRError` when a pass fails."""

    def __str__(self) -> str:
        """The pipeline as text that `parse` reads."""
