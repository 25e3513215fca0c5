// RUN: relax-opt %s --canonicalize --cse --split-input-file --verify-diagnostics | filecheck %s

// Draws of one state are one draw; a draw of the state behind another one is its own.
// CHECK-LABEL: func.func @draws
// CHECK-SAME: (%[[STATE:[A-Za-z0-9_]+]]: tensor<3xui64>)
// CHECK: %[[FIRST:[A-Za-z0-9_]+]] = "relax.random_words"(%[[STATE]]) {count = 4 : i64}
// CHECK: %[[NEXT:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[FIRST]]) {index = 1 : i64}
// CHECK: "relax.random_words"(%[[NEXT]]) {count = 4 : i64}
// CHECK-NOT: "relax.random_words"
func.func @draws(%state: tensor<3xui64>) -> (tensor<4xui32>, tensor<4xui32>, tensor<4xui32>) {
  %0 = "relax.random_words"(%state) {count = 4 : i64} : (tensor<3xui64>) -> tuple<tensor<4xui32>, tensor<3xui64>>
  %1 = "relax.tuple_get_item"(%0) {index = 0 : i64} : (tuple<tensor<4xui32>, tensor<3xui64>>) -> tensor<4xui32>
  %2 = "relax.tuple_get_item"(%0) {index = 1 : i64} : (tuple<tensor<4xui32>, tensor<3xui64>>) -> tensor<3xui64>
  %3 = "relax.random_words"(%state) {count = 4 : i64} : (tensor<3xui64>) -> tuple<tensor<4xui32>, tensor<3xui64>>
  %4 = "relax.tuple_get_item"(%3) {index = 0 : i64} : (tuple<tensor<4xui32>, tensor<3xui64>>) -> tensor<4xui32>
  %5 = "relax.random_words"(%2) {count = 4 : i64} : (tensor<3xui64>) -> tuple<tensor<4xui32>, tensor<3xui64>>
  %6 = "relax.tuple_get_item"(%5) {index = 0 : i64} : (tuple<tensor<4xui32>, tensor<3xui64>>) -> tensor<4xui32>
  return %1, %4, %6 : tensor<4xui32>, tensor<4xui32>, tensor<4xui32>
}
// -----
func.func @no_state(%state: tensor<4xui64>) {
  // expected-error @below {{random_words: operand 'state' is Tensor((4,), "uint64"), expected a state, Tensor((3,), "uint64")}}
  %0 = "relax.random_words"(%state) {count = 4 : i64} : (tensor<4xui64>) -> tuple<tensor<4xui32>, tensor<3xui64>>
  return
}
