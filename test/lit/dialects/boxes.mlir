// Boxes of object detection.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @all_classes(
// CHECK-SAME: %[[B:[a-z0-9_]+]]: tensor<1x?x4xf32, #relax.shape<[1, "b", 4]>>, %[[S:[a-z0-9_]+]]: tensor<1x2x?xf32, #relax.shape<[1, 2, "b"]>>, %[[M:[a-z0-9_]+]]: tensor<i64>, %[[T:[a-z0-9_]+]]: tensor<1xf32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.vision_all_class_non_max_suppression"(%[[B]], %[[S]], %[[M]], %[[T]], %[[T]])
// CHECK-SAME: -> tuple<tensor<?x3xi64, #relax.shape<["2*b", 3]>>, tensor<1xi64>>
func.func @all_classes(%b: tensor<1x?x4xf32, #relax.shape<[1, "b", 4]>>, %s: tensor<1x2x?xf32, #relax.shape<[1, 2, "b"]>>, %m: tensor<i64>, %t: tensor<1xf32>) -> tuple<tensor<?x3xi64, #relax.shape<["2*b", 3]>>, tensor<1xi64>> {
  %0 = "relax.vision_all_class_non_max_suppression"(%b, %s, %m, %t, %t) : (tensor<1x?x4xf32, #relax.shape<[1, "b", 4]>>, tensor<1x2x?xf32, #relax.shape<[1, 2, "b"]>>, tensor<i64>, tensor<1xf32>, tensor<1xf32>) -> tuple<tensor<?x3xi64, #relax.shape<["2*b", 3]>>, tensor<1xi64>>
  return %0 : tuple<tensor<?x3xi64, #relax.shape<["2*b", 3]>>, tensor<1xi64>>
}
// -----
func.func @numbers(%x: tensor<1x3x4xf32>) -> tuple<tensor<1xi32>, tensor<1x3x4xf32>, tensor<1x3xi32>> {
  // expected-error @below {{vision_get_valid_counts: operand 'data' is Tensor((1, 3, 4), "float32"), expected (batch, boxes, 5 numbers or more)}}
  %0 = "relax.vision_get_valid_counts"(%x) {score_threshold = 0.0 : f64, id_index = 0 : i64, score_index = 4 : i64} : (tensor<1x3x4xf32>) -> tuple<tensor<1xi32>, tensor<1x3x4xf32>, tensor<1x3xi32>>
  return %0 : tuple<tensor<1xi32>, tensor<1x3x4xf32>, tensor<1x3xi32>>
}
