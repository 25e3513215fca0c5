// RUN: not relax-opt --fuse-ops %s 2>&1 | filecheck %s
// fuse_ops.py: what says how a prim func may be fused is a string.

!n = tensor<?xf32, #relax.shape<["n"]>>
!nn = tensor<?x?xf32, #relax.shape<["n", "n"]>>
// CHECK: fuse-ops-bad-pattern.mlir:7:1: relax.pattern of "square" is dense<0.000000e+00> : tensor<4xf32>, expected a string
func.func private @square(%x: tensor<?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {relax.pattern = dense<0.0> : tensor<4xf32>, relax.prim_func} {
  %0 = linalg.broadcast ins(%x : tensor<?xf32>) outs(%out : tensor<?x?xf32>) dimensions = [0]
  return %0 : tensor<?x?xf32>
}
func.func @larger(%x: !n) -> !nn {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @square, tir_vars = []} : (tuple<!n>) -> !nn
  return %1 : !nn
}
