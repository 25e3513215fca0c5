// Arrays that do not match their parameters, each with the two that disagree.
// RUN: python -c "import numpy; numpy.savez(r'%t.npz', w=numpy.ones((2, 3), 'float32'), v=numpy.ones(4, 'float32'))"
// RUN: not relax-opt %s --bind-params='function=f file=%t.npz' --split-input-file 2>&1 | filecheck %s

// CHECK: function 'f': 'v' dimension 0 is 4, but n = 3, taken from 'w' dimension 1
func.func @f(%w: tensor<2x?xf32, #relax.shape<[2, "n"]>> {relax.name = "w"}, %v: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "v"}) -> tensor<?xf32, #relax.shape<["n"]>> {
  return %v : tensor<?xf32, #relax.shape<["n"]>>
}
// -----
// CHECK: function 'f': 'w' dimension 1 is 3, but the parameter is Tensor((n, 2*n), "float32") (2*n = 4)
func.func @f(%w: tensor<?x?xf32, #relax.shape<["n", "2*n"]>> {relax.name = "w"}, %v: tensor<4xf32> {relax.name = "v"}) -> tensor<4xf32> {
  return %v : tensor<4xf32>
}
// -----
// CHECK: function 'f': 'w' dimension 1 is 3; whether that is 2*m + 1 is not known: bind-symbolic-vars first
func.func @f(%w: tensor<2x?xf32, #relax.shape<[2, "2*m + 1"]>> {relax.name = "w"}, %v: tensor<4xf32> {relax.name = "v"}) -> tensor<4xf32> {
  return %v : tensor<4xf32>
}
// -----
// CHECK: function 'f': parameter 'w' is Tensor((2, 3), "float64"), but the array has dtype float32
func.func @f(%w: tensor<2x3xf64> {relax.name = "w"}, %v: tensor<4xf32> {relax.name = "v"}) -> tensor<4xf32> {
  return %v : tensor<4xf32>
}
// -----
// CHECK: function 'f': parameter 'v' is Tensor((2, 2), "float32"), but the array has rank 1: (4,)
func.func @f(%w: tensor<2x3xf32> {relax.name = "w"}, %v: tensor<2x2xf32> {relax.name = "v"}) -> tensor<2x2xf32> {
  return %v : tensor<2x2xf32>
}
// -----
// CHECK: function 'f': parameter 'v' is {{.*}}; only tensors can be bound
func.func @f(%w: tensor<2x3xf32> {relax.name = "w"}, %v: tuple<tensor<4xf32>> {relax.name = "v"}) -> tuple<tensor<4xf32>> {
  return %v : tuple<tensor<4xf32>>
}
// -----
// A call in the module whose other arguments have another size.
// CHECK: call of 'f': argument 0 is {{.*}}; bind the symbols of the caller, too
func.func private @f(%x: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "x"}, %w: tensor<2x?xf32, #relax.shape<[2, "n"]>> {relax.name = "w"}, %v: tensor<4xf32> {relax.name = "v"}) -> tensor<?xf32, #relax.shape<["n"]>> {
  return %x : tensor<?xf32, #relax.shape<["n"]>>
}
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>, %w: tensor<2x?xf32, #relax.shape<[2, "n"]>>, %v: tensor<4xf32>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %t = builtin.unrealized_conversion_cast %x, %w, %v : tensor<?xf32, #relax.shape<["n"]>>, tensor<2x?xf32, #relax.shape<[2, "n"]>>, tensor<4xf32> to tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<2x?xf32, #relax.shape<[2, "n"]>>, tensor<4xf32>>
  %0 = "relax.call"(%t) {callee = @f} : (tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<2x?xf32, #relax.shape<[2, "n"]>>, tensor<4xf32>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
