// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @summed_dimensions(%x: tensor<2x3xf32>, %y: tensor<4x2xf32>) {
  // expected-error @+1 {{matmul: shapes (2, 3) and (4, 2): the summed dimensions 3 and 4 differ}}
  %0 = "relax.matmul"(%x, %y) {out_dtype} : (tensor<2x3xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  return
}
// -----
func.func @result(%x: tensor<?x3xf32, #relax.shape<["n", 3]>>, %y: tensor<3x2xf32>) {
  // expected-error @+1 {{matmul: result 0 is Tensor((m, 2), "float32"), but its operands give Tensor((n, 2), "float32")}}
  %0 = "relax.matmul"(%x, %y) {out_dtype} : (tensor<?x3xf32, #relax.shape<["n", 3]>>, tensor<3x2xf32>) -> tensor<?x2xf32, #relax.shape<["m", 2]>>
  return
}
// -----
func.func @narrower(%x: tensor<2x3xi32>, %y: tensor<3x2xi32>) {
  // expected-error @+1 {{matmul: out_dtype int8 is no wider int than the operands' dtype int32}}
  %0 = "relax.matmul"(%x, %y) {out_dtype = i8} : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x2xi8>
  return
}
