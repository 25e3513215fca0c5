"""Torch tensors as arguments: what DLPack does not say of them is looked at before the FFI takes their memory.

DLPack gives an address, sizes and steps. It knows neither torch's negative and conjugate bits, by which elements count
with another sign than the one in memory, nor how large the storage is, which may have been resized under the tensor.
Nor does what happens by way of memory become part of a gradient.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.arrays import needs_help
from relax_mlir.error import ArgumentError, DeviceError
from relax_mlir.lowering.abi.signature import Place
from relax_mlir.runtime import fast_call

if TYPE_CHECKING:
    import torch


def plain_torch_tensors(
    name: str, args: tuple[object, ...], inputs: int, written: Sequence[Place]
) -> tuple[object, ...]:
    """The arguments of the function `name`, in which elements of torch tensors are what memory says.

    Arguments with a negative or conjugate bit are replaced by tensors without. Arguments beyond `inputs`, and those at
    places that are `written`, are results to be written. Raises ArgumentError for a tensor without dense memory of its
    size, and for one that requires a gradient while torch records; DeviceError for one on "meta".
    """
    for arg in args:
        if not _is_plain(arg):
            results = {place.path[0] for place in written} | {*range(inputs, len(args))}
            return tuple(_plain(f"{name}: argument {i}", arg, i in results) for i, arg in enumerate(args))
    return args


_tensor_types: dict[type, bool] = {}
"""Whether a type is that of torch tensors, of types seen so far."""


def _is_tensor_type(kind: type) -> bool:
    found = _tensor_types.get(kind)
    if found is None:
        torch = sys.modules.get("torch")
        found = _tensor_types[kind] = torch is not None and issubclass(kind, torch.Tensor)
    return found


def _is_plain(value: Any) -> bool:  # noqa: ANN401 - any argument
    """Whether a look at a value shows that nothing needs to be done; most calls have had it in generated code.

    Tensors of other layouts and devices are left to the FFI, which refuses them (see `may_convert`).
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
    """Whether torch would record for a gradient what becomes of a tensor."""
    return bool(tensor.requires_grad and sys.modules["torch"].is_grad_enabled())


REFUSALS = (RuntimeError, BufferError, ArgumentError)
"""What the FFI raises for arguments that it cannot take."""


def may_convert(error: Exception, name: str, args: tuple[object, ...]) -> bool:
    """Whether a call that has raised one of `REFUSALS` may be made again with what `to_ffi` gives for its arguments.

    The FFI fails before the function has begun, if it is for an argument that it cannot convert. Raises the project's
    error for what it refuses of torch tensors.
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
    """Raise unless the storage of a tensor has all of its elements; RuntimeError where it has no such storage."""
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
