// functions.py: a result takes the memory of a parameter, which is written, and is not among what callers get.
// RUN: not relax-opt %s --relax-to-memrefs --split-input-file 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix=WRONG --input-file %t
!n = tensor<?x4xf32, #relax.shape<["n + 1", 4]>>

// A slice is written in place: there is no other buffer.
// CHECK-LABEL: func.func @cache(
// CHECK-SAME: %{{[a-z0-9_]+}}: memref<1x4xf32>, %[[C:[a-z0-9_]+]]: memref<?x4xf32>)
// CHECK-SAME: results = [], tuple = false, written = array<i64: 1>
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: call @slice_scatter({{.*}}%[[C]],
// CHECK: return
func.func @cache(%x: tensor<1x4xf32> {relax.name = "x"}, %c: !n {relax.name = "c"}) -> !n attributes {relax.donated = ["c"]} {
  %0 = "relax.slice_scatter"(%c, %x) {start = 0 : i64, end = 1 : i64, step = 1 : i64, axis = 0 : i64} : (!n, tensor<1x4xf32>) -> !n
  return %0 : !n
}
// -----
!n = tensor<?x4xf32, #relax.shape<["n", 4]>>
!m = tensor<?x4xf32, #relax.shape<["m", 4]>>

// WRONG: error: main: result is Tensor((m, 4), "float32"), which does not fit into the memory of parameter 'c', Tensor((n, 4), "float32")
func.func @main(%x: !m {relax.name = "x"}, %c: !n {relax.name = "c"}) -> !m attributes {relax.donated = ["c"]} {
  %0 = "relax.negative"(%x) : (!m) -> !m
  return %0 : !m
}
