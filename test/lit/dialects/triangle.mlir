// eye, tril and triu.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @triangle(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
func.func @triangle(%x: tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>, %y: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>> {
  // CHECK: = "relax.tril"(%[[X]]) {k = 0 : i64} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>
  %tril = "relax.tril"(%x) {k = 0 : i64} : (tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>) -> tensor<?x?x4xf32, #relax.shape<["n", "m", 4]>>
  // CHECK: = "relax.triu"(%[[Y]]) {k = -1 : i64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %triu = "relax.triu"(%y) {k = -1 : i64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.eye"() {dtype = i32, k = 1 : i64, shape = ["n", 4]} : () -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  // CHECK-NEXT: return %[[R]] :
  %eye = "relax.eye"() {dtype = i32, k = 1 : i64, shape = ["n", 4]} : () -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  return %eye : tensor<?x4xi32, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  // expected-error @below {{tril: operand 'x' is Tensor((n,), "float32"), expected at least two dimensions}}
  %0 = "relax.tril"(%x) {k = 0} : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
// -----
func.func @wrong() -> tensor<4xi32> {
  // expected-error @below {{eye: shape [4] is not the known size of a matrix}}
  %0 = "relax.eye"() {dtype = i32, k = 0, shape = [4]} : () -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
