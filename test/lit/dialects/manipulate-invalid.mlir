// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @permute_dims(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{permute_dims: axes [0] are no permutation of the dimensions}}
  %0 = "relax.permute_dims"(%x) {axes = [0]} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}
// -----
func.func @broadcast_to(%x: tensor<3xf32>) {
  %s = "relax.shape_expr"() {values = [4]} : () -> !relax.shape_value<[4]>
  // expected-error @+1 {{broadcast_to: shape (3,) to (4,): dimension 0 is 3, neither 1 nor 4}}
  %0 = "relax.broadcast_to"(%x, %s) : (tensor<3xf32>, !relax.shape_value<[4]>) -> tensor<4xf32>
  return
}
// -----
func.func @concat(%x: tensor<3x2xf32>, %y: tensor<3x4xf32>) {
  %t = builtin.unrealized_conversion_cast %x, %y : tensor<3x2xf32>, tensor<3x4xf32> to tuple<tensor<3x2xf32>, tensor<3x4xf32>>
  // expected-error @+1 {{concat: shapes (3, 2), (3, 4): dimension 1 is 2 and 4, which are not equal}}
  %0 = "relax.concat"(%t) {axis = 0 : i64} : (tuple<tensor<3x2xf32>, tensor<3x4xf32>>) -> tensor<6x2xf32>
  return
}
// -----
func.func @split(%x: tensor<3xf32>) {
  // expected-error @+1 {{split: sections is 0, expected at least 1}}
  %0 = "relax.split"(%x) {axis = 0 : i64, sections = 0 : i64} : (tensor<3xf32>) -> tuple<tensor<3xf32>>
  return
}
// -----
func.func @take(%x: tensor<3xf32>, %i: tensor<2xf32>) {
  // expected-error @+1 {{take: operand 'indices' has dtype float32, expected an integer}}
  %0 = "relax.take"(%x, %i) {axis = 0 : i64, mode = "clip"} : (tensor<3xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
func.func @strided_slice(%x: tensor<3xf32>) {
  // expected-error @+1 {{strided_slice: 1 axes, 2 begins, 1 ends and 1 strides given}}
  %0 = "relax.strided_slice"(%x) {assume_inbound = false, axes = [0], begin = [0, 1], end = [2], strides} : (tensor<3xf32>) -> tensor<2xf32>
  return
}
