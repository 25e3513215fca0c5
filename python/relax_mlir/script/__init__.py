"""The script form of Relax modules: Python source that `parse` reads and the printer emits.

>>> from relax_mlir.script import ir as I, ir_module, relax as R
"""

from relax_mlir.script import ir, relax, tir
from relax_mlir.script.decorators import ir_module
from relax_mlir.script.parser import parse
from relax_mlir.script.printer import script, script_constants

tirx = tir
"""A later name of `tir` in TVM."""
ty = tir
"""An older name of `tir`, as in ``a: ty.handle``."""

__all__ = ["ir", "ir_module", "parse", "relax", "script", "script_constants", "tir", "tirx", "ty"]
