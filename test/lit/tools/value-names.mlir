// Values keep the names of the source at every level, in dumps around passes, and when a module is printed and read again.
// RUN: relax-opt %s --relax-to-relax | filecheck %s --check-prefixes=ALL,RELAX
// RUN: relax-opt %s --relax-to-calls | filecheck %s --check-prefixes=ALL,CALLS
// RUN: relax-opt %s --relax-to-explicit-memory | filecheck %s --check-prefixes=ALL,MEMORY
// RUN: relax-opt %s --relax-to-vm | filecheck %s --check-prefixes=ALL,VM
// RUN: relax-opt %s --relax-to-tensors | filecheck %s --check-prefixes=ALL,TENSORS
// RUN: relax-opt %s --relax-to-memrefs | filecheck %s --check-prefixes=ALL,MEMREFS
// RUN: relax-opt %s --relax-to-kernels | filecheck %s --check-prefixes=ALL,MEMREFS
// RUN: relax-opt %s --relax-to-flat | filecheck %s --check-prefix=FLAT
// RUN: relax-opt %s --relax-to-llvm | filecheck %s --check-prefix=LLVM
// RUN: relax-opt %s --relax-to-memrefs --mlir-print-ir-after=plan-memory -o /dev/null 2>&1 | filecheck %s --check-prefixes=ALL,MEMREFS
// RUN: relax-opt %s --relax-to-memrefs | relax-opt | filecheck %s --check-prefixes=ALL,MEMREFS

// Numbers on request, in dumps as well.
// RUN: relax-opt %s --mlir-use-nameloc-as-prefix=0 | filecheck %s --check-prefix=OFF
// RUN: relax-opt %s --mlir-use-nameloc-as-prefix=false --cse --mlir-print-ir-after-all -o /dev/null 2>&1 | filecheck %s --check-prefix=OFF
// RUN: relax-opt %s --mlir-use-nameloc-as-prefix | filecheck %s --check-prefixes=ALL,RELAX

// ALL: func.func @main(%query: {{.*}}, %weights:
// RELAX-NEXT: %product = "relax.matmul"(%query, %weights)
// RELAX-NEXT: %scores = "relax.nn_softmax"(%product)
// RELAX-NEXT: return %scores
// CALLS: %product = "relax.call_tir"
// CALLS: %scores = "relax.call_tir"
// CALLS-NEXT: return %scores
// MEMORY: %product_{{[0-9]+}} = "relax.memory_alloc_tensor"
// MEMORY: %scores_{{[0-9]+}} = "relax.memory_alloc_tensor"
// VM: %product = "relax.vm_alloc_tensor"
// VM: %scores = "relax.vm_alloc_tensor"
// VM: return %scores
// TENSORS: %product_0 = call @matmul(%query, %weights, %product)
// TENSORS-NEXT: %scores = call @softmax(%product_0
// MEMREFS: %product = memref.view
// MEMREFS-NEXT: call @matmul(%query, %weights, %product)
// MEMREFS-NEXT: call @softmax(%product, %result)
// FLAT: func.func @relax.fn.main(%query: {{.*}}, %weights:
// FLAT: %product = memref.view
// FLAT: call @relax.fn.softmax(%product, %result)
// LLVM: llvm.func @relax.fn.main(%query: !llvm.ptr, {{.*}}, %weights: !llvm.ptr
// LLVM: %product = llvm.extractvalue
// LLVM: llvm.call @relax.fn.softmax(%product, %product_
// OFF: func.func @main(%arg0: {{.*}}, %arg1:
// OFF-NEXT: %0 = "relax.matmul"(%arg0, %arg1)
// OFF-NEXT: %1 = "relax.nn_softmax"(%0)
// OFF-NEXT: return %1
func.func @main(%query: tensor<?x64xf32, #relax.shape<["n", 64]>>, %weights: tensor<64x64xf32>) -> tensor<?x64xf32, #relax.shape<["n", 64]>> {
  %product = "relax.matmul"(%query, %weights) {out_dtype = unit} : (tensor<?x64xf32, #relax.shape<["n", 64]>>, tensor<64x64xf32>) -> tensor<?x64xf32, #relax.shape<["n", 64]>>
  %scores = "relax.nn_softmax"(%product) {axis = -1 : i64} : (tensor<?x64xf32, #relax.shape<["n", 64]>>) -> tensor<?x64xf32, #relax.shape<["n", 64]>>
  return %scores : tensor<?x64xf32, #relax.shape<["n", 64]>>
}
