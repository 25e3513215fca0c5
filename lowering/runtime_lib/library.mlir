// What an exported library does when it is loaded (level V); see library.py for the values of its placeholders.

llvm.func @getenv(!llvm.ptr) -> !llvm.ptr
llvm.func @strtod(!llvm.ptr, !llvm.ptr) -> f64
llvm.func @sysconf(i32) -> i64
llvm.func @pthread_atfork(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @strlen(!llvm.ptr) -> i64
llvm.func @TVMFFIErrorCreate(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @TVMFFIErrorSetRaised(!llvm.ptr)
llvm.func @TVMFFIObjectDecRef(!llvm.ptr) -> i32
llvm.func @${CPU_WORDS}(!llvm.ptr)
llvm.func @${POOL_STATE}() -> !llvm.ptr
llvm.func @${TEAM_STATE}() -> !llvm.ptr
llvm.func @${CONSTANTS_ADDRESS}() -> !llvm.ptr
llvm.func @${MEMORY_ADDRESS}() -> !llvm.ptr
llvm.func @${THREADS_ADDRESS}() -> !llvm.ptr
llvm.mlir.global external hidden @${WEIGHTS}() : i8

llvm.mlir.global internal constant @memory_limit("${LIMIT_VARIABLE}\00")
llvm.mlir.global internal constant @blocktime("${BLOCKTIME_VARIABLE}\00")
llvm.mlir.global internal constant @places(dense<[${places}]> : tensor<${count}xi64>) : !llvm.array<${count} x i64>

// What the CPU must have: per word of ${CPU_WORDS}, the bits of features that the code uses.
llvm.mlir.global internal constant @needed(dense<[${needed}]> : tensor<${words}xi32>) : !llvm.array<${words} x i32>
llvm.mlir.global internal constant @kind("RuntimeError\00")
llvm.mlir.global internal constant @missing("${missing}\00")
llvm.mlir.global internal @runs(0 : i8) : i8

// The number that an environment variable gives, the default if it is not set, is no number, or is not within 0 and the largest.
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

// In the child of a fork the threads are gone, and so is whoever held the lock.
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

llvm.func internal @bind_threads(%table: !llvm.ptr) {
  %null = llvm.mlir.zero : !llvm.ptr
  %team = llvm.call @${TEAM_STATE}() : () -> !llvm.ptr
  %p_parallel = llvm.getelementptr %team[${parallel}] : (!llvm.ptr) -> !llvm.ptr, i8
  %parallel = llvm.load %p_parallel : !llvm.ptr -> !llvm.ptr
  llvm.store %parallel, %table : !llvm.ptr, !llvm.ptr
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
  %rc = llvm.call @pthread_atfork(%null, %null, %forget) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  llvm.return
}

llvm.func internal @bind_constants(%table: !llvm.ptr) {
  %weights = llvm.mlir.addressof @${WEIGHTS} : !llvm.ptr
  %places = llvm.mlir.addressof @places : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %count = arith.constant ${count} : i64
  scf.for %i = %zero to %count step %one : i64 {
    %from = llvm.getelementptr %places[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %place = llvm.load %from : !llvm.ptr -> i64
    %constant = llvm.getelementptr %weights[%place] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %to = llvm.getelementptr %table[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
    llvm.store %constant, %to : !llvm.ptr, !llvm.ptr
  }
  llvm.return
}

// Whether the CPU has all that the code uses.
llvm.func internal @is_supported() -> i1 {
  %true = arith.constant true
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %count = arith.constant ${words} : i64
  %found = llvm.alloca %count x i32 : (i64) -> !llvm.ptr
  llvm.call @${CPU_WORDS}(%found) : (!llvm.ptr) -> ()
  %needed = llvm.mlir.addressof @needed : !llvm.ptr
  %all = scf.for %i = %zero to %count step %one iter_args(%good = %true) -> (i1) : i64 {
    %p_needed = llvm.getelementptr %needed[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    %p_found = llvm.getelementptr %found[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    %wanted = llvm.load %p_needed : !llvm.ptr -> i32
    %has = llvm.load %p_found : !llvm.ptr -> i32
    %both = arith.andi %wanted, %has : i32
    %these = arith.cmpi eq, %both, %wanted : i32
    %still = arith.andi %good, %these : i1
    scf.yield %still : i1
  }
  llvm.return %all : i1
}

${set_error}
// What an entry point returns on a CPU for which the library is not made.
llvm.func internal @refuse() -> i32 {
  %kind = llvm.mlir.addressof @kind : !llvm.ptr
  %missing = llvm.mlir.addressof @missing : !llvm.ptr
  %failed = arith.constant -1 : i32
  llvm.call @set_error(%kind, %missing) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return %failed : i32
}

${entries}
llvm.func internal @bind() {
  %null = llvm.mlir.zero : !llvm.ptr
  %constants = llvm.call @${CONSTANTS_ADDRESS}() : () -> !llvm.ptr
  %memory = llvm.call @${MEMORY_ADDRESS}() : () -> !llvm.ptr
  %threads = llvm.call @${THREADS_ADDRESS}() : () -> !llvm.ptr
  %has_constants = llvm.icmp "ne" %constants, %null : !llvm.ptr
  scf.if %has_constants {
    llvm.call @bind_constants(%constants) : (!llvm.ptr) -> ()
  }
  %has_memory = llvm.icmp "ne" %memory, %null : !llvm.ptr
  scf.if %has_memory {
    llvm.call @bind_memory(%memory) : (!llvm.ptr) -> ()
  }
  %has_threads = llvm.icmp "ne" %threads, %null : !llvm.ptr
  scf.if %has_threads {
    llvm.call @bind_threads(%threads) : (!llvm.ptr) -> ()
  }
  llvm.return
}

llvm.func @${START}() {
  %supported = llvm.call @is_supported() : () -> i1
  scf.if %supported {
    %runs = llvm.mlir.addressof @runs : !llvm.ptr
    %yes = arith.constant 1 : i8
    llvm.call @bind() : () -> ()
    llvm.store %yes, %runs : i8, !llvm.ptr
  }
  llvm.return
}
