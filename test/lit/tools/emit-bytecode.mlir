// Bytecode of a module: parameters are checked, sizes stand in a shape heap, prim funcs are kernels.
// RUN: relax-opt %s --emit=bytecode | filecheck %s
// RUN: relax-opt %s --relax-to-vm --emit=bytecode | filecheck %s --check-prefix=LOWERED
// codegen/generate.py, codegen/outline_kernels.py.

// CHECK: @main:
// CHECK-NEXT: call  vm.builtin.check_tensor_info in: %0, i2, c[{{[0-9]+}}], c[{{[0-9]+}}] dst: %void
// CHECK-NEXT: call  vm.builtin.check_tensor_info in: %1, i0, c[{{[0-9]+}}], c[{{[0-9]+}}] dst: %void
// CHECK-NEXT: call  vm.builtin.alloc_shape_heap in: %vm, i{{[0-9]+}} dst: %2
// CHECK: call  main_shape_func in: %2, %2 dst: %void
// CHECK: call  vm.builtin.alloc_storage in: %vm, %{{[0-9]+}}, i0, c[{{[0-9]+}}], c[{{[0-9]+}}] dst: %{{[0-9]+}}
// CHECK: call  vm.builtin.alloc_tensor in: %{{[0-9]+}}, i0, %{{[0-9]+}}, c[{{[0-9]+}}] dst: %{{[0-9]+}}
// CHECK-NEXT: call  softmax in: %0, %{{[0-9]+}} dst: %void
// CHECK-NEXT: call  vm.builtin.extract in: %1 dst: %{{[0-9]+}}
// CHECK: If    %{{[0-9]+}}, {{[0-9]+}}
// CHECK: goto  {{[0-9]+}}
// CHECK: ret   %{{[0-9]+}}
// CHECK: @softmax packed_func;

// In a shape heap's types sizes are unknown: the kernel is given the shape of what it fills.
// LOWERED: @main:
// LOWERED: call  vm.builtin.alloc_tensor in: %{{[0-9]+}}, i0, %{{[0-9]+}}, c[{{[0-9]+}}] dst: [[OUT:%[0-9]+]]
// LOWERED-NEXT: call  vm.builtin.shape_of in: [[OUT]] dst: [[SHAPE:%[0-9]+]]
// LOWERED-NEXT: call  softmax in: %0, [[SHAPE]], [[OUT]] dst: %void
// LOWERED: ret   %{{[0-9]+}}

!nm = tensor<?x?xf32, #relax.shape<["n", "m"]>>
func.func @main(%x: !nm, %c: tensor<i1>) -> !nm {
  %y = "relax.nn_softmax"(%x) {axis = -1 : i64} : (!nm) -> !nm
  %flag = tensor.extract %c[] : tensor<i1>
  %r = scf.if %flag -> !nm {
    scf.yield %y : !nm
  } else {
    %z = "relax.exp"(%y) : (!nm) -> !nm
    scf.yield %z : !nm
  }
  return %r : !nm
}
