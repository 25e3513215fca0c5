// RUN: relax-opt %s --lower-contractions | filecheck %s
// RUN: relax-opt %s --lower-contractions --outline-parallel-loops='target="cpu -num-threads=2"' | filecheck %s --check-prefix=THREADS
// RUN: relax-opt %s --lower-contractions --link-kernels | filecheck %s --check-prefix=WHOLE
// RUN: relax-opt %s --lower-contractions --link-kernels=kernel=relax.gemm.f32.block | filecheck %s --check-prefix=ONE
// RUN: not relax-opt %s --lower-contractions --link-kernels=kernel=relax.gemm.f64 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: not relax-opt %s --lower-contractions --link-kernels="target='cpu -l2=65536'" 2>&1 | filecheck %s --check-prefix=TARGET
// library.py, link_kernels.py: modules declare kernels of the library; those that take memory may fail.

// CHECK: func.func @product
// CHECK: call @relax.gemm.f32(
// CHECK-NOT: memref.alloc
// CHECK: func.func private @relax.gemm.f32({{.*}}) attributes {relax.compiled_separately, relax.defined_by = "relax.gemm.f32", relax.may_fail, relax.parallel, relax.says_place}
// CHECK: func.func private @relax.gemm.f32.finished({{.*}}) attributes {relax.compiled_separately, relax.defined_by = "relax.gemm.f32", relax.may_fail, relax.parallel, relax.says_place}
// CHECK-NOT: func.func

// A module with kernels has the table of the thread pool, which they use.
// THREADS: llvm.mlir.global external @__relax_threads

// The pass brings the functions of all kernels, of those that they call, too.
// WHOLE: func.func @product
// WHOLE-NOT: relax.compiled_separately
// WHOLE: func.func private @relax.gemm.f32({{.*}} {{[{]$}}
// WHOLE: func.func private @relax.gemm.f32.packed({{.*}} {{[{]$}}
// WHOLE: func.func private @relax.gemm.f32.block({{.*}} {{[{]$}}
// WHOLE-NOT: relax.compiled_separately

// Or it shows a single kernel.
// ONE-NOT: func.func @product
// ONE: func.func private @relax.gemm.f32.block({{.*}} {{[{]$}}
// ONE: func.func private @relax.gemm.f32.tile_2(
// ONE-NOT: @relax.gemm.f32.packed

// OTHER: link-kernels: the module needs no kernel @relax.gemm.f64
// TARGET: the library has no kernel @relax.gemm.f32 for the target cpu -mcpu=native -l2=65536
func.func @product(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}
