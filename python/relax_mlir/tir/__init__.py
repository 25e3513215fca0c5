"""Prim funcs written as ``@T.prim_func``: read from their source, lowered to loops on memrefs or to linalg, printed."""

from relax_mlir.symbolic import ceildiv, floordiv, floormod
from relax_mlir.tir.named_symbols import Var, var

__all__ = ["Var", "ceildiv", "floordiv", "floormod", "var"]
