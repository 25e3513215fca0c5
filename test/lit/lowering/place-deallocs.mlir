// RUN: relax-opt --place-deallocs --split-input-file %s | filecheck %s
// deallocate.py, liveness.py, frame.py.

func.func private @use(memref<?xf32>)

// A buffer of the function's own block is freed on every way out; one of a loop's body at its end.
// CHECK-LABEL: func.func private @kernel
// CHECK: %[[A:[a-z0-9_]+]] = memref.alloc(
// CHECK-NEXT: memref.dealloc %[[A]] {relax.defer = "always"}
// CHECK: scf.for
// CHECK: %[[B:[a-z0-9_]+]] = memref.alloc(
// CHECK: memref.store %{{[a-z0-9_]+}}, %[[B]]
// CHECK-NEXT: memref.dealloc %[[B]] : memref<?xf32>
// CHECK-NEXT: }
func.func private @kernel(%n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc(%n) : memref<?xf32>
  memref.store %v, %a[%c0] : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc(%n) : memref<?xf32>
    memref.store %v, %b[%i] : memref<?xf32>
  }
  return
}

// -----

// Who frees for himself is left alone.
// CHECK-LABEL: func.func private @careful
// CHECK: memref.alloc
// CHECK-NEXT: memref.dealloc %{{[a-z0-9_]+}} : memref<?xf32>
// CHECK-NEXT: return
func.func private @careful(%n: index) attributes {relax.prim_func} {
  %a = memref.alloc(%n) : memref<?xf32>
  memref.dealloc %a : memref<?xf32>
  return
}

// -----

// Control may leave the loop at the call: the buffer belongs to the frame, which every way out releases.
func.func private @may_fail(index)

// CHECK-LABEL: func.func private @in_loop
// CHECK: %[[FRAME:[0-9]+]] = llvm.alloca {{.*}}relax.frame
// CHECK: call @relax.rt.release(%[[FRAME]]) {relax.defer = "always"}
// CHECK: scf.for
// CHECK-NOT: memref.alloc
// CHECK: func.call @relax.rt.frame_buffer(%[[FRAME]],
// CHECK-NOT: memref.dealloc
// CHECK: return
func.func private @in_loop(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc(%n) : memref<?xf32>
    memref.store %v, %b[%i] : memref<?xf32>
    func.call @may_fail(%n) : (index) -> ()
  }
  return
}

// -----

// A branch may give back a buffer of its own or another: who frees it is not known, so the frame does.
// CHECK-LABEL: func.func private @yielded
// CHECK: %[[FRAME:[0-9]+]] = llvm.alloca {{.*}}relax.frame
// CHECK: scf.if
// CHECK: func.call @relax.rt.frame_buffer(%[[FRAME]],
// CHECK-NOT: memref.dealloc
// CHECK: return
func.func private @yielded(%n: index, %c: i1, %x: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %r = scf.if %c -> memref<?xf32> {
    %b = memref.alloc(%n) : memref<?xf32>
    scf.yield %b : memref<?xf32>
  } else {
    scf.yield %x : memref<?xf32>
  }
  memref.store %v, %r[%c0] : memref<?xf32>
  return
}

// -----

// What is returned is the caller's.
// CHECK-LABEL: func.func private @escapes
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = memref.alloc
// CHECK-NEXT: return %[[A]]
func.func private @escapes(%n: index) -> memref<?xf32> {
  %a = memref.alloc(%n) : memref<?xf32>
  return %a : memref<?xf32>
}
