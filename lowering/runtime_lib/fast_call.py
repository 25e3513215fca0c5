"""Calls of compiled functions from Python without a detour: a C function of CPython in generated code.

`call` is the method ``__call__`` of compiled functions (calling convention METH_FASTCALL: self, arguments, number).
NumPy arrays, FFI tensors and torch tensors (`fast_call_torch`) become values of the FFI here, on the stack. Calls with
other arguments, and with arrays that are not plain (other strides, byte orders, dtypes, read-only), go to the method
`PLAIN` of the compiled function where this code has seen that no torch tensor among them needs care, else to `SLOW`.
What a call gives back, an error too, goes to Python by `finish`, a function of the FFI that takes the address of the
outcome and, where a torch tensor was given, that one, by which the FFI knows that results are to be torch tensors.

All that is used of CPython and NumPy is in their stable ABIs (PyObject, PyArrayObject, PyArray_Descr of 64-bit
systems; `runtime/object_layouts.py` checks them), or is given by address in the state, which `runtime/fast_call.py`
fills in. `probe` is an entry point that folds all it is given into one number: `runtime/fast_call_test.py` calls it.
"""

from __future__ import annotations

from relax_mlir.lowering.abi.unpack import ANY_BYTES, DL, DLTENSOR, NONE, OBJECT_BYTES, TENSOR
from relax_mlir.lowering.runtime_lib.fast_call_probe import probe_text
from relax_mlir.lowering.runtime_lib.fast_call_state import (
    DTYPES,
    FIELDS,
    HANDLE_BIT,
    KINDS,
    MAX_ARGUMENTS,
    SHORT_BIT,
    SHORT_ELEMENTS,
    STATE,
    field,
    load,
    store,
)
from relax_mlir.lowering.runtime_lib.fast_call_torch import (
    CARE,
    DEPTH,
    DIRECT,
    DIRECT_TORCH,
    NO_CARE,
    torch_text,
)

_USED_TO_CONVERT = ("array_type", "tensor_type", "tensor_handle")
_USED_TO_CALL = ("entry_offset", "as_pointer")
_USED_TO_CALL_OTHERS = ("slow_name", "plain_name", "call_method", "as_pointer")
_USED_TO_ENTER = (
    *("none", "finish", "save_thread", "restore_thread"),
    *("vectorcall", "from_pointer", "increment", "decrement"),
)

_SET_ALLOCATOR = "TVMFFIEnvSetDLPackManagedTensorAllocator"
_TYPE = 8
_DATA, _NDIM, _SHAPE, _DESCR, _FLAGS = 16, 24, 32, 56, 64
_BYTE_ORDER, _TYPE_NUMBER = 26, 28
_PLAIN = 0x1 | 0x100 | 0x400
"""C-contiguous, aligned and writeable."""


