"""The script names in ``I``: the module decorator, MLIR text, attributes. ``from relax_mlir.script import ir as I``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relax_mlir.script.decorators import ir_module


def mlir(text: str) -> None:
    """Functions as MLIR text, for instance prim funcs, in the body of an `ir_module` class."""


def attribute(text: str) -> str:
    """An MLIR attribute given as text, in `R.func_attr` and `R.op`."""
    return text


def module_attrs(attributes: Mapping[str, Any]) -> None:
    """Attributes of the module, in the body of an `ir_module` class."""


def module_global_infos(infos: Mapping[str, Any]) -> None:
    """TVM's devices of a module; an error in a script, since the CPU is the only device."""


def meta_var(value: Any) -> Any:  # noqa: ANN401 - read, not called
    """``value``. TVM evaluates it at parse time; here every Python number is evaluated then."""
    return value


def vdevice(*arguments: object) -> None:
    """TVM's device; the CPU is the only one here."""


def dummy_global_info() -> None:
    """TVM's empty global info."""


__all__ = [
    "attribute", "dummy_global_info", "ir_module", "meta_var", "mlir", "module_attrs", "module_global_infos",
    "vdevice",
]  # fmt: skip
