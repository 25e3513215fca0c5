// slice_scatter and one_hot, whose places and sizes may be expressions.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @all(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>, %[[I:[A-Za-z0-9_]+]]: tensor<2xi64>, %[[V:[A-Za-z0-9_]+]]: tensor<f32>)
// CHECK: "relax.slice_scatter"(%[[X]], %[[X]]) {axis = 0 : i64, end = "n", start = 0 : i64, step = 1 : i64} : {{.*}} -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK: "relax.one_hot"(%[[I]], %[[V]], %[[V]]) {axis = 0 : i64, depth = "n"} : {{.*}} -> tensor<?x2xf32, #relax.shape<["n", 2]>>
func.func @all(%x: tensor<?xf32, #relax.shape<["n"]>>, %i: tensor<2xi64>, %v: tensor<f32>) {
  %0 = "relax.slice_scatter"(%x, %x) {start = 0 : i64, end = "n", step = 1 : i64, axis = 0 : i64} : (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  %1 = "relax.one_hot"(%i, %v, %v) {depth = "n", axis = 0 : i64} : (tensor<2xi64>, tensor<f32>, tensor<f32>) -> tensor<?x2xf32, #relax.shape<["n", 2]>>
  return
}
// -----
func.func @step(%x: tensor<3xf32>) {
  // expected-error @below {{slice_scatter: step is 0, expected an integer from 1 on}}
  %0 = "relax.slice_scatter"(%x, %x) {start = 0 : i64, end = 3 : i64, step = 0 : i64, axis = 0 : i64} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}
