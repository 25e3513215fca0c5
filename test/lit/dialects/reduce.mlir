// Reductions remove axes, or keep them as 1.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @reduce(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>)
func.func @reduce(%x: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<i64> {
  // CHECK: = "relax.max"(%[[X]]) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  %max = "relax.max"(%x) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  // CHECK: = "relax.mean"(%[[X]]) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  %mean = "relax.mean"(%x) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  // CHECK: = "relax.min"(%[[X]]) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  %min = "relax.min"(%x) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  // CHECK: = "relax.prod"(%[[X]]) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  %prod = "relax.prod"(%x) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  // CHECK: = "relax.std"(%[[X]]) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  %std = "relax.std"(%x) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  // CHECK: = "relax.sum"(%[[X]]) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  %sum = "relax.sum"(%x) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  // CHECK: = "relax.variance"(%[[X]]) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  %variance = "relax.variance"(%x) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  // CHECK: = "relax.sum"(%[[X]]) {axis = [0, 2], keepdims = true} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<1x?x1xf32, #relax.shape<[1, "m", 1]>>
  %keepdims = "relax.sum"(%x) {axis = [0, 2], keepdims = true} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<1x?x1xf32, #relax.shape<[1, "m", 1]>>
  // CHECK: = "relax.sum"(%[[X]]) {axis, keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<f32>
  %all_axes = "relax.sum"(%x) {axis, keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<f32>
  // CHECK: = "relax.argmax"(%[[X]]) {axis = 1 : i64, keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?x4xi64, #relax.shape<["n", 4]>>
  %argmax = "relax.argmax"(%x) {axis = 1 : i64, keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?x4xi64, #relax.shape<["n", 4]>>
  // CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.argmin"(%[[X]]) {axis, keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<i64>
  // CHECK-NEXT: return %[[R]] :
  %argmin = "relax.argmin"(%x) {axis, keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<i64>
  return %argmin : tensor<i64>
}
// -----
func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  // expected-error @below {{sum: axis 2 is out of range for a tensor of rank 2}}
  %0 = "relax.sum"(%x) {axis = [2], keepdims = false} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
// -----
func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  // expected-error @below {{sum: axes [1, -1] name a dimension twice (rank 2)}}
  %0 = "relax.sum"(%x) {axis = [1, -1], keepdims = false} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
// -----
func.func @wrong(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?xi32, #relax.shape<["n"]>> {
  // expected-error @below {{mean: operand 'x' has dtype int32, expected a float; use astype}}
  %0 = "relax.mean"(%x) {axis = [1], keepdims = false} : (tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?xi32, #relax.shape<["n"]>>
  return %0 : tensor<?xi32, #relax.shape<["n"]>>
}
// -----
func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x1xf32, #relax.shape<["n", 1]>> {
  // expected-error @below {{max: result 0 is Tensor((n, 1), "float32"), but its operands give Tensor((n,), "float32")}}
  %0 = "relax.max"(%x) {axis = [1], keepdims = false} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x1xf32, #relax.shape<["n", 1]>>
  return %0 : tensor<?x1xf32, #relax.shape<["n", 1]>>
}
// -----
func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?xi32, #relax.shape<["n"]>> {
  // expected-error @below {{argmax: result 0 is Tensor((n,), "int32"), but its operands give Tensor((n,), "int64")}}
  %0 = "relax.argmax"(%x) {axis = 1, keepdims = false} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?xi32, #relax.shape<["n"]>>
  return %0 : tensor<?xi32, #relax.shape<["n"]>>
}
