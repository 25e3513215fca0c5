// Logical ops take any dtype and give bool.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @logical(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xi32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<?x4xi32, #relax.shape<["n", 4]>>)
func.func @logical(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>, %y: tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>> {
  // CHECK: = "relax.logical_and"(%[[X]], %[[Y]]) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  %logical_and = "relax.logical_and"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  // CHECK: = "relax.logical_or"(%[[X]], %[[Y]]) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  %logical_or = "relax.logical_or"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  // CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.logical_xor"(%[[X]], %[[Y]]) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  // CHECK-NEXT: return %[[R]] :
  %logical_xor = "relax.logical_xor"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi1, #relax.shape<["n", 4]>>
  return %logical_xor : tensor<?x4xi1, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>, %y: tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>> {
  // expected-error @below {{logical_and: result 0 is Tensor((n, 4), "int32")}}
  %0 = "relax.logical_and"(%x, %y) : (tensor<?x4xi32, #relax.shape<["n", 4]>>, tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xi32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xi32, #relax.shape<["n", 4]>>
}
