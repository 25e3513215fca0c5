// Unary ops: the result has the shape of the operand.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @abs(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.abs"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @abs(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.abs"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @ceil(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.ceil"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @ceil(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.ceil"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @erf(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.erf"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @erf(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.erf"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @exp(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @exp(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @floor(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.floor"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @floor(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.floor"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @log(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.log"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @log(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.log"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @negative(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.negative"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @negative(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.negative"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @round(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.round"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @round(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.round"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @rsqrt(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.rsqrt"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @rsqrt(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.rsqrt"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @sigmoid(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.sigmoid"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @sigmoid(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.sigmoid"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @sign(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.sign"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @sign(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.sign"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @sqrt(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.sqrt"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @sqrt(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.sqrt"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @square(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.square"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @square(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.square"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @trunc(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.trunc"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @trunc(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.trunc"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @isfinite(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xbf16, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.isfinite"(%[[X]]) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @isfinite(%x: tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  %0 = "relax.isfinite"(%x) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @isinf(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xbf16, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.isinf"(%[[X]]) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @isinf(%x: tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  %0 = "relax.isinf"(%x) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @isnan(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xbf16, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.isnan"(%[[X]]) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @isnan(%x: tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  %0 = "relax.isnan"(%x) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @logical_not(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xbf16, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.logical_not"(%[[X]]) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @logical_not(%x: tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  %0 = "relax.logical_not"(%x) : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @bitwise_not(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xui8, #relax.shape<["n"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.bitwise_not"(%[[X]]) : (tensor<?xui8, #relax.shape<["n"]>>) -> tensor<?xui8, #relax.shape<["n"]>>
// CHECK-NEXT: return %[[R]] :
func.func @bitwise_not(%x: tensor<?xui8, #relax.shape<["n"]>>) -> tensor<?xui8, #relax.shape<["n"]>> {
  %0 = "relax.bitwise_not"(%x) : (tensor<?xui8, #relax.shape<["n"]>>) -> tensor<?xui8, #relax.shape<["n"]>>
  return %0 : tensor<?xui8, #relax.shape<["n"]>>
}

// CHECK-LABEL: func.func @unknown_rank(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<*xf32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]]) : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT: return %[[R]] :
func.func @unknown_rank(%x: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "relax.exp"(%x) : (tensor<*xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @vaguer_result(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x?xf32>
// CHECK-NEXT: return %[[R]] :
func.func @vaguer_result(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x?xf32> {
  %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
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
