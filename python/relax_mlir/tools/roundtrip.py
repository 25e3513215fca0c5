"""``--verify-roundtrip`` and ``--emit-bytecode``: modules as text and as MLIR's bytecode, and back."""

from __future__ import annotations

import io
from collections.abc import Callable

from relax_mlir.diagnostics import of_error, parse_module
from relax_mlir.error import VerifyError
from relax_mlir.mlir import ir


def bytecode_of(module: ir.Module) -> bytes:
    """A module as MLIR's bytecode."""
    stream = io.BytesIO()
    module.operation.write_bytecode(stream)
    return stream.getvalue()


def verify_roundtrip(module: ir.Module, new_context: Callable[[], ir.Context]) -> None:
    """Check that printing and parsing a module yields the same module, except for locations, which some ops do not
    print.

    Args:
        module: the module.
        new_context: creates a context with the same dialects.

    Raises VerifyError if it differs, as text or as bytecode.
    """
    text = module.operation.get_asm(enable_debug_info=True)
    reference = _generic(module)
    for kind, data in (("textual", text.encode()), ("bytecode", bytecode_of(module))):
        try:
            again = _generic(parse_module(data, new_context()))
        except ir.MLIRError as error:
            message = f"failed to parse {kind} content back, cannot verify round-trip"
            raise VerifyError(message, of_error(error)) from None
        if again != reference:
            raise VerifyError(
                f"{kind} round-trip: the module that is read again differs\n{_difference(reference, again)}"
            )


def _generic(module: ir.Module) -> str:
    text: str = module.operation.get_asm(print_generic_op_form=True)
    return text


def _difference(first: str, second: str) -> str:
    """The first lines that differ."""
    for before, after in zip(first.split("\n"), second.split("\n"), strict=False):
        if before != after:
            return f"  before: {before}\n  after:  {after}"
    return "  one is longer"
