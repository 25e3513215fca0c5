// RUN: relax-opt %s --legalize-ops --explain-strategy -o %t 2>&1 | filecheck %s
// RUN: relax-opt %s --legalize-ops 2>&1 | filecheck %s --check-prefix=PLAIN
// strategies.py: what the lowering has for a call, and what was taken.

// CHECK: ===== Strategies =====
// CHECK: main: relax.matmul(Tensor((n, 4), "float32"), Tensor((4, 4), "float32"))
// CHECK-NEXT: at {{.*}}explain-strategy.mlir:30:8
// CHECK-NEXT: {{taken +kernel matrix product +15$}}
// CHECK-NEXT: main: relax.matmul(Tensor((n, 4), "int32"), Tensor((4, 4), "int32"))
// CHECK-NEXT: at
// CHECK-NEXT: {{no +kernel matrix product +15 +no kernel for i32}}
// CHECK-NEXT: {{taken +linalg +10$}}
// CHECK-NEXT: main: relax.nn_softmax
// CHECK-NEXT: at
// CHECK-NEXT: {{taken +kernel softmax +15$}}
// CHECK-NEXT: {{lower +linalg +10 +holds, at a lower priority}}
// CHECK-NEXT: main: relax.nn_softmax
// CHECK-NEXT: at
// CHECK-NEXT: {{no +kernel softmax +15 +no kernel for these axes, layouts or dtypes}}
// CHECK: {{taken +linalg +10$}}
// CHECK: 4 calls

// PLAIN-NOT: Strategies
// PLAIN: func.func @main

!f = tensor<?x4xf32, #relax.shape<["n", 4]>>
!i = tensor<?x4xi32, #relax.shape<["n", 4]>>

func.func @main(%x: !f, %w: tensor<4x4xf32>, %y: !i, %v: tensor<4x4xi32>) -> tuple<!i, !f, !f> {
  %0 = "relax.matmul"(%x, %w) {out_dtype} : (!f, tensor<4x4xf32>) -> !f
  %1 = "relax.matmul"(%y, %v) {out_dtype} : (!i, tensor<4x4xi32>) -> !i
  %2 = "relax.nn_softmax"(%0) {axis = 1 : i64} : (!f) -> !f
  %3 = "relax.nn_softmax"(%0) {axis = 0 : i64} : (!f) -> !f
  %4 = builtin.unrealized_conversion_cast %1, %2, %3 : !i, !f, !f to tuple<!i, !f, !f>
  return %4 : tuple<!i, !f, !f>
}
