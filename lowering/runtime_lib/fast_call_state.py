"""What the parts of `fast_call` share: the words of its state, the marks of entry points, the names of methods, and how
fields of structures are read and written, as MLIR text.
"""

from __future__ import annotations

TORCH_FIELDS = (
    *("torch_type", "parameter_type", "tuple_type", "list_type"),
    *("torch_to_dltensor", "clear_error", "allocator"),
    *("impl_offset", "keys_offset", "storage_offset", "start_offset", "bytes_offset"),
    *("plain_keys", "inference_keys"),
)
"""Words of the state: types; functions of torch's DLPack interface, CPython and the FFI; offsets in objects of torch;
the sets of dispatch keys of plain tensors."""

KINDS = 10
"""The number of types besides tensors, tuples and lists that are known to hold no torch tensor."""

STATE = "__relax_fast_call_state"

ENTRY, SLOW, PLAIN = "_entry", "_call_any", "_call_plain"
"""Attributes of compiled functions: the address of the packed interface of the entry point, plus `SHORT_BIT` and
`HANDLE_BIT`; a method that takes any arguments; one for arguments among which no torch tensor needs care."""

SHORT_BIT, HANDLE_BIT = 1, 2
"""Of functions that are latency-critical; of those that take handles, to which a torch tensor goes as an object."""
SHORT_ELEMENTS = 1024
"""Latency-critical functions keep the GIL where their arguments have fewer elements than that, together."""

FIELDS = (
    *("call", "finish_code", "probe"),
    *("array_type", "tensor_type", "tensor_handle", "none", "finish", "entry_offset"),
    *("slow_name", "plain_name"),
    *("save_thread", "restore_thread", "call_method", "vectorcall", "from_pointer", "as_pointer"),
    *("increment", "decrement"),
    *TORCH_FIELDS,
)
"""Words of the state: what the code gives (the addresses of its functions), then what it needs; then the dtypes, then
the kinds of arguments (`KINDS`)."""

DTYPES = 24
"""How many of NumPy's type numbers have a dtype (code, bits and lanes of DLPack, 0: none) in the state."""

MAX_ARGUMENTS = 16

_POINTER_BYTES = 8


def field(name: str) -> str:
    """Read a word of the state, whose address is `%state`."""
    return f"""
  %p_{name} = llvm.getelementptr %state[{_POINTER_BYTES * FIELDS.index(name)}] : (!llvm.ptr) -> !llvm.ptr, i8
  %{name} = llvm.load %p_{name} : !llvm.ptr -> !llvm.ptr"""


def load(name: str, base: str, offset: int, type_: str) -> str:
    """Read what lies `offset` bytes behind the address `%base`, as `%name`."""
    return f"""
    %at_{name} = llvm.getelementptr %{base}[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8
    %{name} = llvm.load %at_{name} : !llvm.ptr -> {type_}"""


def store(value: str, base: str, offset: int, type_: str, tag: str) -> str:
    """Write `%value` to `offset` bytes behind the address `%base`; `tag` makes names unique."""
    return f"""
    %to_{tag} = llvm.getelementptr %{base}[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %{value}, %to_{tag} : {type_}, !llvm.ptr"""
