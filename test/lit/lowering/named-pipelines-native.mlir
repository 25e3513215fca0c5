// pipeline.py, to_llvm.py: kernels for a target, and the functions that the runtime looks up.
// RUN: relax-opt %s --relax-to-kernels="target='cpu -mcpu=haswell'" | filecheck %s --check-prefixes=KERNELS,AVX2
// RUN: relax-opt %s --relax-to-kernels="target='cpu -mcpu=neoverse-n1'" | filecheck %s --check-prefixes=KERNELS,NEON
// RUN: relax-opt %s --relax-to-flat="target='cpu -mcpu=haswell'" | filecheck %s --check-prefix=FLAT
// RUN: relax-opt %s --relax-to-llvm="target='cpu -mcpu=haswell'" | filecheck %s --check-prefix=LLVM
// RUN: not relax-opt %s --relax-to-kernels=start=memrefs 2>&1 | filecheck %s --check-prefix=LEVEL

// KERNELS-LABEL: func.func private @exp_f32(
// KERNELS-NOT: linalg
// KERNELS-NOT: math.exp
// AVX2: vector.load {{.*}}vector<8xf32>
// NEON: vector.load {{.*}}vector<4xf32>
// KERNELS: func.func private @main.shapes(

// Blocks and branches, and errors as statuses; buffers are memrefs yet.
// FLAT-NOT: scf.
// FLAT: func.func private @relax.fn.exp_f32({{.*}}: memref<?x4xf32>
// FLAT-SAME: llvm.linkage = #llvm.linkage<internal>, llvm.passthrough = ["noinline"]
// FLAT: vector.load {{.*}}vector<8xf32>
// FLAT: cf.cond_br
// FLAT: func.func private @relax.fn.main.shapes({{.*}}) -> (i32, index, index)
// FLAT: func.func @__tvm_ffi_main({{.*}}) -> i32

// LLVM-NOT: func.func
// LLVM: llvm.func @relax.fn.main(
// LLVM: llvm.call @relax.fn.exp_f32(
// LLVM: llvm.func internal @relax.fn.exp_f32(
// LLVM: llvm.func internal @relax.fn.main.shapes({{.*}}) -> !llvm.struct<(i32, i64, i64)>
// LLVM: llvm.func @__tvm_ffi_main({{.*}}) -> i32
// LLVM: llvm.func @__relax_release()
// LLVM: llvm.func @__relax_constants_address() -> !llvm.ptr

// A module that is not yet at the level of the first phase is refused where it is not.
// LEVEL: named-pipelines-native.mlir:{{[0-9]+}}:1: error: func.func has a symbolic shape in a type at level memrefs (linalg on memrefs)
// LEVEL: named-pipelines-native.mlir:{{[0-9]+}}:8: error: relax.exp is not allowed at level memrefs (linalg on memrefs)
func.func @main(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
