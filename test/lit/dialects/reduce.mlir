// Reductions remove axes, or keep them as 1.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @max(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.max"(%[[X]]) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @max(%x: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = "relax.max"(%x) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %0 : tensor<?xf32, #relax.shape<["m"]>>
}

// CHECK-LABEL: func.func @mean(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.mean"(%[[X]]) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @mean(%x: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = "relax.mean"(%x) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %0 : tensor<?xf32, #relax.shape<["m"]>>
}

// CHECK-LABEL: func.func @min(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.min"(%[[X]]) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @min(%x: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = "relax.min"(%x) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %0 : tensor<?xf32, #relax.shape<["m"]>>
}

// CHECK-LABEL: func.func @prod(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.prod"(%[[X]]) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @prod(%x: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = "relax.prod"(%x) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %0 : tensor<?xf32, #relax.shape<["m"]>>
}

// CHECK-LABEL: func.func @std(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.std"(%[[X]]) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @std(%x: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = "relax.std"(%x) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %0 : tensor<?xf32, #relax.shape<["m"]>>
}

// CHECK-LABEL: func.func @sum(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.sum"(%[[X]]) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @sum(%x: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = "relax.sum"(%x) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %0 : tensor<?xf32, #relax.shape<["m"]>>
}

// CHECK-LABEL: func.func @variance(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.variance"(%[[X]]) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @variance(%x: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = "relax.variance"(%x) {axis = [0, 2], keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %0 : tensor<?xf32, #relax.shape<["m"]>>
}

// CHECK-LABEL: func.func @keepdims(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.sum"(%[[X]]) {axis = [0, 2], keepdims = true} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<1x?x1xf32, #relax.shape<[1, "m", 1]>>
// CHECK-NEXT: return %[[R]] :
func.func @keepdims(%x: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<1x?x1xf32, #relax.shape<[1, "m", 1]>> {
  %0 = "relax.sum"(%x) {axis = [0, 2], keepdims = true} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<1x?x1xf32, #relax.shape<[1, "m", 1]>>
  return %0 : tensor<1x?x1xf32, #relax.shape<[1, "m", 1]>>
}

// CHECK-LABEL: func.func @all_axes(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.sum"(%[[X]]) {axis, keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<f32>
// CHECK-NEXT: return %[[R]] :
func.func @all_axes(%x: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<f32> {
  %0 = "relax.sum"(%x) {axis, keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @argmax(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.argmax"(%[[X]]) {axis = 1 : i64, keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?x4xi64, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @argmax(%x: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?x4xi64, #relax.shape<["n", 4]>> {
  %0 = "relax.argmax"(%x) {axis = 1 : i64, keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?x4xi64, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi64, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @argmin(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.argmin"(%[[X]]) {axis, keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<i64>
// CHECK-NEXT: return %[[R]] :
func.func @argmin(%x: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<i64> {
  %0 = "relax.argmin"(%x) {axis, keepdims = false} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<i64>
  return %0 : tensor<i64>
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
