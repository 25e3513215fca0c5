// image_resize2d and image_resize3d: the sizes are a shape value.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @twice(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>)
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["2*h", "2*w"]}
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.image_resize2d"(%[[X]], %[[S]]) {coordinate_transformation_mode = "half_pixel", cubic_alpha = -7.500000e-01 : f64, cubic_exclude = false, extrapolation_value = 0.000000e+00 : f64, layout = "NCHW", method = "linear", out_dtype, roi, rounding_method = "round", scales}
// CHECK-SAME: -> tensor<?x3x?x?xf32, #relax.shape<["n", 3, "2*h", "2*w"]>>
// CHECK-NEXT: return %[[R]] :
func.func @twice(%x: tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>) -> tensor<?x3x?x?xf32, #relax.shape<["n", 3, "2*h", "2*w"]>> {
  %s = "relax.shape_expr"() {values = ["2*h", "2*w"]} : () -> !relax.shape_value<["2*h", "2*w"]>
  %0 = "relax.image_resize2d"(%x, %s) {roi, layout = "NCHW", method = "linear", coordinate_transformation_mode = "half_pixel", rounding_method = "round", cubic_alpha = -0.75 : f64, cubic_exclude = false, extrapolation_value = 0.0 : f64, out_dtype, scales} : (tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>, !relax.shape_value<["2*h", "2*w"]>) -> tensor<?x3x?x?xf32, #relax.shape<["n", 3, "2*h", "2*w"]>>
  return %0 : tensor<?x3x?x?xf32, #relax.shape<["n", 3, "2*h", "2*w"]>>
}
// -----
func.func @integers(%x: tensor<1x1x4x4x4xi8>) -> tensor<1x1x2x2x2xi8> {
  %s = "relax.shape_expr"() {values = [2, 2, 2]} : () -> !relax.shape_value<[2, 2, 2]>
  // expected-error @below {{image_resize3d: operand 'data' has dtype int8, expected a float (nearest_neighbor alone takes any dtype)}}
  %0 = "relax.image_resize3d"(%x, %s) {roi, layout = "NCDHW", method = "linear", coordinate_transformation_mode = "half_pixel", rounding_method = "", cubic_alpha = -0.75 : f64, cubic_exclude = false, extrapolation_value = 0.0 : f64, out_dtype, scales} : (tensor<1x1x4x4x4xi8>, !relax.shape_value<[2, 2, 2]>) -> tensor<1x1x2x2x2xi8>
  return %0 : tensor<1x1x2x2x2xi8>
}
// -----
func.func @scales(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {
  %s = "relax.shape_expr"() {values = [2, 2]} : () -> !relax.shape_value<[2, 2]>
  // expected-error @below {{image_resize2d: scales has 1 numbers, expected 2}}
  %0 = "relax.image_resize2d"(%x, %s) {roi, layout = "NCHW", method = "linear", coordinate_transformation_mode = "half_pixel", rounding_method = "", cubic_alpha = -0.75 : f64, cubic_exclude = false, extrapolation_value = 0.0 : f64, out_dtype, scales = [0.5]} : (tensor<1x1x4x4xf32>, !relax.shape_value<[2, 2]>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
}
