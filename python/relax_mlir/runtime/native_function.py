"""The base of executable and VM functions: direct calls of native code, with torch tensors as arguments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm_ffi

from relax_mlir.error import ArgumentError, DeviceError
from relax_mlir.ffi import holds_array, needs_help, numpy_results, to_ffi
from relax_mlir.lowering.base.signature import Place
from relax_mlir.runtime import fast_call
from relax_mlir.runtime.packed_functions import live_error

if TYPE_CHECKING:
    import torch


# Torch tensors as arguments: check the properties that DLPack does not carry before the FFI uses their memory.
#
# DLPack carries an address, sizes and strides. It does not carry torch's negative and conjugate bits, which change the
# sign of elements without changing memory, nor the size of the storage, which may have been resized. Accesses through
# memory are also invisible to autograd.


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


# The base of executable and VM functions: direct calls of native code.


class NativeFunction:
    """A native function, called by generated code (`fast_call`) or through the FFI.

    Attributes:
        name: the function's name.
        ffi: the bare `tvm_ffi.Function`.
        inputs: the number of parameters without the outputs at the end.
        written: the parameters that it writes.
    """

    __slots__ = ("_entry", "ffi", "inputs", "name", "written")

    def __init__(
        self, name: str, ffi: tvm_ffi.Function, inputs: int, entry: int, written: tuple[Place, ...] = ()
    ) -> None:
        """`entry`: the address that direct calls use; `ffi` keeps it alive. See `ENTRY`."""
        from relax_mlir.runtime import fast_call

        self.name, self.ffi, self.inputs, self._entry = name, ffi, inputs, entry
        self.written = written
        fast_call.fast_calls()
        cls: type = type(self)
        fast_call.install_subclass(cls)

    def __call__(self, *args: object) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call the function; see the class."""
        return self._call_any(*args)

    def _call_any(self, *args: object) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call through the FFI with any arguments."""
        args = plain_torch_tensors(self.name, args, self.inputs, self.written)
        try:
            result = self.ffi(*args)
            return numpy_results(result) if any(map(holds_array, args)) else result
        except BaseException as error:
            raised = error
        # Outside the handler, so that the error does not become the context of the exception raised below.
        return self._call_refused(raised, *args)

    def _call_refused(self, error: BaseException, *args: object) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call again with converted arguments if the FFI could not convert them; otherwise raise `error`.

        Torch tensors are converted such that memory holds their elements. Exceptions of packed functions are raised
        unchanged.
        """
        live = live_error(error)
        if live is not error:
            self._explain(live, error)
            raise live
        if not isinstance(error, REFUSALS) or not may_convert(error, self.name, args):
            self._explain(error, error)
            raise error
        self._check_written(args)
        try:
            result = self.ffi(*(to_ffi(arg) if needs_help(arg) else arg for arg in args))
            return numpy_results(result) if any(map(holds_array, args)) else result
        except BaseException as another:
            raised = another
        live = live_error(raised)
        self._explain(live, raised)
        raise live

    def _explain(self, raised: BaseException, told: BaseException) -> None:
        """Add notes to an error of a call; `told` is the error that the FFI has raised for it."""

    def _check_written(self, args: tuple[object, ...]) -> None:
        """Raise ArgumentError for a NumPy array that is an output but would be converted to a copy."""
        for place in self.written:
            if place.path[0] < self.inputs:
                self._require_writable(f"parameter '{place.name}'", _at(args, place.path))
        for i, out in enumerate(args[self.inputs :]):
            self._require_writable(f"the given result {i}", out)

    def _require_writable(self, role: str, value: object) -> None:
        if isinstance(value, np.ndarray) and not (value.flags.writeable and value.flags.c_contiguous):
            fault = "read-only" if not value.flags.writeable else "non-contiguous"
            raise ArgumentError(f"{self.name}: {role} is a {fault} array, so it cannot be written to")


def _at(args: object, path: tuple[int, ...]) -> object:
    """Return the argument at a path; None if there is none."""
    for number in path:
        if not isinstance(args, tuple | list) or number >= len(args):
            return None
        args = args[number]
    return args
