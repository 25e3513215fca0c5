// quantize and dequantize: scales and zero points for all elements, or along an axis.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @there_and_back(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf16, #relax.shape<["n", 4]>>, %[[S:[a-z0-9_]+]]: tensor<4xf32>, %[[Z:[a-z0-9_]+]]: tensor<ui8>)
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.quantize"(%[[X]], %[[S]], %[[Z]]) {axis = 1 : i64, out_dtype = ui8}
// CHECK-SAME: -> tensor<?x4xui8, #relax.shape<["n", 4]>>
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.dequantize"(%[[A]], %[[S]], %[[Z]]) {axis = -1 : i64, out_dtype = f16}
// CHECK-NEXT: return %[[B]] :
func.func @there_and_back(%x: tensor<?x4xf16, #relax.shape<["n", 4]>>, %s: tensor<4xf32>, %z: tensor<ui8>) -> tensor<?x4xf16, #relax.shape<["n", 4]>> {
  %0 = "relax.quantize"(%x, %s, %z) {axis = 1 : i64, out_dtype = ui8} : (tensor<?x4xf16, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<ui8>) -> tensor<?x4xui8, #relax.shape<["n", 4]>>
  %1 = "relax.dequantize"(%0, %s, %z) {axis = -1 : i64, out_dtype = f16} : (tensor<?x4xui8, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<ui8>) -> tensor<?x4xf16, #relax.shape<["n", 4]>>
  return %1 : tensor<?x4xf16, #relax.shape<["n", 4]>>
}
// -----
func.func @sizes(%x: tensor<5x4xf32>, %s: tensor<4xf32>, %z: tensor<i8>) -> tensor<5x4xi8> {
  // expected-error @below {{quantize: operand 'scale' has 4 elements, expected 5, dimension 0 of 'data'}}
  %0 = "relax.quantize"(%x, %s, %z) {axis = 0 : i64, out_dtype = i8} : (tensor<5x4xf32>, tensor<4xf32>, tensor<i8>) -> tensor<5x4xi8>
  return %0 : tensor<5x4xi8>
}
// -----
func.func @dtypes(%x: tensor<5xi64>, %s: tensor<f32>, %z: tensor<i8>) -> tensor<5xf32> {
  // expected-error @below {{dequantize: operand 'data' has dtype int64, expected one of int8, uint8, int16, uint16, int32}}
  %0 = "relax.dequantize"(%x, %s, %z) {axis = 0 : i64, out_dtype = f32} : (tensor<5xi64>, tensor<f32>, tensor<i8>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
