// Activations with parameters: the result has the type of the data.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @numbers(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.nn_leakyrelu"(%[[X]]) {alpha = 1.000000e-01 : f64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.nn_softplus"(%[[A]]) {beta = 1.000000e+00 : f64, threshold = 2.000000e+01 : f64}
// CHECK: %[[C:[A-Za-z0-9_]+]] = "relax.nn_hardsigmoid"(%[[B]]) {alpha = 2.000000e-01 : f64, beta = 5.000000e-01 : f64}
// CHECK: %[[D:[A-Za-z0-9_]+]] = "relax.nn_mish"(%[[C]])
// CHECK-NEXT: return %[[D]] :
func.func @numbers(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.nn_leakyrelu"(%x) {alpha = 1.0e-01 : f64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %1 = "relax.nn_softplus"(%0) {beta = 1.0 : f64, threshold = 20.0 : f64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %2 = "relax.nn_hardsigmoid"(%1) {alpha = 2.0e-01 : f64, beta = 5.0e-01 : f64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %3 = "relax.nn_mish"(%2) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %3 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @slopes(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x3xf16, #relax.shape<["n", 3]>>, %[[A:[a-z0-9_]+]]: tensor<3xf16>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.nn_prelu"(%[[X]], %[[A]]) {axis = -1 : i64}
// CHECK-NEXT: return %[[R]] :
func.func @slopes(%x: tensor<?x3xf16, #relax.shape<["n", 3]>>, %a: tensor<3xf16>) -> tensor<?x3xf16, #relax.shape<["n", 3]>> {
  %0 = "relax.nn_prelu"(%x, %a) {axis = -1 : i64} : (tensor<?x3xf16, #relax.shape<["n", 3]>>, tensor<3xf16>) -> tensor<?x3xf16, #relax.shape<["n", 3]>>
  return %0 : tensor<?x3xf16, #relax.shape<["n", 3]>>
}
// -----
func.func @integers(%x: tensor<5xi32>) -> tensor<5xi32> {
  // expected-error @below {{nn_hardswish: operand 'data' has dtype int32, expected a float}}
  %0 = "relax.nn_hardswish"(%x) : (tensor<5xi32>) -> tensor<5xi32>
  return %0 : tensor<5xi32>
}
// -----
func.func @zero(%x: tensor<5xf32>) -> tensor<5xf32> {
  // expected-error @below {{nn_softplus: beta is 0, expected another number}}
  %0 = "relax.nn_softplus"(%x) {beta = 0.0 : f64, threshold = 20.0 : f64} : (tensor<5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
// -----
func.func @slopes(%x: tensor<5x2xf32>, %a: tensor<5xf32>) -> tensor<5x2xf32> {
  // expected-error @below {{nn_prelu: operand 'alpha' has 5 elements, expected 2, dimension 1 of 'data', (5, 2), or 1}}
  %0 = "relax.nn_prelu"(%x, %a) {axis = 1 : i64} : (tensor<5x2xf32>, tensor<5xf32>) -> tensor<5x2xf32>
  return %0 : tensor<5x2xf32>
}
