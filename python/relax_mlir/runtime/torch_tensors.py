"""Torch tensors as arguments: what DLPack does not say of them is looked at before the FFI takes their memory.

DLPack gives an address, sizes and steps. It knows neither torch's negative and conjugate bits, by which elements count
with another sign than the one in memory, nor how large the storage is, which may have been resized under the tensor.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from relax_mlir.error import ArgumentError, DeviceError

if TYPE_CHECKING:
    import torch


def plain_torch_tensors(name: str, args: tuple[object, ...], inputs: int) -> tuple[object, ...]:
    """The arguments of the function `name`, in which elements of torch tensors are what memory says.

    Arguments with a negative or conjugate bit are replaced by tensors without. Arguments beyond `inputs` are results
    to be written. Raises ArgumentError for a tensor without dense memory of its size, DeviceError for one on "meta".
    """
    if "torch" not in sys.modules:
        return args
    return tuple(_plain(f"{name}: argument {i}", arg, i >= inputs) for i, arg in enumerate(args))


def _plain(role: str, value: object, written: bool) -> object:
    if type(value) in (tuple, list):
        assert isinstance(value, tuple | list)
        items = tuple(_plain(f"{role}[{i}]", item, written) for i, item in enumerate(value))
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if not isinstance(value, sys.modules["torch"].Tensor):
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
    if tensor.is_contiguous():
        need = tensor.storage_offset() * tensor.itemsize + tensor.nbytes
    else:
        reach = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
        need = (tensor.storage_offset() + reach + 1) * tensor.itemsize
    if need > have and tensor.numel():
        raise ArgumentError(
            f"{role} is a torch tensor of shape {tuple(tensor.shape)} that needs {need} bytes, but its storage has "
            f"{have}: it has been resized"
        )
