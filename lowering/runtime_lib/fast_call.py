"""Calls of compiled functions from Python without a detour: a C function of CPython in generated code.

`call` is the method ``__call__`` of compiled functions (calling convention METH_FASTCALL: self, arguments, number).
NumPy arrays and FFI tensors become values of the FFI here, on the stack; all other arguments, and arrays that are not
plain (other strides, byte orders, dtypes, read-only), go to the method `SLOW` of the compiled function. What a call
gives back, an error too, goes to Python by `finish`, a function of the FFI that takes the address of the outcome.

All that is used of CPython and NumPy is in their stable ABIs (PyObject, PyArrayObject, PyArray_Descr of 64-bit
systems; `runtime/object_layouts.py` checks them), or is given by address in the state, which `runtime/fast_call.py`
fills in. `probe` is an entry point that folds all it is given into one number: `runtime/fast_call_test.py` calls it.
"""

from __future__ import annotations

from relax_mlir.lowering.abi.unpack import ANY_BYTES, DL, DLTENSOR, INT, NONE, OBJECT_BYTES, TENSOR

STATE = "__relax_fast_call_state"

ENTRY, SLOW = "_entry", "_call_any"
"""Attributes of compiled functions: the address of the packed interface of the entry point, plus `SHORT_BIT` for
functions that are short (`lowering.shapes.short`); a method that takes any arguments."""

SHORT_BIT = 1
SHORT_ELEMENTS = 1024
"""Short functions keep the GIL where their arguments have fewer elements than that, together."""

FIELDS = (
    *("call", "finish_code", "probe"),
    *("array_type", "tensor_type", "tensor_handle", "none", "finish", "entry_offset", "slow_name"),
    *("save_thread", "restore_thread", "get_attribute", "vectorcall", "from_pointer", "as_pointer"),
    *("increment", "decrement"),
)
"""Words of the state: what the code gives (the addresses of its functions), then what it needs; then the dtypes."""

_USED_TO_CONVERT = ("array_type", "tensor_type", "tensor_handle")
_USED_TO_CALL = ("entry_offset", "slow_name", "get_attribute", "vectorcall", "as_pointer", "decrement")
_USED_TO_ENTER = (
    *("none", "finish", "save_thread", "restore_thread"),
    *("vectorcall", "from_pointer", "increment", "decrement"),
)

DTYPES = 24
"""How many of NumPy's type numbers have a dtype (code, bits and lanes of DLPack, 0: none) in the state."""

MAX_ARGUMENTS = 16

PROBE_FACTOR = 1_000_003
"""`probe` multiplies what it has by this, and adds the next word: of each argument the kind, and of its tensor the
address, device, rank, dtype and dimensions."""

_POINTER_BYTES = 8
_TYPE = 8
_DATA, _NDIM, _SHAPE, _DESCR, _FLAGS = 16, 24, 32, 56, 64
_BYTE_ORDER, _TYPE_NUMBER = 26, 28
_PLAIN = 0x1 | 0x100 | 0x400
"""C-contiguous, aligned and writeable."""


def _field(name: str) -> str:
    return f"""
  %p_{name} = llvm.getelementptr %state[{_POINTER_BYTES * FIELDS.index(name)}] : (!llvm.ptr) -> !llvm.ptr, i8
  %{name} = llvm.load %p_{name} : !llvm.ptr -> !llvm.ptr"""


def _load(name: str, base: str, offset: int, type_: str) -> str:
    return f"""
    %at_{name} = llvm.getelementptr %{base}[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8
    %{name} = llvm.load %at_{name} : !llvm.ptr -> {type_}"""


def _store(value: str, base: str, offset: int, type_: str, tag: str) -> str:
    return f"""
    %to_{tag} = llvm.getelementptr %{base}[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %{value}, %to_{tag} : {type_}, !llvm.ptr"""


