// Binary ops broadcast symbolic shapes.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @binary(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %[[Y:[a-z0-9_]+]]: tensor<2x?xf32, #relax.shape<[2, "m"]>>, %[[Z:[a-z0-9_]+]]: tensor<?xui8, #relax.shape<["n"]>>, %[[W:[a-z0-9_]+]]: tensor<?xui8, #relax.shape<["n"]>>, %[[V:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[U:[a-z0-9_]+]]: tensor<f32>, %[[T:[a-z0-9_]+]]: tensor<4xf32>)
func.func @binary(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>, %z: tensor<?xui8, #relax.shape<["n"]>>, %w: tensor<?xui8, #relax.shape<["n"]>>, %v: tensor<?x4xf32, #relax.shape<["n", 4]>>, %u: tensor<f32>, %t: tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  // CHECK: = "relax.add"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  %add = "relax.add"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  // CHECK: = "relax.atan2"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  %atan2 = "relax.atan2"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  // CHECK: = "relax.divide"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  %divide = "relax.divide"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  // CHECK: = "relax.floor_divide"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  %floor_divide = "relax.floor_divide"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  // CHECK: = "relax.floor_mod"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  %floor_mod = "relax.floor_mod"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  // CHECK: = "relax.log_add_exp"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  %log_add_exp = "relax.log_add_exp"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  // CHECK: = "relax.maximum"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  %maximum = "relax.maximum"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  // CHECK: = "relax.minimum"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  %minimum = "relax.minimum"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  // CHECK: = "relax.mod"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  %mod = "relax.mod"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  // CHECK: = "relax.multiply"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  %multiply = "relax.multiply"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  // CHECK: = "relax.power"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  %power = "relax.power"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  // CHECK: = "relax.subtract"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  %subtract = "relax.subtract"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  // CHECK: = "relax.add"(%[[Z]], %[[W]]) : (tensor<?xui8, #relax.shape<["n"]>>, tensor<?xui8, #relax.shape<["n"]>>) -> tensor<?xui8, #relax.shape<["n"]>>
  %unsigned = "relax.add"(%z, %w) : (tensor<?xui8, #relax.shape<["n"]>>, tensor<?xui8, #relax.shape<["n"]>>) -> tensor<?xui8, #relax.shape<["n"]>>
  // CHECK: = "relax.multiply"(%[[V]], %[[U]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<f32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %scalar = "relax.multiply"(%v, %u) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<f32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.ewise_fma"(%[[V]], %[[T]], %[[U]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<f32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  // CHECK-NEXT: return %[[R]] :
  %ewise_fma = "relax.ewise_fma"(%v, %t, %u) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<f32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %ewise_fma : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  // expected-error @below {{add: operands have dtypes float32 and bfloat16; convert one of them with astype}}
  %0 = "relax.add"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>, %y: tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>> {
  // expected-error @below {{divide: operand 'x1' has dtype int32, expected a float; use astype}}
  %0 = "relax.divide"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi32, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?x4xi1, #relax.shape<["n", 4]>>, %y: tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  // expected-error @below {{subtract: operand 'x1' has dtype bool, expected a number; use astype}}
  %0 = "relax.subtract"(%x, %y) : (tensor<?x4xi1, #relax.shape<["n", 4]>>, tensor<?x4xi1, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error @below {{2 and 3 do not broadcast}}
  %0 = "relax.add"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @wrong(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  // expected-error @below {{cannot tell whether n equals m}}
  %0 = "relax.add"(%x, %y) : (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
// -----
func.func @wrong(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>> {
  // expected-error @below {{multiply: result 0 is Tensor((n, 1, m), "float32"), but its operands give Tensor((n, 2, m), "float32")}}
  %0 = "relax.multiply"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>
  return %0 : tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>
}
// -----
func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<?x4xf32, #relax.shape<["n", 4]>>, %z: tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  // expected-error @below {{ewise_fma: operands have dtypes float32 and int32}}
  %0 = "relax.ewise_fma"(%x, %y, %z) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
