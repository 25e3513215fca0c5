"""TVM Relax rebuilt on MLIR, in Python alone.

The names below are imported when they are first used, so that tools which need few of them start fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relax_mlir.builder import BlockBuilder
    from relax_mlir.dialects.types import Object, Prim, Shape, StructInfo, Tensor, Tuple
    from relax_mlir.dialects.value import Value, Var
    from relax_mlir.ir_module import IRModule

__all__ = [
    "BlockBuilder",
    "IRModule",
    "Object",
    "Prim",
    "Shape",
    "StructInfo",
    "Tensor",
    "Tuple",
    "Value",
    "Var",
]

_HOMES = {
    "BlockBuilder": "builder",
    "IRModule": "ir_module",
    "Value": "dialects.value",
    "Var": "dialects.value",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = importlib.import_module(f"{__name__}.{_HOMES.get(name, 'dialects.types')}")
    globals()[name] = getattr(home, name)
    return globals()[name]
