// What a level does not allow is named.
// RUN: relax-opt %s --check-legality=level=relax | filecheck %s --check-prefix=LEGAL
// RUN: not relax-opt %s --check-legality=level=calls 2>&1 | filecheck %s

// LEGAL: "relax.exp"
// CHECK: relax.exp is not allowed at level calls (calls of prim funcs)
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
