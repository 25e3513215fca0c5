// RUN: relax-opt %s --legalize-ops | filecheck %s

// One prim func; in its body, the meaning, the contractions read every tensor where it lies.
// CHECK-DAG: #[[QUERY:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
// CHECK-DAG: #[[KEY:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
// CHECK-DAG: #[[VALUE:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2, d3)>
// CHECK-DAG: #[[OUT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>

// CHECK-LABEL: @main
// CHECK: callee = @attention
// CHECK-NOT: callee
func.func @main(%q: tensor<?x?x2x8xf32, #relax.shape<["b", "s", 2, 8]>>,
                %k: tensor<?x?x2x8xf32, #relax.shape<["b", "t", 2, 8]>>,
                %bias: tensor<?x1x1x?xf32, #relax.shape<["b", 1, 1, "t"]>>) {
  %0 = "relax.nn_attention_bias"(%q, %k, %k, %bias) {causal_mask = "BottomRight", scale} : (tensor<?x?x2x8xf32, #relax.shape<["b", "s", 2, 8]>>, tensor<?x?x2x8xf32, #relax.shape<["b", "t", 2, 8]>>, tensor<?x?x2x8xf32, #relax.shape<["b", "t", 2, 8]>>, tensor<?x1x1x?xf32, #relax.shape<["b", 1, 1, "t"]>>) -> tensor<?x?x2x8xf32, #relax.shape<["b", "s", 2, 8]>>
  return
}

// CHECK-LABEL: func.func private @attention
// CHECK-SAME: relax.kernel = "attention"
// CHECK-SAME: relax.kernel_attrs = {causal_mask = "BottomRight"}
// CHECK: linalg.generic {indexing_maps = [#[[QUERY]], #[[KEY]], #[[OUT]]]
// CHECK: %[[SCALED:.*]] = arith.mulf
// CHECK: %[[BIASED:.*]] = arith.addf %[[SCALED]],
// CHECK: arith.select %{{.*}}, %[[BIASED]],
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: arith.divf
// CHECK: linalg.generic {indexing_maps = [#[[QUERY]], #[[VALUE]], #[[OUT]]]
