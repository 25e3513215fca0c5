// Unary ops become one elementwise prim func per op and dtype.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK: %[[EXP:[A-Za-z0-9_]+]] = "relax.call_tir"({{.*}}) {callee = @exp_f32, tir_vars = []}
// CHECK: "relax.call_tir"({{.*}}) {callee = @exp_f32, tir_vars = []}
// CHECK: "relax.call_tir"({{.*}}) {callee = @sign_bf16, tir_vars = []}
// CHECK-NOT: callee = @floor
// CHECK: "relax.call_tir"({{.*}}) {callee = @isnan_i32, tir_vars = []}
// CHECK: return

// Two calls share one function. It is not called "exp", which is a function of the C library.
// CHECK-LABEL: func.func private @exp_f32(
// CHECK-SAME: attributes {relax.pattern = "elementwise", relax.prim_func}
// CHECK: math.exp %{{.*}} : f32
// CHECK-NOT: @exp_f32

// bf16 is computed in f32; the sign of NaN is NaN.
// CHECK-LABEL: func.func private @sign_bf16(
// CHECK: %[[WIDE:[A-Za-z0-9_]+]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: %[[NAN:[A-Za-z0-9_]+]] = arith.cmpf uno, %[[WIDE]], %[[WIDE]] : f32
// CHECK: arith.select %[[NAN]], %[[WIDE]], %{{[A-Za-z0-9_]+}} : f32
// CHECK: arith.truncf %{{[A-Za-z0-9_]+}} : f32 to bf16

// Integers are never NaN, and are their own floor.
// CHECK-LABEL: func.func private @isnan_i32(
// CHECK: %[[FALSE:.*]] = arith.constant false
// CHECK: linalg.yield %[[FALSE]] : i1

func.func @main(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %h: tensor<8xbf16>, %i: tensor<8xi32>) -> (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<8xbf16>, tensor<8xi1>) {
  %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %1 = "relax.exp"(%0) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %2 = "relax.sign"(%h) : (tensor<8xbf16>) -> tensor<8xbf16>
  %3 = "relax.floor"(%i) : (tensor<8xi32>) -> tensor<8xi32>
  %4 = "relax.isnan"(%3) : (tensor<8xi32>) -> tensor<8xi1>
  return %1, %2, %4 : tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<8xbf16>, tensor<8xi1>
}
