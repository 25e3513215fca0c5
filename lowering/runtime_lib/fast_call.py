"""Direct calls of compiled functions from Python: a CPython C function in generated code.

`call` is the method ``__call__`` of native functions (calling convention METH_FASTCALL: self, arguments, number).
It converts NumPy arrays, FFI tensors, torch tensors (`fast_call_torch.mlir`), numbers, None and FFI shapes
(`fast_call_values.mlir`) to FFI values on the stack. For functions that may keep their arguments, such as those of
virtual machines, tensors become objects (`fast_call_objects.mlir`). Other arguments, and arrays that are not plain
(other strides, byte orders, dtypes, read-only), go to the FFI's own function if this code has verified that no torch
tensor among them needs care, otherwise to the method `SLOW`.

The FFI function `finish` converts results and errors to Python. It takes the address of the outcome and, if there was a
torch tensor argument, that tensor, which makes the FFI return torch tensors. None and single tensors are converted
here. If there was a NumPy array but no torch tensor, tensors become NumPy arrays (`fast_call_numpy.mlir`).

The code uses only the stable ABIs of CPython and NumPy (PyObject, PyArrayObject, PyArray_Descr of 64-bit systems;
`runtime/object_layouts.py` checks them), and functions whose addresses `runtime/fast_call.py` stores in the state.
`probe` is an entry point that folds all of its arguments into one number, for the self-test in
`runtime/fast_call.py`.
"""

from __future__ import annotations

from relax_mlir.lowering.base.support import fill_template
from relax_mlir.lowering.base.unpack import (
    ANY_BYTES,
    BOOL,
    DL,
    DLTENSOR,
    FLOAT,
    INT,
    NONE,
    OBJECT_BYTES,
    SHAPE,
    TENSOR,
)
from relax_mlir.lowering.runtime_lib import fast_call_state as words

_POINTER_BYTES = 8

_PYTHON = {
    "OBJECT_TYPE": 8,
    "SEQUENCE_SIZE": 16,
    "SEQUENCE_ITEMS": 24,
    "ARRAY_DATA": 16,
    "ARRAY_NDIM": 24,
    "ARRAY_SHAPE": 32,
    "ARRAY_DESCR": 56,
    "ARRAY_FLAGS": 64,
    "ARRAY_BYTE_ORDER": 26,
    "ARRAY_TYPE_NUMBER": 28,
}
"""Offsets in CPython and NumPy objects.

At SEQUENCE_ITEMS, a tuple has its items and a list the address of its items. Byte order and type number are fields of
the descriptor.
"""

_PARTS = (
    *("fast_call", "fast_call_torch", "fast_call_values", "fast_call_objects", "fast_call_numpy"),
    "fast_call_probe",
)

_PLAIN_FLAGS = 0x1 | 0x100 | 0x400
"""C-contiguous, aligned and writeable."""

_ALLOCATOR = _POINTER_BYTES * words.FIELDS.index("allocator")
_SET_ALLOCATOR = "llvm.call @TVMFFIEnvSetDLPackManagedTensorAllocator"
_ALLOCATOR_TYPE = "(!llvm.ptr, i32, !llvm.ptr) -> i32"

_ENTER = {
    "name": "enter",
    "parameter": ", %arrays: i1",
    "before": "",
    "after": "",
    "second": "      %given = arith.constant 1 : i64\n",
    "tensor_result": """\
      %tensor = scf.if %arrays -> !llvm.ptr {
        %array = llvm.call @numpy_result(%handle) : (!llvm.ptr) -> !llvm.ptr
        scf.yield %array : !llvm.ptr
      } else {
        %of_ffi = llvm.call @tensor_result(%handle) : (!llvm.ptr) -> !llvm.ptr
        scf.yield %of_ffi : !llvm.ptr
      }
""",
    "made_result": """\
      %held = llvm.call @numpy_made(%made, %arrays) : (!llvm.ptr, i1) -> !llvm.ptr
      scf.yield %held : !llvm.ptr
""",
    "inlining": "alwaysinline",
}