def fast_call_text() -> str:
    """The module, as MLIR text of level V."""
    words = len(FIELDS) + DTYPES + KINDS
    array = f"!llvm.array<{words} x i64>"
    return f"""
llvm.mlir.global internal @state() {{alignment = 64 : i64}} : {array} {{
  %0 = llvm.mlir.zero : {array}
  llvm.return %0 : {array}
}}

llvm.func @{_SET_ALLOCATOR}(!llvm.ptr, i32, !llvm.ptr) -> i32

llvm.func @{STATE}() -> !llvm.ptr {{
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %call = llvm.mlir.addressof @call : !llvm.ptr
  %finish = llvm.mlir.addressof @finish : !llvm.ptr
  llvm.store %call, %state : !llvm.ptr, !llvm.ptr{store("finish", "state", 8, "!llvm.ptr", "finish")}
  %probe = llvm.mlir.addressof @probe : !llvm.ptr{store("probe", "state", 16, "!llvm.ptr", "probe")}
  llvm.return %state : !llvm.ptr
}}

// Hand the outcome of a call, (result, status), whose address is the argument, to the FFI.
llvm.func internal @finish(%self: !llvm.ptr, %args: !llvm.ptr, %count: i32, %result: !llvm.ptr) -> i32 {{
    {load("outcome", "args", 8, "!llvm.ptr")}
    {load("head", "outcome", 0, "i64")}
    {load("value", "outcome", 8, "i64")}
    {load("status", "outcome", ANY_BYTES, "i32")}
    llvm.store %head, %result : i64, !llvm.ptr{store("value", "result", 8, "i64", "value")}
  llvm.return %status : i32
}}

// Make a value of the FFI of an array or an FFI tensor; false if that is not possible here.
llvm.func internal @convert(%object: !llvm.ptr, %any: !llvm.ptr, %view: !llvm.ptr) -> i1 {{
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %false = arith.constant false{"".join(map(field, _USED_TO_CONVERT))}
  {load("type", "object", _TYPE, "!llvm.ptr")}
  %is_array = llvm.icmp "eq" %type, %array_type : !llvm.ptr
  %done = scf.if %is_array -> i1 {{
    {load("flags", "object", _FLAGS, "i32")}
    {load("descr", "object", _DESCR, "!llvm.ptr")}
    {load("order", "descr", _BYTE_ORDER, "i8")}
    {load("number", "descr", _TYPE_NUMBER, "i32")}
    %plain = arith.constant {_PLAIN} : i32
    %set = arith.andi %flags, %plain : i32
    %is_plain = arith.cmpi eq, %set, %plain : i32
    %big = arith.constant {ord(">")} : i8
    %is_native = arith.cmpi ne, %order, %big : i8
    %most = arith.constant {DTYPES} : i32
    %is_known = arith.cmpi ult, %number, %most : i32
    %both = arith.andi %is_plain, %is_native : i1
    %fine = arith.andi %both, %is_known : i1
    %ready = scf.if %fine -> i1 {{
      %wide = arith.extui %number : i32 to i64
      %first = arith.constant {len(FIELDS)} : i64
      %place = arith.addi %first, %wide : i64
      %p_dtype = llvm.getelementptr %state[%place] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %dtype = llvm.load %p_dtype : !llvm.ptr -> i32
      %none = arith.constant 0 : i32
      %exists = arith.cmpi ne, %dtype, %none : i32
      {load("data", "object", _DATA, "!llvm.ptr")}
      {load("ndim", "object", _NDIM, "i32")}
      {load("shape", "object", _SHAPE, "!llvm.ptr")}
      %cpu = arith.constant 1 : i64
      %kind = arith.constant {DLTENSOR} : i64
      {store("data", "view", DL.DATA, "!llvm.ptr", "data")}
      {store("cpu", "view", DL.DEVICE, "i64", "device")}
      {store("ndim", "view", DL.NDIM, "i32", "ndim")}
      {store("dtype", "view", DL.DTYPE, "i32", "dtype")}
      {store("shape", "view", DL.SHAPE, "!llvm.ptr", "shape")}
      {store("zero", "view", DL.STRIDES, "i64", "strides")}
      {store("zero", "view", DL.BYTE_OFFSET, "i64", "offset")}
      llvm.store %kind, %any : i64, !llvm.ptr{store("view", "any", 8, "!llvm.ptr", "view")}
      scf.yield %exists : i1
    }} else {{
      scf.yield %false : i1
    }}
    scf.yield %ready : i1
  }} else {{
    %is_tensor = llvm.icmp "eq" %type, %tensor_type : !llvm.ptr
    scf.if %is_tensor {{
      %offset = llvm.ptrtoint %tensor_handle : !llvm.ptr to i64
      %p_handle = llvm.getelementptr %object[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %handle = llvm.load %p_handle : !llvm.ptr -> !llvm.ptr
      %kind = arith.constant {TENSOR} : i64
      llvm.store %kind, %any : i64, !llvm.ptr{store("handle", "any", 8, "!llvm.ptr", "handle")}
    }}
    scf.yield %is_tensor : i1
  }}
  llvm.return %done : i1
}}

// What is found of an argument (`fast_call_torch`); its value of the FFI, if it can be made here.
llvm.func internal @examine(%object: !llvm.ptr, %any: !llvm.ptr, %view: !llvm.ptr) -> i32 {{
  %care = arith.constant {CARE} : i32
  %no_care = arith.constant {NO_CARE} : i32
  %converted = llvm.call @convert(%object, %any, %view) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i1
  %found = scf.if %converted -> i32 {{
    %direct = arith.constant {DIRECT} : i32
    scf.yield %direct : i32
  }} else {{
    {load("type", "object", _TYPE, "!llvm.ptr")}
    %is_torch = llvm.call @is_torch(%type) : (!llvm.ptr) -> i1
    %of_others = scf.if %is_torch -> i32 {{
      %good = llvm.call @torch_view(%object, %view) : (!llvm.ptr, !llvm.ptr) -> i1
      %kind = arith.constant {DLTENSOR} : i64
      llvm.store %kind, %any : i64, !llvm.ptr{store("view", "any", 8, "!llvm.ptr", "torch")}
      %direct_torch = arith.constant {DIRECT_TORCH} : i32
      %of_torch = arith.select %good, %direct_torch, %care : i32
      scf.yield %of_torch : i32
    }} else {{
      %deep = arith.constant {DEPTH} : i64
      %fine = llvm.call @needs_no_care(%object, %deep) : (!llvm.ptr, i64) -> i1
      %of_value = arith.select %fine, %no_care, %care : i32
      scf.yield %of_value : i32
    }}
    scf.yield %of_others : i32
  }}
  llvm.return %found : i32
}}

llvm.func internal @call(%self: !llvm.ptr, %args: !llvm.ptr, %count: i64) -> !llvm.ptr {{
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %no = arith.constant false
  %most = arith.constant {MAX_ARGUMENTS} : i64
  %any_bytes = arith.constant {MAX_ARGUMENTS * ANY_BYTES} : i64
  %view_bytes = arith.constant {MAX_ARGUMENTS * DL.BYTES} : i64
  %anys = llvm.alloca %any_bytes x i8 {{alignment = 16 : i64}} : (i64) -> !llvm.ptr
  %views = llvm.alloca %view_bytes x i8 {{alignment = 16 : i64}} : (i64) -> !llvm.ptr
  {"".join(map(field, _USED_TO_CALL))}
  %few = arith.cmpi sle, %count, %most : i64
  %end = arith.select %few, %count, %zero : i64
  %converted = scf.for %i = %zero to %end step %one iter_args(%so_far = %few) -> (i1) : i64 {{
    %next = scf.if %so_far -> i1 {{
      %p_object = llvm.getelementptr %args[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
      %object = llvm.load %p_object : !llvm.ptr -> !llvm.ptr
      %any = llvm.getelementptr %anys[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<{ANY_BYTES} x i8>
      %view = llvm.getelementptr %views[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<{DL.BYTES} x i8>
      %fine = llvm.call @convert(%object, %any, %view) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i1
      scf.yield %fine : i1
    }} else {{
      scf.yield %no : i1
    }}
    scf.yield %next : i1
  }}
  %offset = llvm.ptrtoint %entry_offset : !llvm.ptr to i64
  %p_entry = llvm.getelementptr %self[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %number = llvm.load %p_entry : !llvm.ptr -> !llvm.ptr
  %is_set = llvm.icmp "ne" %number, %null : !llvm.ptr
  %directly = arith.andi %converted, %is_set : i1
  %result = scf.if %directly -> !llvm.ptr {{
    %entry = llvm.call %as_pointer(%number) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
    %value = llvm.call @enter(%entry, %anys, %count) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
    scf.yield %value : !llvm.ptr
  }} else {{
    %value = llvm.call @call_others(%self, %args, %count, %number, %anys, %views)
      : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
    scf.yield %value : !llvm.ptr
  }}
  llvm.return %result : !llvm.ptr
}}

// A call with arguments that are not all arrays and FFI tensors; `number` holds the address of the entry point, or is
// null.
llvm.func internal @call_others(%self: !llvm.ptr, %args: !llvm.ptr, %count: i64, %number: !llvm.ptr,
                                %anys: !llvm.ptr, %views: !llvm.ptr) -> !llvm.ptr
    attributes {{passthrough = ["noinline"]}} {{
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %most = arith.constant {MAX_ARGUMENTS} : i64
  %care = arith.constant {CARE} : i32
  %direct = arith.constant {DIRECT} : i32
  %direct_torch = arith.constant {DIRECT_TORCH} : i32{"".join(map(field, _USED_TO_CALL_OTHERS))}
  %room = arith.addi %count, %one : i64
  %with_self = llvm.alloca %room x !llvm.ptr : (i64) -> !llvm.ptr
  %few = arith.cmpi sle, %count, %most : i64
  %end = arith.select %few, %count, %zero : i64
  %start = arith.select %few, %direct, %care : i32
  %seen, %torch = scf.for %i = %zero to %end step %one iter_args(%so_far = %start, %last = %null)
      -> (i32, !llvm.ptr) : i64 {{
    %goes_on = arith.cmpi ne, %so_far, %care : i32
    %next, %latest = scf.if %goes_on -> (i32, !llvm.ptr) {{
      %p_object = llvm.getelementptr %args[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
      %object = llvm.load %p_object : !llvm.ptr -> !llvm.ptr
      %any = llvm.getelementptr %anys[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<{ANY_BYTES} x i8>
      %view = llvm.getelementptr %views[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<{DL.BYTES} x i8>
      %found = llvm.call @examine(%object, %any, %view) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
      %worst = arith.minui %found, %so_far : i32
      %is_torch = arith.cmpi eq, %found, %direct_torch : i32
      %tensor = llvm.select %is_torch, %object, %last : i1, !llvm.ptr
      scf.yield %worst, %tensor : i32, !llvm.ptr
    }} else {{
      scf.yield %so_far, %last : i32, !llvm.ptr
    }}
    scf.yield %next, %latest : i32, !llvm.ptr
  }}
  %is_set = llvm.icmp "ne" %number, %null : !llvm.ptr
  %all_direct = arith.cmpi eq, %seen, %direct : i32
  %ready = arith.andi %all_direct, %is_set : i1
  %entry = scf.if %ready -> !llvm.ptr {{
    %tagged = llvm.call %as_pointer(%number) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
    %word = llvm.ptrtoint %tagged : !llvm.ptr to i64
    %handle_bit = arith.constant {HANDLE_BIT} : i64
    %tag = arith.andi %word, %handle_bit : i64
    %takes_handles = arith.cmpi ne, %tag, %zero : i64
    %chosen = llvm.select %takes_handles, %null, %tagged : i1, !llvm.ptr
    scf.yield %chosen : !llvm.ptr
  }} else {{
    scf.yield %null : !llvm.ptr
  }}
  %directly = llvm.icmp "ne" %entry, %null : !llvm.ptr
  %result = scf.if %directly -> !llvm.ptr {{
    %value = llvm.call @enter_torch(%entry, %anys, %count, %torch) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
    scf.yield %value : !llvm.ptr
  }} else {{
    %with_care = arith.cmpi eq, %seen, %care : i32
    %name = llvm.select %with_care, %slow_name, %plain_name : i1, !llvm.ptr
    llvm.store %self, %with_self : !llvm.ptr, !llvm.ptr
    scf.for %i = %zero to %count step %one : i64 {{
      %p_object = llvm.getelementptr %args[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
      %object = llvm.load %p_object : !llvm.ptr -> !llvm.ptr
      %behind = arith.addi %i, %one : i64
      %p_copy = llvm.getelementptr %with_self[%behind] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
      llvm.store %object, %p_copy : !llvm.ptr, !llvm.ptr
    }}
    %value = llvm.call %call_method(%name, %with_self, %room, %null)
      : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
    scf.yield %value : !llvm.ptr
  }}
  llvm.return %result : !llvm.ptr
}}

// The number of elements of all arguments, which are DLTensors or FFI tensors.
llvm.func internal @elements(%anys: !llvm.ptr, %count: i64) -> i64 {{
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %total = scf.for %i = %zero to %count step %one iter_args(%sum = %zero) -> (i64) : i64 {{
    %any = llvm.getelementptr %anys[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<{ANY_BYTES} x i8>
    %kind = llvm.load %any : !llvm.ptr -> i32
    {load("value", "any", 8, "!llvm.ptr")}
    %object = arith.constant {TENSOR} : i32
    %is_object = arith.cmpi eq, %kind, %object : i32
    %inside = llvm.getelementptr %value[{OBJECT_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
    %tensor = llvm.select %is_object, %inside, %value : i1, !llvm.ptr
    {load("ndim", "tensor", DL.NDIM, "i32")}
    {load("shape", "tensor", DL.SHAPE, "!llvm.ptr")}
    %rank = arith.extsi %ndim : i32 to i64
    %size = scf.for %axis = %zero to %rank step %one iter_args(%product = %one) -> (i64) : i64 {{
      %at = llvm.getelementptr %shape[%axis] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %dim = llvm.load %at : !llvm.ptr -> i64
      %next = arith.muli %product, %dim : i64
      scf.yield %next : i64
    }}
    %so_far = arith.addi %sum, %size : i64
    scf.yield %so_far : i64
  }}
  llvm.return %total : i64
}}

{_enter_text(torch=False)}

{_enter_text(torch=True)}

{torch_text()}
{probe_text()}"""


