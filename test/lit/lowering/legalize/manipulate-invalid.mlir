// manipulate.py
// RUN: not relax-opt %s --legalize-ops 2>&1 | filecheck %s

// CHECK: take: 'x' is Tensor((?, 4), "float32"); native code needs its shape and dtype
func.func @unknown(%x: tensor<?x4xf32>, %i: tensor<3xi64>) {
  %0 = "relax.take"(%x, %i) {axis = 0 : i64, mode = "clip"} : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return
}