def fast_call_text() -> str:
    """The module, as MLIR text of level V."""
    words = len(FIELDS) + DTYPES
    array = f"!llvm.array<{words} x i64>"
    return f"""
llvm.mlir.global internal @state() {{alignment = 64 : i64}} : {array} {{
  %0 = llvm.mlir.zero : {array}
  llvm.return %0 : {array}
}}

llvm.func @{STATE}() -> !llvm.ptr {{
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %call = llvm.mlir.addressof @call : !llvm.ptr
  %finish = llvm.mlir.addressof @finish : !llvm.ptr
  llvm.store %call, %state : !llvm.ptr, !llvm.ptr{_store("finish", "state", _POINTER_BYTES, "!llvm.ptr", "finish")}
  %probe = llvm.mlir.addressof @probe : !llvm.ptr{_store("probe", "state", 2 * _POINTER_BYTES, "!llvm.ptr", "probe")}
  llvm.return %state : !llvm.ptr
}}

// Hand the outcome of a call, (result, status), whose address is the argument, to the FFI.
llvm.func internal @finish(%self: !llvm.ptr, %args: !llvm.ptr, %count: i32, %result: !llvm.ptr) -> i32 {{
    {_load("outcome", "args", 8, "!llvm.ptr")}
    {_load("head", "outcome", 0, "i64")}
    {_load("value", "outcome", 8, "i64")}
    {_load("status", "outcome", ANY_BYTES, "i32")}
    llvm.store %head, %result : i64, !llvm.ptr{_store("value", "result", 8, "i64", "value")}
  llvm.return %status : i32
}}

// Make a value of the FFI of an argument; false if that is not possible here.
llvm.func internal @convert(%object: !llvm.ptr, %any: !llvm.ptr, %view: !llvm.ptr) -> i1 {{
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %false = arith.constant false
  %true = arith.constant true{"".join(map(_field, _USED_TO_CONVERT))}
  {_load("type", "object", _TYPE, "!llvm.ptr")}
  %is_array = llvm.icmp "eq" %type, %array_type : !llvm.ptr
  %done = scf.if %is_array -> i1 {{
    {_load("flags", "object", _FLAGS, "i32")}
    {_load("descr", "object", _DESCR, "!llvm.ptr")}
    {_load("order", "descr", _BYTE_ORDER, "i8")}
    {_load("number", "descr", _TYPE_NUMBER, "i32")}
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
      {_load("data", "object", _DATA, "!llvm.ptr")}
      {_load("ndim", "object", _NDIM, "i32")}
      {_load("shape", "object", _SHAPE, "!llvm.ptr")}
      %cpu = arith.constant 1 : i64
      %kind = arith.constant {DLTENSOR} : i64
      {_store("data", "view", DL.DATA, "!llvm.ptr", "data")}
      {_store("cpu", "view", DL.DEVICE, "i64", "device")}
      {_store("ndim", "view", DL.NDIM, "i32", "ndim")}
      {_store("dtype", "view", DL.DTYPE, "i32", "dtype")}
      {_store("shape", "view", DL.SHAPE, "!llvm.ptr", "shape")}
      {_store("zero", "view", DL.STRIDES, "i64", "strides")}
      {_store("zero", "view", DL.BYTE_OFFSET, "i64", "offset")}
      llvm.store %kind, %any : i64, !llvm.ptr{_store("view", "any", 8, "!llvm.ptr", "view")}
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
      llvm.store %kind, %any : i64, !llvm.ptr{_store("handle", "any", 8, "!llvm.ptr", "handle")}
    }}
    scf.yield %is_tensor : i1
  }}
  llvm.return %done : i1
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
  {"".join(map(_field, _USED_TO_CALL))}
  %few = arith.cmpi sle, %count, %most : i64
  %end = arith.select %few, %count, %zero : i64
  %ready = scf.for %i = %zero to %end step %one iter_args(%so_far = %few) -> (i1) : i64 {{
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
  %directly = arith.andi %ready, %is_set : i1
  %result = scf.if %directly -> !llvm.ptr {{
    %entry = llvm.call %as_pointer(%number) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
    %value = llvm.call @enter(%entry, %anys, %count) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
    scf.yield %value : !llvm.ptr
  }} else {{
    %slow = llvm.call %get_attribute(%self, %slow_name) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
    %there = llvm.icmp "ne" %slow, %null : !llvm.ptr
    %value = scf.if %there -> !llvm.ptr {{
      %object = llvm.call %vectorcall(%slow, %args, %count, %null)
        : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
      llvm.call %decrement(%slow) : !llvm.ptr, (!llvm.ptr) -> ()
      scf.yield %object : !llvm.ptr
    }} else {{
      scf.yield %null : !llvm.ptr
    }}
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
    {_load("value", "any", 8, "!llvm.ptr")}
    %object = arith.constant {TENSOR} : i32
    %is_object = arith.cmpi eq, %kind, %object : i32
    %inside = llvm.getelementptr %value[{OBJECT_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
    %tensor = llvm.select %is_object, %inside, %value : i1, !llvm.ptr
    {_load("ndim", "tensor", DL.NDIM, "i32")}
    {_load("shape", "tensor", DL.SHAPE, "!llvm.ptr")}
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

// Call the packed interface of an FFI entry point; the result as a Python object, null with an exception set.
llvm.func internal @enter(%tagged: !llvm.ptr, %anys: !llvm.ptr, %count: i64) -> !llvm.ptr {{
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
  %p_number = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr{"".join(map(_field, _USED_TO_ENTER))}
  %narrow = arith.trunci %count : i64 to i32
  llvm.store %zero, %outcome : i64, !llvm.ptr{_store("zero", "outcome", 8, "i64", "empty")}
  {_store("zero", "outcome", ANY_BYTES, "i64", "status")}
  llvm.store %null, %p_self : !llvm.ptr, !llvm.ptr
  llvm.store %anys, %p_any : !llvm.ptr, !llvm.ptr
  llvm.store %narrow, %p_count : i32, !llvm.ptr
  llvm.store %outcome, %p_result : !llvm.ptr, !llvm.ptr
  llvm.store %p_self, %slots : !llvm.ptr, !llvm.ptr{_store("p_any", "slots", 8, "!llvm.ptr", "slot_1")}
  {_store("p_count", "slots", 16, "!llvm.ptr", "slot_2")}
  {_store("p_result", "slots", 24, "!llvm.ptr", "slot_3")}
  {_store("to_status", "slots", 32, "!llvm.ptr", "slot_4")}
  %word = llvm.ptrtoint %tagged : !llvm.ptr to i64
  %bit = arith.constant {SHORT_BIT} : i64
  %tag = arith.andi %word, %bit : i64
  %address = arith.subi %word, %tag : i64
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
  scf.if %keeps {{
    llvm.call %entry(%slots) : !llvm.ptr, (!llvm.ptr) -> ()
  }} else {{
    %thread = llvm.call %save_thread() : !llvm.ptr, () -> !llvm.ptr
    llvm.call %entry(%slots) : !llvm.ptr, (!llvm.ptr) -> ()
    llvm.call %restore_thread(%thread) : !llvm.ptr, (!llvm.ptr) -> ()
  }}
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
    llvm.store %number, %p_number : !llvm.ptr, !llvm.ptr
    %made = llvm.call %vectorcall(%finish, %p_number, %one, %null)
      : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
    llvm.call %decrement(%number) : !llvm.ptr, (!llvm.ptr) -> ()
    scf.yield %made : !llvm.ptr
  }}
  llvm.return %value : !llvm.ptr
}}

{_probe_text()}"""


