// rules.py: every family refuses tensors that are not known well enough, and names the operand.
// RUN: not relax-opt %s --legalize-ops --split-input-file 2>&1 | filecheck %s

// binary.py
// CHECK: add: 'x2' is Tensor((?,), "float32"); native code needs its shape and dtype
func.func @binary(%x: tensor<4xf32>, %y: tensor<?xf32>) {
  %0 = "relax.add"(%x, %y) : (tensor<4xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

// comparison.py
// CHECK: less: 'x1' is Tensor((?,), "float32"); native code needs its shape and dtype
func.func @comparison(%x: tensor<?xf32>) {
  %0 = "relax.less"(%x, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi1>
  return
}

// -----

// triangle.py
// CHECK: tril: 'x' is Tensor((?, 4), "float32"); native code needs its shape and dtype
func.func @triangle(%x: tensor<?x4xf32>) {
  %0 = "relax.tril"(%x) {k = 0} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// linear_algebra.py
// CHECK: matmul: 'x2' is Tensor((4, ?), "float32"); native code needs its shape and dtype
func.func @linear_algebra(%x: tensor<2x4xf32>, %y: tensor<4x?xf32>) {
  %0 = "relax.matmul"(%x, %y) {out_dtype} : (tensor<2x4xf32>, tensor<4x?xf32>) -> tensor<2x?xf32>
  return
}

// -----

// reduce.py
// CHECK: sum: 'x' is Tensor((?, 4), "float32"); native code needs its shape and dtype
func.func @reduce(%x: tensor<?x4xf32>) {
  %0 = "relax.sum"(%x) {axis = [0], keepdims = false} : (tensor<?x4xf32>) -> tensor<4xf32>
  return
}
