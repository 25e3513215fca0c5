// The plan of each function, instead of the module; with values for symbols.
// RUN: relax-opt %s --memory-plan | filecheck %s
// RUN: relax-opt %s --memory-plan --bind n=10,m=3 | filecheck %s --check-prefix=ALL
// RUN: not relax-opt %s --memory-plan --canonicalize 2>&1 | filecheck %s --check-prefix=EARLY
// report.py: what the plan says of itself.

// CHECK: main: workspace of (m*n + 15) // 16 * 128 bytes, 2 slots
// What is wider than the terminal has two lines per buffer.
// CHECK-NEXT: op {{ *}}bytes {{ *}}place {{ *}}life
// CHECK-NEXT: type {{ *}}location
// CHECK-NEXT: softmax {{ *}}4*m*n {{ *}}0: 0 {{ *[0-9]+-[0-9]+$}}
// CHECK-NEXT: memref<?x?xf32> {{ *}}memory-plan.mlir:
// CHECK-NEXT: softmax {{ *}}4*m*n {{ *}}0: 0 in place {{ *}}
// CHECK-NEXT: memref<?x?xf32>
// CHECK-NEXT: permute_dims {{ *}}4*m*n {{ *}}1: (m*n + 15) // 16 * 64
// CHECK: nothing: workspace of 0 bytes, 0 slots
// CHECK-NOT: func.func

// ALL: main: workspace of 256 bytes, 2 slots
// ALL: permute_dims {{ *}}120 {{ *}}1: 128

// EARLY: relax-opt: error: --memory-plan: the module has no function with a plan; run --plan-memory, --relax-to-memrefs or no passes

func.func @main(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["m", "n"]>> {
  %0 = "relax.nn_softmax"(%x) {axis = 1 : i64} : (tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  %1 = "relax.nn_softmax"(%0) {axis = 1 : i64} : (tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  %2 = "relax.permute_dims"(%1) {axes = [1, 0]} : (tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["m", "n"]>>
  %3 = "relax.nn_softmax"(%2) {axis = 1 : i64} : (tensor<?x?xf32, #relax.shape<["m", "n"]>>) -> tensor<?x?xf32, #relax.shape<["m", "n"]>>
  return %3 : tensor<?x?xf32, #relax.shape<["m", "n"]>>
}

func.func @nothing(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
