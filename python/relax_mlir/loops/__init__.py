"""Loops on buffers, built in Python: typed scalars, buffers, and the builder that emits them."""
