"""Torch tensors as arguments: check the properties that DLPack does not carry before the FFI uses their memory.

DLPack carries an address, sizes and strides. It does not carry torch's negative and conjugate bits, which change the
sign of elements without changing memory, nor the size of the storage, which may have been resized. Accesses through
memory are also invisible to autograd.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.arrays import needs_help
from relax_mlir.error import ArgumentError, DeviceError
from relax_mlir.lowering.base.signature import Place
from relax_mlir.runtime import fast_call

if TYPE_CHECKING:
    import torch


def plain_torch_tensors(
    name: str, args: tuple[object, ...], inputs: int, written: Sequence[Place]
) -> tuple[object, ...]:
    """Return the arguments of the function `name`, with torch tensors whose memory holds their elements.

    Arguments with a negative or conjugate bit are replaced by resolved tensors. Arguments beyond `inputs`, and those in
    `written`, are outputs. Raises ArgumentError for a tensor without dense memory of its size, and for one that
    requires a gradient while torch records gradients; DeviceError for one on "meta".
    """
    for arg in args:
        if not _is_plain(arg):
            results = {place.path[0] for place in written} | {*range(inputs, len(args))}
            return tuple(_plain(f"{name}: argument {i}", arg, i in results) for i, arg in enumerate(args))
    return args


_tensor_types: dict[type, bool] = {}
"""True for torch tensor types; a cache of the types seen so far."""


def _is_tensor_type(kind: type) -> bool:
    found = _tensor_types.get(kind)
    if found is None:
        torch = sys.modules.get("torch")
        found = _tensor_types[kind] = torch is not None and issubclass(kind, torch.Tensor)
    return found


def _is_plain(value: Any) -> bool:  # noqa: ANN401 - any argument
    """True if a value needs no conversion; most calls have checked this in generated code.

    Tensors of other layouts and devices are left to the FFI, which rejects them (see `may_convert`).
    """
    kind = type(value)
    if not (_tensor_types[kind] if kind in _tensor_types else _is_tensor_type(kind)):
        return all(map(_is_plain, value)) if kind is tuple or kind is list else True
    fast_call.install_torch()
    try:
        if value.is_neg() or value.is_conj() or _is_recorded(value):
            return False
        have, need = value.untyped_storage().nbytes(), value.nbytes
        offset = value.storage_offset()
        return bool(value.is_contiguous() and need + (offset and offset * value.itemsize) <= have)
    except RuntimeError:
        return False


def _is_recorded(tensor: torch.Tensor) -> bool:
    """True if torch would record operations on the tensor for a gradient."""
    return bool(tensor.requires_grad and sys.modules["torch"].is_grad_enabled())


REFUSALS = (RuntimeError, BufferError, ArgumentError)
"""The exceptions that the FFI raises for arguments that it cannot convert."""


def may_convert(error: Exception, name: str, args: tuple[object, ...]) -> bool:
    """True if a call that raised one of `REFUSALS` may be repeated with arguments converted by `to_ffi`.

    If the FFI cannot convert an argument, it fails before the function starts. Raises the project's error for torch
    tensors that the FFI rejects.
    """
    if isinstance(error, RuntimeError):
        for i, arg in enumerate(args):
            _plain(f"{name}: argument {i}", arg, False)
        return False
    return any(needs_help(arg) for arg in args)


def _plain(role: str, value: Any, written: bool) -> object:  # noqa: ANN401 - any argument
    if type(value) in (tuple, list):
        items = tuple(_plain(f"{role}[{i}]", item, written) for i, item in enumerate(value))
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if not _is_tensor_type(type(value)):
        return value
    try:
        _check_memory(role, value)
        has_bits = value.is_neg() or value.is_conj()
    except RuntimeError as error:
        reason = str(error).split("\n", 1)[0]
        raise ArgumentError(
            f"{role} is a torch tensor ({value.layout}) whose memory cannot be used: {reason}; "
            "convert it to a dense tensor first"
        ) from error
    if _is_recorded(value):
        raise ArgumentError(
            f"{role} is a torch tensor that requires a gradient, which compiled functions do not compute: call under "
            "torch.no_grad(), or give its detach()"
        )
    if not has_bits:
        return value
    if written:
        raise ArgumentError(
            f"{role} is a torch tensor with the negative or conjugate bit, which cannot be written to; "
            "give a plain one, such as torch.empty makes"
        )
    return value.resolve_conj().resolve_neg()


def _check_memory(role: str, tensor: torch.Tensor) -> None:
    """Raise unless the storage of a tensor contains all of its elements; RuntimeError if it has no such storage."""
    if tensor.is_quantized or tensor.is_nested:
        raise RuntimeError("its elements are quantised" if tensor.is_quantized else "it is nested")
    if tensor.is_meta:
        raise DeviceError(f"{role} is a torch tensor on meta, expected cpu: it has no elements")
    have = tensor.untyped_storage().nbytes()
    reach = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    need = (tensor.storage_offset() + reach + 1) * tensor.itemsize
    if need > have and tensor.numel():
        raise ArgumentError(
            f"{role} is a torch tensor of shape {tuple(tensor.shape)} that needs {need} bytes, but its storage has "
            f"{have}: it has been resized"
        )
