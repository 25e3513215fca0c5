// cumsum and cumprod.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @cumsum(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.cumsum"(%[[X]]) {axis = -1 : i64, dtype, exclusive = false} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @cumsum(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.cumsum"(%x) {axis = -1 : i64, dtype, exclusive = false} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// Without an axis the result is a vector.
// CHECK-LABEL: func.func @cumprod(
// CHECK: "relax.cumprod"(%{{.*}}) {axis, dtype = i64, exclusive = true} : (tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?xi64, #relax.shape<["4*n"]>>
func.func @cumprod(%x: tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?xi64, #relax.shape<["4*n"]>> {
  %0 = "relax.cumprod"(%x) {axis, dtype = i64, exclusive = true} : (tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?xi64, #relax.shape<["4*n"]>>
  return %0 : tensor<?xi64, #relax.shape<["4*n"]>>
}
// -----
func.func @axis(%x: tensor<3x4xf32>) {
  // expected-error @below {{cumsum: axis -3 is out of range for a tensor of rank 2}}
  %0 = "relax.cumsum"(%x) {axis = -3 : i64, dtype, exclusive = false} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}
// -----
func.func @bool(%x: tensor<4xi1>) {
  // expected-error @below {{cumsum: operand 'data' has dtype bool, expected a number; give a dtype, or use astype}}
  %0 = "relax.cumsum"(%x) {axis, dtype, exclusive = false} : (tensor<4xi1>) -> tensor<4xi1>
  return
}
// -----
func.func @result(%x: tensor<4xi8>) {
  // expected-error @below {{cumprod: dtype is bool, expected a number}}
  %0 = "relax.cumprod"(%x) {axis, dtype = i1, exclusive = false} : (tensor<4xi8>) -> tensor<4xi1>
  return
}
// -----
func.func @shape(%x: tensor<2x4xi8>) {
  // expected-error @below {{cumprod: result 0 is Tensor((2, 4), "int8"), but its operands give Tensor((8,), "int8")}}
  %0 = "relax.cumprod"(%x) {axis, dtype, exclusive = false} : (tensor<2x4xi8>) -> tensor<2x4xi8>
  return
}
