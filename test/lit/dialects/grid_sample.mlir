// image_grid_sample and image_affine_grid.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @sampled(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>, %[[T:[a-z0-9_]+]]: tensor<?x2x3xf32, #relax.shape<["n", 2, 3]>>)
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["w", 5]}
// CHECK: %[[G:[A-Za-z0-9_]+]] = "relax.image_affine_grid"(%[[T]], %[[S]]) {align_corners = false}
// CHECK-SAME: -> tensor<?x2x?x5xf32, #relax.shape<["n", 2, "w", 5]>>
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.image_grid_sample"(%[[X]], %[[G]]) {align_corners = false, layout = "NCHW", method = "bilinear", padding_mode = "zeros"}
// CHECK-SAME: -> tensor<?x3x?x5xf32, #relax.shape<["n", 3, "w", 5]>>
// CHECK-NEXT: return %[[R]] :
func.func @sampled(%x: tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>, %t: tensor<?x2x3xf32, #relax.shape<["n", 2, 3]>>) -> tensor<?x3x?x5xf32, #relax.shape<["n", 3, "w", 5]>> {
  %s = "relax.shape_expr"() {values = ["w", 5]} : () -> !relax.shape_value<["w", 5]>
  %0 = "relax.image_affine_grid"(%t, %s) {align_corners = false} : (tensor<?x2x3xf32, #relax.shape<["n", 2, 3]>>, !relax.shape_value<["w", 5]>) -> tensor<?x2x?x5xf32, #relax.shape<["n", 2, "w", 5]>>
  %1 = "relax.image_grid_sample"(%x, %0) {method = "bilinear", layout = "NCHW", padding_mode = "zeros", align_corners = false} : (tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>, tensor<?x2x?x5xf32, #relax.shape<["n", 2, "w", 5]>>) -> tensor<?x3x?x5xf32, #relax.shape<["n", 3, "w", 5]>>
  return %1 : tensor<?x3x?x5xf32, #relax.shape<["n", 3, "w", 5]>>
}
// -----
func.func @coordinates(%x: tensor<1x3x4x4xf32>, %g: tensor<1x3x2x2xf32>) -> tensor<1x3x2x2xf32> {
  // expected-error @below {{image_grid_sample: operand 'grid' has 3 as coordinates of NCHW, which is not provably 2}}
  %0 = "relax.image_grid_sample"(%x, %g) {method = "bilinear", layout = "NCHW", padding_mode = "zeros", align_corners = false} : (tensor<1x3x4x4xf32>, tensor<1x3x2x2xf32>) -> tensor<1x3x2x2xf32>
  return %0 : tensor<1x3x2x2xf32>
}
// -----
func.func @matrix(%t: tensor<1x2x2xf32>) -> tensor<1x2x4x4xf32> {
  %s = "relax.shape_expr"() {values = [4, 4]} : () -> !relax.shape_value<[4, 4]>
  // expected-error @below {{expected (batch, 2, 3) for 2 sizes}}
  %0 = "relax.image_affine_grid"(%t, %s) {align_corners = true} : (tensor<1x2x2xf32>, !relax.shape_value<[4, 4]>) -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}
