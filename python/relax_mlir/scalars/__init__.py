"""Scalar arithmetic by dtype, for the bodies of prim funcs in legalization and in the script."""
