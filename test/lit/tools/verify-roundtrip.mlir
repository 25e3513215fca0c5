// A module that is printed as text and as bytecode, and read again, is the same.
// RUN: relax-opt %s --verify-roundtrip | filecheck %s
// RUN: relax-opt %s --relax-to-kernels | relax-opt --verify-roundtrip -o /dev/null
// RUN: relax-opt %s --relax-to-llvm | relax-opt --verify-roundtrip -o /dev/null
// RUN: relax-opt %S/irdl-file.mlir --verify-roundtrip --irdl-file=%S/Inputs/complex.irdl.mlir -o /dev/null
// RUN: not relax-opt %S/Inputs/stock-reproducer.mlir --verify-roundtrip=maybe 2>&1 | filecheck %s --check-prefix=VALUE

// VALUE: relax-opt: error: --verify-roundtrip is on or off (1 or 0), got 'maybe'
// CHECK: func.func @main(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>)
func.func @main(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %c = "relax.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  %sum = "relax.add"(%x, %c) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %sum : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
