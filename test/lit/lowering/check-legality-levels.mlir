// Each level lists what it does not allow, and nothing else; prim funcs have other ops than Relax functions.
// RUN: not relax-opt %s --check-legality=level=relax 2>&1 | grep 'error: ' | filecheck %s --check-prefix=RELAX
// RUN: not relax-opt %s --check-legality=level=calls 2>&1 | grep 'error: ' | filecheck %s --check-prefix=CALLS
// RUN: not relax-opt %s --check-legality=level=explicit-memory 2>&1 | grep 'error: ' | filecheck %s --check-prefix=EXPLICIT-MEMORY
// RUN: not relax-opt %s --check-legality=level=vm 2>&1 | grep 'error: ' | filecheck %s --check-prefix=VM
// RUN: not relax-opt %s --check-legality=level=tensors 2>&1 | grep 'error: ' | filecheck %s --check-prefix=TENSORS
// RUN: not relax-opt %s --check-legality=level=memrefs 2>&1 | grep 'error: ' | filecheck %s --check-prefix=MEMREFS
// RUN: not relax-opt %s --check-legality=level=kernels 2>&1 | grep 'error: ' | filecheck %s --check-prefix=KERNELS
// RUN: not relax-opt %s --check-legality=level=flat 2>&1 | grep 'error: ' | filecheck %s --check-prefix=FLAT
// RUN: not relax-opt %s --check-legality=level=llvm 2>&1 | grep 'error: ' | filecheck %s --check-prefix=LLVM

// RELAX: error: linalg.copy is not allowed at level relax (Relax)
// RELAX-NEXT: error: linalg.yield is not allowed at level relax (Relax)
// RELAX-NEXT: error: cf.br is not allowed at level relax (Relax)
// RELAX-NEXT: error: llvm.func is not allowed at level relax (Relax)
// RELAX-NEXT: error: llvm.return is not allowed at level relax (Relax)
// RELAX-NEXT: error: the module is not at level relax (Relax)

// CALLS: error: relax.exp is not allowed at level calls (calls of prim funcs)
// CALLS-NEXT: error: linalg.copy is not allowed at level calls (calls of prim funcs)
// CALLS-NEXT: error: linalg.yield is not allowed at level calls (calls of prim funcs)
// CALLS-NEXT: error: cf.br is not allowed at level calls (calls of prim funcs)
// CALLS-NEXT: error: llvm.func is not allowed at level calls (calls of prim funcs)
// CALLS-NEXT: error: llvm.return is not allowed at level calls (calls of prim funcs)
// CALLS-NEXT: error: relax.vm_alloc_shape_heap is not allowed at level calls (calls of prim funcs)
// CALLS-NEXT: error: the module is not at level calls (calls of prim funcs)

// EXPLICIT-MEMORY: error: relax.exp is not allowed at level explicit-memory (tensors in planned storages)
// EXPLICIT-MEMORY-NEXT: error: relax.call_tir is not allowed at level explicit-memory (tensors in planned storages)
// EXPLICIT-MEMORY-NEXT: error: linalg.copy is not allowed at level explicit-memory (tensors in planned storages)
// EXPLICIT-MEMORY-NEXT: error: linalg.yield is not allowed at level explicit-memory (tensors in planned storages)
// EXPLICIT-MEMORY-NEXT: error: cf.br is not allowed at level explicit-memory (tensors in planned storages)
// EXPLICIT-MEMORY-NEXT: error: llvm.func is not allowed at level explicit-memory (tensors in planned storages)
// EXPLICIT-MEMORY-NEXT: error: llvm.return is not allowed at level explicit-memory (tensors in planned storages)
// EXPLICIT-MEMORY-NEXT: error: relax.vm_alloc_shape_heap is not allowed at level explicit-memory (tensors in planned storages)
// EXPLICIT-MEMORY-NEXT: error: the module is not at level explicit-memory (tensors in planned storages)

// VM: error: relax.exp is not allowed at level vm (builtins of the virtual machine)
// VM-NEXT: error: relax.call_tir is not allowed at level vm (builtins of the virtual machine)
// VM-NEXT: error: linalg.copy is not allowed at level vm (builtins of the virtual machine)
// VM-NEXT: error: linalg.yield is not allowed at level vm (builtins of the virtual machine)
// VM-NEXT: error: func.func has a symbolic shape in a type at level vm (builtins of the virtual machine)
// VM-NEXT: error: relax.expand_dims is not allowed at level vm (builtins of the virtual machine)
// VM-NEXT: error: cf.br is not allowed at level vm (builtins of the virtual machine)
// VM-NEXT: error: llvm.func is not allowed at level vm (builtins of the virtual machine)
// VM-NEXT: error: llvm.return is not allowed at level vm (builtins of the virtual machine)
// VM-NEXT: error: func.func has a symbolic shape in a type at level vm (builtins of the virtual machine)
// VM-NEXT: error: the module is not at level vm (builtins of the virtual machine)

