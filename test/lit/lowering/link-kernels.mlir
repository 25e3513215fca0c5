// RUN: relax-opt %s --link-kernels --lower-contractions | filecheck %s
// RUN: relax-opt %s --link-kernels --lower-contractions --outline-parallel-loops='target="cpu -num-threads=2"' | filecheck %s --check-prefix=THREADS
// library.py: a module that links kernels declares them; those that take memory may fail.

// CHECK-LABEL: module attributes {relax.links_kernels}
// CHECK: func.func @product
// CHECK: call @relax.gemm.f32(
// CHECK-NOT: memref.alloc
// CHECK: func.func private @relax.gemm.f32({{.*}}) attributes {relax.compiled_separately, relax.may_fail, relax.parallel, relax.says_place, relax.shared_group = "relax.gemm.f32"}
// CHECK: func.func private @relax.gemm.f32.finished({{.*}}) attributes {relax.compiled_separately, relax.may_fail, relax.parallel, relax.says_place, relax.shared_group = "relax.gemm.f32"}
// CHECK-NOT: func.func

// A module with kernels has the table of the thread pool, which they use.
// THREADS: llvm.mlir.global external @__relax_threads
func.func @product(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}
