// where and clip.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @select(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x1xi1, #relax.shape<["n", 1]>>, %[[Y:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[Z:[a-z0-9_]+]]: tensor<4xf32>, %[[W:[a-z0-9_]+]]: tensor<?x4xi32, #relax.shape<["n", 4]>>)
func.func @select(%x: tensor<?x1xi1, #relax.shape<["n", 1]>>, %y: tensor<?x4xf32, #relax.shape<["n", 4]>>, %z: tensor<4xf32>, %w: tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>> {
  // CHECK: = "relax.where"(%[[X]], %[[Y]], %[[Z]]) : (tensor<?x1xi1, #relax.shape<["n", 1]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %where = "relax.where"(%x, %y, %z) : (tensor<?x1xi1, #relax.shape<["n", 1]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: = "relax.clip"(%[[Y]]) {max = 6.000000e+00 : f64, min} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %clip = "relax.clip"(%y) {max = 6.000000e+00 : f64, min} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.clip"(%[[W]]) {max = 7 : i64, min = -7 : i64} : (tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  // CHECK-NEXT: return %[[R]] :
  %clip_of_integers = "relax.clip"(%w) {max = 7 : i64, min = -7 : i64} : (tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  return %clip_of_integers : tensor<?x4xi32, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>, %y: tensor<?x4xf32, #relax.shape<["n", 4]>>, %z: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  // expected-error @below {{where: operand 'condition' has dtype int32, expected bool}}
  %0 = "relax.where"(%x, %y, %z) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?x4xi1, #relax.shape<["n", 4]>>, %y: tensor<?x4xf32, #relax.shape<["n", 4]>>, %z: tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  // expected-error @below {{where: operands have dtypes float32 and int32}}
  %0 = "relax.where"(%x, %y, %z) : (tensor<?x4xi1, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>> {
  // expected-error @below {{clip: min is 0.5, but the tensor has dtype int32; give an integer}}
  %0 = "relax.clip"(%x) {max, min = 0.5} : (tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi32, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?xui8, #relax.shape<["n"]>>) -> tensor<?xui8, #relax.shape<["n"]>> {
  // expected-error @below {{clip: max is 300, which does not fit dtype uint8 (0 to 255)}}
  %0 = "relax.clip"(%x) {max = 300, min} : (tensor<?xui8, #relax.shape<["n"]>>) -> tensor<?xui8, #relax.shape<["n"]>>
  return %0 : tensor<?xui8, #relax.shape<["n"]>>
}
