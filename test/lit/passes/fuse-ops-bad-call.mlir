// RUN: not relax-opt --fuse-ops %s 2>&1 | filecheck %s
// fuse_ops.py: a prim func that is given more than it takes.

// CHECK: fuse-ops-bad-call.mlir:{{[0-9]+}}:8: call_tir of 'first': 3 arguments (outputs and tir_vars included), the prim func takes 2
func.func private @first(%a: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32> attributes {relax.pattern = "elementwise", relax.prim_func} {
  %0 = linalg.copy ins(%a : tensor<4xf32>) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
  %1 = "relax.call_tir"(%0) {callee = @first, tir_vars = []} : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  %2 = builtin.unrealized_conversion_cast %x, %1 : tensor<4xf32>, tensor<4xf32> to tuple<tensor<4xf32>, tensor<4xf32>>
  %3 = "relax.call_tir"(%2) {callee = @first, tir_vars = []} : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
