// dynamic_strided_slice: the result has as many dimensions as the tensor, of sizes that only run time knows.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @slice(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[B:[A-Za-z0-9_]+]]: tensor<2xi64>)
// CHECK: "relax.dynamic_strided_slice"(%[[X]], %[[B]], %[[B]], %[[B]]) : {{.*}} -> tensor<?x?xf32, #relax.shape<["?", "?"]>>
func.func @slice(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %b: tensor<2xi64>) {
  %0 = "relax.dynamic_strided_slice"(%x, %b, %b, %b) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32, #relax.shape<["?", "?"]>>
  return
}
// -----
func.func @too_few(%x: tensor<3x4xf32>, %b: tensor<1xi64>) {
  // expected-error @below {{dynamic_strided_slice: the length of 'begin' and the rank of 'x' are 1 and 2}}
  %0 = "relax.dynamic_strided_slice"(%x, %b, %b, %b) : (tensor<3x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32, #relax.shape<["?", "?"]>>
  return
}
