"""Constants of a module in script form: small ones as literals, large ones by name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from relax_mlir.dialects.constants import broadcast_splat, resource_name, to_numpy
from relax_mlir.dialects.types import Tensor, struct_info
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir

INLINE_ELEMENTS = 16
"""Constants of at most this many elements are literals; larger ones are referenced by name."""
CONSTANT = "relax.constant"


def script_constants(module: ir.Module) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays that the script form of `module` names: what `parse` takes as `constants`.

    A ``dense`` splat is a read-only broadcast scalar, which takes the memory of one element.
    """
    with module.context:
        return {name: _elements(op.attributes["value"]) for op, name in _named(module)}


def _elements(attribute: ir.Attribute) -> np.ndarray[Any, Any]:
    splat = broadcast_splat(attribute)
    return to_numpy(attribute) if splat is None else splat


def constant_names(module: ir.Module) -> dict[ir.Operation, str]:
    """The names of the constants that are too large for a literal."""
    return dict(_named(module))


def _named(module: ir.Module) -> Iterator[tuple[ir.Operation, str]]:
    taken = {
        resource_name(op.attributes["value"]) for op in ops_of(module.operation, CONSTANT) if _is_resource(op)
    }
    count = 0
    for op in ops_of(module.operation, CONSTANT):
        if literal(op.attributes["value"]) is not None:
            continue
        if _is_resource(op):
            yield op, resource_name(op.attributes["value"])
            continue
        while f"constant_{count}" in taken:
            count += 1
        taken.add(f"constant_{count}")
        yield op, f"constant_{count}"


def _is_resource(op: ir.Operation) -> bool:
    return not isinstance(op.attributes["value"], ir.DenseElementsAttr)


def literal(value: ir.Attribute) -> str | None:
    """Write a constant as ``R.const(...)``; None if it is too large or a literal would lose information."""
    info = struct_info(value.type)
    assert isinstance(info, Tensor) and info.shape is not None and info.dtype is not None
    if math.prod(d for d in info.shape if isinstance(d, int)) > INLINE_ELEMENTS:
        return None
    array = to_numpy(value)
    listed = array.tolist()
    again = np.array(listed, dtype=info.dtype.numpy)
    if again.shape != array.shape or again.tobytes() != array.tobytes():
        return None
    return f'R.const({number_text(listed)}, "{info.dtype}")'


def number_text(item: Any) -> str:  # noqa: ANN401 - numbers in lists
    """Write numbers, in nested lists, as Python text. Infinities and NaN have no literal."""
    if isinstance(item, list):
        return f"[{', '.join(map(number_text, item))}]"
    if isinstance(item, float) and not math.isfinite(item):
        return f'float("{item}")'
    return repr(item)
