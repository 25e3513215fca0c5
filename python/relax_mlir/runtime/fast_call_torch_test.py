"""Self-test of calls by generated code with torch tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.lowering.runtime_lib.fast_call_state import ENTRY, FFI, HANDLE_BIT, SLOW

_WITH_CARE, _WITHOUT = "with care", "without"


def wrong_torch_calls(cls: type, call: Callable[..., Any], probe: int, give: int) -> str | None:
    """Return an error of calls by `call` with torch tensors, as in `fast_call_test.wrong_calls`, or None."""
    import torch

    methods = {"__slots__": (), SLOW: lambda *_: _WITH_CARE}
    functions: list[Any] = [object.__new__(type("Probe", (cls,), methods)) for _ in range(2)]
    for function, bits in zip(functions, (0, HANDLE_BIT), strict=True):
        setattr(function, ENTRY, probe + bits)
        setattr(function, FFI, lambda *_: _WITHOUT)
    direct, by_handle = functions
    for name, tensor in _plain().items():
        found = call(direct, tensor), call(by_handle, tensor), call(direct, (tensor, 3))
        if not all(isinstance(seen, int) for seen in found[:2]) or found[2] != _WITHOUT:
            return f"a tensor of torch ({name}) is taken for one that needs care"
    tensor = _plain()["rank 2"]
    if call(direct, tensor) != call(direct, np.from_dlpack(tensor)):
        return "a tensor of torch is seen otherwise than the array that shares its memory"
    references = sys.getrefcount(tensor)
    if call(by_handle, tensor) != call(direct, tvm_ffi.from_dlpack(tensor)):
        return "a tensor of torch becomes another object than that of the FFI"
    if sys.getrefcount(tensor) != references:
        return "a call changes how often a tensor of torch is referred to"
    for name, tensor in _tracked().items():
        with torch.no_grad():
            unrecorded = call(direct, tensor)
        with torch.inference_mode(False), torch.enable_grad():
            recorded = call(direct, tensor)
        if not isinstance(unrecorded, int) or recorded != _WITH_CARE:
            return f"it is not seen whether torch records what becomes of a tensor ({name})"
    for name, tensor in _others().items():
        for arguments in ((tensor,), (3, (tensor,)), (_plain()["rank 2"], [tensor])):
            if call(direct, *arguments) != _WITH_CARE:
                return f"a tensor of torch ({name}) is taken for a plain one"
    setattr(by_handle, ENTRY, give + HANDLE_BIT)
    for name, tensor in _plain().items():
        found = call(by_handle, tensor)
        if type(found) is not type(tensor.data) or found.data_ptr() != tensor.data_ptr():
            return f"a call gives {type(found).__name__} for a tensor of torch ({name})"
        if (found.shape, found.dtype, found.stride()) != (tensor.shape, tensor.dtype, tensor.stride()):
            return f"a tensor of torch ({name}) that a call gives is another"
        references = sys.getrefcount(tensor)
        del found
        if sys.getrefcount(tensor) != references - 1:
            return f"a tensor of torch ({name}) that a call gives is not given up"
    return None


def _plain() -> dict[str, Any]:
    """Tensors whose memory holds their elements."""
    import torch

    with torch.inference_mode(False):
        base = torch.zeros(4, 6, device="cpu")
        tensors = {
            "rank 2": base,
            "rank 0": torch.zeros((), dtype=torch.int64, device="cpu"),
            "of no elements": torch.zeros(3, 0, device="cpu"),
            "bfloat16": torch.zeros(3, dtype=torch.bfloat16, device="cpu"),
            "complex": torch.zeros(3, dtype=torch.complex64, device="cpu"),
            "the end of another": base[3:],
            "with steps": base.t()[::2],
            "expanded": base[0].expand(5, 6),
        }
    with torch.inference_mode():
        tensors["of inference"] = torch.zeros(3, device="cpu")
    return tensors


def _tracked() -> dict[str, Any]:
    """Tensors that require a gradient."""
    import torch

    with torch.inference_mode(False), torch.enable_grad():
        leaf = torch.zeros(3, device="cpu", requires_grad=True)
        return {
            "leaf": leaf,
            "computed": 2 * leaf,
            "view": leaf[1:],
            "parameter": torch.nn.Parameter(leaf.detach()),
        }


def _others() -> dict[str, Any]:
    """Tensors whose memory differs from their elements (conjugate or negative bit), or that lack dense CPU memory."""
    import torch

    with torch.inference_mode(False):
        numbers = torch.zeros(6, dtype=torch.complex64, device="cpu").conj()
        short, ends = torch.zeros(6, device="cpu"), torch.zeros(4, 6, device="cpu")
        steps = torch.zeros(4, 6, device="cpu").t()
        empty = torch.zeros(3, device="cpu")
        empty.untyped_storage().resize_(0)
        short.untyped_storage().resize_(23)
        ends, whole = ends[3:], ends
        whole.untyped_storage().resize_(95)
        steps.untyped_storage().resize_(95)
        return {
            "with the conjugate bit": numbers,
            "with the negative bit": numbers.imag,
            "of a storage made smaller": short,
            "the end of a storage made smaller": ends,
            "with steps, of a storage made smaller": steps,
            "of a storage made empty": empty,
            "on meta": torch.zeros(3, device="meta"),
            "sparse": torch.zeros(3, device="cpu").to_sparse(),
        }
