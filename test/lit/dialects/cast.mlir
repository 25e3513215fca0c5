// astype.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @to_unsigned(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.astype"(%[[X]]) {dtype = ui8} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xui8, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @to_unsigned(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xui8, #relax.shape<["n", 4]>> {
  %0 = "relax.astype"(%x) {dtype = ui8} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xui8, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xui8, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @to_bfloat16(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xi32, #relax.shape<["n", 4]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.astype"(%[[X]]) {dtype = bf16} : (tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xbf16, #relax.shape<["n", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @to_bfloat16(%x: tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xbf16, #relax.shape<["n", 4]>> {
  %0 = "relax.astype"(%x) {dtype = bf16} : (tensor<?x4xi32, #relax.shape<["n", 4]>>) -> tensor<?x4xbf16, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xbf16, #relax.shape<["n", 4]>>
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
