// Start-up code of an exported library (level V); see library.py for the values of its placeholders.

llvm.func @getenv(!llvm.ptr) -> !llvm.ptr
llvm.func @strtod(!llvm.ptr, !llvm.ptr) -> f64
llvm.func @sysconf(i32) -> i64
llvm.func extern_weak @pthread_atfork(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func extern_weak @__register_atfork(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @strlen(!llvm.ptr) -> i64
llvm.func @TVMFFIErrorCreate(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @TVMFFIErrorSetRaised(!llvm.ptr)
llvm.func @TVMFFIObjectDecRef(!llvm.ptr) -> i32
llvm.func @${CPU_WORDS}(!llvm.ptr)
llvm.func @${POOL_STATE}() -> !llvm.ptr
llvm.func @${TEAM_STATE}() -> !llvm.ptr
llvm.func @TVMFFIFunctionGetGlobal(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @TVMFFIFunctionSetGlobal(!llvm.ptr, !llvm.ptr, i32) -> i32
llvm.func @TVMFFIFunctionCreate(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @TVMFFIFunctionCall(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
llvm.func @TVMFFIErrorMoveFromRaised(!llvm.ptr)
${syscall}
llvm.mlir.global internal constant @memory_limit(${limit_variable})
llvm.mlir.global internal constant @blocktime(${blocktime_variable})
llvm.mlir.global internal constant @team_name(${team_name})
llvm.mlir.global internal constant @kind("RuntimeError\00")
llvm.mlir.global internal constant @missing(${missing})

// The error message of calls, or null.
llvm.mlir.global internal @problem() : !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}

// Read an integer from an environment variable; return the default if it is unset, malformed, or outside 0 to the
// maximum.
llvm.func internal @setting(%name: !llvm.ptr, %default: f64, %largest: f64) -> f64 {
  %null = llvm.mlir.zero : !llvm.ptr
  %two = arith.constant 1 : i64
  %zero = arith.constant 0.0 : f64
  %text = llvm.call @getenv(%name) : (!llvm.ptr) -> !llvm.ptr
  %missing = llvm.icmp "eq" %text, %null : !llvm.ptr
  %found = scf.if %missing -> f64 {
    scf.yield %default : f64
  } else {
    %end = llvm.alloca %two x !llvm.ptr : (i64) -> !llvm.ptr
    %number = llvm.call @strtod(%text, %end) : (!llvm.ptr, !llvm.ptr) -> f64
    %last = llvm.load %end : !llvm.ptr -> !llvm.ptr
    %rest = llvm.load %last : !llvm.ptr -> i8
    %nul = arith.constant 0 : i8
    %whole = arith.cmpi eq, %rest, %nul : i8
    %some = llvm.icmp "ne" %last, %text : !llvm.ptr
    %low = arith.cmpf oge, %number, %zero : f64
    %high = arith.cmpf ole, %number, %largest : f64
    %read = arith.andi %whole, %some : i1
    %bounded = arith.andi %low, %high : i1
    %good = arith.andi %read, %bounded : i1
    %chosen = arith.select %good, %number, %default : f64
    scf.yield %chosen : f64
  }
  llvm.return %found : f64
}

// In the child of a fork the threads no longer exist, and the owner of the lock may not either.
llvm.func internal @forget_threads() {
  %team = llvm.call @${TEAM_STATE}() : () -> !llvm.ptr
  %zero = arith.constant 0 : i64
${forgotten}  llvm.return
}

llvm.func internal @bind_memory(%table: !llvm.ptr) {
  %pool = llvm.call @${POOL_STATE}() : () -> !llvm.ptr
  %take = llvm.load %pool : !llvm.ptr -> !llvm.ptr
  %p_give = llvm.getelementptr %pool[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %give = llvm.load %p_give : !llvm.ptr -> !llvm.ptr
  llvm.store %take, %table : !llvm.ptr, !llvm.ptr
  %second = llvm.getelementptr %table[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %give, %second : !llvm.ptr, !llvm.ptr
  %which_size = arith.constant ${PAGE_SIZE_NAME} : i32
  %which_pages = arith.constant ${PAGES_NAME} : i32
  %page = llvm.call @sysconf(%which_size) : (i32) -> i64
  %pages = llvm.call @sysconf(%which_pages) : (i32) -> i64
  %memory = arith.muli %page, %pages : i64
  %two = arith.constant 2 : i64
  %quarter = arith.shrui %memory, %two : i64
  %usual = arith.constant ${DEFAULT_LIMIT} : i64
  %least = arith.minui %quarter, %usual : i64
  %default = arith.uitofp %least : i64 to f64
  %largest = arith.constant ${LARGEST_LIMIT}.0 : f64
  %name = llvm.mlir.addressof @memory_limit : !llvm.ptr
  %chosen = llvm.call @setting(%name, %default, %largest) : (!llvm.ptr, f64, f64) -> f64
  %limit = arith.fptosi %chosen : f64 to i64
  %p_limit = llvm.getelementptr %pool[${limit}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %limit, %p_limit : i64, !llvm.ptr
  %huge = arith.constant ${HUGE_PAGES_ADVICE} : i64
  %p_advice = llvm.getelementptr %pool[${advice}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %huge, %p_advice : i64, !llvm.ptr
  llvm.return
}

// The function in the FFI's registry through which all code of a process finds its only thread pool.
llvm.func internal @give_team(%self: !llvm.ptr, %args: !llvm.ptr, %count: i32, %result: !llvm.ptr) -> i32 {
  %team = llvm.call @${TEAM_STATE}() : () -> !llvm.ptr
  %good = arith.constant 0 : i32
  %kind = arith.constant ${OPAQUE_POINTER} : i32
  %p_value = llvm.getelementptr %result[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %kind, %result : i32, !llvm.ptr
  llvm.store %team, %p_value : !llvm.ptr, !llvm.ptr
  llvm.return %good : i32
}

// Call a function in the child of a fork. glibc's shared library does not export pthread_atfork.
llvm.func internal @after_fork(%child: !llvm.ptr) {
  %null = llvm.mlir.zero : !llvm.ptr
  %glibc = llvm.mlir.addressof @__register_atfork : !llvm.ptr
  %is_glibc = llvm.icmp "ne" %glibc, %null : !llvm.ptr
  scf.if %is_glibc {
    %rc = llvm.call @__register_atfork(%null, %null, %child, %null) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  } else {
    %rc = llvm.call @pthread_atfork(%null, %null, %child) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  }
  llvm.return
}

// Register the library's own thread pool, for use by others.
llvm.func internal @start_team(%key: !llvm.ptr) -> !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  %no = arith.constant 0 : i32
  %one = arith.constant 1 : i64
  %team = llvm.call @${TEAM_STATE}() : () -> !llvm.ptr
  %name = llvm.mlir.addressof @blocktime : !llvm.ptr
  %default = arith.constant ${DEFAULT_BLOCKTIME} : f64
  %largest = arith.constant ${LONGEST_BLOCKTIME} : f64
  %million = arith.constant 1000000.0 : f64
  %milliseconds = llvm.call @setting(%name, %default, %largest) : (!llvm.ptr, f64, f64) -> f64
  %exact = arith.mulf %milliseconds, %million : f64
  %nanoseconds = arith.fptosi %exact : f64 to i64
  %p_blocktime = llvm.getelementptr %team[${blocktime}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %nanoseconds, %p_blocktime : i64, !llvm.ptr
  %forget = llvm.mlir.addressof @forget_threads : !llvm.ptr
  llvm.call @after_fork(%forget) : (!llvm.ptr) -> ()
  %give = llvm.mlir.addressof @give_team : !llvm.ptr
  %out = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %null, %out : !llvm.ptr, !llvm.ptr
  %made = llvm.call @TVMFFIFunctionCreate(%null, %give, %null, %out) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %function = llvm.load %out : !llvm.ptr -> !llvm.ptr
  %known = llvm.call @TVMFFIFunctionSetGlobal(%key, %function, %no) : (!llvm.ptr, !llvm.ptr, i32) -> i32
  %fails = arith.cmpi ne, %known, %no : i32
  scf.if %fails {  // another thread has been faster: the process has two pools
    llvm.call @TVMFFIErrorMoveFromRaised(%out) : (!llvm.ptr) -> ()
    %error = llvm.load %out : !llvm.ptr -> !llvm.ptr
    %dropped = llvm.call @TVMFFIObjectDecRef(%error) : (!llvm.ptr) -> i32
  }
  %done = llvm.call @TVMFFIObjectDecRef(%function) : (!llvm.ptr) -> i32
  llvm.return %team : !llvm.ptr
}

// The thread pool of the process: the registered one, otherwise the library's own.
llvm.func internal @find_team() -> !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %none = arith.constant 0 : i32
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %text = llvm.mlir.addressof @team_name : !llvm.ptr
  %size = arith.constant ${TEAM_NAME_SIZE} : i64
  %key = llvm.alloca %two x i64 : (i64) -> !llvm.ptr
  %p_size = llvm.getelementptr %key[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %text, %key : !llvm.ptr, !llvm.ptr
  llvm.store %size, %p_size : i64, !llvm.ptr
  %out = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %null, %out : !llvm.ptr, !llvm.ptr
  %rc = llvm.call @TVMFFIFunctionGetGlobal(%key, %out) : (!llvm.ptr, !llvm.ptr) -> i32
  %function = llvm.load %out : !llvm.ptr -> !llvm.ptr
  %known = llvm.icmp "ne" %function, %null : !llvm.ptr
  %team = scf.if %known -> !llvm.ptr {
    %result = llvm.alloca %two x i64 : (i64) -> !llvm.ptr
    %p_value = llvm.getelementptr %result[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %zero, %result : i64, !llvm.ptr
    llvm.store %zero, %p_value : i64, !llvm.ptr
    %called = llvm.call @TVMFFIFunctionCall(%function, %null, %none, %result) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
    %found = llvm.load %p_value : !llvm.ptr -> !llvm.ptr
    %done = llvm.call @TVMFFIObjectDecRef(%function) : (!llvm.ptr) -> i32
    scf.yield %found : !llvm.ptr
  } else {
    %own = llvm.call @start_team(%key) : (!llvm.ptr) -> !llvm.ptr
    scf.yield %own : !llvm.ptr
  }
  llvm.return %team : !llvm.ptr
}

llvm.func internal @bind_threads(%table: !llvm.ptr) {
  %team = llvm.call @find_team() : () -> !llvm.ptr
  %p_parallel = llvm.getelementptr %team[${parallel}] : (!llvm.ptr) -> !llvm.ptr, i8
  %parallel = llvm.load %p_parallel : !llvm.ptr -> !llvm.ptr
  llvm.store %parallel, %table : !llvm.ptr, !llvm.ptr
  llvm.return
}

// Point a table of pointers to constants, which begin at these offsets in the weights.
llvm.func internal @bind_constants(%table: !llvm.ptr, %weights: !llvm.ptr, %places: !llvm.ptr, %count: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for %i = %zero to %count step %one : i64 {
    %from = llvm.getelementptr %places[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %place = llvm.load %from : !llvm.ptr -> i64
    %constant = llvm.getelementptr %weights[%place] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %to = llvm.getelementptr %table[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
    llvm.store %constant, %to : !llvm.ptr, !llvm.ptr
  }
  llvm.return
}

// True if the CPU has all features that the code uses.
llvm.func internal @has(%found: !llvm.ptr, %needed: !llvm.ptr) -> i1 {
  %true = arith.constant true
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %count = arith.constant ${words} : i64
  %all = scf.for %i = %zero to %count step %one iter_args(%good = %true) -> (i1) : i64 {
    %p_needed = llvm.getelementptr %needed[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    %p_found = llvm.getelementptr %found[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    %wanted = llvm.load %p_needed : !llvm.ptr -> i32
    %there = llvm.load %p_found : !llvm.ptr -> i32
    %both = arith.andi %wanted, %there : i32
    %these = arith.cmpi eq, %both, %wanted : i32
    %still = arith.andi %good, %these : i1
    scf.yield %still : i1
  }
  llvm.return %all : i1
}

${set_error}
// The result of an entry point if the CPU can run no code of the library.
llvm.func internal @refuse() -> i32 {
  %kind = llvm.mlir.addressof @kind : !llvm.ptr
  %p_problem = llvm.mlir.addressof @problem : !llvm.ptr
  %problem = llvm.load %p_problem : !llvm.ptr -> !llvm.ptr
  %failed = arith.constant -1 : i32
  llvm.call @set_error(%kind, %problem) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return %failed : i32
}

${entries}
${profile}
${find_weights}
${levels}
// Bind the first level whose code the CPU can run, unless the weights are missing.
llvm.func @${START}() {
  %null = llvm.mlir.zero : !llvm.ptr
  %none = arith.constant false
  %count = arith.constant ${words} : i64
  %found = llvm.alloca %count x i32 : (i64) -> !llvm.ptr
  llvm.call @${CPU_WORDS}(%found) : (!llvm.ptr) -> ()
  %weights = llvm.call @find_weights() : () -> !llvm.ptr
  %there = llvm.icmp "ne" %weights, %null : !llvm.ptr
  scf.if %there {
    %missing = llvm.mlir.addressof @missing : !llvm.ptr
    %p_problem = llvm.mlir.addressof @problem : !llvm.ptr
    llvm.store %missing, %p_problem : !llvm.ptr, !llvm.ptr
${attempts}  }
  llvm.return
}
