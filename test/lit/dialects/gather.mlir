// gather_elements, gather_nd and index_tensor.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @all(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[I:[A-Za-z0-9_]+]]: tensor<?x2xi64, #relax.shape<["k", 2]>>)
// CHECK: "relax.gather_elements"(%[[X]], %[[I]]) {axis = 0 : i64} : {{.*}} -> tensor<?x2xf32, #relax.shape<["k", 2]>>
// CHECK: "relax.gather_nd"(%[[X]], %[[I]]) {batch_dims = 0 : i64} : {{.*}} -> tensor<?xf32, #relax.shape<["k"]>>
// CHECK: "relax.index_tensor"(%[[X]], %{{[A-Za-z0-9_]+}}) : {{.*}} -> tensor<?x2x4xf32, #relax.shape<["k", 2, 4]>>
func.func @all(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %i: tensor<?x2xi64, #relax.shape<["k", 2]>>) {
  %0 = "relax.gather_elements"(%x, %i) {axis = 0 : i64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x2xi64, #relax.shape<["k", 2]>>) -> tensor<?x2xf32, #relax.shape<["k", 2]>>
  %1 = "relax.gather_nd"(%x, %i) {batch_dims = 0 : i64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x2xi64, #relax.shape<["k", 2]>>) -> tensor<?xf32, #relax.shape<["k"]>>
  %t = builtin.unrealized_conversion_cast %i : tensor<?x2xi64, #relax.shape<["k", 2]>> to tuple<tensor<?x2xi64, #relax.shape<["k", 2]>>>
  %2 = "relax.index_tensor"(%x, %t) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tuple<tensor<?x2xi64, #relax.shape<["k", 2]>>>) -> tensor<?x2x4xf32, #relax.shape<["k", 2, 4]>>
  return
}
// -----
func.func @too_many(%x: tensor<3x2xf32>, %i: tensor<1x3xi64>) {
  // expected-error @below {{gather_elements: dimension 1 of 'indices' is 3, more than 2, that of 'data'}}
  %0 = "relax.gather_elements"(%x, %i) {axis = 0 : i64} : (tensor<3x2xf32>, tensor<1x3xi64>) -> tensor<1x3xf32>
  return
}
// -----
func.func @too_long(%x: tensor<3x2xf32>, %i: tensor<1x3xi64>) {
  // expected-error @below {{gather_nd: the vectors of 'indices' have 3 places, 'data' is Tensor((3, 2), "float32")}}
  %0 = "relax.gather_nd"(%x, %i) {batch_dims = 0 : i64} : (tensor<3x2xf32>, tensor<1x3xi64>) -> tensor<1xf32>
  return
}
