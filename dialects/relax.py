"""Where the bindings look for the dialect's Python module: by the dialect's name, under a search prefix.

Without it they search again, in vain, at every op, type and attribute of the dialect.
"""

from relax_mlir.dialects.dialect import Relax

__all__ = ["Relax"]