def _enter_text(torch: bool) -> str:
    """The function that calls an entry point; with `torch`, one for arguments with tensors of torch.

    As in calls by the FFI, packed functions that it calls then make their tensors by torch, and so are results given.
    """
    head = "@enter(%tagged: !llvm.ptr, %anys: !llvm.ptr, %count: i64)"
    before = after = ""
    second = """
    %given = arith.constant 1 : i64"""
    if torch:
        head = "@enter_torch(%tagged: !llvm.ptr, %anys: !llvm.ptr, %count: i64, %torch: !llvm.ptr)"
        before = f"""
  %p_before = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr{field("allocator")}
  %not_global = arith.constant 0 : i32
  llvm.call @{_SET_ALLOCATOR}(%allocator, %not_global, %p_before) : (!llvm.ptr, i32, !llvm.ptr) -> i32"""
        after = f"""
  %before = llvm.load %p_before : !llvm.ptr -> !llvm.ptr
  llvm.call @{_SET_ALLOCATOR}(%before, %not_global, %null) : (!llvm.ptr, i32, !llvm.ptr) -> i32"""
        second = f"""{store("torch", "p_number", 8, "!llvm.ptr", "second")}
    %given = arith.constant 2 : i64"""
    return f"""
// Call the packed interface of an FFI entry point; the result as a Python object, null with an exception set.
llvm.func internal {head} -> !llvm.ptr {{
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %outcome_bytes = arith.constant {ANY_BYTES + 8} : i64
  %slot_count = arith.constant 5 : i64
  %outcome = llvm.alloca %outcome_bytes x i8 {{alignment = 16 : i64}} : (i64) -> !llvm.ptr
  %slots = llvm.alloca %slot_count x !llvm.ptr : (i64) -> !llvm.ptr
  %p_any = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %p_count = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
  %p_self = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %p_result = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %two = arith.constant 2 : i64
  %p_number = llvm.alloca %two x !llvm.ptr : (i64) -> !llvm.ptr{"".join(map(field, _USED_TO_ENTER))}
  %narrow = arith.trunci %count : i64 to i32
  llvm.store %zero, %outcome : i64, !llvm.ptr{store("zero", "outcome", 8, "i64", "empty")}
  {store("zero", "outcome", ANY_BYTES, "i64", "status")}
  llvm.store %null, %p_self : !llvm.ptr, !llvm.ptr
  llvm.store %anys, %p_any : !llvm.ptr, !llvm.ptr
  llvm.store %narrow, %p_count : i32, !llvm.ptr
  llvm.store %outcome, %p_result : !llvm.ptr, !llvm.ptr
  llvm.store %p_self, %slots : !llvm.ptr, !llvm.ptr{store("p_any", "slots", 8, "!llvm.ptr", "slot_1")}
  {store("p_count", "slots", 16, "!llvm.ptr", "slot_2")}
  {store("p_result", "slots", 24, "!llvm.ptr", "slot_3")}
  {store("to_status", "slots", 32, "!llvm.ptr", "slot_4")}
  %word = llvm.ptrtoint %tagged : !llvm.ptr to i64
  %bit = arith.constant {SHORT_BIT} : i64
  %tag = arith.andi %word, %bit : i64
  %address_bits = arith.constant {~(SHORT_BIT | HANDLE_BIT)} : i64
  %address = arith.andi %word, %address_bits : i64
  %entry = llvm.inttoptr %address : i64 to !llvm.ptr
  %is_short = arith.cmpi ne, %tag, %zero : i64
  %keeps = scf.if %is_short -> i1 {{
    %elements = llvm.call @elements(%anys, %count) : (!llvm.ptr, i64) -> i64
    %limit = arith.constant {SHORT_ELEMENTS} : i64
    %few = arith.cmpi ult, %elements, %limit : i64
    scf.yield %few : i1
  }} else {{
    %no = arith.constant false
    scf.yield %no : i1
  }}
{before}
  scf.if %keeps {{
    llvm.call %entry(%slots) : !llvm.ptr, (!llvm.ptr) -> ()
  }} else {{
    %thread = llvm.call %save_thread() : !llvm.ptr, () -> !llvm.ptr
    llvm.call %entry(%slots) : !llvm.ptr, (!llvm.ptr) -> ()
    llvm.call %restore_thread(%thread) : !llvm.ptr, (!llvm.ptr) -> ()
  }}
{after}
  %status = llvm.load %to_status : !llvm.ptr -> i32
  %kind = llvm.load %outcome : !llvm.ptr -> i32
  %ok = arith.constant 0 : i32
  %nothing = arith.constant {NONE} : i32
  %good = arith.cmpi eq, %status, %ok : i32
  %void = arith.cmpi eq, %kind, %nothing : i32
  %simple = arith.andi %good, %void : i1
  %value = scf.if %simple -> !llvm.ptr {{
    llvm.call %increment(%none) : !llvm.ptr, (!llvm.ptr) -> ()
    scf.yield %none : !llvm.ptr
  }} else {{
    %number = llvm.call %from_pointer(%outcome) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
    llvm.store %number, %p_number : !llvm.ptr, !llvm.ptr{second}
    %made = llvm.call %vectorcall(%finish, %p_number, %given, %null)
      : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
    llvm.call %decrement(%number) : !llvm.ptr, (!llvm.ptr) -> ()
    scf.yield %made : !llvm.ptr
  }}
  llvm.return %value : !llvm.ptr
}}
"""
