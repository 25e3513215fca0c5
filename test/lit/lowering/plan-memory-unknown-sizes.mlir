// RUN: relax-opt --plan-memory --split-input-file %s | filecheck %s
// plan_memory.py, buffers.py: what has no place in the workspace.

// A size that a call gives is not known at entry: the buffer belongs to the frame, and its size cannot overflow.
func.func private @count(memref<?xf32>) -> index
func.func private @fill(memref<?xf32>)

// CHECK-LABEL: func.func @unknown
// CHECK-SAME: \22bytes\22: null{{.*}}\22kind\22: \22call\22
// CHECK-NOT: workspace_take
// CHECK: %[[FRAME:[A-Za-z0-9_]+]] = llvm.alloca {{.*}}relax.frame
// CHECK: call @relax.rt.release(%[[FRAME]]) {relax.defer = "always"}
// CHECK-NEXT: %[[N:[A-Za-z0-9_]+]] = call @count(
// CHECK: %[[LOW:[a-z0-9_]+]], %[[HIGH:[a-z0-9_]+]] = arith.mului_extended %{{[a-z0-9_]+}}, %[[N]] : index
// CHECK: %[[FITS:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[HIGH]],
// CHECK-NEXT: arith.select %[[FITS]], %[[LOW]],
// CHECK: %[[BYTES:[A-Za-z0-9_]+]] = arith.minui
// CHECK-NEXT: %[[MEMORY:[A-Za-z0-9_]+]] = call @relax.rt.frame_buffer(%[[FRAME]], %[[BYTES]])
// CHECK: %[[A:[a-z0-9_]+]] = memref.view %[[MEMORY]][%{{[a-z0-9_]+}}][%[[N]]]
// CHECK-NEXT: call @fill(%[[A]])
func.func @unknown(%x: memref<?xf32>) {
  %n = call @count(%x) : (memref<?xf32>) -> index
  %a = memref.alloc(%n) : memref<?xf32>
  call @fill(%a) : (memref<?xf32>) -> ()
  return
}
// -----
// A prim func has no workspace, and what is returned outlives the call.
// CHECK-LABEL: func.func private @prim
// CHECK-NEXT: memref.alloc
// CHECK-LABEL: func.func @escapes
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = memref.alloc
// CHECK-NEXT: return %[[A]] :
// CHECK-NOT: workspace
func.func private @prim(%n: index) attributes {relax.prim_func} {
  %a = memref.alloc(%n) : memref<?xf32>
  return
}
func.func @escapes(%n: index) -> memref<?xf32> {
  %a = memref.alloc(%n) : memref<?xf32>
  return %a : memref<?xf32>
}
