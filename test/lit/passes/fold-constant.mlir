// RUN: relax-opt %s --fold-constant | filecheck %s
// RUN: relax-opt %s --fold-constant="max-elements=1" | filecheck %s --check-prefix=LIMIT

// A chain folds in one run, and the constants it used go.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<[5.000000e+00, 1.000000e+01]> : tensor<2xf32>}
// CHECK-NEXT: return %[[C]] :
// LIMIT-LABEL: func.func @chain
// LIMIT: "relax.multiply"
// LIMIT: "relax.add"
func.func @chain() -> tensor<2xf32> {
  %0 = "relax.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %1 = "relax.constant"() {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %2 = "relax.multiply"(%0, %1) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %3 = "relax.add"(%2, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

// As in compiled code: no trap, saturating conversions, unsigned numbers.
// CHECK-LABEL: func.func @integers
// CHECK-DAG: dense<[0, -2]> : tensor<2xi8>
// CHECK-DAG: dense<[127, 0]> : tensor<2xi8>
// CHECK-DAG: dense<[255, 253]> : tensor<2xui8>
func.func @integers() -> (tensor<2xi8>, tensor<2xi8>, tensor<2xui8>) {
  %0 = "relax.constant"() {value = dense<[7, -7]> : tensor<2xi8>} : () -> tensor<2xi8>
  %1 = "relax.constant"() {value = dense<[0, 4]> : tensor<2xi8>} : () -> tensor<2xi8>
  %2 = "relax.floor_divide"(%0, %1) : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %3 = "relax.constant"() {value = dense<[300.0, 0x7FC00000]> : tensor<2xf32>} : () -> tensor<2xf32>
  %4 = "relax.astype"(%3) {dtype = i8} : (tensor<2xf32>) -> tensor<2xi8>
  %5 = "relax.constant"() {value = dense<[1, 3]> : tensor<2xui8>} : () -> tensor<2xui8>
  %6 = "relax.negative"(%5) : (tensor<2xui8>) -> tensor<2xui8>
  return %2, %4, %6 : tensor<2xi8>, tensor<2xi8>, tensor<2xui8>
}

// CHECK-LABEL: func.func @reduction
// CHECK-NEXT: "relax.constant"() {value = dense<[-128, 4]> : tensor<2xi8>}
// CHECK-NOT: "relax.sum"
func.func @reduction() -> tensor<2xi8> {
  %0 = "relax.constant"() {value = dense<[[127, 1], [3, 1]]> : tensor<2x2xi8>} : () -> tensor<2x2xi8>
  %1 = "relax.sum"(%0) {axis = [1], keepdims = false} : (tensor<2x2xi8>) -> tensor<2xi8>
  return %1 : tensor<2xi8>
}

// Inside dataflow blocks, too.
// CHECK-LABEL: func.func @dataflow
// CHECK: "relax.dataflow"
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<2.000000e+00> : tensor<f32>}
// CHECK-NEXT: "relax.output"(%[[C]])
func.func @dataflow() -> tensor<f32> {
  %0 = "relax.dataflow"() ({
    %1 = "relax.constant"() {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
    %2 = "relax.sqrt"(%1) : (tensor<f32>) -> tensor<f32>
    "relax.output"(%2) : (tensor<f32>) -> ()
  }) : () -> tensor<f32>
  return %0 : tensor<f32>
}

// Not folded: an operand that is no constant, no elements to take the greatest of, a negative integer power, and
// a result whose type is vaguer than the value.
// CHECK-LABEL: func.func @kept
// CHECK: "relax.add"
// CHECK: "relax.max"
// CHECK: "relax.power"
// CHECK: "relax.negative"
func.func @kept(%x: tensor<2xi8>) -> (tensor<2xi8>, tensor<f32>, tensor<2xi8>, tensor<?xi8>) {
  %0 = "relax.constant"() {value = dense<[2, -1]> : tensor<2xi8>} : () -> tensor<2xi8>
  %1 = "relax.add"(%x, %0) : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %2 = "relax.constant"() {value = dense<> : tensor<0xf32>} : () -> tensor<0xf32>
  %3 = "relax.max"(%2) {axis = [0], keepdims = false} : (tensor<0xf32>) -> tensor<f32>
  %4 = "relax.power"(%0, %0) : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %5 = "relax.negative"(%0) : (tensor<2xi8>) -> tensor<?xi8>
  return %1, %3, %4, %5 : tensor<2xi8>, tensor<f32>, tensor<2xi8>, tensor<?xi8>
}
