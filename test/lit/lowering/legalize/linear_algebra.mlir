// RUN: relax-opt %s --legalize-ops | filecheck %s
// linear_algebra.py.

// CHECK-DAG: #[[LEFT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, 0, d2, d4)>
// CHECK-DAG: #[[RIGHT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d4, d3)>
// CHECK-DAG: #[[OUT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>

// CHECK-LABEL: @matrices
// CHECK: "relax.call_tir"(%{{.*}}) {{.*}}callee = @matmul, tir_vars = []
func.func @matrices(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<4x8xf32>) -> tensor<?x8xf32, #relax.shape<["n", 8]>> {
  %0 = "relax.matmul"(%x, %y) {out_dtype} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4x8xf32>) -> tensor<?x8xf32, #relax.shape<["n", 8]>>
  return %0 : tensor<?x8xf32, #relax.shape<["n", 8]>>
}

// A batch of size 1 is read at 0; float16 accumulates in float32 and is rounded once.
// CHECK-LABEL: @batches
// CHECK: "relax.call_tir"(%{{.*}}) {{.*}}callee = @matmul_1
// CHECK: "relax.call_tir"(%{{.*}}) {{.*}}callee = @cast
func.func @batches(%x: tensor<?x1x?x4xf16, #relax.shape<["b", 1, "s", 4]>>, %y: tensor<?x4x?xf16, #relax.shape<["h", 4, "t"]>>) -> tensor<?x?x?x?xf16, #relax.shape<["b", "h", "s", "t"]>> {
  %0 = "relax.matmul"(%x, %y) {out_dtype} : (tensor<?x1x?x4xf16, #relax.shape<["b", 1, "s", 4]>>, tensor<?x4x?xf16, #relax.shape<["h", 4, "t"]>>) -> tensor<?x?x?x?xf16, #relax.shape<["b", "h", "s", "t"]>>
  return %0 : tensor<?x?x?x?xf16, #relax.shape<["b", "h", "s", "t"]>>
}

// CHECK-LABEL: func.func private @matmul(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[Y:.*]]: tensor<4x8xf32>, %[[Z:.*]]: tensor<?x8xf32>) -> tensor<?x8xf32>
// CHECK-SAME: relax.pattern = "out_fusable", relax.prim_func
// CHECK: %[[ZERO:.*]] = linalg.fill {{.*}} outs(%[[Z]] :
// CHECK: linalg.matmul {{.*}}ins(%[[X]], %[[Y]] {{.*}} outs(%[[ZERO]] :

// CHECK-LABEL: func.func private @matmul_1(
// CHECK-SAME: -> tensor<?x?x?x?xf32>
// CHECK: linalg.generic {indexing_maps = [#[[LEFT]], #[[RIGHT]], #[[OUT]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
// CHECK: %[[A:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[B:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[P:.*]] = arith.mulf %[[A]], %[[B]] : f32
// CHECK: arith.addf %{{.*}}, %[[P]] : f32

// CHECK-LABEL: func.func private @cast(
// CHECK: arith.truncf %{{.*}} : f32 to f16