// TENSORS: error: relax.exp is not allowed at level tensors (linalg on tensors)
// TENSORS-NEXT: error: relax.call_tir is not allowed at level tensors (linalg on tensors)
// TENSORS-NEXT: error: func.func has a symbolic shape in a type at level tensors (linalg on tensors)
// TENSORS-NEXT: error: relax.expand_dims is not allowed at level tensors (linalg on tensors)
// TENSORS-NEXT: error: cf.br is not allowed at level tensors (linalg on tensors)
// TENSORS-NEXT: error: llvm.func is not allowed at level tensors (linalg on tensors)
// TENSORS-NEXT: error: llvm.return is not allowed at level tensors (linalg on tensors)
// TENSORS-NEXT: error: relax.vm_alloc_shape_heap is not allowed at level tensors (linalg on tensors)
// TENSORS-NEXT: error: func.func has a symbolic shape in a type at level tensors (linalg on tensors)
// TENSORS-NEXT: error: the module is not at level tensors (linalg on tensors)

// MEMREFS: error: relax.exp is not allowed at level memrefs (linalg on memrefs)
// MEMREFS-NEXT: error: relax.call_tir is not allowed at level memrefs (linalg on memrefs)
// MEMREFS-NEXT: error: func.func has a symbolic shape in a type at level memrefs (linalg on memrefs)
// MEMREFS-NEXT: error: relax.expand_dims is not allowed at level memrefs (linalg on memrefs)
// MEMREFS-NEXT: error: cf.br is not allowed at level memrefs (linalg on memrefs)
// MEMREFS-NEXT: error: relax.vm_alloc_shape_heap is not allowed at level memrefs (linalg on memrefs)
// MEMREFS-NEXT: error: func.func has a symbolic shape in a type at level memrefs (linalg on memrefs)
// MEMREFS-NEXT: error: the module is not at level memrefs (linalg on memrefs)

// KERNELS: error: relax.exp is not allowed at level kernels (loops and vectors)
// KERNELS-NEXT: error: linalg.copy is not allowed at level kernels (loops and vectors)
// KERNELS-NEXT: error: linalg.yield is not allowed at level kernels (loops and vectors)
// KERNELS-NEXT: error: relax.call_tir is not allowed at level kernels (loops and vectors)
// KERNELS-NEXT: error: linalg.copy is not allowed at level kernels (loops and vectors)
// KERNELS-NEXT: error: linalg.yield is not allowed at level kernels (loops and vectors)
// KERNELS-NEXT: error: func.func has a symbolic shape in a type at level kernels (loops and vectors)
// KERNELS-NEXT: error: relax.expand_dims is not allowed at level kernels (loops and vectors)
// KERNELS-NEXT: error: cf.br is not allowed at level kernels (loops and vectors)
// KERNELS-NEXT: error: relax.vm_alloc_shape_heap is not allowed at level kernels (loops and vectors)
// KERNELS-NEXT: error: func.func has a symbolic shape in a type at level kernels (loops and vectors)
// KERNELS-NEXT: error: the module is not at level kernels (loops and vectors)

// FLAT: error: relax.exp is not allowed at level flat (flat functions)
// FLAT-NEXT: error: linalg.copy is not allowed at level flat (flat functions)
// FLAT-NEXT: error: linalg.yield is not allowed at level flat (flat functions)
// FLAT-NEXT: error: relax.call_tir is not allowed at level flat (flat functions)
// FLAT-NEXT: error: linalg.copy is not allowed at level flat (flat functions)
// FLAT-NEXT: error: linalg.yield is not allowed at level flat (flat functions)
// FLAT-NEXT: error: scf.for is not allowed at level flat (flat functions)
// FLAT-NEXT: error: scf.yield is not allowed at level flat (flat functions)
// FLAT-NEXT: error: relax.expand_dims is not allowed at level flat (flat functions)
// FLAT-NEXT: error: relax.vm_alloc_shape_heap is not allowed at level flat (flat functions)
// FLAT-NEXT: error: the module is not at level flat (flat functions)

// LLVM: error: func.func is not allowed at level llvm (LLVM dialect)
// LLVM-NEXT: error: func.return is not allowed at level llvm (LLVM dialect)
// LLVM-NOT: llvm.func is not
// LLVM: error: the module is not at level llvm (LLVM dialect)

func.func @plain(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @exp(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @prim(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> attributes {relax.prim_func} {
  %0 = linalg.copy ins(%x : tensor<2xf32>) outs(%y : tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @call(%x: tensor<2xf32>) -> tensor<2xf32> {
  %args = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call_tir"(%args) {callee = @prim, tir_vars = []} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @linalg(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = linalg.copy ins(%x : tensor<2xf32>) outs(%y : tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @symbolic(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  return %x : tensor<?xf32, #relax.shape<["n"]>>
}
func.func @loop(%x: tensor<2xf32>, %n: index) -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<2xf32> {
    scf.yield %y : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
func.func @views(%x: tensor<2xf32>) -> tensor<2x1xf32> {
  %0 = "relax.expand_dims"(%x) {axes = [1]} : (tensor<2xf32>) -> tensor<2x1xf32>
  return %0 : tensor<2x1xf32>
}
func.func private @buffers(%x: memref<2xf32>, %y: memref<2xf32>) attributes {relax.prim_func} {
  memref.copy %x, %y : memref<2xf32> to memref<2xf32>
  return
}
func.func @flat(%x: i32) -> i32 {
  cf.br ^bb1(%x : i32)
^bb1(%y: i32):
  return %y : i32
}
llvm.func @machine(%x: i32) -> i32 {
  llvm.return %x : i32
}
func.func @heap() {
  %0 = "relax.vm_alloc_shape_heap"() {size = 2 : i64} : () -> tensor<2xi64>
  return
}
func.func private @outside(tensor<?xf32, #relax.shape<["n"]>>)
