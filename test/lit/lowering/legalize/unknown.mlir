// What is not known well enough cannot become native code: the error names the op, the operand and the way out.
// RUN: not relax-opt %s --legalize-ops 2>&1 | filecheck %s

// CHECK: exp: 'x' is Tensor((?,), "float32"); native code needs its shape and dtype: match_shape the value
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "relax.exp"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
