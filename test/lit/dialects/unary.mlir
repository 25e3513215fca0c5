// Unary ops: the result has the shape of the operand.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @unary(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<?x4xbf16, #relax.shape<["n", 4]>>, %[[Z:[a-z0-9_]+]]: tensor<?xui8, #relax.shape<["n"]>>, %[[W:[a-z0-9_]+]]: tensor<*xf32>)
func.func @unary(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<?x4xbf16, #relax.shape<["n", 4]>>, %z: tensor<?xui8, #relax.shape<["n"]>>, %w: tensor<*xf32>) -> tensor<?x?xf32> {
  // CHECK: = "relax.abs"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %abs = "relax.abs"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.ceil"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %ceil = "relax.ceil"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.erf"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %erf = "relax.erf"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.exp"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %exp = "relax.exp"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.floor"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %floor = "relax.floor"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.log"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %log = "relax.log"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.negative"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %negative = "relax.negative"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.round"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %round = "relax.round"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.rsqrt"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %rsqrt = "relax.rsqrt"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.sigmoid"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %sigmoid = "relax.sigmoid"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.sign"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %sign = "relax.sign"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.sqrt"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %sqrt = "relax.sqrt"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.square"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %square = "relax.square"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.trunc"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %trunc = "relax.trunc"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.isfinite"(%[[Y]]) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  %isfinite = "relax.isfinite"(%y) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  // CHECK: = "relax.isinf"(%[[Y]]) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  %isinf = "relax.isinf"(%y) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  // CHECK: = "relax.isnan"(%[[Y]]) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  %isnan = "relax.isnan"(%y) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  // CHECK: = "relax.logical_not"(%[[Y]]) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  %logical_not = "relax.logical_not"(%y) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  // CHECK: = "relax.bitwise_not"(%[[Z]]) : (tensor<?xui8, #relax.shape<["n"]>>) -> tensor<?xui8, #relax.shape<["n"]>>
  %bitwise_not = "relax.bitwise_not"(%z) : (tensor<?xui8, #relax.shape<["n"]>>) -> tensor<?xui8, #relax.shape<["n"]>>
  // CHECK: = "relax.exp"(%[[W]]) : (tensor<*xf32>) -> tensor<*xf32>
  %unknown_rank = "relax.exp"(%w) : (tensor<*xf32>) -> tensor<*xf32>
  // CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x?xf32>
  // CHECK-NEXT: return %[[R]] :
  %vaguer_result = "relax.exp"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x?xf32>
  return %vaguer_result : tensor<?x?xf32>
}
// -----
func.func @wrong(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>> {
  // expected-error @below {{exp: operand 'x' has dtype int32, expected a float; use astype}}
  %0 = "relax.exp"(%x) : (tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi32, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  // expected-error @below {{negative: operand 'x' has dtype bool, expected a number; use astype}}
  %0 = "relax.negative"(%x) : (tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  // expected-error @below {{bitwise_not: operand 'x' has dtype float32, expected an integer or bool}}
  %0 = "relax.bitwise_not"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["m", 4]>> {
  // expected-error @below {{exp: result 0 is Tensor((m, 4), "float32"), but its operands give Tensor((n, 4), "float32")}}
  %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["m", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["m", 4]>>
}
// -----
func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  // expected-error @below {{isnan: result 0 is Tensor((n, 4), "float32")}}
  %0 = "relax.isnan"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
