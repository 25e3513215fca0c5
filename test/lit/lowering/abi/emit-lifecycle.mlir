// RUN: relax-opt --emit-lifecycle --split-input-file %s | filecheck %s
// lifecycle.py: release empties every cache (memory is freed, objects are dropped); the table has an address.

llvm.mlir.global external @__relax_constants() : !llvm.array<2 x ptr> {
  %0 = llvm.mlir.zero : !llvm.array<2 x ptr>
  llvm.return %0 : !llvm.array<2 x ptr>
}
llvm.mlir.global internal @relax.workspace.main() {relax.cached_memory} : !llvm.ptr {
  %0 = llvm.mlir.zero : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
llvm.mlir.global internal @relax.function.f() {relax.cached_object} : !llvm.ptr {
  %0 = llvm.mlir.zero : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
llvm.mlir.global internal @ordinary() : !llvm.ptr {
  %0 = llvm.mlir.zero : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}

// CHECK-LABEL: func.func @__relax_release()
// CHECK: %[[NULL:[0-9]+]] = llvm.mlir.zero : !llvm.ptr
// CHECK-NEXT: %[[WORKSPACE:[0-9]+]] = llvm.mlir.addressof @relax.workspace.main
// CHECK-NEXT: %[[MEMORY:[0-9]+]] = llvm.atomicrmw xchg %[[WORKSPACE]], %[[NULL]] acq_rel
// CHECK-NEXT: llvm.call @free(%[[MEMORY]])
// CHECK-NEXT: %[[CACHE:[0-9]+]] = llvm.mlir.addressof @relax.function.f
// CHECK-NEXT: %[[OBJECT:[0-9]+]] = llvm.atomicrmw xchg %[[CACHE]], %[[NULL]] acq_rel
// CHECK-NEXT: call @relax.rt.drop(%[[OBJECT]])
// CHECK-NEXT: return
// CHECK-LABEL: func.func @__relax_constants_address() -> !llvm.ptr
// CHECK-NEXT: %[[TABLE:[0-9]+]] = llvm.mlir.addressof @__relax_constants
// CHECK-NEXT: return %[[TABLE]]

// -----

// Nothing to release, no constants: both functions are there all the same.
// CHECK-LABEL: func.func @empty
// CHECK-LABEL: func.func @__relax_release()
// CHECK-NEXT: return
// CHECK-LABEL: func.func @__relax_constants_address() -> !llvm.ptr
// CHECK-NEXT: %[[NULL:[0-9]+]] = llvm.mlir.zero : !llvm.ptr
// CHECK-NEXT: return %[[NULL]]
func.func @empty() { return }
