// scatter_elements, scatter_nd and index_put.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @all(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>, %[[I:[A-Za-z0-9_]+]]: tensor<?xi64, #relax.shape<["k"]>>, %[[U:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["k"]>>, %[[V:[A-Za-z0-9_]+]]: tensor<?x1xi64, #relax.shape<["k", 1]>>)
// CHECK: "relax.scatter_elements"(%[[X]], %[[I]], %[[U]]) {axis = 0 : i64, reduction = "add"} : {{.*}} -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK: "relax.scatter_nd"(%[[X]], %[[V]], %[[U]]) {reduction = "update"} : {{.*}} -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK: "relax.index_put"(%[[X]], %{{[A-Za-z0-9_]+}}, %[[U]]) {accumulate = true} : {{.*}} -> tensor<?xf32, #relax.shape<["n"]>>
func.func @all(%x: tensor<?xf32, #relax.shape<["n"]>>, %i: tensor<?xi64, #relax.shape<["k"]>>, %u: tensor<?xf32, #relax.shape<["k"]>>, %v: tensor<?x1xi64, #relax.shape<["k", 1]>>) {
  %0 = "relax.scatter_elements"(%x, %i, %u) {axis = 0 : i64, reduction = "add"} : (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xi64, #relax.shape<["k"]>>, tensor<?xf32, #relax.shape<["k"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  %1 = "relax.scatter_nd"(%x, %v, %u) {reduction = "update"} : (tensor<?xf32, #relax.shape<["n"]>>, tensor<?x1xi64, #relax.shape<["k", 1]>>, tensor<?xf32, #relax.shape<["k"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  %t = builtin.unrealized_conversion_cast %i : tensor<?xi64, #relax.shape<["k"]>> to tuple<tensor<?xi64, #relax.shape<["k"]>>>
  %2 = "relax.index_put"(%x, %t, %u) {accumulate = true} : (tensor<?xf32, #relax.shape<["n"]>>, tuple<tensor<?xi64, #relax.shape<["k"]>>>, tensor<?xf32, #relax.shape<["k"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return
}
// -----
func.func @dtypes(%x: tensor<3xf32>, %i: tensor<2xi64>, %u: tensor<2xi8>) {
  // expected-error @below {{scatter_elements: operand 'updates' has dtype int8, 'data' has float32; use astype}}
  %0 = "relax.scatter_elements"(%x, %i, %u) {axis = 0 : i64, reduction = "add"} : (tensor<3xf32>, tensor<2xi64>, tensor<2xi8>) -> tensor<3xf32>
  return
}
// -----
func.func @reduction(%x: tensor<3xf32>, %i: tensor<2x1xi64>, %u: tensor<2xf32>) {
  // expected-error @below {{scatter_nd: reduction is 'mean', expected one of update, add, mul, min, max}}
  %0 = "relax.scatter_nd"(%x, %i, %u) {reduction = "mean"} : (tensor<3xf32>, tensor<2x1xi64>, tensor<2xf32>) -> tensor<3xf32>
  return
}
