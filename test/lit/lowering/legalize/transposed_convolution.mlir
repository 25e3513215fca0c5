// convolution.py
// One product of matrices gives all taps of all places; each tap is added where the stride puts it.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK: "relax.call_tir"(%{{[A-Za-z0-9_]+}}) {callee = @matmul,
// CHECK: %[[TAPS:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["n", 2, 4, "w"]}
// CHECK: "relax.reshape"(%{{[A-Za-z0-9_]+}}, %[[TAPS]])
// CHECK: "relax.call_tir"(%{{[A-Za-z0-9_]+}}) {callee = @conv1d_transpose_sums,
// CHECK-LABEL: func.func private @conv1d_transpose_sums(
// CHECK-SAME: %[[ALL:[A-Za-z0-9_]+]]: tensor<?x2x4x?xf32>
// CHECK: scf.for %[[TAP:[A-Za-z0-9_]+]] =
// CHECK-SAME: iter_args(%[[SUM:[A-Za-z0-9_]+]] =
// CHECK: tensor.extract_slice %[[SUM]][0, 0, %{{[A-Za-z0-9_]+}}] [%{{[A-Za-z0-9_]+}}, 2, %{{[A-Za-z0-9_]+}}] [1, 1, 2]
// CHECK: tensor.extract_slice %[[ALL]][0, 0, %[[TAP]], 0]
// CHECK: arith.addf
// CHECK: tensor.insert_slice %{{[A-Za-z0-9_]+}} into %[[SUM]][
func.func @main(%x: tensor<?x8x?xf32, #relax.shape<["n", 8, "w"]>>, %w: tensor<8x2x4xf32>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "2*w + 2"]>> {
  %0 = "relax.nn_conv1d_transpose"(%x, %w) {strides = [2], padding = [0, 0], output_padding = [0], dilation = [1], groups = 1 : i64, data_layout = "NCW", kernel_layout = "IOW", out_layout = "NCW", out_dtype} : (tensor<?x8x?xf32, #relax.shape<["n", 8, "w"]>>, tensor<8x2x4xf32>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "2*w + 2"]>>
  return %0 : tensor<?x2x?xf32, #relax.shape<["n", 2, "2*w + 2"]>>
}
