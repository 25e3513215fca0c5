"""Types of the bindings of `irdl` in use. Made by `relax_mlir.mlir.generate_stubs`."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.mlir import ir

def any(
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...

load_dialects: Any
