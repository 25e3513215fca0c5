// Trigonometric and hyperbolic functions.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @acos(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.acos"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @acos(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.acos"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @acosh(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.acosh"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @acosh(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.acosh"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @asin(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.asin"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @asin(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.asin"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @asinh(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.asinh"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @asinh(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.asinh"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @atan(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.atan"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @atan(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.atan"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @atanh(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.atanh"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @atanh(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.atanh"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @cos(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.cos"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @cos(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.cos"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @cosh(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.cosh"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @cosh(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.cosh"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @sin(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.sin"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @sin(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.sin"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @sinh(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.sinh"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @sinh(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.sinh"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @tan(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.tan"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @tan(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.tan"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @tanh(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.tanh"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @tanh(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.tanh"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// -----

func.func @wrong(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>> {
  // expected-error @below {{sin: operand 'x' has dtype int32, expected a float; use astype}}
  %0 = "relax.sin"(%x) : (tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi32, #relax.shape<["n", 4]>>
}
