// RUN: python -c "from relax_mlir.lowering.runtime_lib.vm_builtins import builtins_text; print(builtins_text())" | relax-opt | filecheck %s
// The builtins of the virtual machine, by the convention of the FFI: arguments at %args, %n of them, the result at %ret.

// Messages name the builtin and say what came.
// CHECK-DAG: @relax.check.vm.builtin.tuple_getitem.0{{.*}} message = "vm.builtin.tuple_getitem: takes 2 arguments (tuple, index); got {0}"
// CHECK-DAG: @relax.check.vm.builtin.store_shape.{{.*}} message = "vm.builtin.store_shape: slot {0} is out of range for a heap of {1} slots"
// CHECK-DAG: @relax.check.vm.builtin.match_shape.{{.*}} message = "{0:text}: dimension {1} is {2}, expected {3}"

// A storage is a tensor of bytes with memory of its own; what a call makes besides goes with its frame.
// CHECK-LABEL: func.func @__tvm_ffi_vm.builtin.alloc_storage(%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr)
// CHECK: call @relax.rt.release(%[[FRAME:[A-Za-z0-9_]+]]) {relax.defer = "always"}
// CHECK: call @relax.vm.tensor(

// The tensor in it is a view: the sum of offset and size is within the storage, without overflow.
// CHECK-LABEL: func.func @__tvm_ffi_vm.builtin.alloc_tensor(
// CHECK: %[[LIMIT:[A-Za-z0-9_]+]] = arith.subi %[[HAVE:[A-Za-z0-9_]+]], %[[NEED:[A-Za-z0-9_]+]] : i64
// CHECK: arith.cmpi sge, %[[NEED]],
// CHECK: arith.cmpi sge, %[[OFFSET:[A-Za-z0-9_]+]],
// CHECK: arith.cmpi sle, %[[OFFSET]], %[[LIMIT]] :
// CHECK: call @relax.vm.view(

// A value is given on with a reference more; a bare DLTensor cannot be.
// CHECK-LABEL: func.func @__tvm_ffi_vm.builtin.copy(
// CHECK: %[[VIEW:[A-Za-z0-9_]+]] = arith.constant 7 : i32
// CHECK: arith.cmpi ne, %[[KIND:[A-Za-z0-9_]+]], %[[VIEW]] :
// CHECK: scf.if
// CHECK: llvm.call @TVMFFIObjectIncRef(

// CHECK-LABEL: func.func @__tvm_ffi_vm.builtin.null_value(
// CHECK: %[[NONE:[A-Za-z0-9_]+]] = arith.constant 0 : i64
// CHECK: llvm.store %[[NONE]], %ret

// Slots of a heap are compared as unsigned numbers, so that negative ones are out of range.
// CHECK-LABEL: func.func @__tvm_ffi_vm.builtin.store_shape(
// CHECK: arith.cmpi ult, %[[SLOT:[A-Za-z0-9_]+]], %[[SLOTS:[A-Za-z0-9_]+]] : i64

// CHECK-LABEL: func.func @__tvm_ffi_vm.builtin.make_tuple(
// CHECK: %[[TUPLE:[A-Za-z0-9_]+]] = call @relax.vm.tuple(
// CHECK: %[[STATUS:[A-Za-z0-9_]+]] = llvm.call @relax.vm.keep_values(
// CHECK: llvm.call @TVMFFIObjectDecRef(%[[TUPLE]])
// CHECK: call @relax.propagate(%[[STATUS]])

// Calls of values look at the C stack first.
// CHECK-LABEL: func.func @__tvm_ffi_vm.builtin.invoke_closure(
// CHECK: llvm.call @relax.vm.stack_left()
// CHECK: llvm.call @TVMFFIFunctionCall(
// CHECK-LABEL: func.func @__tvm_ffi_vm.builtin.call_tir_dyn(
// CHECK: llvm.call @relax.vm.stack_left()
// CHECK: llvm.alloca
// CHECK: llvm.call @TVMFFIFunctionCall(

// Numbers are integers (1) or truth values (2); a division has a value for all of them.
// CHECK-LABEL: func.func @__tvm_ffi_vm.builtin.arith.divsi(
// CHECK: %[[BY_ZERO:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[B:[A-Za-z0-9_]+]], %[[ZERO:[A-Za-z0-9_]+]] : i64
// CHECK: %[[BY_MINUS:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[B]],
// CHECK: %[[EITHER:[A-Za-z0-9_]+]] = arith.ori %[[BY_ZERO]], %[[BY_MINUS]] :
// CHECK: %[[SAFE:[A-Za-z0-9_]+]] = arith.select %[[EITHER]],
// CHECK: arith.divsi %[[A:[A-Za-z0-9_]+]], %[[SAFE]] :
// CHECK: arith.select %[[BY_ZERO]], %[[ZERO]],

// CHECK-LABEL: func.func @__relax_vm_memory() -> !llvm.ptr
// CHECK: llvm.call @relax.vm.watch_stacks()
// CHECK: llvm.call @relax.vm.watch_discards()
// CHECK: llvm.mlir.addressof @__relax_memory
