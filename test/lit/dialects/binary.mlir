// Binary ops broadcast symbolic shapes.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @add(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %[[Y:[a-z0-9_]+]]: tensor<2x?xf32, #relax.shape<[2, "m"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.add"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @add(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>> {
  %0 = "relax.add"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  return %0 : tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
}

// CHECK-LABEL: func.func @atan2(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %[[Y:[a-z0-9_]+]]: tensor<2x?xf32, #relax.shape<[2, "m"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.atan2"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @atan2(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>> {
  %0 = "relax.atan2"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  return %0 : tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
}

// CHECK-LABEL: func.func @divide(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %[[Y:[a-z0-9_]+]]: tensor<2x?xf32, #relax.shape<[2, "m"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.divide"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @divide(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>> {
  %0 = "relax.divide"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  return %0 : tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
}

// CHECK-LABEL: func.func @floor_divide(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %[[Y:[a-z0-9_]+]]: tensor<2x?xf32, #relax.shape<[2, "m"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.floor_divide"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @floor_divide(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>> {
  %0 = "relax.floor_divide"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  return %0 : tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
}

// CHECK-LABEL: func.func @floor_mod(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %[[Y:[a-z0-9_]+]]: tensor<2x?xf32, #relax.shape<[2, "m"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.floor_mod"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @floor_mod(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>> {
  %0 = "relax.floor_mod"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  return %0 : tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
}

// CHECK-LABEL: func.func @log_add_exp(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %[[Y:[a-z0-9_]+]]: tensor<2x?xf32, #relax.shape<[2, "m"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.log_add_exp"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @log_add_exp(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>> {
  %0 = "relax.log_add_exp"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  return %0 : tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
}

// CHECK-LABEL: func.func @maximum(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %[[Y:[a-z0-9_]+]]: tensor<2x?xf32, #relax.shape<[2, "m"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.maximum"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @maximum(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>> {
  %0 = "relax.maximum"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  return %0 : tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
}

// CHECK-LABEL: func.func @minimum(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %[[Y:[a-z0-9_]+]]: tensor<2x?xf32, #relax.shape<[2, "m"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.minimum"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @minimum(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>> {
  %0 = "relax.minimum"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  return %0 : tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
}

// CHECK-LABEL: func.func @mod(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %[[Y:[a-z0-9_]+]]: tensor<2x?xf32, #relax.shape<[2, "m"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.mod"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @mod(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>> {
  %0 = "relax.mod"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  return %0 : tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
}

// CHECK-LABEL: func.func @multiply(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %[[Y:[a-z0-9_]+]]: tensor<2x?xf32, #relax.shape<[2, "m"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.multiply"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @multiply(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>> {
  %0 = "relax.multiply"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  return %0 : tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
}

// CHECK-LABEL: func.func @power(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %[[Y:[a-z0-9_]+]]: tensor<2x?xf32, #relax.shape<[2, "m"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.power"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @power(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>> {
  %0 = "relax.power"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  return %0 : tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
}

// CHECK-LABEL: func.func @subtract(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %[[Y:[a-z0-9_]+]]: tensor<2x?xf32, #relax.shape<[2, "m"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.subtract"(%[[X]], %[[Y]]) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
// CHECK-NEXT: return %[[R]] :
func.func @subtract(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>> {
  %0 = "relax.subtract"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  return %0 : tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
}

// CHECK-LABEL: func.func @unsigned(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xui8, #relax.shape<["n"]>>, %[[Y:[a-z0-9_]+]]: tensor<?xui8, #relax.shape<["n"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.add"(%[[X]], %[[Y]]) : (tensor<?xui8, #relax.shape<["n"]>>, tensor<?xui8, #relax.shape<["n"]>>) -> tensor<?xui8, #relax.shape<["n"]>>
// CHECK-NEXT: return %[[R]] :
func.func @unsigned(%x: tensor<?xui8, #relax.shape<["n"]>>, %y: tensor<?xui8, #relax.shape<["n"]>>) -> tensor<?xui8, #relax.shape<["n"]>> {
  %0 = "relax.add"(%x, %y) : (tensor<?xui8, #relax.shape<["n"]>>, tensor<?xui8, #relax.shape<["n"]>>) -> tensor<?xui8, #relax.shape<["n"]>>
  return %0 : tensor<?xui8, #relax.shape<["n"]>>
}

// CHECK-LABEL: func.func @scalar(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<f32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.multiply"(%[[X]], %[[Y]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<f32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @scalar(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<f32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.multiply"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<f32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @ewise_fma(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<4xf32>, %[[Z:[a-z0-9_]+]]: tensor<f32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.ewise_fma"(%[[X]], %[[Y]], %[[Z]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<f32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @ewise_fma(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<4xf32>, %z: tensor<f32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.ewise_fma"(%x, %y, %z) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<f32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
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
