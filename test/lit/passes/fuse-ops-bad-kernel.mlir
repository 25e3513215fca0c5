// RUN: not relax-opt --fuse-ops %s 2>&1 | filecheck %s
// RUN: sed 's/relax.kernel = "softmax"/relax.kernel = "softmax", relax.kernel_attrs = {axis = "last"}/' %s | not relax-opt --fuse-ops - 2>&1 | filecheck %s --check-prefix=AXIS
// fuse_ops.py: the kernel of a prim func says over which axes it goes.

// CHECK: fuse-ops-bad-kernel.mlir:7:1: relax.kernel_attrs of "rows" is missing, expected a dictionary with "axis" or "axes" for the kernel softmax
// AXIS: relax.kernel_attrs of "rows" is {axis = "last"}, expected a dictionary with "axis" or "axes" for the kernel softmax
func.func private @rows(%x: tensor<?x4xf32>, %out: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {relax.kernel = "softmax", relax.pattern = "opaque", relax.prim_func} {
  return %x : tensor<?x4xf32>
}
