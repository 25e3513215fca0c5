// RUN: relax-opt --emit-lifecycle --split-input-file %s | filecheck %s
// emit_lifecycle.py: release drops every cached object; the tables have addresses.

llvm.mlir.global external @__relax_constants() : !llvm.array<2 x ptr> {
  %0 = llvm.mlir.zero : !llvm.array<2 x ptr>
  llvm.return %0 : !llvm.array<2 x ptr>
}
llvm.mlir.global external @__relax_memory() : !llvm.array<2 x ptr> {
  %0 = llvm.mlir.zero : !llvm.array<2 x ptr>
  llvm.return %0 : !llvm.array<2 x ptr>
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
// CHECK: %[[NULL:[A-Za-z0-9_]+]] = llvm.mlir.zero : !llvm.ptr
// CHECK-NEXT: %[[CACHE:[A-Za-z0-9_]+]] = llvm.mlir.addressof @relax.function.f
// CHECK-NEXT: %[[OBJECT:[A-Za-z0-9_]+]] = llvm.atomicrmw xchg %[[CACHE]], %[[NULL]] acq_rel
// CHECK-NEXT: call @relax.rt.drop(%[[OBJECT]])
// CHECK-NEXT: return
// CHECK-LABEL: func.func @__relax_constants_address() -> !llvm.ptr
// CHECK-NEXT: %[[TABLE:[A-Za-z0-9_]+]] = llvm.mlir.addressof @__relax_constants
// CHECK-NEXT: return %[[TABLE]] :
// CHECK-LABEL: func.func @__relax_memory_address() -> !llvm.ptr
// CHECK-NEXT: %[[POOL:[A-Za-z0-9_]+]] = llvm.mlir.addressof @__relax_memory
// CHECK-NEXT: return %[[POOL]] :
// -----
// Nothing to release, no tables: all functions are there all the same.
// CHECK-LABEL: func.func @empty
// CHECK-LABEL: func.func @__relax_release()
// CHECK-NEXT: return
// CHECK-LABEL: func.func @__relax_constants_address() -> !llvm.ptr
// CHECK-NEXT: %[[NULL:[A-Za-z0-9_]+]] = llvm.mlir.zero : !llvm.ptr
// CHECK-NEXT: return %[[NULL]] :
// CHECK-LABEL: func.func @__relax_memory_address() -> !llvm.ptr
// CHECK-LABEL: func.func @__relax_threads_address() -> !llvm.ptr
// CHECK-NEXT: %[[NONE:[A-Za-z0-9_]+]] = llvm.mlir.zero : !llvm.ptr
// CHECK-NEXT: return %[[NONE]] :
// CHECK-NOT: @__relax_profile_address
func.func @empty() { return }
// -----
// Two cached objects are dropped, and a global of that type that caches nothing is not; a profiled module has a function
// more.
llvm.mlir.global internal @ordinary() : !llvm.ptr {
  %0 = llvm.mlir.zero : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
llvm.mlir.global internal @relax.function.f() {relax.cached_object} : !llvm.ptr {
  %0 = llvm.mlir.zero : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
llvm.mlir.global internal @relax.function.g() {relax.cached_object} : !llvm.ptr {
  %0 = llvm.mlir.zero : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
llvm.mlir.global internal @__relax_profile() : !llvm.ptr {
  %0 = llvm.mlir.zero : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
// CHECK-LABEL: func.func @__relax_release()
// CHECK-NOT: addressof @ordinary
// CHECK: addressof @relax.function.f
// CHECK: call @relax.rt.drop(
// CHECK: addressof @relax.function.g
// CHECK: call @relax.rt.drop(
// CHECK-NEXT: return
// CHECK-LABEL: func.func @__relax_profile_address() -> !llvm.ptr
// CHECK-NEXT: %[[RECORDS:[A-Za-z0-9_]+]] = llvm.mlir.addressof @__relax_profile
// CHECK-NEXT: return %[[RECORDS]] :
