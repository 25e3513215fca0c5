"""Third-party libraries whose packed functions a module calls by name; they are loaded at build time."""

from __future__ import annotations

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.traits import CallsPacked, ListsArguments, ops_with
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir
from relax_mlir.transform import registry


def load_libraries(module: ir.Module) -> None:
    """Load the libraries of this project whose functions `module` calls, which registers them.

    Raises their errors, with the location of a call, if they are not installed.
    """
    loaded: set[str] = set()
    for op in ops_of(module.operation, *ops_with(CallsPacked, ListsArguments)):
        if "func" not in op.attributes:
            continue
        name = ir.StringAttr(op.attributes["func"]).value
        library = registry.library_of(name)
        if library is None or library in loaded:
            continue
        loaded.add(library)
        try:
            found = registry.load_library(library)
            assert found is not None, "the library is one of the table"
            found.load()
        except RelaxError as error:
            error.add_hint(f"'{name}' is called at {location_text(op.location)}")
            raise
