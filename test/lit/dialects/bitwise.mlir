// Bitwise ops and shifts.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @bitwise_and(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xi32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<i32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.bitwise_and"(%[[X]], %[[Y]]) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @bitwise_and(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>, %y: tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>> {
  %0 = "relax.bitwise_and"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @bitwise_or(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xi32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<i32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.bitwise_or"(%[[X]], %[[Y]]) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @bitwise_or(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>, %y: tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>> {
  %0 = "relax.bitwise_or"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @bitwise_xor(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xi32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<i32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.bitwise_xor"(%[[X]], %[[Y]]) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @bitwise_xor(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>, %y: tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>> {
  %0 = "relax.bitwise_xor"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @left_shift(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xi32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<i32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.left_shift"(%[[X]], %[[Y]]) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @left_shift(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>, %y: tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>> {
  %0 = "relax.left_shift"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @right_shift(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xi32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<i32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.right_shift"(%[[X]], %[[Y]]) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @right_shift(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>, %y: tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>> {
  %0 = "relax.right_shift"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @of_bool(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xi1, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<?x4xi1, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.bitwise_xor"(%[[X]], %[[Y]]) : (tensor<?x4xi1, #relax.shape<["n", 4]>>, tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @of_bool(%x: tensor<?x4xi1, #relax.shape<["n", 4]>>, %y: tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  %0 = "relax.bitwise_xor"(%x, %y) : (tensor<?x4xi1, #relax.shape<["n", 4]>>, tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}

// -----

func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  // expected-error @below {{bitwise_and: operand 'x1' has dtype float32, expected an integer or bool}}
  %0 = "relax.bitwise_and"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// -----

func.func @wrong(%x: tensor<?x4xi1, #relax.shape<["n", 4]>>, %y: tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  // expected-error @below {{left_shift: operand 'x1' has dtype bool, expected an integer}}
  %0 = "relax.left_shift"(%x, %y) : (tensor<?x4xi1, #relax.shape<["n", 4]>>, tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}
