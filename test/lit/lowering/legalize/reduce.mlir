// Reductions: an accumulator, filled, then a generic with reduction iterators.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// bf16 is accumulated in f32 and rounded once.
// CHECK-LABEL: func.func private @sum_bf16(
// CHECK-SAME: relax.pattern = "reduction"
// CHECK: %[[ACC:[A-Za-z0-9_]+]] = tensor.empty(%{{.*}}) : tensor<?xf32>
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[ACC]] : tensor<?xf32>)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16

// NumPy has no greatest of no elements: checked at run time where a size may be 0.
// CHECK-LABEL: func.func private @max_bf16(
// CHECK: cf.assert %{{.*}}, "max: no elements to reduce: dimension 0 of the tensor is 0"
// CHECK: arith.maximumf
// CHECK-LABEL: func.func private @max_bf16_1(
// CHECK-NOT: cf.assert
// CHECK: return

// CHECK-LABEL: func.func private @argmax_bf16(
// CHECK: linalg.generic {{.*}} outs(%{{.*}}, %{{.*}} : tensor<?xf32>, tensor<?xi64>)
// CHECK: linalg.index 1 : index

func.func @main(%x: tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> (tensor<?xbf16, #relax.shape<["n"]>>, tensor<4xbf16>, tensor<?x1xbf16, #relax.shape<["n", 1]>>, tensor<?xi64, #relax.shape<["n"]>>) {
  %0 = "relax.sum"(%x) {axis = [1], keepdims = false} : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?xbf16, #relax.shape<["n"]>>
  %1 = "relax.max"(%x) {axis = [0], keepdims = false} : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<4xbf16>
  %2 = "relax.max"(%x) {axis = [1], keepdims = true} : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?x1xbf16, #relax.shape<["n", 1]>>
  %3 = "relax.argmax"(%x) {axis = 1, keepdims = false} : (tensor<?x4xbf16, #relax.shape<["n", 4]>>) -> tensor<?xi64, #relax.shape<["n"]>>
  return %0, %1, %2, %3 : tensor<?xbf16, #relax.shape<["n"]>>, tensor<4xbf16>, tensor<?x1xbf16, #relax.shape<["n", 1]>>, tensor<?xi64, #relax.shape<["n"]>>
}
