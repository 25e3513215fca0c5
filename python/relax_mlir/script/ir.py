"""The names of a script below ``I``: the module itself, and MLIR text. ``from relax_mlir.script import ir as I``."""

from __future__ import annotations

from relax_mlir.script.decorators import ir_module


def mlir(text: str) -> None:
    """Functions written as MLIR text, in the body of a class with `ir_module`; prim funcs for instance."""


def attribute(text: str) -> str:
    """An MLIR attribute as its text, in `R.func_attr` and `R.op`."""
    return text


__all__ = ["attribute", "ir_module", "mlir"]
