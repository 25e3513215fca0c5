// Calls with an instrument or a profile attached (level V); a part of vm_core.mlir.

llvm.func internal @nanoseconds() -> i64 attributes {passthrough = ["cold", "noinline"]} {
  %two = llvm.mlir.constant(2 : i64) : i64
  %monotonic = llvm.mlir.constant(1 : i32) : i32
  %billion = llvm.mlir.constant(1000000000 : i64) : i64
  %time = llvm.alloca %two x i64 {alignment = 8 : i64} : (i64) -> !llvm.ptr
  %rc = llvm.call @clock_gettime(%monotonic, %time) : (i32, !llvm.ptr) -> i32
  %seconds = llvm.load %time : !llvm.ptr -> i64
  %p8 = llvm.getelementptr %time[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %rest = llvm.load %p8 : !llvm.ptr -> i64
  %scaled = llvm.mul %seconds, %billion : i64
  %now = llvm.add %scaled, %rest : i64
  llvm.return %now : i64
}

// Call function `index` at word `pc`, between two calls of the instrument; its time is added to the profile.
llvm.func internal @observe(%machine: !llvm.ptr, %pc: i64, %index: i64, %buffer: !llvm.ptr, %n: i64, %result: !llvm.ptr) -> i32 attributes {passthrough = ["cold", "noinline"]} {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %two = llvm.mlir.constant(2 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32
  %yes = llvm.mlir.constant(true) : i1
  %no = llvm.mlir.constant(false) : i1
  %null = llvm.mlir.zero : !llvm.ptr
  %n32 = llvm.trunc %n : i64 to i32
  %p_descriptors = llvm.getelementptr %machine[${descriptors}] : (!llvm.ptr) -> !llvm.ptr, i8
  %descriptors = llvm.load %p_descriptors : !llvm.ptr -> !llvm.ptr
  %at_descriptor = llvm.getelementptr %descriptors[%index] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %descriptor = llvm.load %at_descriptor : !llvm.ptr -> !llvm.ptr
  %p_functions = llvm.getelementptr %machine[${functions}] : (!llvm.ptr) -> !llvm.ptr, i8
  %functions = llvm.load %p_functions : !llvm.ptr -> !llvm.ptr
  %at_packed = llvm.getelementptr %functions[%index] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %at_packed8 = llvm.getelementptr %at_packed[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_profile = llvm.getelementptr %machine[${profile}] : (!llvm.ptr) -> !llvm.ptr, i8
  %profile = llvm.load %p_profile : !llvm.ptr -> !llvm.ptr
  %is_timed = llvm.icmp "ne" %profile, %null : !llvm.ptr
  %function = llvm.alloca %two x i64 {alignment = 8 : i64} : (i64) -> !llvm.ptr
  llvm.store %zero, %function : i64, !llvm.ptr
  %is_own = llvm.icmp "ne" %descriptor, %null : !llvm.ptr
  %named = scf.if %is_own -> i32 {
    %made = llvm.call @new_function(%descriptor, %function) : (!llvm.ptr, !llvm.ptr) -> i32
    scf.yield %made : i32
  } else {
    %kept = llvm.call @take(%at_packed, %function) : (!llvm.ptr, !llvm.ptr) -> i32
    scf.yield %kept : i32
  }
  %before = llvm.call @ask(%machine, %function, %index, %yes, %buffer, %n, %result)
    : (!llvm.ptr, !llvm.ptr, i64, i1, !llvm.ptr, i64, !llvm.ptr) -> i64
  %goes_on = llvm.icmp "eq" %before, %zero : i64
  %status = scf.if %goes_on -> i32 {
    %start = scf.if %is_timed -> i64 {
      %now = llvm.call @nanoseconds() : () -> i64
      scf.yield %now : i64
    } else {
      scf.yield %zero : i64
    }
    %called = scf.if %is_own -> i32 {
      %own = llvm.call @enter(%descriptor, %buffer, %n32, %result) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
      scf.yield %own : i32
    } else {
      %packed = llvm.load %at_packed8 : !llvm.ptr -> !llvm.ptr
      %external = llvm.call @TVMFFIFunctionCall(%packed, %buffer, %n32, %result)
        : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
      scf.yield %external : i32
    }
    scf.if %is_timed {
      %now = llvm.call @nanoseconds() : () -> i64
      %taken = llvm.sub %now, %start : i64
      %p_numbers = llvm.getelementptr %machine[${numbers}] : (!llvm.ptr) -> !llvm.ptr, i8
      %numbers = llvm.load %p_numbers : !llvm.ptr -> !llvm.ptr
      %at_number = llvm.getelementptr %numbers[%pc] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %number = llvm.load %at_number : !llvm.ptr -> i64
      %count_at = llvm.getelementptr %profile[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
      %time_at = llvm.getelementptr %count_at[8] : (!llvm.ptr) -> !llvm.ptr, i8
      %c0 = llvm.atomicrmw add %count_at, %one monotonic : !llvm.ptr, i64
      %t0 = llvm.atomicrmw add %time_at, %taken monotonic : !llvm.ptr, i64
    }
    %went_well = llvm.icmp "eq" %called, %ok : i32
    %end = scf.if %went_well -> i32 {
      %after = llvm.call @ask(%machine, %function, %index, %no, %buffer, %n, %result)
        : (!llvm.ptr, !llvm.ptr, i64, i1, !llvm.ptr, i64, !llvm.ptr) -> i64
      %is_error = llvm.icmp "slt" %after, %zero : i64
      %narrow = llvm.trunc %after : i64 to i32
      %final = llvm.select %is_error, %narrow, %ok : i1, i32
      scf.if %is_error {
        llvm.call @drop(%result) : (!llvm.ptr) -> ()
      }
      scf.yield %final : i32
    } else {
      scf.yield %called : i32
    }
    scf.yield %end : i32
  } else {
    %is_error = llvm.icmp "slt" %before, %zero : i64
    %narrow = llvm.trunc %before : i64 to i32
    %final = llvm.select %is_error, %narrow, %ok : i1, i32
    scf.yield %final : i32
  }
  llvm.call @drop(%function) : (!llvm.ptr) -> ()
  llvm.return %status : i32
}

// Ask the instrument about a call: 0 to run it, 1 to use `result` instead, negative if an error is set.
llvm.func internal @ask(%machine: !llvm.ptr, %function: !llvm.ptr, %index: i64, %before: i1, %buffer: !llvm.ptr, %n: i64, %result: !llvm.ptr) -> i64 attributes {passthrough = ["cold", "noinline"]} {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %two = llvm.mlir.constant(2 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  %c16 = llvm.mlir.constant(16 : i64) : i64
  %bool_kind = llvm.mlir.constant(2 : i64) : i64
  %array_kind = llvm.mlir.constant(71 : i32) : i32
  %int_kind = llvm.mlir.constant(1 : i32) : i32
  %ok = llvm.mlir.constant(0 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %p_instrument = llvm.getelementptr %machine[${instrument}] : (!llvm.ptr) -> !llvm.ptr, i8
  %kind = llvm.load %p_instrument : !llvm.ptr -> i64
  %is_there = llvm.icmp "ne" %kind, %zero : i64
  %answer = scf.if %is_there -> i64 {
    %p_instrument8 = llvm.getelementptr %p_instrument[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %callee = llvm.load %p_instrument8 : !llvm.ptr -> !llvm.ptr
    %rc0 = llvm.call @TVMFFIObjectIncRef(%callee) : (!llvm.ptr) -> i32
    %count = llvm.add %n, %four : i64
    %all_bytes = llvm.mul %count, %c16 : i64
    %args = llvm.call @malloc(%all_bytes) : (i64) -> !llvm.ptr
    %has_memory = llvm.icmp "ne" %args, %null : !llvm.ptr
    %outcome = scf.if %has_memory -> i64 {
    %words = llvm.load %function {alignment = 8 : i64} : !llvm.ptr -> vector<2xi64>
    llvm.store %words, %args {alignment = 8 : i64} : vector<2xi64>, !llvm.ptr
    %p_names = llvm.getelementptr %machine[${names}] : (!llvm.ptr) -> !llvm.ptr, i8
    %names = llvm.load %p_names : !llvm.ptr -> !llvm.ptr
    %at_name = llvm.getelementptr %names[%index] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
    %name = llvm.load %at_name {alignment = 8 : i64} : !llvm.ptr -> vector<2xi64>
    %to_name = llvm.getelementptr %args[16] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %name, %to_name {alignment = 8 : i64} : vector<2xi64>, !llvm.ptr
    %to_flag = llvm.getelementptr %args[32] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %bool_kind, %to_flag : i64, !llvm.ptr
    %to_flag8 = llvm.getelementptr %args[40] : (!llvm.ptr) -> !llvm.ptr, i8
    %flag = llvm.zext %before : i1 to i64
    llvm.store %flag, %to_flag8 : i64, !llvm.ptr
    %to_result = llvm.getelementptr %args[48] : (!llvm.ptr) -> !llvm.ptr, i8
    %result_words = llvm.load %result {alignment = 8 : i64} : !llvm.ptr -> vector<2xi64>
    llvm.store %result_words, %to_result {alignment = 8 : i64} : vector<2xi64>, !llvm.ptr
    %rest = llvm.getelementptr %args[64] : (!llvm.ptr) -> !llvm.ptr, i8
    %bytes = llvm.mul %n, %c16 : i64
    "llvm.intr.memcpy"(%rest, %buffer, %bytes) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
    %said = llvm.alloca %two x i64 {alignment = 8 : i64} : (i64) -> !llvm.ptr
    llvm.store %zero, %said : i64, !llvm.ptr
    %said8 = llvm.getelementptr %said[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %zero, %said8 : i64, !llvm.ptr
    %count32 = llvm.trunc %count : i64 to i32
    %status = llvm.call @TVMFFIFunctionCall(%callee, %args, %count32, %said)
      : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
    llvm.call @free(%args) : (!llvm.ptr) -> ()
    %failed = llvm.icmp "ne" %status, %ok : i32
    %code = scf.if %failed -> i64 {
      %wide = llvm.sext %status : i32 to i64
      scf.yield %wide : i64
    } else {
      // A list of one value replaces the result, the number 1 means "do not call".
      %said_kind = llvm.load %said : !llvm.ptr -> i32
      %payload = llvm.load %said8 : !llvm.ptr -> i64
      %is_list = llvm.icmp "eq" %said_kind, %array_kind : i32
      %chosen = scf.if %is_list -> i64 {
        %array = llvm.inttoptr %payload : i64 to !llvm.ptr
        %items_p = llvm.getelementptr %array[24] : (!llvm.ptr) -> !llvm.ptr, i8
        %items = llvm.load %items_p : !llvm.ptr -> !llvm.ptr
        llvm.call @drop(%result) : (!llvm.ptr) -> ()
        llvm.store %zero, %result : i64, !llvm.ptr
        %taken = llvm.call @take(%items, %result) : (!llvm.ptr, !llvm.ptr) -> i32
        llvm.call @drop(%said) : (!llvm.ptr) -> ()
        scf.yield %one : i64
      } else {
        %is_int = llvm.icmp "eq" %said_kind, %int_kind : i32
        %is_one = llvm.icmp "eq" %payload, %one : i64
        %skips = llvm.and %is_int, %is_one : i1
        llvm.call @drop(%said) : (!llvm.ptr) -> ()
        %skipped = llvm.zext %skips : i1 to i64
        scf.yield %skipped : i64
      }
      scf.yield %chosen : i64
    }
    scf.yield %code : i64
    } else {
      %memory_error = llvm.mlir.addressof @memory_error : !llvm.ptr
      %no_arguments = llvm.mlir.addressof @no_arguments : !llvm.ptr
      %own_name = llvm.mlir.addressof @instrument_name : !llvm.ptr
      %minus = llvm.mlir.constant(-1 : i64) : i64
      llvm.call @raise(%memory_error, %no_arguments, %own_name, %count, %zero, %zero)
        : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
      scf.yield %minus : i64
    }
    %rc1 = llvm.call @TVMFFIObjectDecRef(%callee) : (!llvm.ptr) -> i32
    scf.yield %outcome : i64
  } else {
    scf.yield %zero : i64
  }
  llvm.return %answer : i64
}
