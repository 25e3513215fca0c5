"""The names of a script below ``I``: the module itself, and MLIR text. ``from relax_mlir.script import ir as I``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relax_mlir.script.decorators import ir_module


def mlir(text: str) -> None:
    """Functions written as MLIR text, in the body of a class with `ir_module`; prim funcs for instance."""


def attribute(text: str) -> str:
    """An MLIR attribute as its text, in `R.func_attr` and `R.op`."""
    return text


def module_attrs(attributes: Mapping[str, Any]) -> None:
    """Attributes of the module, in the body of a class with `ir_module`; the module keeps them."""


def module_global_infos(infos: Mapping[str, Any]) -> None:
    """TVM's devices of a module: a mistake of the script, since there is one device."""


def meta_var(value: Any) -> Any:  # noqa: ANN401 - read, not called
    """``value``, which TVM computes while it reads a script, as is done here with all numbers."""
    return value


def vdevice(*arguments: object) -> None:
    """TVM's name of a device; there is one here, the CPU."""


def dummy_global_info() -> None:
    """TVM's global info without a meaning."""


__all__ = [
    "attribute",
    "dummy_global_info",
    "ir_module",
    "mlir",
    "module_attrs",
    "module_global_infos",
    "vdevice",
]
