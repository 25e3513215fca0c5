// The core of the virtual machine (level V); see vm_core.py for what it does and for the values of its placeholders.

llvm.func @TVMFFIFunctionCall(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
llvm.func @TVMFFIFunctionCreate(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @TVMFFIObjectIncRef(!llvm.ptr) -> i32
llvm.func @TVMFFIObjectDecRef(!llvm.ptr) -> i32
llvm.func @TVMFFIAnyViewToOwnedAny(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @strlen(!llvm.ptr) -> i64
llvm.func @TVMFFIErrorCreate(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @TVMFFIEnvCheckSignals() -> i32
llvm.func @TVMFFIGetTypeInfo(i32) -> !llvm.ptr
llvm.func @snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32
llvm.func @calloc(i64, i64) -> !llvm.ptr
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.func @clock_gettime(i32, !llvm.ptr) -> i32

llvm.mlir.global internal @depth_key(0 : i32) : i32
llvm.mlir.global internal @table() : !llvm.array<7 x ptr> {
  %0 = llvm.mlir.zero : !llvm.array<7 x ptr>
  %create = llvm.mlir.addressof @create : !llvm.ptr
  %release = llvm.mlir.addressof @release : !llvm.ptr
  %make = llvm.mlir.addressof @make_function : !llvm.ptr
  %store = llvm.mlir.addressof @store_any : !llvm.ptr
  %retain = llvm.mlir.addressof @retain : !llvm.ptr
  %1 = llvm.insertvalue %create, %0[0] : !llvm.array<7 x ptr>
  %2 = llvm.insertvalue %release, %1[1] : !llvm.array<7 x ptr>
  %3 = llvm.insertvalue %make, %2[2] : !llvm.array<7 x ptr>
  %4 = llvm.insertvalue %store, %3[3] : !llvm.array<7 x ptr>
  %5 = llvm.insertvalue %retain, %4[4] : !llvm.array<7 x ptr>
  %observe = llvm.mlir.addressof @observe : !llvm.ptr
  %6 = llvm.insertvalue %observe, %5[5] : !llvm.array<7 x ptr>
  %enter = llvm.mlir.addressof @enter : !llvm.ptr
  %7 = llvm.insertvalue %enter, %6[6] : !llvm.array<7 x ptr>
  llvm.return %7 : !llvm.array<7 x ptr>
}

llvm.mlir.global internal constant @argument_error("ArgumentError\00")
llvm.mlir.global internal constant @memory_error("OutOfMemoryError\00")
llvm.mlir.global internal constant @recursion_error("RecursionLimitError\00")
llvm.mlir.global internal constant @bytecode_error("BytecodeError\00")
llvm.mlir.global internal constant @wrong_count("%.${NAME_CHARS}s; got %lld\00")
llvm.mlir.global internal constant @too_deep("%.${NAME_CHARS}s: more than %lld calls are active: is the recursion endless? VirtualMachine(..., max_depth=N) allows more\00")
llvm.mlir.global internal constant @too_many_bytes("%.${NAME_CHARS}s: the registers of the calls that are active take more than %lld bytes (those of this one are %lld): is the recursion endless? VirtualMachine(..., max_frame_bytes=N) allows more\00")
llvm.mlir.global internal constant @too_nested("%.${NAME_CHARS}s: more than %lld calls of this thread have entered a virtual machine from packed functions and closures: is the recursion endless?\00")
llvm.mlir.global internal constant @no_stack("%.${NAME_CHARS}s: the C stack of this thread has no room for another call that enters a virtual machine from a packed function or a closure: is the recursion endless, or the stack small?\00")
llvm.mlir.global internal constant @no_view("%.${NAME_CHARS}s: argument %lld is a DLTensor, which somebody else may end while the function has it; give a tensor\00")
llvm.mlir.global internal constant @instrument_name("the instrument of a virtual machine\00")
llvm.mlir.global internal constant @no_arguments("%.${NAME_CHARS}s: no memory is left for %lld arguments\00")
llvm.mlir.global internal constant @no_memory("%.${NAME_CHARS}s: no memory is left for a frame of %lld registers (of %lld bytes)\00")
llvm.mlir.global internal constant @no_condition("%.${NAME_CHARS}s: instruction %lld: `If` takes an integer or a truth value; register %%%lld holds a value of type %s\00")

llvm.func @${STATE}() -> !llvm.ptr {
  %key = llvm.mlir.addressof @depth_key : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %rc = llvm.call @pthread_key_create(%key, %null) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.call @relax.vm.watch_stacks() : () -> ()
  %table = llvm.mlir.addressof @table : !llvm.ptr
  llvm.return %table : !llvm.ptr
}

// Values are copied word by word, which `volatile` enforces: values are mostly written word by word, and a wider load
// would stall on the pending stores.

// -- values --------------------------------------------------------------------------------------------------------

// Release the value in a TVMFFIAny.
llvm.func internal @drop(%slot: !llvm.ptr) attributes {passthrough = ["alwaysinline"]} {
  %first = llvm.mlir.constant(64 : i32) : i32
  %kind = llvm.load %slot : !llvm.ptr -> i32
  %is_object = llvm.icmp "sge" %kind, %first : i32
  llvm.cond_br %is_object, ^object, ^end
^object:
  %p8 = llvm.getelementptr %slot[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %object = llvm.load %p8 : !llvm.ptr -> !llvm.ptr
  %rc = llvm.call @TVMFFIObjectDecRef(%object) : (!llvm.ptr) -> i32
  llvm.br ^end
^end:
  llvm.return
}

llvm.func internal @drop_all(%slots: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^head(%zero : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^body, ^end
^body:
  %slot = llvm.getelementptr %slots[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  llvm.call @drop(%slot) : (!llvm.ptr) -> ()
  %next = llvm.add %i, %one : i64
  llvm.br ^head(%next : i64)
^end:
  llvm.return
}

// Convert a caller's value to one of the machine: adds references, copies numbers.
llvm.func internal @take(%from: !llvm.ptr, %to: !llvm.ptr) -> i32 attributes {passthrough = ["alwaysinline"]} {
  %first = llvm.mlir.constant(64 : i32) : i32
  %numbers = llvm.mlir.constant(7 : i32) : i32
  %ok = llvm.mlir.constant(0 : i32) : i32
  %kind = llvm.load %from : !llvm.ptr -> i32
  %is_object = llvm.icmp "sge" %kind, %first : i32
  llvm.cond_br %is_object, ^object, ^other
^object:
  %p8 = llvm.getelementptr %from[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %object = llvm.load %p8 : !llvm.ptr -> !llvm.ptr
  %rc = llvm.call @TVMFFIObjectIncRef(%object) : (!llvm.ptr) -> i32
  llvm.br ^copy
^other:
  %is_number = llvm.icmp "slt" %kind, %numbers : i32
  llvm.cond_br %is_number, ^copy, ^convert
^copy:
  %word_kind = llvm.load volatile %from : !llvm.ptr -> i64
  %word_from = llvm.getelementptr %from[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %word_value = llvm.load volatile %word_from : !llvm.ptr -> i64
  llvm.store %word_kind, %to : i64, !llvm.ptr
  %word_to = llvm.getelementptr %to[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %word_value, %word_to : i64, !llvm.ptr
  llvm.return %ok : i32
^convert:
  %status = llvm.call @TVMFFIAnyViewToOwnedAny(%from, %to) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.return %status : i32
}

// -- errors --------------------------------------------------------------------------------------------------------

${set_error}
llvm.func internal @raise(%kind: !llvm.ptr, %format: !llvm.ptr, %name: !llvm.ptr, %a: i64, %b: i64, %c: i64) attributes {passthrough = ["cold", "noinline"]} {
  %one = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %length = llvm.call @snprintf(%null, %zero, %format, %name, %a, %b, %c) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
    : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> i32
  %wide = llvm.sext %length : i32 to i64
  %size = llvm.add %wide, %one : i64
  %buffer = llvm.alloca %size x i8 : (i64) -> !llvm.ptr
  %again = llvm.call @snprintf(%buffer, %size, %format, %name, %a, %b, %c) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
    : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> i32
  llvm.call @set_error(%kind, %buffer) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}

// Check for signals, at most every ${SIGNAL_MILLISECONDS} ms: `last` points to the millisecond of the last check.
llvm.func internal @interrupted(%last: !llvm.ptr) -> i32 attributes {passthrough = ["cold", "noinline"]} {
  %two = llvm.mlir.constant(2 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32
  %coarse = llvm.mlir.constant(6 : i32) : i32
  %thousand = llvm.mlir.constant(1000 : i64) : i64
  %million = llvm.mlir.constant(1000000 : i64) : i64
  %patience = llvm.mlir.constant(${SIGNAL_MILLISECONDS} : i64) : i64
  %already = llvm.mlir.constant(-2 : i32) : i32
  %time = llvm.alloca %two x i64 {alignment = 8 : i64} : (i64) -> !llvm.ptr
  %rc = llvm.call @clock_gettime(%coarse, %time) : (i32, !llvm.ptr) -> i32
  %seconds = llvm.load %time : !llvm.ptr -> i64
  %p8 = llvm.getelementptr %time[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %nanoseconds = llvm.load %p8 : !llvm.ptr -> i64
  %scaled = llvm.mul %seconds, %thousand : i64
  %part = llvm.sdiv %nanoseconds, %million : i64
  %now = llvm.add %scaled, %part : i64
  %before = llvm.load %last : !llvm.ptr -> i64
  %first = llvm.icmp "eq" %before, %zero : i64
  llvm.cond_br %first, ^keep, ^compare
^compare:
  %elapsed = llvm.sub %now, %before : i64
  %due = llvm.icmp "sge" %elapsed, %patience : i64
  llvm.cond_br %due, ^ask, ^quiet
^ask:
  llvm.store %now, %last : i64, !llvm.ptr
  %signal = llvm.call @TVMFFIEnvCheckSignals() : () -> i32
  %none = llvm.icmp "eq" %signal, %ok : i32
  %status = llvm.select %none, %ok, %already : i1, i32
  llvm.return %status : i32
^keep:
  llvm.store %now, %last : i64, !llvm.ptr
  llvm.br ^quiet
^quiet:
  llvm.return %ok : i32
}

// -- frames --------------------------------------------------------------------------------------------------------

// A stack whose chunk has room for `bytes`: {previous chunk, end, bytes of all chunks of the thread, 0, ...}; null if
// out of memory. `before`: the bytes of the other chunks.
llvm.func internal @new_chunk(%bytes: i64, %previous: !llvm.ptr, %before: i64) -> !llvm.ptr attributes {passthrough = ["noinline"]} {
  %usual = llvm.mlir.constant(${CHUNK_BYTES} : i64) : i64
  %head = llvm.mlir.constant(${CHUNK_HEAD} : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %needed = llvm.add %bytes, %head : i64
  %more = llvm.icmp "sgt" %needed, %usual : i64
  %size = llvm.select %more, %needed, %usual : i1, i64
  %chunk = llvm.call @malloc(%size) : (i64) -> !llvm.ptr
  %failed = llvm.icmp "eq" %chunk, %null : !llvm.ptr
  llvm.cond_br %failed, ^end, ^fill
^fill:
  llvm.store %previous, %chunk : !llvm.ptr, !llvm.ptr
  %end = llvm.getelementptr %chunk[%size] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %p8 = llvm.getelementptr %chunk[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %end, %p8 : !llvm.ptr, !llvm.ptr
  %total = llvm.add %before, %size : i64
  %p16 = llvm.getelementptr %chunk[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %total, %p16 : i64, !llvm.ptr
  llvm.br ^end
^end:
  llvm.return %chunk : !llvm.ptr
}

// -- the interpreter -----------------------------------------------------------------------------------------------

// enter(descriptor, arguments): run a function, by the calling convention of the FFI.
llvm.func internal @enter(%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr) -> i32 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %two = llvm.mlir.constant(2 : i64) : i64
  %three = llvm.mlir.constant(3 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  %eight = llvm.mlir.constant(8 : i64) : i64
  %c16 = llvm.mlir.constant(16 : i64) : i64
  %c56 = llvm.mlir.constant(56 : i64) : i64
  %frame_head = llvm.mlir.constant(${FRAME_HEAD} : i64) : i64
  %void = llvm.mlir.constant(${VOID} : i64) : i64
  %vm_register = llvm.mlir.constant(${VM} : i64) : i64
  %function_kind = llvm.mlir.constant(68 : i64) : i64
  %z32 = llvm.mlir.constant(0 : i32) : i32
  %one32 = llvm.mlir.constant(1 : i32) : i32
  %two32 = llvm.mlir.constant(2 : i32) : i32
  %failed32 = llvm.mlir.constant(-1 : i32) : i32
  %z8 = llvm.mlir.constant(0 : i8) : i8
  %null = llvm.mlir.zero : !llvm.ptr
  %patience = llvm.mlir.constant(${SIGNAL_INSTRUCTIONS} : i64) : i64
  %nesting = llvm.mlir.constant(${MAX_NESTING} : i64) : i64
  %count_bits = llvm.mlir.constant(${COUNT_MASK} : i64) : i64
  %count_size = llvm.mlir.constant(${COUNT_BITS} : i64) : i64
  %too_many_bytes = llvm.mlir.addressof @too_many_bytes : !llvm.ptr
  %argument_error = llvm.mlir.addressof @argument_error : !llvm.ptr
  %memory_error = llvm.mlir.addressof @memory_error : !llvm.ptr
  %recursion_error = llvm.mlir.addressof @recursion_error : !llvm.ptr
  %bytecode_error = llvm.mlir.addressof @bytecode_error : !llvm.ptr
  %wrong_count = llvm.mlir.addressof @wrong_count : !llvm.ptr
  %too_deep = llvm.mlir.addressof @too_deep : !llvm.ptr
  %too_nested = llvm.mlir.addressof @too_nested : !llvm.ptr
  %no_memory = llvm.mlir.addressof @no_memory : !llvm.ptr
  %no_condition = llvm.mlir.addressof @no_condition : !llvm.ptr
  %no_stack = llvm.mlir.addressof @no_stack : !llvm.ptr
  %no_view = llvm.mlir.addressof @no_view : !llvm.ptr
  %needed_stack = llvm.mlir.constant(${ENTER_BYTES} : i64) : i64
  %seven32 = llvm.mlir.constant(7 : i32) : i32
  %key_at = llvm.mlir.addressof @depth_key : !llvm.ptr

  // Mutable state of the running function.
  %v_descriptor = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %v_frame = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %v_regs = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %v_top = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %v_chunk = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %v_depth = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
  %v_ticks = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
  %v_last = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
  // The word where the innermost function is, or -1; the number of instructions from the failed call to it; the
  // remaining number of functions for the traceback.
  %v_at = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
  %v_behind = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
  %v_told = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
  %nowhere = llvm.mlir.constant(-1 : i64) : i64
  %most_told = llvm.mlir.constant(${MAX_TRACEBACK} : i64) : i64
  llvm.store %nowhere, %v_at : i64, !llvm.ptr
  llvm.store %zero, %v_behind : i64, !llvm.ptr
  llvm.store %most_told, %v_told : i64, !llvm.ptr
  %result = llvm.alloca %two x i64 {alignment = 16 : i64} : (i64) -> !llvm.ptr
  %result8 = llvm.getelementptr %result[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %null, %v_frame : !llvm.ptr, !llvm.ptr
  llvm.store %zero, %v_depth : i64, !llvm.ptr
  llvm.store %patience, %v_ticks : i64, !llvm.ptr
  llvm.store %zero, %v_last : i64, !llvm.ptr

  %machine = llvm.load %self : !llvm.ptr -> !llvm.ptr
  %p_name = llvm.getelementptr %self[${name}] : (!llvm.ptr) -> !llvm.ptr, i8
  %own_name = llvm.load %p_name : !llvm.ptr -> !llvm.ptr
  %p_params = llvm.getelementptr %self[${parameters}] : (!llvm.ptr) -> !llvm.ptr, i8
  %params = llvm.load %p_params : !llvm.ptr -> i64
  %given = llvm.sext %n : i32 to i64
  %fits = llvm.icmp "eq" %params, %given : i64
  llvm.cond_br %fits, ^nest, ^bad_count
^bad_count:
  %p_takes = llvm.getelementptr %self[${takes}] : (!llvm.ptr) -> !llvm.ptr, i8
  %takes = llvm.load %p_takes : !llvm.ptr -> !llvm.ptr
  llvm.call @raise(%argument_error, %wrong_count, %takes, %given, %zero, %zero)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  llvm.return %failed32 : i32

^nest:
  %key = llvm.load %key_at : !llvm.ptr -> i32
  // Per thread: the number of times it has entered machines, and above it the bytes of all their stacks.
  %nested_p = llvm.call @pthread_getspecific(%key) : (i32) -> !llvm.ptr
  %nested_word = llvm.ptrtoint %nested_p : !llvm.ptr to i64
  %nested = llvm.and %nested_word, %count_bits : i64
  %taken_before = llvm.lshr %nested_word, %count_size : i64
  %deep = llvm.icmp "sge" %nested, %nesting : i64
  llvm.cond_br %deep, ^bad_nesting, ^measure
^bad_nesting:
  llvm.call @raise(%recursion_error, %too_nested, %own_name, %nesting, %zero, %zero)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  llvm.return %failed32 : i32

^measure:
  %left = llvm.call @relax.vm.stack_left() : () -> i64
  %fits_stack = llvm.icmp "sge" %left, %needed_stack : i64
  llvm.cond_br %fits_stack, ^start, ^bad_c_stack
^bad_c_stack:
  llvm.call @raise(%recursion_error, %no_stack, %own_name, %zero, %zero, %zero)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  llvm.return %failed32 : i32

^start:
  %nested1 = llvm.add %nested, %one : i64
  %p_code = llvm.getelementptr %machine[${code}] : (!llvm.ptr) -> !llvm.ptr, i8
  %code = llvm.load %p_code : !llvm.ptr -> !llvm.ptr
  %p_functions = llvm.getelementptr %machine[${functions}] : (!llvm.ptr) -> !llvm.ptr, i8
  %functions = llvm.load %p_functions : !llvm.ptr -> !llvm.ptr
  %p_constants = llvm.getelementptr %machine[${constants}] : (!llvm.ptr) -> !llvm.ptr, i8
  %constants = llvm.load %p_constants : !llvm.ptr -> !llvm.ptr
  %p_descriptors = llvm.getelementptr %machine[${descriptors}] : (!llvm.ptr) -> !llvm.ptr, i8
  %descriptors = llvm.load %p_descriptors : !llvm.ptr -> !llvm.ptr
  %p_max_args = llvm.getelementptr %machine[${max_args}] : (!llvm.ptr) -> !llvm.ptr, i8
  %max_args = llvm.load %p_max_args : !llvm.ptr -> i64
  %p_max_bytes = llvm.getelementptr %machine[${max_frame_bytes}] : (!llvm.ptr) -> !llvm.ptr, i8
  %max_bytes = llvm.load %p_max_bytes : !llvm.ptr -> i64
  %p_max_depth = llvm.getelementptr %machine[${max_depth}] : (!llvm.ptr) -> !llvm.ptr, i8
  %max_depth = llvm.load %p_max_depth : !llvm.ptr -> i64
  %p_observer = llvm.getelementptr %machine[${observer}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_state = llvm.getelementptr %machine[${vm_state}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_stack = llvm.getelementptr %machine[${stack}] : (!llvm.ptr) -> !llvm.ptr, i8
  // The arguments of calls are at the bottom of the stack, before the frames.
  %buffer_bytes = llvm.mul %max_args, %c16 : i64
  %kept = llvm.atomicrmw xchg %p_stack, %null acq_rel : !llvm.ptr, !llvm.ptr
  %has_stack = llvm.icmp "ne" %kept, %null : !llvm.ptr
  llvm.cond_br %has_stack, ^stack(%kept : !llvm.ptr), ^make_stack
^make_stack:
  %made = llvm.call @new_chunk(%buffer_bytes, %null, %zero) : (i64, !llvm.ptr, i64) -> !llvm.ptr
  %is_missing = llvm.icmp "eq" %made, %null : !llvm.ptr
  llvm.cond_br %is_missing, ^bad_stack, ^stack(%made : !llvm.ptr)
^bad_stack:
  llvm.call @raise(%memory_error, %no_memory, %own_name, %zero, %buffer_bytes, %zero)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  llvm.return %failed32 : i32
^stack(%chunk0: !llvm.ptr):
  %buffer = llvm.getelementptr %chunk0[${CHUNK_HEAD}] : (!llvm.ptr) -> !llvm.ptr, i8
  %chunk0_8 = llvm.getelementptr %chunk0[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %chunk0_end = llvm.load %chunk0_8 : !llvm.ptr -> i64
  %chunk0_word = llvm.ptrtoint %chunk0 : !llvm.ptr to i64
  %chunk0_size = llvm.sub %chunk0_end, %chunk0_word : i64
  %chunk0_total = llvm.add %chunk0_size, %taken_before : i64
  %chunk0_16 = llvm.getelementptr %chunk0[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %chunk0_total, %chunk0_16 : i64, !llvm.ptr
  llvm.call @note_thread(%key, %nested1, %chunk0_total) : (i32, i64, i64) -> ()
  %bottom = llvm.getelementptr %buffer[%buffer_bytes] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.store %bottom, %v_top : !llvm.ptr, !llvm.ptr
  llvm.store %chunk0, %v_chunk : !llvm.ptr, !llvm.ptr
  llvm.br ^push(%self, %args, %zero, %void : !llvm.ptr, !llvm.ptr, i64, i64)

  // A frame for a function: {previous frame, descriptor, the caller's next instruction, its register for the result,
  // its top of the stack, its chunk, registers}. The arguments become registers.
^push(%callee: !llvm.ptr, %values: !llvm.ptr, %resume: i64, %target: i64):
  %depth = llvm.load %v_depth : !llvm.ptr -> i64
  %too_many = llvm.icmp "sge" %depth, %max_depth : i64
  llvm.cond_br %too_many, ^bad_depth, ^room
^bad_depth:
  %callee_name_p = llvm.getelementptr %callee[${name}] : (!llvm.ptr) -> !llvm.ptr, i8
  %callee_name = llvm.load %callee_name_p : !llvm.ptr -> !llvm.ptr
  llvm.call @raise(%recursion_error, %too_deep, %callee_name, %max_depth, %zero, %zero)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  llvm.br ^fail(%failed32 : i32)
^room:
  %p_regs = llvm.getelementptr %callee[${registers}] : (!llvm.ptr) -> !llvm.ptr, i8
  %reg_count = llvm.load %p_regs : !llvm.ptr -> i64
  %reg_bytes = llvm.mul %reg_count, %c16 : i64
  %frame_bytes = llvm.add %reg_bytes, %frame_head : i64
  %top = llvm.load %v_top : !llvm.ptr -> !llvm.ptr
  %chunk = llvm.load %v_chunk : !llvm.ptr -> !llvm.ptr
  %p_end = llvm.getelementptr %chunk[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %end = llvm.load %p_end : !llvm.ptr -> i64
  %top_word = llvm.ptrtoint %top : !llvm.ptr to i64
  %available = llvm.sub %end, %top_word : i64
  %enough = llvm.icmp "sle" %frame_bytes, %available : i64
  llvm.cond_br %enough, ^frame(%top, %chunk : !llvm.ptr, !llvm.ptr), ^grow
^grow:
  %p_total = llvm.getelementptr %chunk[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %total = llvm.load %p_total : !llvm.ptr -> i64
  %total_then = llvm.add %total, %frame_bytes : i64
  %too_large = llvm.icmp "ugt" %total_then, %max_bytes : i64
  llvm.cond_br %too_large, ^bad_bytes, ^new_chunk
^bad_bytes:
  %large_name_p = llvm.getelementptr %callee[${name}] : (!llvm.ptr) -> !llvm.ptr, i8
  %large_name = llvm.load %large_name_p : !llvm.ptr -> !llvm.ptr
  llvm.call @raise(%recursion_error, %too_many_bytes, %large_name, %max_bytes, %reg_count, %zero)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  llvm.br ^fail(%failed32 : i32)
^new_chunk:
  %chunk1 = llvm.call @new_chunk(%frame_bytes, %chunk, %total) : (i64, !llvm.ptr, i64) -> !llvm.ptr
  %no_chunk = llvm.icmp "eq" %chunk1, %null : !llvm.ptr
  llvm.cond_br %no_chunk, ^bad_frame, ^grown
^bad_frame:
  %failed_name_p = llvm.getelementptr %callee[${name}] : (!llvm.ptr) -> !llvm.ptr, i8
  %failed_name = llvm.load %failed_name_p : !llvm.ptr -> !llvm.ptr
  llvm.call @raise(%memory_error, %no_memory, %failed_name, %reg_count, %frame_bytes, %zero)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  llvm.br ^fail(%failed32 : i32)
^grown:
  %p_total1 = llvm.getelementptr %chunk1[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %total1 = llvm.load %p_total1 : !llvm.ptr -> i64
  llvm.call @note_thread(%key, %nested1, %total1) : (i32, i64, i64) -> ()
  %first = llvm.getelementptr %chunk1[${CHUNK_HEAD}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.br ^frame(%first, %chunk1 : !llvm.ptr, !llvm.ptr)
^frame(%frame: !llvm.ptr, %in_chunk: !llvm.ptr):
  %previous = llvm.load %v_frame : !llvm.ptr -> !llvm.ptr
  llvm.store %previous, %frame : !llvm.ptr, !llvm.ptr
  %f8 = llvm.getelementptr %frame[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %callee, %f8 : !llvm.ptr, !llvm.ptr
  %f16 = llvm.getelementptr %frame[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %resume, %f16 : i64, !llvm.ptr
  %f24 = llvm.getelementptr %frame[24] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %target, %f24 : i64, !llvm.ptr
  %f32 = llvm.getelementptr %frame[32] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %top, %f32 : !llvm.ptr, !llvm.ptr
  %f40 = llvm.getelementptr %frame[40] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %chunk, %f40 : !llvm.ptr, !llvm.ptr
  %new_regs = llvm.getelementptr %frame[${FRAME_HEAD}] : (!llvm.ptr) -> !llvm.ptr, i8
  "llvm.intr.memset"(%new_regs, %z8, %reg_bytes) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  %new_top = llvm.getelementptr %new_regs[%reg_bytes] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %depth1 = llvm.add %depth, %one : i64
  llvm.store %depth1, %v_depth : i64, !llvm.ptr
  llvm.store %frame, %v_frame : !llvm.ptr, !llvm.ptr
  llvm.store %new_regs, %v_regs : !llvm.ptr, !llvm.ptr
  llvm.store %callee, %v_descriptor : !llvm.ptr, !llvm.ptr
  llvm.store %new_top, %v_top : !llvm.ptr, !llvm.ptr
  llvm.store %nowhere, %v_at : i64, !llvm.ptr
  llvm.store %in_chunk, %v_chunk : !llvm.ptr, !llvm.ptr
  %pn = llvm.getelementptr %callee[${parameters}] : (!llvm.ptr) -> !llvm.ptr, i8
  %count = llvm.load %pn : !llvm.ptr -> i64
  %ps = llvm.getelementptr %callee[${start}] : (!llvm.ptr) -> !llvm.ptr, i8
  %begin = llvm.load %ps : !llvm.ptr -> i64
  llvm.br ^parameter(%zero : i64)
^parameter(%i: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^copy, ^loop(%begin : i64)
^copy:
  %from = llvm.getelementptr %values[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %to = llvm.getelementptr %new_regs[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %i1 = llvm.add %i, %one : i64
  %from_kind = llvm.load %from : !llvm.ptr -> i32
  %is_view = llvm.icmp "eq" %from_kind, %seven32 : i32
  llvm.cond_br %is_view, ^bad_view, ^take
^bad_view:
  %viewed_name_p = llvm.getelementptr %callee[${name}] : (!llvm.ptr) -> !llvm.ptr, i8
  %viewed_name = llvm.load %viewed_name_p : !llvm.ptr -> !llvm.ptr
  llvm.call @raise(%argument_error, %no_view, %viewed_name, %i, %zero, %zero)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  llvm.br ^fail(%failed32 : i32)
^take:
  %taken = llvm.call @take(%from, %to) : (!llvm.ptr, !llvm.ptr) -> i32
  %took = llvm.icmp "eq" %taken, %z32 : i32
  llvm.cond_br %took, ^parameter(%i1 : i64), ^fail(%taken : i32)

  // One instruction.
^loop(%pc: i64):
  llvm.store %pc, %v_at : i64, !llvm.ptr
  %ticks = llvm.load %v_ticks : !llvm.ptr -> i64
  %ticks1 = llvm.sub %ticks, %one : i64
  llvm.store %ticks1, %v_ticks : i64, !llvm.ptr
  %due = llvm.icmp "eq" %ticks1, %zero : i64
  llvm.cond_br %due, ^signals, ^decode
^signals:
  llvm.store %patience, %v_ticks : i64, !llvm.ptr
  %signal = llvm.call @interrupted(%v_last) : (!llvm.ptr) -> i32
  %undisturbed = llvm.icmp "eq" %signal, %z32 : i32
  llvm.cond_br %undisturbed, ^decode, ^fail(%signal : i32)
^decode:
  %at = llvm.getelementptr %code[%pc] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %opcode = llvm.load %at : !llvm.ptr -> i64
  %at1 = llvm.getelementptr %at[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %first_word = llvm.load %at1 : !llvm.ptr -> i64
  %regs = llvm.load %v_regs : !llvm.ptr -> !llvm.ptr
  llvm.switch %opcode : i64, ^fail(%failed32 : i32) [${CALL}: ^call, ${RET}: ^return, ${GOTO}: ^goto, ${IF}: ^if]

^call:
  %at2 = llvm.getelementptr %at[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %index = llvm.load %at2 : !llvm.ptr -> i64
  %at3 = llvm.getelementptr %at[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %arg_count = llvm.load %at3 : !llvm.ptr -> i64
  %words = llvm.getelementptr %at[32] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.br ^argument(%zero, %zero : i64, i64)
^argument(%j: i64, %made_functions: i64):
  %more_args = llvm.icmp "slt" %j, %arg_count : i64
  llvm.cond_br %more_args, ^one_argument, ^called
^one_argument:
  %at_word = llvm.getelementptr %words[%j] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %word = llvm.load %at_word : !llvm.ptr -> i64
  %kind = llvm.lshr %word, %c56 : i64
  %shifted = llvm.shl %word, %eight : i64
  %value = llvm.ashr %shifted, %eight : i64
  %slot = llvm.getelementptr %buffer[%j] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %j1 = llvm.add %j, %one : i64
  llvm.switch %kind : i64, ^fail(%failed32 : i32) [0: ^register, 1: ^immediate, 2: ^constant, 3: ^function]
^register:
  %is_state = llvm.icmp "eq" %value, %vm_register : i64
  %at_register = llvm.getelementptr %regs[%value] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %source = llvm.select %is_state, %p_state, %at_register : i1, !llvm.ptr
  %pair_kind = llvm.load volatile %source : !llvm.ptr -> i64
  %pair_from = llvm.getelementptr %source[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %pair_value = llvm.load volatile %pair_from : !llvm.ptr -> i64
  llvm.store %pair_kind, %slot : i64, !llvm.ptr
  %pair_to = llvm.getelementptr %slot[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %pair_value, %pair_to : i64, !llvm.ptr
  llvm.br ^argument(%j1, %made_functions : i64, i64)
^immediate:
  llvm.store %one, %slot : i64, !llvm.ptr
  %slot8 = llvm.getelementptr %slot[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %value, %slot8 : i64, !llvm.ptr
  llvm.br ^argument(%j1, %made_functions : i64, i64)
^constant:
  %at_constant = llvm.getelementptr %constants[%value] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %constant_pair_kind = llvm.load volatile %at_constant : !llvm.ptr -> i64
  %constant_pair_from = llvm.getelementptr %at_constant[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %constant_pair_value = llvm.load volatile %constant_pair_from : !llvm.ptr -> i64
  llvm.store %constant_pair_kind, %slot : i64, !llvm.ptr
  %constant_pair_to = llvm.getelementptr %slot[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %constant_pair_value, %constant_pair_to : i64, !llvm.ptr
  llvm.br ^argument(%j1, %made_functions : i64, i64)
^function:
  %at_described = llvm.getelementptr %descriptors[%value] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %described = llvm.load %at_described : !llvm.ptr -> !llvm.ptr
  %is_packed = llvm.icmp "eq" %described, %null : !llvm.ptr
  llvm.cond_br %is_packed, ^packed_function, ^new_function
^packed_function:
  %at_function = llvm.getelementptr %functions[%value] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %function_pair_kind = llvm.load volatile %at_function : !llvm.ptr -> i64
  %function_pair_from = llvm.getelementptr %at_function[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %function_pair_value = llvm.load volatile %function_pair_from : !llvm.ptr -> i64
  llvm.store %function_pair_kind, %slot : i64, !llvm.ptr
  %function_pair_to = llvm.getelementptr %slot[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %function_pair_value, %function_pair_to : i64, !llvm.ptr
  llvm.br ^argument(%j1, %made_functions : i64, i64)
^new_function:
  // A machine does not hold its own functions, which hold it: create one for this call.
  %new_status = llvm.call @new_function(%described, %slot) : (!llvm.ptr, !llvm.ptr) -> i32
  %is_made = llvm.icmp "eq" %new_status, %z32 : i32
  llvm.cond_br %is_made, ^argument(%j1, %j1 : i64, i64), ^fail_call(%new_status, %j, %made_functions : i32, i64, i64)

^called:
  %observer = llvm.load %p_observer : !llvm.ptr -> !llvm.ptr
  %is_watched = llvm.icmp "ne" %observer, %null : !llvm.ptr
  %at_callee = llvm.getelementptr %descriptors[%index] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %own_callee = llvm.load %at_callee : !llvm.ptr -> !llvm.ptr
  %size = llvm.add %arg_count, %four : i64
  %next_pc = llvm.add %pc, %size : i64
  llvm.store %zero, %result : i64, !llvm.ptr
  llvm.store %zero, %result8 : i64, !llvm.ptr
  llvm.cond_br %is_watched, ^watched, ^unwatched
^watched:
  %watched_status = llvm.call %observer(%machine, %pc, %index, %buffer, %arg_count, %result)
    : !llvm.ptr, (!llvm.ptr, i64, i64, !llvm.ptr, i64, !llvm.ptr) -> i32
  llvm.br ^back(%watched_status : i32)
^unwatched:
  %is_external = llvm.icmp "eq" %own_callee, %null : !llvm.ptr
  llvm.cond_br %is_external, ^external, ^internal
^external:
  %at_packed = llvm.getelementptr %functions[%index] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %at_packed8 = llvm.getelementptr %at_packed[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %packed = llvm.load %at_packed8 : !llvm.ptr -> !llvm.ptr
  %n32 = llvm.trunc %arg_count : i64 to i32
  %packed_status = llvm.call @TVMFFIFunctionCall(%packed, %buffer, %n32, %result)
    : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  llvm.br ^back(%packed_status : i32)
^back(%status: i32):
  %no_functions = llvm.icmp "eq" %made_functions, %zero : i64
  llvm.cond_br %no_functions, ^status(%status : i32), ^drop_functions
^drop_functions:
  llvm.call @drop_made(%words, %buffer, %arg_count, %descriptors) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
  llvm.br ^status(%status : i32)
^status(%state: i32):
  %fine = llvm.icmp "eq" %state, %z32 : i32
  llvm.cond_br %fine, ^store_result(%next_pc, %first_word, %regs : i64, i64, !llvm.ptr), ^fail(%state : i32)
^fail_call(%why: i32, %evaluated: i64, %made_before: i64):
  llvm.call @drop_made(%words, %buffer, %evaluated, %descriptors) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
  llvm.br ^fail(%why : i32)
^internal:
  %with_functions = llvm.icmp "ne" %made_functions, %zero : i64
  llvm.cond_br %with_functions, ^external_own, ^push(%own_callee, %buffer, %next_pc, %first_word : !llvm.ptr, !llvm.ptr, i64, i64)
^external_own:
  // Drop the functions created for the call after it: the callee runs in a frame of the C stack.
  %own_n32 = llvm.trunc %arg_count : i64 to i32
  %own_status = llvm.call @enter(%own_callee, %buffer, %own_n32, %result) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  llvm.br ^back(%own_status : i32)

^store_result(%go_on: i64, %register_word: i64, %registers: !llvm.ptr):
  %is_void = llvm.icmp "sge" %register_word, %void : i64
  llvm.cond_br %is_void, ^drop_result, ^set_result
^drop_result:
  llvm.call @drop(%result) : (!llvm.ptr) -> ()
  llvm.br ^loop(%go_on : i64)
^set_result:
  %place = llvm.getelementptr %registers[%register_word] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %old_kind = llvm.load %place : !llvm.ptr -> i64
  %place8 = llvm.getelementptr %place[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %old_object = llvm.load %place8 : !llvm.ptr -> !llvm.ptr
  %new_kind = llvm.load volatile %result : !llvm.ptr -> i64
  %new_value = llvm.load volatile %result8 : !llvm.ptr -> i64
  llvm.store %new_kind, %place : i64, !llvm.ptr
  llvm.store %new_value, %place8 : i64, !llvm.ptr
  llvm.call @drop_pair(%old_kind, %old_object) : (i64, !llvm.ptr) -> ()
  llvm.br ^loop(%go_on : i64)

^goto:
  %jump = llvm.add %pc, %first_word : i64
  llvm.br ^loop(%jump : i64)

^if:
  %at_offset = llvm.getelementptr %at[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %offset = llvm.load %at_offset : !llvm.ptr -> i64
  %condition = llvm.getelementptr %regs[%first_word] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %condition_kind = llvm.load %condition : !llvm.ptr -> i32
  %condition8 = llvm.getelementptr %condition[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %flag = llvm.load %condition8 : !llvm.ptr -> i64
  %below = llvm.sub %condition_kind, %one32 : i32
  %is_number = llvm.icmp "ule" %below, %one32 : i32
  llvm.cond_br %is_number, ^branch, ^bad_condition
^branch:
  %is_true = llvm.icmp "ne" %flag, %zero : i64
  %step = llvm.select %is_true, %three, %offset : i1, i64
  %branch_pc = llvm.add %pc, %step : i64
  llvm.br ^loop(%branch_pc : i64)
^bad_condition:
  %if_descriptor = llvm.load %v_descriptor : !llvm.ptr -> !llvm.ptr
  %if_name_p = llvm.getelementptr %if_descriptor[${name}] : (!llvm.ptr) -> !llvm.ptr, i8
  %if_name = llvm.load %if_name_p : !llvm.ptr -> !llvm.ptr
  %p_numbers = llvm.getelementptr %machine[${numbers}] : (!llvm.ptr) -> !llvm.ptr, i8
  %numbers = llvm.load %p_numbers : !llvm.ptr -> !llvm.ptr
  %at_number = llvm.getelementptr %numbers[%pc] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %number_of_all = llvm.load %at_number : !llvm.ptr -> i64
  %if_first_p = llvm.getelementptr %if_descriptor[${first}] : (!llvm.ptr) -> !llvm.ptr, i8
  %if_first = llvm.load %if_first_p : !llvm.ptr -> i64
  %number = llvm.sub %number_of_all, %if_first : i64
  %info = llvm.call @TVMFFIGetTypeInfo(%condition_kind) : (i32) -> !llvm.ptr
  %type_at = llvm.getelementptr %info[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %type_name = llvm.load %type_at : !llvm.ptr -> i64
  llvm.call @raise(%bytecode_error, %no_condition, %if_name, %number, %first_word, %type_name)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  llvm.br ^fail(%failed32 : i32)

^return:
  %returned = llvm.getelementptr %regs[%first_word] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %returned_kind = llvm.load volatile %returned : !llvm.ptr -> i64
  %returned_from = llvm.getelementptr %returned[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %returned_value = llvm.load volatile %returned_from : !llvm.ptr -> i64
  llvm.store %returned_kind, %result : i64, !llvm.ptr
  %returned_to = llvm.getelementptr %result[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %returned_value, %returned_to : i64, !llvm.ptr
  llvm.store %zero, %returned : i64, !llvm.ptr
  llvm.br ^pop
^pop:
  %done = llvm.load %v_frame : !llvm.ptr -> !llvm.ptr
  %done8 = llvm.getelementptr %done[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %done_descriptor = llvm.load %done8 : !llvm.ptr -> !llvm.ptr
  %done_regs_p = llvm.getelementptr %done_descriptor[${registers}] : (!llvm.ptr) -> !llvm.ptr, i8
  %done_count = llvm.load %done_regs_p : !llvm.ptr -> i64
  %done_regs = llvm.getelementptr %done[${FRAME_HEAD}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.call @drop_all(%done_regs, %done_count) : (!llvm.ptr, i64) -> ()
  %caller = llvm.load %done : !llvm.ptr -> !llvm.ptr
  %done16 = llvm.getelementptr %done[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %resumed = llvm.load %done16 : !llvm.ptr -> i64
  %done24 = llvm.getelementptr %done[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %wanted = llvm.load %done24 : !llvm.ptr -> i64
  llvm.call @leave_frame(%done, %v_top, %v_chunk, %key, %nested1)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32, i64) -> ()
  %depth_now = llvm.load %v_depth : !llvm.ptr -> i64
  %depth_less = llvm.sub %depth_now, %one : i64
  llvm.store %depth_less, %v_depth : i64, !llvm.ptr
  llvm.store %caller, %v_frame : !llvm.ptr, !llvm.ptr
  %is_last = llvm.icmp "eq" %caller, %null : !llvm.ptr
  llvm.cond_br %is_last, ^finish(%z32 : i32), ^resume
^resume:
  %caller8 = llvm.getelementptr %caller[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %caller_descriptor = llvm.load %caller8 : !llvm.ptr -> !llvm.ptr
  llvm.store %caller_descriptor, %v_descriptor : !llvm.ptr, !llvm.ptr
  %caller_regs = llvm.getelementptr %caller[${FRAME_HEAD}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %caller_regs, %v_regs : !llvm.ptr, !llvm.ptr
  llvm.br ^store_result(%resumed, %wanted, %caller_regs : i64, i64, !llvm.ptr)

  // An error is set: pop all frames.
^fail(%error: i32):
  %failing = llvm.load %v_frame : !llvm.ptr -> !llvm.ptr
  %no_frame = llvm.icmp "eq" %failing, %null : !llvm.ptr
  llvm.cond_br %no_frame, ^finish(%error : i32), ^unwind
^unwind:
  %failing8 = llvm.getelementptr %failing[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %failing_descriptor = llvm.load %failing8 : !llvm.ptr -> !llvm.ptr
  %failed_at = llvm.load %v_at : !llvm.ptr -> i64
  %told = llvm.load %v_told : !llvm.ptr -> i64
  %behind = llvm.load %v_behind : !llvm.ptr -> i64
  %is_somewhere = llvm.icmp "sge" %failed_at, %zero : i64
  %may_tell = llvm.icmp "sgt" %told, %zero : i64
  %is_raised = llvm.icmp "eq" %error, %failed32 : i32
  %tells = llvm.and %is_somewhere, %may_tell : i1
  %tells_it = llvm.and %tells, %is_raised : i1
  llvm.cond_br %tells_it, ^tell, ^leave
^tell:
  llvm.call @tell_place(%machine, %failing_descriptor, %failed_at, %behind) : (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
  %told_less = llvm.sub %told, %one : i64
  llvm.store %told_less, %v_told : i64, !llvm.ptr
  llvm.br ^leave
^leave:
  %failing_regs_p = llvm.getelementptr %failing_descriptor[${registers}] : (!llvm.ptr) -> !llvm.ptr, i8
  %failing_count = llvm.load %failing_regs_p : !llvm.ptr -> i64
  %failing_regs = llvm.getelementptr %failing[${FRAME_HEAD}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.call @drop_all(%failing_regs, %failing_count) : (!llvm.ptr, i64) -> ()
  %outer = llvm.load %failing : !llvm.ptr -> !llvm.ptr
  %failing16 = llvm.getelementptr %failing[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %called_from = llvm.load %failing16 : !llvm.ptr -> i64
  llvm.call @leave_frame(%failing, %v_top, %v_chunk, %key, %nested1)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32, i64) -> ()
  llvm.store %outer, %v_frame : !llvm.ptr, !llvm.ptr
  llvm.store %called_from, %v_at : i64, !llvm.ptr
  llvm.store %one, %v_behind : i64, !llvm.ptr
  llvm.br ^fail(%error : i32)

  // Cache one stack for the next call; others are freed.
^finish(%code_of_status: i32):
  %own_chunk = llvm.load %v_chunk : !llvm.ptr -> !llvm.ptr
  %other = llvm.atomicrmw xchg %p_stack, %own_chunk acq_rel : !llvm.ptr, !llvm.ptr
  %is_other = llvm.icmp "ne" %other, %null : !llvm.ptr
  llvm.cond_br %is_other, ^free_other, ^end
^free_other:
  llvm.call @free(%other) : (!llvm.ptr) -> ()
  llvm.br ^end
^end:
  %rc2 = llvm.call @pthread_setspecific(%key, %nested_p) : (i32, !llvm.ptr) -> i32
  %success = llvm.icmp "eq" %code_of_status, %z32 : i32
  llvm.cond_br %success, ^give, ^give_up
^give:
  %outcome_kind = llvm.load volatile %result : !llvm.ptr -> i64
  %outcome_from = llvm.getelementptr %result[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %outcome_value = llvm.load volatile %outcome_from : !llvm.ptr -> i64
  llvm.store %outcome_kind, %ret : i64, !llvm.ptr
  %outcome_to = llvm.getelementptr %ret[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %outcome_value, %outcome_to : i64, !llvm.ptr
  llvm.return %z32 : i32
^give_up:
  llvm.return %code_of_status : i32
}

llvm.func internal @drop_pair(%kind: i64, %object: !llvm.ptr) attributes {passthrough = ["alwaysinline"]} {
  %first = llvm.mlir.constant(64 : i32) : i32
  %index = llvm.trunc %kind : i64 to i32
  %is_object = llvm.icmp "sge" %index, %first : i32
  llvm.cond_br %is_object, ^object, ^end
^object:
  %rc = llvm.call @TVMFFIObjectDecRef(%object) : (!llvm.ptr) -> i32
  llvm.br ^end
^end:
  llvm.return
}

// Drop the functions among the first `count` arguments that were created for a call (see ^new_function).
llvm.func internal @drop_made(%words: !llvm.ptr, %buffer: !llvm.ptr, %count: i64, %descriptors: !llvm.ptr) attributes {passthrough = ["cold", "noinline"]} {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %three = llvm.mlir.constant(3 : i64) : i64
  %eight = llvm.mlir.constant(8 : i64) : i64
  %c56 = llvm.mlir.constant(56 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.br ^head(%zero : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^body, ^end
^body:
  %next = llvm.add %i, %one : i64
  %at = llvm.getelementptr %words[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %word = llvm.load %at : !llvm.ptr -> i64
  %kind = llvm.lshr %word, %c56 : i64
  %is_function = llvm.icmp "eq" %kind, %three : i64
  llvm.cond_br %is_function, ^function, ^head(%next : i64)
^function:
  %shifted = llvm.shl %word, %eight : i64
  %value = llvm.ashr %shifted, %eight : i64
  %at_descriptor = llvm.getelementptr %descriptors[%value] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %descriptor = llvm.load %at_descriptor : !llvm.ptr -> !llvm.ptr
  %is_packed = llvm.icmp "eq" %descriptor, %null : !llvm.ptr
  llvm.cond_br %is_packed, ^head(%next : i64), ^drop
^drop:
  %slot = llvm.getelementptr %buffer[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  llvm.call @drop(%slot) : (!llvm.ptr) -> ()
  llvm.br ^head(%next : i64)
^end:
  llvm.return
}

// Store the number of a thread's entries into machines, and the bytes of their stacks.
llvm.func internal @note_thread(%key: i32, %count: i64, %bytes: i64) {
  %size = llvm.mlir.constant(${COUNT_BITS} : i64) : i64
  %above = llvm.shl %bytes, %size : i64
  %word = llvm.or %above, %count : i64
  %value = llvm.inttoptr %word : i64 to !llvm.ptr
  %rc = llvm.call @pthread_setspecific(%key, %value) : (i32, !llvm.ptr) -> i32
  llvm.return
}

// Release a frame's memory, with its chunk if it began one.
llvm.func internal @leave_frame(%frame: !llvm.ptr, %v_top: !llvm.ptr, %v_chunk: !llvm.ptr, %key: i32, %count: i64) attributes {passthrough = ["alwaysinline"]} {
  %at32 = llvm.getelementptr %frame[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %top = llvm.load %at32 : !llvm.ptr -> !llvm.ptr
  %at40 = llvm.getelementptr %frame[40] : (!llvm.ptr) -> !llvm.ptr, i8
  %before = llvm.load %at40 : !llvm.ptr -> !llvm.ptr
  %chunk = llvm.load %v_chunk : !llvm.ptr -> !llvm.ptr
  llvm.store %top, %v_top : !llvm.ptr, !llvm.ptr
  llvm.store %before, %v_chunk : !llvm.ptr, !llvm.ptr
  %same = llvm.icmp "eq" %before, %chunk : !llvm.ptr
  llvm.cond_br %same, ^end, ^free
^free:
  llvm.call @free(%chunk) : (!llvm.ptr) -> ()
  %p_total = llvm.getelementptr %before[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %total = llvm.load %p_total : !llvm.ptr -> i64
  llvm.call @note_thread(%key, %count, %total) : (i32, i64, i64) -> ()
  llvm.br ^end
^end:
  llvm.return
}
