// Bitwise ops and shifts.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @bitwise(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xi32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<i32>, %[[Z:[a-z0-9_]+]]: tensor<?x4xi1, #relax.shape<["n", 4]>>, %[[W:[a-z0-9_]+]]: tensor<?x4xi1, #relax.shape<["n", 4]>>)
func.func @bitwise(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>, %y: tensor<i32>, %z: tensor<?x4xi1, #relax.shape<["n", 4]>>, %w: tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  // CHECK: = "relax.bitwise_and"(%[[X]], %[[Y]]) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  %bitwise_and = "relax.bitwise_and"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.bitwise_or"(%[[X]], %[[Y]]) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  %bitwise_or = "relax.bitwise_or"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.bitwise_xor"(%[[X]], %[[Y]]) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  %bitwise_xor = "relax.bitwise_xor"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.left_shift"(%[[X]], %[[Y]]) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  %left_shift = "relax.left_shift"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.right_shift"(%[[X]], %[[Y]]) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  %right_shift = "relax.right_shift"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  // CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.bitwise_xor"(%[[Z]], %[[W]]) : (tensor<?x4xi1, #relax.shape<["n", 4]>>, tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  // CHECK-NEXT: return %[[R]] :
  %of_bool = "relax.bitwise_xor"(%z, %w) : (tensor<?x4xi1, #relax.shape<["n", 4]>>, tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %of_bool : tensor<?x4xi1, #relax.shape<["n", 4]>>
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
