// Parameters become the arrays of a file; calls lose the argument.
// RUN: python -c "import numpy; numpy.savez(r'%t.npz', w=numpy.ones((2, 3), 'float32'))"
// RUN: relax-opt %s --bind-params='function=dense file=%t.npz' | filecheck %s
// RUN: not relax-opt %s --bind-params 2>&1 | filecheck %s --check-prefix=NOFILE
// RUN: not relax-opt %s --bind-params='function=main file=%t.npz' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not relax-opt %s --bind-params='function=dense file=none.npz' 2>&1 | filecheck %s --check-prefix=UNREADABLE

// NOFILE: bind-params: give 'file', an .npz file of arrays by the parameters' names
// UNKNOWN: unknown parameter of function 'main' 'w'
// UNREADABLE: bind-params: cannot read 'none.npz'

// CHECK-LABEL: func.func private @dense(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x2xf32, #relax.shape<["n", 2]>>{{.*}}) -> tensor<?x3xf32, #relax.shape<["n", 3]>>
// CHECK: %[[W:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<1.000000e+00> : tensor<2x3xf32>}
// CHECK: "relax.matmul"(%[[X]], %[[W]])
func.func private @dense(%x: tensor<?x?xf32, #relax.shape<["n", "k"]>> {relax.name = "x"}, %w: tensor<?x?xf32, #relax.shape<["k", "m"]>> {relax.name = "w"}) -> tensor<?x?xf32, #relax.shape<["n", "m"]>> {
  %0 = "relax.matmul"(%x, %w) {out_dtype} : (tensor<?x?xf32, #relax.shape<["n", "k"]>>, tensor<?x?xf32, #relax.shape<["k", "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.shape<["n", "m"]>>
}

// CHECK-LABEL: func.func @main(
// CHECK: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %{{[a-z0-9_]+}} : tensor<5x2xf32> to tuple<tensor<5x2xf32>>
// CHECK: "relax.call"(%[[T]]) {callee = @dense} : (tuple<tensor<5x2xf32>>) -> tensor<5x3xf32>
func.func @main(%x: tensor<5x2xf32> {relax.name = "x"}, %v: tensor<2x3xf32> {relax.name = "v"}) -> tensor<5x3xf32> {
  %t = builtin.unrealized_conversion_cast %x, %v : tensor<5x2xf32>, tensor<2x3xf32> to tuple<tensor<5x2xf32>, tensor<2x3xf32>>
  %0 = "relax.call"(%t) {callee = @dense} : (tuple<tensor<5x2xf32>, tensor<2x3xf32>>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}
