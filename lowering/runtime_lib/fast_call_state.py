"""Constants shared by the code of `fast_call` and the runtime: fields of the state, flags of entry points, names."""

from __future__ import annotations

TORCH_FIELDS = (
    *("torch_type", "parameter_type", "tuple_type", "list_type"),
    *("torch_to_dltensor", "torch_from_managed", "clear_error", "allocator"),
    *("impl_offset", "keys_offset", "storage_offset", "start_offset", "bytes_offset"),
    *("plain_keys", "inference_keys"),
    *("gradient_offset", "required_offset", "node_offset", "is_recording"),
)
"""Fields of the state for torch.

In order: types; functions of torch's DLPack interface, CPython and the FFI; offsets in torch objects; the dispatch key
sets of plain tensors; offsets of the autograd metadata and of two of its fields; ``torch.is_grad_enabled``.
"""

KINDS = 10
"""The number of types besides tensors, tuples and lists that are known to hold no torch tensor."""

STATE = "__relax_fast_call_state"

ENTRY, FFI, SLOW, REFUSED = "_entry", "ffi", "_call_any", "_call_refused"
"""Attributes of native functions.

In order: the address of the entry point or of a virtual machine function's descriptor, plus the flags below; the FFI
function; a method for any arguments; a method that receives an error raised by the FFI, with the arguments.
"""

SHORT_BIT, HANDLE_BIT, MACHINE_BIT = 1, 2, 1 << 62
"""Flags of entry addresses.

In order: latency-critical functions; functions that take handles, for which torch tensors become objects; functions of
virtual machines, for which all tensors become objects.
"""
SHORT_ELEMENTS = 1024
"""Latency-critical functions keep the GIL if their arguments have fewer elements in total."""

FIELDS = (
    *("call", "finish_code", "probe", "give"),
    *("array_type", "tensor_type", "tensor_handle", "none", "finish", "entry_offset"),
    *("tensor_view", "tensor_new", "no_arguments"),
    *("slow_name", "refused_name", "ffi_offset", "machine_entry"),
    *("save_thread", "restore_thread", "call_method", "vectorcall", "from_pointer", "as_pointer"),
    *("array_new", "array_set_base", "numpy_results", "sequence_type"),
    *("increment", "decrement", "fetch_error", "normalize_error", "set_traceback"),
    *("is_initialized", "ensure_gil", "release_gil", "no_memory"),
    *("int_type", "float_type", "bool_type", "shape_type", "true", "int_value", "float_value"),
    *TORCH_FIELDS,
)
"""Fields of the state: function addresses that the code sets, then inputs of the code.

The dtypes follow, then the kinds of arguments (`KINDS`).
"""

DTYPES = 24
"""Number of NumPy type numbers that have a dtype (code, bits and lanes of DLPack, 0: none) in the state."""

MAX_ARGUMENTS = 16
MAX_RANK = 32
"""Results of more dimensions become NumPy arrays in Python code."""

CARE, NO_CARE, DIRECT, DIRECT_TORCH = range(4)
"""Classes of an argument.

In order: it may be or contain a torch tensor that needs care; it does not, but is passed through the FFI; it is passed
to the entry point directly; it is a torch tensor that is passed directly.
"""

DEPTH = 4
"""Maximum depth to which tuples and lists are searched for torch tensors."""

PROBE_FACTOR = 1_000_003
"""Multiplier of the rolling hash that the entry point `probe` computes.

It hashes the kind of each argument; address, device, rank, dtype and dimensions of tensors; rank and dimensions of
shapes; the bits of numbers.
"""
