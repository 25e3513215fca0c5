"""Users' ops (`torch.library`), imported as packed functions that run the op in PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tvm_ffi

from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor, Tuple
from relax_mlir.dialects.value import Value
from relax_mlir.error import UnsupportedError
from relax_mlir.frontend.torch.program_signature import tensor_info
from relax_mlir.frontend.torch.refused_ops import CHANGES
from relax_mlir.frontend.torch.torch_types import Argument
from relax_mlir.symbolic import Expr

if TYPE_CHECKING:
    from relax_mlir.frontend.torch.op_call import OpCall

PREFIX = "relax_mlir.torch"
"""The prefix of packed function names, as in ``relax_mlir.torch.mylib.scale.0``."""

_OWN = (
    "aten",
    "prims",
    "prim",
    "higher_order",
    "_c10d_functional",
    "c10d",
    "quantized",
    "quantized_decomposed",
)
"""Namespaces of torch itself, whose ops have rules or are unsupported."""
_numbers = itertools.count()


def is_custom(target: Argument) -> bool:
    """True if an op comes from users or from a library other than torch."""
    schema = getattr(target, "_schema", None)
    return schema is not None and schema.name.partition("::")[0] not in _OWN


def call_custom(call: OpCall) -> Value:
    """Call the op in torch, on the memory of the tensors.

    The packed function exists only in this process, so the module can run here but cannot be exported.

    Raises:
        UnsupportedError: the op changes its arguments, or returns something other than tensors.
    """
    target = call.node.target
    schema = target._schema
    if schema.is_mutable:
        raise UnsupportedError(CHANGES)
    fakes = call.results
    if not fakes or not all(hasattr(fake, "shape") for fake in fakes):
        raise UnsupportedError("an op of users that returns something else than tensors")
    template = call.importer.argument([*call.node.args, *call.node.kwargs.values()])
    given: list[Value] = []
    pattern = _pattern(template, given)
    name = f"{PREFIX}.{schema.name.replace('::', '.')}.{next(_numbers)}"
    tvm_ffi.register_global_func(
        name, _function(target, pattern, len(call.node.args), tuple(call.node.kwargs)), override=True
    )
    infos = [_known(tensor_info(fake, call.importer.sizes), call) for fake in fakes]
    return R.call_pure_packed(name, *given, out=infos[0] if len(infos) == 1 else Tuple(infos))


def _known(info: Tensor, call: OpCall) -> Tensor:
    """Return the struct info of a result without dimensions that only the op itself determines."""
    dims = [
        None if isinstance(d, Expr) and any(n.startswith("u") for n in _symbols(d)) else d
        for d in info.shape or ()
    ]
    return Tensor(dims, info.dtype)


def _symbols(dim: Expr) -> Sequence[str]:
    from relax_mlir.symbolic import symbols

    return list(symbols(dim))


class _Given:
    """A placeholder for an argument that the compiled program passes."""


def _pattern(item: Argument, given: list[Value]) -> Argument:
    """Replace tensors and symbolic integers in arguments by `_Given`, and append them to `given`."""
    if isinstance(item, list | tuple):
        return [_pattern(part, given) for part in item]
    if isinstance(item, Expr):
        item = R.prim_value(item)
    if isinstance(item, Value):
        given.append(item)
        return _Given
    return item


def _function(target: Argument, pattern: Argument, count: int, names: Sequence[str]) -> Any:  # noqa: ANN401 - a function
    """Return a packed function that inserts tensors into the pattern and calls the op."""

    def run(*values: Argument) -> Argument:
        import torch

        waiting = iter(values)

        def filled(item: Argument) -> Argument:
            if isinstance(item, list):
                return [filled(part) for part in item]
            if item is not _Given:
                return item
            value = next(waiting)
            return torch.from_dlpack(value) if hasattr(value, "__dlpack__") else value

        items = [filled(item) for item in pattern]
        with torch.no_grad():
            found = target(*items[:count], **dict(zip(names, items[count:], strict=True)))
        if isinstance(found, tuple | list):
            return tuple(tvm_ffi.from_dlpack(tensor.contiguous()) for tensor in found)
        return tvm_ffi.from_dlpack(found.contiguous())

    return run
