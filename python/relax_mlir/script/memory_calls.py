"""Ops on explicit memory in a script, with this project's argument order or TVM's.

- ``R.memory.alloc_storage(size, virtual_device_index, storage_scope, dtype)`` and
  ``R.vm.alloc_storage(size, runtime_device_index, dtype, storage_scope)`` are ``(size, device, storage_scope, dtype)``;
- ``R.memory.alloc_tensor(storage, offset, shape, dtype)`` and ``R.vm.alloc_tensor`` are
  ``(storage, shape, offset, dtype)``;
- ``R.builtin.alloc_tensor(shape, dtype, runtime_device_index, storage_scope)`` is a storage, and the tensor in it;
- ``R.memory.ensure_zero_offset(x)`` is ``x``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from relax_mlir import op
from relax_mlir.dialects import memory
from relax_mlir.dialects.dtypes import DTYPES
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.script.call_arguments import literal_text, named_arguments
from relax_mlir.script.dimensions import read_dims
from relax_mlir.script.source import Problem

if TYPE_CHECKING:
    from relax_mlir.script.calls import Calls
    from relax_mlir.script.expressions import Expressions

STORAGE = ("size", "device", "storage_scope", "dtype")
TENSOR = ("storage", "shape", "offset", "dtype", "device")
DEVICE = dict.fromkeys(("virtual_device_index", "runtime_device_index"), "device")
"""TVM's names of the device index."""


def alloc_storage(family: str) -> Callable[..., Value]:
    """The reader of ``R.memory.alloc_storage`` and ``R.vm.alloc_storage``."""
    builder: Callable[..., Value] = getattr(op, family).alloc_storage

    def read(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
        names = STORAGE
        if len(node.args) > 2 and _is_dtype(expressions, node.args[2]):
            names = ("size", "device", "dtype", "storage_scope")
        parts = named_arguments(node, names, 1, DEVICE)
        shape = _shape(expressions, parts.pop("size"))
        readers = {"device": _number}
        given = {n: readers.get(n, _evaluated)(expressions, part) for n, part in parts.items()}
        return expressions.apply(node, builder, shape, **given)

    return read


def alloc_tensor(family: str) -> Callable[..., Value]:
    """The reader of ``R.memory.alloc_tensor`` and ``R.vm.alloc_tensor``."""
    builder: Callable[..., Value] = getattr(op, family).alloc_tensor

    def read(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
        offset_first = len(node.args) > 1 and _is_number(expressions, node.args[1])
        names = ("storage", "offset", "shape", "dtype", "device") if offset_first else TENSOR
        parts = named_arguments(node, names, 2, DEVICE)
        if "shape" not in parts:
            raise Problem(node, "alloc_tensor: argument 'shape' is missing", "ArgumentError")
        storage, shape = expressions.value(parts["storage"]), _shape(expressions, parts["shape"])
        given: dict[str, Any] = {}
        if "offset" in parts:
            given["offset"] = _number(expressions, parts["offset"])
        if "dtype" in parts:
            given["dtype"] = expressions.evaluate(parts["dtype"])
        if "device" in parts and _number(expressions, parts["device"]) != 0:
            raise Problem(parts["device"], "a tensor lies on the device of its storage", "ArgumentError")
        return expressions.apply(node, builder, storage, shape, **given)

    return read


def builtin_alloc_tensor(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.builtin.alloc_tensor(shape, dtype, 0)``: a storage and a tensor in it."""
    parts = named_arguments(node, ("shape", "dtype", "device", "storage_scope"), 2, DEVICE)
    dims = read_dims(parts["shape"], expressions.scope)
    dtype = expressions.evaluate(parts["dtype"])
    device = _number(expressions, parts["device"]) if "device" in parts else 0
    scope = expressions.evaluate(parts["storage_scope"]) if "storage_scope" in parts else "global"

    def build() -> Value:
        size = memory.bytes_of(Tensor(dims, dtype))
        storage = memory.alloc_storage((size,), device, scope, dtype)
        return memory.alloc_tensor(storage, dims, 0, dtype)

    return expressions.apply(node, build)


def ensure_zero_offset(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.memory.ensure_zero_offset(x)`` is ``x``: a tensor starts at its data pointer."""
    return expressions.value(named_arguments(node, ("x",), 1)["x"])


def text(calls: Calls, expressions: Expressions, node: ast.Call) -> str:
    """Return the string of ``R.str("text")`` or ``R.dtype("float32")``."""
    return literal_text(named_arguments(node, ("value",), 1)["value"])


def _shape(expressions: Expressions, node: ast.expr) -> Any:  # noqa: ANN401 - a value, or dimensions
    found = expressions.evaluate(node)
    return found if isinstance(found, Value) else read_dims(node, expressions.scope)


def _is_dtype(expressions: Expressions, node: ast.expr) -> bool:
    return (isinstance(node, ast.Constant) and node.value in DTYPES) or _is_call(expressions, node, "dtype")


def _is_number(expressions: Expressions, node: ast.expr) -> bool:
    return (isinstance(node, ast.Constant) and isinstance(node.value, int)) or _is_call(
        expressions, node, "prim_value"
    )


def _number(expressions: Expressions, node: ast.expr) -> Any:  # noqa: ANN401 - checked by the builder
    """Read an integer, which may be written as ``R.prim_value(0)``."""
    if _is_call(expressions, node, "prim_value"):
        assert isinstance(node, ast.Call)
        node = named_arguments(node, ("value",), 1)["value"]
    return expressions.evaluate(node)


def _evaluated(expressions: Expressions, node: ast.expr) -> Any:  # noqa: ANN401 - checked by the builder
    return expressions.evaluate(node)


def _is_call(expressions: Expressions, node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and expressions.scope.path(node.func) == ("R", name)


READERS: dict[str, Callable[..., Any]] = {
    "memory.alloc_storage": alloc_storage("memory"),
    "memory.alloc_tensor": alloc_tensor("memory"),
    "memory.ensure_zero_offset": ensure_zero_offset,
    "vm.alloc_storage": alloc_storage("vm"),
    "vm.alloc_tensor": alloc_tensor("vm"),
    "builtin.alloc_tensor": builtin_alloc_tensor,
    "str": text,
    "dtype": text,
}
"""The calls that this module reads."""
