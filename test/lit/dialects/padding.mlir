// nn_pad: two widths for each dimension, which may be expressions or negative.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @around(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.nn_pad"(%[[X]]) {pad_mode = "reflect", pad_value = 0.000000e+00 : f64, pad_width = ["n", 2, -1, 0]}
// CHECK-SAME: -> tensor<?x3xf32, #relax.shape<["2*n + 2", 3]>>
// CHECK-NEXT: return %[[R]] :
func.func @around(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x3xf32, #relax.shape<["2*n + 2", 3]>> {
  %0 = "relax.nn_pad"(%x) {pad_width = ["n", 2, -1, 0], pad_mode = "reflect", pad_value = 0.0 : f64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x3xf32, #relax.shape<["2*n + 2", 3]>>
  return %0 : tensor<?x3xf32, #relax.shape<["2*n + 2", 3]>>
}
// -----
func.func @mode(%x: tensor<5xf32>) -> tensor<6xf32> {
  // expected-error @below {{nn_pad: pad_mode is 'mirror', expected one of constant, reflect, symmetric, replicate, circular}}
  %0 = "relax.nn_pad"(%x) {pad_width = [1, 0], pad_mode = "mirror", pad_value = 0.0 : f64} : (tensor<5xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
// -----
func.func @widths(%x: tensor<5xf32>) -> tensor<6xf32> {
  // expected-error @below {{nn_pad: pad_width has 4 numbers, expected 2: two for each dimension of 'data'}}
  %0 = "relax.nn_pad"(%x) {pad_width = [1, 0, 0, 0], pad_mode = "constant", pad_value = 0.0 : f64} : (tensor<5xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
// -----
func.func @cut(%x: tensor<5xi8>) -> tensor<1xi8> {
  // expected-error @below {{nn_pad: dimension 0 of size 5 with -3 and -4 more elements would have -2}}
  %0 = "relax.nn_pad"(%x) {pad_width = [-3, -4], pad_mode = "constant", pad_value = 0 : i64} : (tensor<5xi8>) -> tensor<1xi8>
  return %0 : tensor<1xi8>
}
// -----
func.func @value(%x: tensor<5xi8>) -> tensor<6xi8> {
  // expected-error @below {{nn_pad: pad_value is 128, which does not fit dtype int8 (-128 to 127)}}
  %0 = "relax.nn_pad"(%x) {pad_width = [1, 0], pad_mode = "constant", pad_value = 128 : i64} : (tensor<5xi8>) -> tensor<6xi8>
  return %0 : tensor<6xi8>
}