_ENTER_TORCH = {
    "name": "enter_torch",
    "parameter": ", %torch: !llvm.ptr",
    "before": f"""\
  %p_before = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %p_allocator = llvm.getelementptr %state[{_ALLOCATOR}] : (!llvm.ptr) -> !llvm.ptr, i8
  %allocator = llvm.load %p_allocator : !llvm.ptr -> !llvm.ptr
  %not_global = arith.constant 0 : i32
  {_SET_ALLOCATOR}(%allocator, %not_global, %p_before) : {_ALLOCATOR_TYPE}
""",
    "after": f"""\
  %before = llvm.load %p_before : !llvm.ptr -> !llvm.ptr
  {_SET_ALLOCATOR}(%before, %not_global, %null) : {_ALLOCATOR_TYPE}
""",
    "second": """\
      %to_second = llvm.getelementptr %p_number[8] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %torch, %to_second : !llvm.ptr, !llvm.ptr
      %given = arith.constant 2 : i64
""",
    "tensor_result": "      %tensor = llvm.call @torch_result(%handle) : (!llvm.ptr) -> !llvm.ptr\n",
    "made_result": "      scf.yield %made : !llvm.ptr\n",
    "inlining": "noinline",
}
"""Extra code for calls with torch tensors.

As in calls through the FFI, packed functions allocate their tensors with torch, and results become torch tensors.
"""


def fast_call_text() -> str:
    """The module, as MLIR text of level V."""
    values = _values()
    entering = [fill_template("fast_call_enter", {**values, **more}) for more in (_ENTER, _ENTER_TORCH)]
    first, *others = (fill_template(name, values) for name in _PARTS)
    return "\n".join([first, *entering, *others])


def _values() -> dict[str, object]:
    """The values of the placeholders that all parts share."""
    first_dtype = len(words.FIELDS)
    first_kind = first_dtype + words.DTYPES
    agreed = (
        *("CARE", "NO_CARE", "DIRECT", "DIRECT_TORCH", "DEPTH", "DTYPES", "KINDS", "MACHINE_BIT"),
        *("MAX_ARGUMENTS", "MAX_RANK", "PROBE_FACTOR", "SHORT_BIT", "SHORT_ELEMENTS", "STATE"),
    )
    fields = ("DATA", "DEVICE", "NDIM", "DTYPE", "SHAPE", "STRIDES", "BYTE_OFFSET", "BYTES")
    return {
        **{name: getattr(words, name) for name in agreed},
        **{f"at_{name}": _POINTER_BYTES * number for number, name in enumerate(words.FIELDS)},
        **{f"DL_{name}": getattr(DL, name) for name in fields},
        **_PYTHON,
        "ADDRESS_BITS": ~(words.SHORT_BIT | words.HANDLE_BIT | words.MACHINE_BIT),
        "ANYS_BYTES": words.MAX_ARGUMENTS * ANY_BYTES,
        "ANY_BYTES": ANY_BYTES,
        "BIG_ENDIAN": ord(">"),
        "BOOL": BOOL,
        "DLTENSOR": DLTENSOR,
        "DL_BITS": DL.DTYPE + 1,
        "DL_LANES": DL.DTYPE + 2,
        "FIRST_DTYPE": first_dtype,
        "FIRST_KIND": _POINTER_BYTES * first_kind,
        "FLOAT": FLOAT,
        "INT": INT,
        "MANAGED_DELETER": 16,
        "NONE": NONE,
        "OBJECT_BITS": words.HANDLE_BIT | words.MACHINE_BIT,
        "OBJECT_BYTES": OBJECT_BYTES,
        "ONE_REFERENCE": 1 << 32 | 1,
        "OUTCOME_BYTES": ANY_BYTES + 8,
        "PLAIN_FLAGS": _PLAIN_FLAGS,
        "POINTERS_BYTES": words.MAX_ARGUMENTS * _POINTER_BYTES,
        "SHAPE": SHAPE,
        "STRIDES_BYTES": words.MAX_RANK * _POINTER_BYTES,
        "SHAPE_NUMBERS": OBJECT_BYTES + 16,
        "SOURCE": OBJECT_BYTES + DL.BYTES,
        "TENSOR": TENSOR,
        "TENSOR_TABLES": OBJECT_BYTES + DL.BYTES + 8,
        "VIEWS_BYTES": words.MAX_ARGUMENTS * DL.BYTES,
        "WORDS": first_kind + words.KINDS,
    }
