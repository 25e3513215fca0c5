// nn_pixel_shuffle, nn_pixel_unshuffle, nn_batch_flatten and nn_dropout.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @moved(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4x?x3xf32, #relax.shape<["n", 4, "h", 3]>>)
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.nn_pixel_shuffle"(%[[X]]) {upscale_factor = 2 : i64}
// CHECK-SAME: -> tensor<?x1x?x6xf32, #relax.shape<["n", 1, "2*h", 6]>>
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.nn_pixel_unshuffle"(%[[A]]) {downscale_factor = 2 : i64}
// CHECK: %[[C:[A-Za-z0-9_]+]] = "relax.nn_batch_flatten"(%[[B]])
// CHECK-SAME: -> tensor<?x?xf32, #relax.shape<["n", "12*h"]>>
// CHECK: "relax.nn_dropout"(%[[C]]) {rate = 5.000000e-01 : f64}
// CHECK-NEXT: return %[[C]] :
func.func @moved(%x: tensor<?x4x?x3xf32, #relax.shape<["n", 4, "h", 3]>>) -> tensor<?x?xf32, #relax.shape<["n", "12*h"]>> {
  %0 = "relax.nn_pixel_shuffle"(%x) {upscale_factor = 2 : i64} : (tensor<?x4x?x3xf32, #relax.shape<["n", 4, "h", 3]>>) -> tensor<?x1x?x6xf32, #relax.shape<["n", 1, "2*h", 6]>>
  %1 = "relax.nn_pixel_unshuffle"(%0) {downscale_factor = 2 : i64} : (tensor<?x1x?x6xf32, #relax.shape<["n", 1, "2*h", 6]>>) -> tensor<?x4x?x3xf32, #relax.shape<["n", 4, "h", 3]>>
  %2 = "relax.nn_batch_flatten"(%1) : (tensor<?x4x?x3xf32, #relax.shape<["n", 4, "h", 3]>>) -> tensor<?x?xf32, #relax.shape<["n", "12*h"]>>
  %3 = "relax.nn_dropout"(%2) {rate = 0.5 : f64} : (tensor<?x?xf32, #relax.shape<["n", "12*h"]>>) -> tuple<tensor<?x?xf32, #relax.shape<["n", "12*h"]>>, tensor<?x?xf32, #relax.shape<["n", "12*h"]>>>
  return %2 : tensor<?x?xf32, #relax.shape<["n", "12*h"]>>
}
// -----
func.func @channels(%x: tensor<3x2x2xf32>) -> tensor<1x4x4xf32> {
  // expected-error @below {{nn_pixel_shuffle: the number of channels of (3, 2, 2) is 3, which is not provably a multiple of 4}}
  %0 = "relax.nn_pixel_shuffle"(%x) {upscale_factor = 2 : i64} : (tensor<3x2x2xf32>) -> tensor<1x4x4xf32>
  return %0 : tensor<1x4x4xf32>
}
// -----
func.func @rate(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @below {{nn_dropout: rate is 2.0, expected a number from 0 to 1}}
  %0 = "relax.nn_dropout"(%x) {rate = 2.0 : f64} : (tensor<3xf32>) -> tuple<tensor<3xf32>, tensor<3xf32>>
  return %x : tensor<3xf32>
}