def _probe_text() -> str:
    """An entry point: None without arguments, else the number that all of them make."""
    fields = "".join(
        _mixed_in(name, before, offset, type_)
        for name, before, offset, type_ in (
            ("data", "with_kind", DL.DATA, "i64"),
            ("device", "with_data", DL.DEVICE, "i64"),
            ("ndim", "with_device", DL.NDIM, "i32"),
            ("dtype", "with_ndim", DL.DTYPE, "i32"),
        )
    )
    return f"""
llvm.func internal @probe(%slots: !llvm.ptr) {{
  {_load("p_anys", "slots", 8, "!llvm.ptr")}
  {_load("p_count", "slots", 16, "!llvm.ptr")}
  {_load("p_result", "slots", 24, "!llvm.ptr")}
  {_load("anys", "p_anys", 0, "!llvm.ptr")}
  {_load("narrow", "p_count", 0, "i32")}
  {_load("result", "p_result", 0, "!llvm.ptr")}
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %factor = arith.constant {PROBE_FACTOR} : i64
  %count = arith.extsi %narrow : i32 to i64
  %all = scf.for %i = %zero to %count step %one iter_args(%total = %zero) -> (i64) : i64 {{
    %any = llvm.getelementptr %anys[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<{ANY_BYTES} x i8>
    {_load("kind", "any", 0, "i64")}
    {_load("value", "any", 8, "!llvm.ptr")}
    %object = arith.constant {TENSOR} : i64
    %is_object = arith.cmpi eq, %kind, %object : i64
    %inside = llvm.getelementptr %value[{OBJECT_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
    %tensor = llvm.select %is_object, %inside, %value : i1, !llvm.ptr
    %grown_kind = arith.muli %total, %factor : i64
    %with_kind = arith.addi %grown_kind, %kind : i64{fields}
    {_load("shape", "tensor", DL.SHAPE, "!llvm.ptr")}
    %with_shape = scf.for %axis = %zero to %wide_ndim step %one iter_args(%sum = %with_dtype) -> (i64) : i64 {{
      %at = llvm.getelementptr %shape[%axis] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %dim = llvm.load %at : !llvm.ptr -> i64
      %grown = arith.muli %sum, %factor : i64
      %more = arith.addi %grown, %dim : i64
      scf.yield %more : i64
    }}
    scf.yield %with_shape : i64
  }}
  %is_nothing = arith.cmpi eq, %count, %zero : i64
  %none = arith.constant {NONE} : i64
  %int = arith.constant {INT} : i64
  %what = arith.select %is_nothing, %none, %int : i64
  llvm.store %what, %result : i64, !llvm.ptr{_store("all", "result", 8, "i64", "all")}
  llvm.return
}}
"""


def _mixed_in(name: str, before: str, offset: int, type_: str) -> str:
    """A field of the tensor, as the next word of the number that `probe` gives."""
    wide = f"wide_{name}" if type_ == "i32" else name
    extended = f"%{wide} = arith.extui %{name} : i32 to i64" if type_ == "i32" else ""
    return f"""
    {_load(name, "tensor", offset, type_)}
    {extended}
    %grown_{name} = arith.muli %{before}, %factor : i64
    %with_{name} = arith.addi %grown_{name}, %{wide} : i64"""
