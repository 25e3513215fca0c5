// Comparisons give bool.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @equal(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<4xf32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.equal"(%[[X]], %[[Y]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @equal(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  %0 = "relax.equal"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @greater(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<4xf32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.greater"(%[[X]], %[[Y]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @greater(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  %0 = "relax.greater"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @greater_equal(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<4xf32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.greater_equal"(%[[X]], %[[Y]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @greater_equal(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  %0 = "relax.greater_equal"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @less(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<4xf32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.less"(%[[X]], %[[Y]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @less(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  %0 = "relax.less"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @less_equal(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<4xf32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.less_equal"(%[[X]], %[[Y]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @less_equal(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  %0 = "relax.less_equal"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @not_equal(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<4xf32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.not_equal"(%[[X]], %[[Y]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @not_equal(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  %0 = "relax.not_equal"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}

// -----

func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  // expected-error @below {{less: result 0 is Tensor((n, 4), "float32"), but its operands give Tensor((n, 4), "bool")}}
  %0 = "relax.less"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// -----

func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  // expected-error @below {{equal: operands have dtypes float32 and int32}}
  %0 = "relax.equal"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi1, #relax.shape<["n", 4]>>
}
