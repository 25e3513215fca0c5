"""Prim funcs written as ``@T.prim_func``: read from their source, lowered to loops on memrefs or to linalg, printed."""
