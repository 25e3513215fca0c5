"""Programs as files: libraries that run without this project, in Python, C and C++ (see ``docs/deploy.md``)."""

from relax_mlir.export.compiled_code import CompiledCode, cross_build
from relax_mlir.export.export_library import Linker, export_library
from relax_mlir.export.metadata import LibraryInfo, inspect_library

__all__ = ["CompiledCode", "LibraryInfo", "Linker", "cross_build", "export_library", "inspect_library"]
