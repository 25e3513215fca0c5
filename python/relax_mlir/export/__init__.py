"""Programs as files: libraries that run without this project, in Python, C and C++ (see ``docs/deploy.md``)."""

from relax_mlir.export.export_library import export_library
from relax_mlir.export.inspect import LibraryInfo, inspect_library
from relax_mlir.export.linkers import Linker

__all__ = ["LibraryInfo", "Linker", "export_library", "inspect_library"]
