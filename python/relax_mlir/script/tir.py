"""The names of a script below ``T``. Prim funcs are written as MLIR text: see `relax_mlir.script.ir.mlir`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from relax_mlir.error import UnsupportedError


def prim_func(definition: Callable[..., Any] | None = None, **options: object) -> NoReturn:
    """Raises `UnsupportedError`."""
    name = f" of '{definition.__qualname__}'" if definition is not None else ""
    raise UnsupportedError(
        f'@T.prim_func{name} is not supported; write the prim func as MLIR text in I.mlir("""…""")'
    )


__all__ = ["prim_func"]
