// Ops that make tensors.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @create(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: !relax.shape_value<["n", 4]>, %[[Y:[a-z0-9_]+]]: tensor<bf16>, %[[Z:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[W:[a-z0-9_]+]]: tensor<i32>, %[[V:[a-z0-9_]+]]: !relax.shape_value<unit>)
func.func @create(%x: !relax.shape_value<["n", 4]>, %y: tensor<bf16>, %z: tensor<?x4xf32, #relax.shape<["n", 4]>>, %w: tensor<i32>, %v: !relax.shape_value<unit>) -> tensor<3xf32> {
  // CHECK: = "relax.full"(%[[X]], %[[Y]]) : (!relax.shape_value<["n", 4]>, tensor<bf16>) -> tensor<?x4xbf16, #relax.shape<["n", 4]>>
  %full = "relax.full"(%x, %y) : (!relax.shape_value<["n", 4]>, tensor<bf16>) -> tensor<?x4xbf16, #relax.shape<["n", 4]>>
  // CHECK: = "relax.ones"(%[[X]]) {dtype = f32} : (!relax.shape_value<["n", 4]>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %ones = "relax.ones"(%x) {dtype = f32} : (!relax.shape_value<["n", 4]>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.zeros"(%[[X]]) {dtype = i32} : (!relax.shape_value<["n", 4]>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  %zeros = "relax.zeros"(%x) {dtype = i32} : (!relax.shape_value<["n", 4]>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.full_like"(%[[Z]], %[[W]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  %full_like = "relax.full_like"(%z, %w) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.ones_like"(%[[Z]]) {dtype} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %ones_like = "relax.ones_like"(%z) {dtype} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.zeros_like"(%[[Z]]) {dtype = i32} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  %zeros_like = "relax.zeros_like"(%z) {dtype = i32} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.zeros"(%[[V]]) {dtype = f32} : (!relax.shape_value<unit>) -> tensor<*xf32>
  %unknown_shape = "relax.zeros"(%v) {dtype = f32} : (!relax.shape_value<unit>) -> tensor<*xf32>
  // CHECK: = "relax.arange"() {dtype = i64, end = 10 : i64, start = 0 : i64, step = 2 : i64} : () -> tensor<5xi64>
  %arange = "relax.arange"() {dtype = i64, end = 10 : i64, start = 0 : i64, step = 2 : i64} : () -> tensor<5xi64>
  // CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.arange"() {dtype = f32, end = 1.500000e+00 : f64, start = 0.000000e+00 : f64, step = 5.000000e-01 : f64} : () -> tensor<3xf32>
  // CHECK-NEXT: return %[[R]] :
  %arange_of_floats = "relax.arange"() {dtype = f32, end = 1.500000e+00 : f64, start = 0.000000e+00 : f64, step = 5.000000e-01 : f64} : () -> tensor<3xf32>
  return %arange_of_floats : tensor<3xf32>
}
// -----
func.func @wrong(%x: !relax.shape_value<["n", 4]>, %y: tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  // expected-error @below {{full: operand 'fill_value' is Tensor((4,), "float32"), expected rank 0}}
  %0 = "relax.full"(%x, %y) : (!relax.shape_value<["n", 4]>, tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  // expected-error @below {{zeros: operand 'shape' is Tensor((n, 4), "float32"), expected a shape value}}
  %0 = "relax.zeros"(%x) {dtype = f32} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong() -> tensor<4xi64> {
  // expected-error @below {{arange: step is 0}}
  %0 = "relax.arange"() {dtype = i64, end = 4, start = 0, step = 0} : () -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
// -----
func.func @wrong() -> tensor<4xi64> {
  // expected-error @below {{arange: result 0 is Tensor((4,), "int64"), but its operands give Tensor((5,), "int64")}}
  %0 = "relax.arange"() {dtype = i64, end = 5, start = 0, step = 1} : () -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
// -----
func.func @wrong() -> tensor<3xi8> {
  // expected-error @below {{arange: the last number is 200, which does not fit dtype int8 (-128 to 127)}}
  %0 = "relax.arange"() {dtype = i8, end = 300, start = 0, step = 100} : () -> tensor<3xi8>
  return %0 : tensor<3xi8>
}
