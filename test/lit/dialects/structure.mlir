// Structure ops: both forms survive, and wrong ones are refused at their location.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?xf32>
// CHECK: %[[Y:[A-Za-z0-9_]+]] = "relax.match_shape"(%[[X]]) {pattern = ["n", 4], result_dtype} : (tensor<?x?xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.shape_of"(%[[Y]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> !relax.shape_value<["n", 4]>
// CHECK-NEXT: return %[[S]] :
func.func @main(%x: tensor<?x?xf32>) -> !relax.shape_value<["n", 4]> {
  %y = "relax.match_shape"(%x) {pattern = ["n", 4], result_dtype} : (tensor<?x?xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %s = "relax.shape_of"(%y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> !relax.shape_value<["n", 4]>
  return %s : !relax.shape_value<["n", 4]>
}
// -----
func.func @rank(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @below {{match_shape: pattern (2,) has 1 dimensions, but the value has 2: (2, 3)}}
  %y = "relax.match_shape"(%x) {pattern = [2], result_dtype} : (tensor<2x3xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
// -----
func.func @size(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{match_shape: dimension 1 is 3, which is not 4}}
  %y = "relax.match_shape"(%x) {pattern = [2, 4], result_dtype} : (tensor<2x3xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
// -----
func.func @field(%x: tuple<tensor<2xf32>>) -> tensor<2xf32> {
  // expected-error @below {{tuple_get_item: index 1 is out of range for a tuple of 1}}
  %y = "relax.tuple_get_item"(%x) {index = 1 : i64} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
