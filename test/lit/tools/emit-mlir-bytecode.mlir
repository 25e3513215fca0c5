// MLIR's bytecode is written and read; names and types of Relax survive. Bytecode of the virtual machine is --emit=bytecode.
// RUN: relax-opt %s --emit-bytecode -o %t.mlirbc && relax-opt %t.mlirbc | filecheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt - --relax-to-calls | filecheck %s --check-prefix=CALLS
// RUN: relax-opt %s --cse --emit-bytecode -o %t2.mlirbc && relax-opt %t2.mlirbc | filecheck %s --check-prefix=CSE
// RUN: not relax-opt %s --emit-bytecode --emit=llvm-ir 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: not relax-opt %s --emit-bytecode --split-input-file 2>&1 | filecheck %s --check-prefix=SPLIT

// BOTH: relax-opt: error: --emit-bytecode and --emit exclude each other
// SPLIT: relax-opt: error: --emit-bytecode and --split-input-file exclude each other
// CHECK: func.func @main(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK-NEXT: %first = "relax.exp"(%x)
// CHECK-NEXT: %second = "relax.exp"(%x)
// CSE: %first = "relax.exp"(%x)
// CSE-NOT: relax.exp
// CALLS: %first = "relax.call_tir"
func.func @main(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>) {
  %first = "relax.exp"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %second = "relax.exp"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %first, %second : tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>
}
