// One level of a library: code for some target, with its tables; see library.py for the values of its placeholders.

llvm.func @${CONSTANTS_ADDRESS}() -> !llvm.ptr
llvm.func @${MEMORY_ADDRESS}() -> !llvm.ptr
llvm.func @${THREADS_ADDRESS}() -> !llvm.ptr
llvm.mlir.global internal constant @places${level}(dense<[${places}]> : tensor<${count}xi64>) : !llvm.array<${count} x i64>

// Required CPU features: per word of ${CPU_WORDS}, the bits of features that the code uses.
llvm.mlir.global internal constant @needed${level}(dense<[${needed}]> : tensor<${words}xi32>) : !llvm.array<${words} x i32>

${functions}
llvm.func internal @bind${level}(%weights: !llvm.ptr) {
  %null = llvm.mlir.zero : !llvm.ptr
  %places = llvm.mlir.addressof @places${level} : !llvm.ptr
  %count = arith.constant ${count} : i64
  %constants = llvm.call @${CONSTANTS_ADDRESS}() : () -> !llvm.ptr
  %memory = llvm.call @${MEMORY_ADDRESS}() : () -> !llvm.ptr
  %threads = llvm.call @${THREADS_ADDRESS}() : () -> !llvm.ptr
  %has_constants = llvm.icmp "ne" %constants, %null : !llvm.ptr
  scf.if %has_constants {
    llvm.call @bind_constants(%constants, %weights, %places, %count) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
  }
  %has_memory = llvm.icmp "ne" %memory, %null : !llvm.ptr
  scf.if %has_memory {
    llvm.call @bind_memory(%memory) : (!llvm.ptr) -> ()
  }
  %has_threads = llvm.icmp "ne" %threads, %null : !llvm.ptr
  scf.if %has_threads {
    llvm.call @bind_threads(%threads) : (!llvm.ptr) -> ()
  }
${bindings}  llvm.return
}

// Bind this level, unless another one is bound or the CPU lacks a feature; true if a level is bound now.
llvm.func internal @try${level}(%done: i1, %found: !llvm.ptr, %weights: !llvm.ptr) -> i1 {
  %true = arith.constant true
  %false = arith.constant false
  %now = scf.if %done -> i1 {
    scf.yield %true : i1
  } else {
    %needed = llvm.mlir.addressof @needed${level} : !llvm.ptr
    %has = llvm.call @has(%found, %needed) : (!llvm.ptr, !llvm.ptr) -> i1
    %bound = scf.if %has -> i1 {
${permission}
      scf.if %allowed {
        llvm.call @bind${level}(%weights) : (!llvm.ptr) -> ()
      }
      scf.yield %allowed : i1
    } else {
      scf.yield %false : i1
    }
    scf.yield %bound : i1
  }
  llvm.return %now : i1
}
