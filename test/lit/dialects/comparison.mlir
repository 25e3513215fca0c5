// Comparisons give bool.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @comparison(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<4xf32>)
func.func @comparison(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  // CHECK: = "relax.equal"(%[[X]], %[[Y]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  %equal = "relax.equal"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  // CHECK: = "relax.greater"(%[[X]], %[[Y]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  %greater = "relax.greater"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  // CHECK: = "relax.greater_equal"(%[[X]], %[[Y]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  %greater_equal = "relax.greater_equal"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  // CHECK: = "relax.less"(%[[X]], %[[Y]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  %less = "relax.less"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  // CHECK: = "relax.less_equal"(%[[X]], %[[Y]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  %less_equal = "relax.less_equal"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  // CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.not_equal"(%[[X]], %[[Y]]) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  // CHECK-NEXT: return %[[R]] :
  %not_equal = "relax.not_equal"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %not_equal : tensor<?x4xi1, #relax.shape<["n", 4]>>
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
