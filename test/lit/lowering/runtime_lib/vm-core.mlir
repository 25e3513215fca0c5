// RUN: python -c "from relax_mlir.lowering.runtime_lib.vm_builtins import vm_core_text; print(vm_core_text())" | relax-opt | filecheck %s

// How much of the C stack is left is asked of the system once per thread; a reserve, or a quarter, is kept for callees.
// CHECK-LABEL: llvm.func internal @relax.vm.stack_left() -> i64
// CHECK: %[[KNOWN:[A-Za-z0-9_]+]] = llvm.call @pthread_getspecific(
// CHECK: llvm.call @relax.vm.stack_limit(
// CHECK: llvm.call @pthread_setspecific(
// CHECK-LABEL: llvm.func internal @relax.vm.stack_limit(
// CHECK: %[[RESERVE:[A-Za-z0-9_]+]] = llvm.mlir.constant(262144 : i64)
// CHECK: llvm.call @pthread_getattr_np(
// CHECK: %[[QUARTER:[A-Za-z0-9_]+]] = llvm.lshr %[[SIZE:[A-Za-z0-9_]+]],
// CHECK: llvm.intr.umin(%[[QUARTER]], %[[RESERVE]])

// The table of functions, in the order of vm_core.TABLE.
// CHECK-LABEL: llvm.mlir.global internal @table()
// CHECK: llvm.mlir.addressof @create
// CHECK: llvm.mlir.addressof @release
// CHECK: llvm.mlir.addressof @make_function
// CHECK: llvm.mlir.addressof @store_any
// CHECK: llvm.mlir.addressof @retain
// CHECK: llvm.mlir.addressof @observe
// CHECK-LABEL: llvm.func @__relax_vm_core() -> !llvm.ptr

// The interpreter: arguments are counted, nesting and stack are checked, before a frame is made.
// CHECK-LABEL: llvm.func internal @enter(%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr) -> i32
// CHECK: %[[FITS:[A-Za-z0-9_]+]] = llvm.icmp "eq" %[[PARAMS:[A-Za-z0-9_]+]], %[[GIVEN:[A-Za-z0-9_]+]] : i64
// CHECK: llvm.cond_br %[[FITS]],
// CHECK: %[[DEEP:[A-Za-z0-9_]+]] = llvm.icmp "sge"
// CHECK: llvm.cond_br %[[DEEP]],
// CHECK: %[[LEFT:[A-Za-z0-9_]+]] = llvm.call @relax.vm.stack_left()
// CHECK: %[[ENOUGH:[A-Za-z0-9_]+]] = llvm.icmp "sge" %[[LEFT]],
// CHECK: llvm.cond_br %[[ENOUGH]],
// The stack of the machine is taken, so that another thread makes one of its own.
// CHECK: %[[KEPT:[A-Za-z0-9_]+]] = llvm.atomicrmw xchg %[[PLACE:[A-Za-z0-9_]+]], %{{[A-Za-z0-9_]+}} acq_rel
// A frame's registers are None before anything is in them, so that they can be dropped at any time.
// CHECK: %[[DEPTH:[A-Za-z0-9_]+]] = llvm.load %v_depth
// CHECK: llvm.icmp "sge" %[[DEPTH]],
// CHECK: %[[REGS:[A-Za-z0-9_]+]] = llvm.getelementptr %{{[A-Za-z0-9_]+}}[48]
// CHECK: "llvm.intr.memset"(%[[REGS]],
// CHECK: llvm.call @take(
// Signals are asked for every 32 instructions; then the instruction is told by its opcode.
// CHECK: llvm.call @interrupted(
// CHECK: llvm.switch %{{[A-Za-z0-9_]+}} : i64
// CHECK-NEXT: 1: ^[[CALL:bb[0-9]+]],
// CHECK-NEXT: 2: ^[[RET:bb[0-9]+]],
// CHECK-NEXT: 3: ^[[GOTO:bb[0-9]+]],
// CHECK-NEXT: 4: ^[[IF:bb[0-9]+]]
// CHECK: ^[[CALL]]:
// Packed functions get the arguments as they are; functions of the machine get a frame, without a call.
// CHECK: llvm.call @TVMFFIFunctionCall(
// CHECK: ^[[GOTO]]:
// CHECK: llvm.br
// CHECK: ^[[IF]]:
// CHECK: ^[[RET]]:
// CHECK: llvm.call @drop_all(
// CHECK: llvm.call @leave_frame(
// An error leaves all frames, and drops what they hold.
// CHECK: llvm.call @drop_all(
// CHECK: llvm.call @leave_frame(
// CHECK: llvm.atomicrmw xchg %[[PLACE]],

// A machine goes with its last reference, and all that its tables hold with it.
// CHECK-LABEL: llvm.func internal @release(
// CHECK: %[[BEFORE:[A-Za-z0-9_]+]] = llvm.atomicrmw sub %{{[A-Za-z0-9_]+}}, %[[ONE:[A-Za-z0-9_]+]] acq_rel
// CHECK: %[[LAST:[A-Za-z0-9_]+]] = llvm.icmp "eq" %[[BEFORE]], %[[ONE]] :
// CHECK: llvm.cond_br %[[LAST]],
// CHECK: llvm.call @drop_all(
// CHECK: llvm.call @free(
// CHECK: llvm.call @free(

// A function that is made of a descriptor holds the machine; if it cannot be made, the reference goes back.
// CHECK-LABEL: llvm.func internal @new_function(
// CHECK: llvm.call @retain(%[[MACHINE:[A-Za-z0-9_]+]])
// CHECK: llvm.call @TVMFFIFunctionCreate(
// CHECK: llvm.call @release(%[[MACHINE]])

// Nothing in the interpreter calls it: calls that are watched go through `observe`, whose address is in the machine.
// CHECK-LABEL: llvm.func internal @observe(
// CHECK: llvm.call @ask(
// CHECK: llvm.call @enter(
// CHECK: llvm.call @TVMFFIFunctionCall(
// CHECK: llvm.call @ask(

// The traceback of an error gets a line for each function that it leaves; without an error of the FFI nothing happens.
// CHECK-LABEL: llvm.func internal @tell_place(
// CHECK: llvm.call @TVMFFIErrorMoveFromRaised(
// CHECK: %[[THERE:[A-Za-z0-9_]+]] = llvm.icmp "ne" %[[ERROR:[A-Za-z0-9_]+]],
// CHECK: llvm.cond_br %[[THERE]],
// CHECK: llvm.call @snprintf(
// CHECK: llvm.call %{{[A-Za-z0-9_]+}}(%[[ERROR]],
// CHECK: llvm.call @TVMFFIErrorSetRaised(%[[ERROR]])
// CHECK: llvm.call @TVMFFIObjectDecRef(%[[ERROR]])
