"""What the code of `fast_call` and the runtime agree on: the words of its state, marks of entry points, names."""

from __future__ import annotations

TORCH_FIELDS = (
    *("torch_type", "parameter_type", "tuple_type", "list_type"),
    *("torch_to_dltensor", "torch_from_managed", "clear_error", "allocator"),
    *("impl_offset", "keys_offset", "storage_offset", "start_offset", "bytes_offset"),
    *("plain_keys", "inference_keys"),
    *("gradient_offset", "required_offset", "node_offset", "is_recording"),
)
"""Words of the state: types; functions of torch's DLPack interface, CPython and the FFI; offsets in objects of torch;
the sets of dispatch keys of plain tensors; where the block of facts for gradients is, and the two facts in it; the
function ``torch.is_grad_enabled``."""

KINDS = 10
"""The number of types besides tensors, tuples and lists that are known to hold no torch tensor."""

STATE = "__relax_fast_call_state"

ENTRY, FFI, SLOW, REFUSED = "_entry", "ffi", "_call_any", "_call_refused"
"""Attributes of native functions: the address of the entry point, or of the descriptor of a
function of a virtual machine, plus the bits below; the function of the FFI; a method that takes any arguments; one that
gets what the FFI has raised, and the arguments."""

SHORT_BIT, HANDLE_BIT, MACHINE_BIT = 1, 2, 1 << 62
"""Of functions that are latency-critical; of those that take handles, to which a torch tensor goes as an object; of
those of virtual machines, to which all tensors go as objects."""
SHORT_ELEMENTS = 1024
"""Latency-critical functions keep the GIL where their arguments have fewer elements than that, together."""

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
"""Words of the state: what the code gives (the addresses of its functions), then what it needs; then the dtypes, then
the kinds of arguments (`KINDS`)."""

DTYPES = 24
"""How many of NumPy's type numbers have a dtype (code, bits and lanes of DLPack, 0: none) in the state."""

MAX_ARGUMENTS = 16
MAX_RANK = 32
"""Results of more dimensions become NumPy arrays in Python."""

CARE, NO_CARE, DIRECT, DIRECT_TORCH = range(4)
"""What is found of an argument: it may be, or hold, a torch tensor that needs care; it does not, but goes by the FFI;
it goes to the entry point directly; so does this torch tensor."""

DEPTH = 4
"""How deep tuples and lists are looked into for torch tensors."""

PROBE_FACTOR = 1_000_003
"""The entry point `probe` multiplies what it has by this, and adds the next word: of each argument the kind, and of its
tensor the address, device, rank, dtype and dimensions; of a shape the rank and the dimensions; of a number its bits."""
