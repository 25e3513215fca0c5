// vision_roi_align and vision_roi_pool: a grid for each region.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @regions(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?x?x3xf32, #relax.shape<["n", "h", "w", 3]>>, %[[R:[a-z0-9_]+]]: tensor<?x5xf32, #relax.shape<["r", 5]>>)
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.vision_roi_align"(%[[X]], %[[R]]) {aligned = true, layout = "NHWC", mode = "avg", pooled_size = [7, 5], sample_ratio = 2 : i64, spatial_scale = 6.250000e-02 : f64}
// CHECK-SAME: -> tensor<?x7x5x3xf32, #relax.shape<["r", 7, 5, 3]>>
// CHECK-NEXT: return %[[A]] :
func.func @regions(%x: tensor<?x?x?x3xf32, #relax.shape<["n", "h", "w", 3]>>, %r: tensor<?x5xf32, #relax.shape<["r", 5]>>) -> tensor<?x7x5x3xf32, #relax.shape<["r", 7, 5, 3]>> {
  %0 = "relax.vision_roi_align"(%x, %r) {pooled_size = [7, 5], spatial_scale = 0.0625 : f64, sample_ratio = 2 : i64, aligned = true, layout = "NHWC", mode = "avg"} : (tensor<?x?x?x3xf32, #relax.shape<["n", "h", "w", 3]>>, tensor<?x5xf32, #relax.shape<["r", 5]>>) -> tensor<?x7x5x3xf32, #relax.shape<["r", 7, 5, 3]>>
  return %0 : tensor<?x7x5x3xf32, #relax.shape<["r", 7, 5, 3]>>
}
// -----
func.func @corners(%x: tensor<1x3x4x4xf32>, %r: tensor<2x4xf32>) -> tensor<2x3x1x1xf32> {
  // expected-error @below {{vision_roi_pool: operand 'rois' is Tensor((2, 4), "float32"), expected (regions, 5)}}
  %0 = "relax.vision_roi_pool"(%x, %r) {pooled_size = [1, 1], spatial_scale = 1.0 : f64, layout = "NCHW"} : (tensor<1x3x4x4xf32>, tensor<2x4xf32>) -> tensor<2x3x1x1xf32>
  return %0 : tensor<2x3x1x1xf32>
}
