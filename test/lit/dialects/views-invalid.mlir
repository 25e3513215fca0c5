// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @reshape(%x: tensor<2x3xf32>) {
  %s = "relax.shape_expr"() {values = [7]} : () -> !relax.shape_value<[7]>
  // expected-error @+1 {{reshape: shape (2, 3) has 6 elements, (7,) has 7}}
  %0 = "relax.reshape"(%x, %s) : (tensor<2x3xf32>, !relax.shape_value<[7]>) -> tensor<7xf32>
  return
}
// -----
func.func @squeeze(%x: tensor<?x3xf32, #relax.shape<["n", 3]>>) {
  // expected-error @+1 {{squeeze: dimension 0 of (n, 3) is n, which is not provably 1; match_shape it first}}
  %0 = "relax.squeeze"(%x) {axes = [0]} : (tensor<?x3xf32, #relax.shape<["n", 3]>>) -> tensor<3xf32>
  return
}
// -----
func.func @expand_dims(%x: tensor<3xf32>) {
  // expected-error @+1 {{expand_dims: axes [0, -3] name a dimension twice (rank 3)}}
  %0 = "relax.expand_dims"(%x) {axes = [0, -3]} : (tensor<3xf32>) -> tensor<1x1x3xf32>
  return
}
