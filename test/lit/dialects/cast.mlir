// astype.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @cast(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[Y:[a-z0-9_]+]]: tensor<?x4xi32, #relax.shape<["n", 4]>>)
func.func @cast(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xbf16, #relax.shape<["n", 4]>> {
  // CHECK: = "relax.astype"(%[[X]]) {dtype = ui8} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xui8, #relax.shape<["n", 4]>>
  %to_unsigned = "relax.astype"(%x) {dtype = ui8} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xui8, #relax.shape<["n", 4]>>
  // CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.astype"(%[[Y]]) {dtype = bf16} : (tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xbf16, #relax.shape<["n", 4]>>
  // CHECK-NEXT: return %[[R]] :
  %to_bfloat16 = "relax.astype"(%y) {dtype = bf16} : (tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xbf16, #relax.shape<["n", 4]>>
  return %to_bfloat16 : tensor<?x4xbf16, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xbf16, #relax.shape<["n", 4]>> {
  // expected-error @below {{astype: result 0 is Tensor((n, 4), "bfloat16"), but its operands give Tensor((n, 4), "float16")}}
  %0 = "relax.astype"(%x) {dtype = f16} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xbf16, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xbf16, #relax.shape<["n", 4]>>
}
// -----
func.func @wrong(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  // expected-error @below {{element type i4 is none of Relax's}}
  %0 = "relax.astype"(%x) {dtype = i4} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
