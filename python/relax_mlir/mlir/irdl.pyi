"""Types of the bindings of `irdl` in use. Made by `relax_mlir.mlir.generate_stubs`."""

from typing import Any

load_dialects: Any
