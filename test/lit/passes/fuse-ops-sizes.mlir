// RUN: relax-opt %s --legalize-ops --fuse-ops --symbol-dce | filecheck %s
// prim_merging.py: a prim func for tensors of any size is called with a tensor of a known size; they are not merged.

// CHECK-LABEL: func.func @known_between
// CHECK: callee = @nn_relu_f32,
// CHECK: callee = @raised,
// CHECK: callee = @abs_f32,
// CHECK: return
func.func private @raised(%a: tensor<?x?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {relax.pattern = "elementwise", relax.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<?x?xf32>) outs(%out : tensor<?x?xf32>) {
  ^bb0(%in: f32, %_: f32):
    %1 = math.exp %in : f32
    linalg.yield %1 : f32
  } -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
func.func @known_between(%x: tensor<?x6xf32, #relax.shape<["n", 6]>>) -> tensor<?x6xf32, #relax.shape<["n", 6]>> {
  %0 = "relax.nn_relu"(%x) : (tensor<?x6xf32, #relax.shape<["n", 6]>>) -> tensor<?x6xf32, #relax.shape<["n", 6]>>
  %1 = builtin.unrealized_conversion_cast %0 : tensor<?x6xf32, #relax.shape<["n", 6]>> to tuple<tensor<?x6xf32, #relax.shape<["n", 6]>>>
  %2 = "relax.call_tir"(%1) {callee = @raised, tir_vars = []} : (tuple<tensor<?x6xf32, #relax.shape<["n", 6]>>>) -> tensor<?x6xf32, #relax.shape<["n", 6]>>
  %3 = "relax.abs"(%2) : (tensor<?x6xf32, #relax.shape<["n", 6]>>) -> tensor<?x6xf32, #relax.shape<["n", 6]>>
  return %3 : tensor<?x6xf32, #relax.shape<["n", 6]>>
}
