"""Functions of modules in the NumPy interpreter of the fuzzer, as a reference of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest import mock

import difference
import numpy as np
import relax_interpreter
import relax_mlir as rx
import tvm_ffi
from op_semantics import Sizes


def interpreted(module: rx.IRModule, name: str, arguments: Sequence[Any]) -> list[Any]:
    """The result of a function in the NumPy interpreter, which computes in float64."""

    def value(argument: Any) -> Any:
        if isinstance(argument, tvm_ffi.Shape):
            return Sizes(map(int, argument))
        if isinstance(argument, np.ndarray) and argument.dtype.kind not in "iub":
            return argument.astype(np.float64)
        return argument

    with module.context, mock.patch.object(difference, "LARGEST_VALUE", 1 << 24):
        return relax_interpreter.run(module.mlir, name, [value(argument) for argument in arguments])
