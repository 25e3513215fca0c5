"""The dialect's Python module for the bindings, which look for it by the dialect's name under a search prefix.

Without this file they repeat a failing search at every op, type and attribute of the dialect.
"""

from relax_mlir.dialects.dialect import Relax

__all__ = ["Relax"]
