// quantization.py
// An element is divided by the scale of its channel, rounded to even, moved and held in range; back it is multiplied.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func private @quantize_f32(
// CHECK: ^bb0(%[[X:[A-Za-z0-9_]+]]: f32, %[[SCALE:[A-Za-z0-9_]+]]: f32, %[[ZERO:[A-Za-z0-9_]+]]: i8,
// CHECK: %[[SCALED:[A-Za-z0-9_]+]] = arith.divf %[[X]], %[[SCALE]] :
// CHECK: %[[ROUND:[A-Za-z0-9_]+]] = math.roundeven %[[SCALED]] :
// CHECK: %[[NAN:[A-Za-z0-9_]+]] = arith.cmpf uno, %[[ROUND]], %[[ROUND]] :
// CHECK: %[[NUMBER:[A-Za-z0-9_]+]] = arith.select %[[NAN]], %{{[A-Za-z0-9_]+}}, %[[ROUND]] :
// CHECK: %[[WIDE:[A-Za-z0-9_]+]] = arith.uitofp %[[ZERO]] :
// CHECK: arith.addf %[[NUMBER]], %[[WIDE]] :
// CHECK: arith.fptoui
// CHECK-LABEL: func.func private @dequantize_ui8(
// CHECK: ^bb0(%[[Q:[A-Za-z0-9_]+]]: i8, %[[BY:[A-Za-z0-9_]+]]: f32, %[[FROM:[A-Za-z0-9_]+]]: i8,
// CHECK: %[[A:[A-Za-z0-9_]+]] = arith.uitofp %[[Q]] :
// CHECK: %[[B:[A-Za-z0-9_]+]] = arith.uitofp %[[FROM]] :
// CHECK: %[[MOVED:[A-Za-z0-9_]+]] = arith.subf %[[A]], %[[B]] :
// CHECK: arith.mulf %[[MOVED]], %[[BY]] :
func.func @main(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %s: tensor<4xf32>, %z: tensor<ui8>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.quantize"(%x, %s, %z) {axis = 1 : i64, out_dtype = ui8} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<ui8>) -> tensor<?x4xui8, #relax.shape<["n", 4]>>
  %1 = "relax.dequantize"(%0, %s, %z) {axis = -1 : i64, out_dtype = f32} : (tensor<?x4xui8, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<ui8>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %1 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
