"""Arithmetic on scalars by dtype: what bodies of prim funcs are made of, in legalisation and in the script alike."""
