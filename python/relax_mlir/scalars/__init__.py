"""Scalar arithmetic by dtype, for the bodies of prim funcs in legalisation and in the script."""
