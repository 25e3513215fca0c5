// A kernel of the library is one line, and so are epilogues and prim funcs that a kernel generator has written; the module's
// own functions stay.
// RUN: relax-opt %s --relax-to-kernels --link-kernels --elide-kernels | filecheck %s
// RUN: relax-opt %s --relax-to-kernels --elide-kernels | relax-opt --verify-roundtrip -o /dev/null
// RUN: relax-opt %s --relax-to-kernels --link-kernels --relax-to-flat=start=kernels --elide-kernels | filecheck %s --check-prefix=FLAT
// RUN: relax-opt %s --relax-to-kernels --link-kernels --relax-to-llvm=start=kernels --elide-kernels | filecheck %s --check-prefix=LLVM
// RUN: relax-opt %s --relax-to-kernels --link-kernels --mlir-print-ir-after=link-kernels --elide-kernels -o /dev/null 2>&1 | filecheck %s
// RUN: relax-opt %s --relax-to-kernels --link-kernels | filecheck %s --check-prefix=WHOLE

// The reference of a kernel is shown as long as it is there.
// RUN: relax-opt %s --relax-to-memrefs --elide-kernels | filecheck %s --check-prefix=MEMREFS

// CHECK: func.func @main(
// CHECK: call @matmul_nn_relu_f32(
// CHECK: func.func private @matmul_nn_relu_f32(
// CHECK: call @relax.gemm.f32
// CHECK: {{^}}  func.func private @softmax({{.*}}relax.elided = {{[0-9]+}} : i64}{{$}}
// CHECK-NEXT: {{^}}  func.func private @main.shapes({{.*}} {{[{]$}}
// CHECK: {{^}}  func.func private @relax.gemm.f32.epilogue_0({{.*}}relax.elided
// CHECK: {{^}}  func.func private @relax.gemm.f32({{.*}}relax.elided = {{[0-9]+}} : i64}{{$}}
// CHECK: {{^}}  func.func private @relax.gemm.f32.tile_{{[0-9]+}}({{.*}}relax.elided
// CHECK-NOT: vector.
// CHECK-NOT: scf.
// FLAT: func.func @relax.fn.main(
// FLAT: func.func private @relax.gemm.f32{{.*}}relax.elided
// LLVM: llvm.func @relax.fn.main(
// LLVM: llvm.func @relax.gemm.f32.{{.*}}relax.elided
// WHOLE-NOT: relax.elided
// WHOLE: func.func private @relax.gemm.f32.tile_{{[0-9]+}}({{.*[{]$}}
// WHOLE: vector.fma
// MEMREFS: func.func private @softmax({{.*[{]$}}
// MEMREFS: linalg.generic
func.func @main(%x: tensor<?x64xf32, #relax.shape<["n", 64]>>, %w: tensor<64x64xf32>) -> tensor<?x64xf32, #relax.shape<["n", 64]>> {
  %product = "relax.matmul"(%x, %w) {out_dtype = unit} : (tensor<?x64xf32, #relax.shape<["n", 64]>>, tensor<64x64xf32>) -> tensor<?x64xf32, #relax.shape<["n", 64]>>
  %positive = "relax.nn_relu"(%product) : (tensor<?x64xf32, #relax.shape<["n", 64]>>) -> tensor<?x64xf32, #relax.shape<["n", 64]>>
  %scores = "relax.nn_softmax"(%positive) {axis = -1 : i64} : (tensor<?x64xf32, #relax.shape<["n", 64]>>) -> tensor<?x64xf32, #relax.shape<["n", 64]>>
  return %scores : tensor<?x64xf32, #relax.shape<["n", 64]>>
}
