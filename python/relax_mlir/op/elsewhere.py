"""Ops of TVM's Relax that do not exist here, and their replacements."""

from __future__ import annotations

ELSEWHERE = {
    "builtin.alloc_tensor": "memory.alloc_storage and memory.alloc_tensor make a tensor in explicit memory",
    "builtin.stop_lift_params": "it marks where a pass stops that is not here, so programs leave it out",
    "call_builtin_with_ctx": "the virtual machine gives its builtins, the ops R.vm.…, what they need",
    "call_inplace_packed": "the builder of this name makes a call_packed, which may change its arguments",
    "call_py_func": "the builder of this name makes a call_packed of the registered function",
    "call_tir_with_grad": "gradients of programs are not made here, and call_tir computes the same",
    "memory.ensure_zero_offset": "tensors begin where their memory does, so programs leave it out",
    "null_value": "an argument that is not given is None",
    "wrap_param": "constants and parameters are values as any other, so programs leave it out",
}
"""The advice for an op, by its name in TVM without ``relax.``."""
