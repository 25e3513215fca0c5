// RUN: relax-opt --split-input-file --verify-diagnostics %s
// RUN: relax-opt --lower-symbolic-shapes --split-input-file --verify-diagnostics %s 2>/dev/null | filecheck %s

// CHECK-LABEL: func.func @to_tensor(
// CHECK: %[[N:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: tensor.from_elements %[[N]], %{{.*}} : tensor<2xi64>
func.func @to_tensor(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<2xi64> {
  %0 = "relax.shape_of"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> !relax.shape_value<["n", 4]>
  %1 = "relax.shape_to_tensor"(%0) : (!relax.shape_value<["n", 4]>) -> tensor<2xi64>
  return %1 : tensor<2xi64>
}
// -----
// CHECK-LABEL: func.func @to_shape(
// CHECK: tensor.extract
// CHECK: arith.index_cast {{.*}} : i64 to index
// CHECK: call @relax.check.
// CHECK: tensor.from_elements
func.func @to_shape(%x: tensor<1xi64>) -> tensor<1xi64> {
  %0 = "relax.tensor_to_shape"(%x) : (tensor<1xi64>) -> !relax.shape_value<["?"]>
  %1 = "relax.shape_to_tensor"(%0) : (!relax.shape_value<["?"]>) -> tensor<1xi64>
  return %1 : tensor<1xi64>
}
// -----
func.func @rank(%x: tensor<2x2xi64>) -> !relax.shape_value<unit> {
  // expected-error@+1 {{tensor_to_shape: operand 'tensor' is Tensor((2, 2), "int64"), expected a vector}}
  %0 = "relax.tensor_to_shape"(%x) : (tensor<2x2xi64>) -> !relax.shape_value<unit>
  return %0 : !relax.shape_value<unit>
}
// -----
func.func @dtype(%x: tensor<2xf32>) -> !relax.shape_value<unit> {
  // expected-error@+1 {{tensor_to_shape: operand 'tensor' has dtype float32, expected int64}}
  %0 = "relax.tensor_to_shape"(%x) : (tensor<2xf32>) -> !relax.shape_value<unit>
  return %0 : !relax.shape_value<unit>
}
// -----
func.func @no_shape(%x: tensor<2xf32>) -> tensor<1xi64> {
  // expected-error@+1 {{shape_to_tensor: operand 'shape' is Tensor((2,), "float32"), expected a shape value}}
  %0 = "relax.shape_to_tensor"(%x) : (tensor<2xf32>) -> tensor<1xi64>
  return %0 : tensor<1xi64>
}
