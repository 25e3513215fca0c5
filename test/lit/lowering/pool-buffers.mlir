// RUN: relax-opt --pool-buffers --split-input-file %s | filecheck %s
// RUN: relax-opt --pool-buffers --split-input-file %s | filecheck %s --check-prefix=NONE
// pool_buffers.py, errors.py, buffers.py, runtime_declarations.py.

func.func private @use(memref<?xf32>)

// A buffer of the function's own block is given back on every way out; one of a loop's body at its end.
// CHECK-LABEL: func.func private @kernel
// CHECK: %[[FRAME:[A-Za-z0-9_]+]] = llvm.alloca {{.*}}relax.frame
// CHECK: call @relax.rt.release(%[[FRAME]]) {relax.defer = "always"}
// CHECK: %[[A:[a-z0-9_]+]] = call @relax.rt.workspace_take(
// CHECK-NEXT: call @relax.rt.workspace_give(%[[A]]) {relax.defer = "always"}
// CHECK: memref.view %[[A]][
// CHECK: scf.for
// CHECK: %[[MARK:[A-Za-z0-9_]+]] = llvm.load %[[FRAME]] :
// CHECK: %[[B:[a-z0-9_]+]] = func.call @relax.rt.frame_buffer(%[[FRAME]],
// CHECK: %[[VIEW:[a-z0-9_]+]] = memref.view %[[B]][
// CHECK: memref.store %{{[a-z0-9_]+}}, %[[VIEW]][
// CHECK-NEXT: func.call @relax.rt.release_to(%[[FRAME]], %[[MARK]])
// CHECK-NEXT: }
// NONE-LABEL: func.func private @kernel
// NONE-NOT: memref.alloc
// NONE-LABEL: func.func private @careful
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
// Who frees for himself could not do so on the way out of an error.
// CHECK-LABEL: func.func private @careful
// CHECK: call @relax.rt.workspace_take
// CHECK-NEXT: call @relax.rt.workspace_give(%{{[a-z0-9_]+}}) {relax.defer = "always"}
// CHECK-NOT: memref.dealloc
// CHECK: return
func.func private @careful(%n: index) attributes {relax.prim_func} {
  %a = memref.alloc(%n) : memref<?xf32>
  memref.dealloc %a : memref<?xf32>
  return
}
// -----
// On the frame of a Relax function are objects, too: it is released when the function returns.
func.func private @object(index)

// CHECK-LABEL: func.func private @in_loop
// CHECK: %[[FRAME:[A-Za-z0-9_]+]] = llvm.alloca {{.*}}relax.frame
// CHECK: call @relax.rt.release(%[[FRAME]]) {relax.defer = "always"}
// CHECK: scf.for
// CHECK: func.call @relax.rt.frame_buffer(%[[FRAME]],
// CHECK-NOT: release_to
// CHECK: return
func.func private @in_loop(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc(%n) : memref<?xf32>
    memref.store %v, %b[%i] : memref<?xf32>
    func.call @object(%n) : (index) -> ()
  }
  return
}
// -----
// A branch may give back a buffer of its own or another: both live until the function returns.
// CHECK-LABEL: func.func private @yielded
// CHECK: %[[FRAME:[A-Za-z0-9_]+]] = llvm.alloca {{.*}}relax.frame
// CHECK: call @relax.rt.frame_buffer(%[[FRAME]],
// CHECK: scf.if
// CHECK: func.call @relax.rt.frame_buffer(%[[FRAME]],
// CHECK-NOT: release_to
// CHECK: return
func.func private @yielded(%n: index, %c: i1, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %x = memref.alloc(%n) : memref<?xf32>
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
// Two loops: each releases what its own block has acquired.
// CHECK-LABEL: func.func private @two_loops
// CHECK: scf.for
// CHECK-NEXT: %[[FIRST:[A-Za-z0-9_]+]] = llvm.load
// CHECK: func.call @relax.rt.release_to(%{{[A-Za-z0-9_]+}}, %[[FIRST]])
// CHECK: scf.for
// CHECK-NEXT: %[[SECOND:[A-Za-z0-9_]+]] = llvm.load
// CHECK: func.call @relax.rt.release_to(%{{[A-Za-z0-9_]+}}, %[[SECOND]])
func.func private @two_loops(%n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.alloc(%n) : memref<?xf32>
    memref.store %v, %a[%i] : memref<?xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc(%n) : memref<?xf32>
    memref.store %v, %b[%i] : memref<?xf32>
  }
  return
}
// -----
// What is returned is the caller's; what is not is pooled.
// CHECK-LABEL: func.func private @escapes
// CHECK: %[[A:[a-z0-9_]+]] = memref.alloc
// CHECK: call @relax.rt.workspace_take
// CHECK: return %[[A]] :
func.func private @escapes(%n: index, %v: f32) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %a = memref.alloc(%n) : memref<?xf32>
  %b = memref.alloc(%n) : memref<?xf32>
  memref.store %v, %b[%c0] : memref<?xf32>
  return %a : memref<?xf32>
}
// -----
// A part of a job may find no memory on any thread: its error is kept in the job's context, and raised behind it.
// CHECK-LABEL: func.func private @relax.parallel.0
// CHECK: call @relax.rt.workspace_take
// CHECK-LABEL: func.func private @runs
// CHECK: %[[CONTEXT:[A-Za-z0-9_]+]] = llvm.alloca
// CHECK: constant @relax.parallel.0.guarded
// CHECK: call @relax.rt.start_job(%[[CONTEXT]], %{{[a-z0-9_]+}})
// CHECK-NEXT: call @relax.rt.parallel(%{{[a-z0-9_]+}}, %[[CONTEXT]],
// CHECK-NEXT: call @relax.rt.raise_kept(%[[CONTEXT]])
// CHECK-NEXT: return
// CHECK: func.func private @relax.status.relax.parallel.0({{.*}}) -> i32 attributes {relax.status_of = @relax.parallel.0}
// CHECK: func.func private @relax.parallel.0.guarded
// CHECK: %[[STATUS:[A-Za-z0-9_]+]] = call @relax.status.relax.parallel.0
// CHECK: arith.cmpi ne, %[[STATUS]],
// CHECK: func.call @relax.rt.keep_error
func.func private @relax.rt.parallel(!llvm.ptr, !llvm.ptr, i64, i64, i64)
func.func private @relax.parallel.0(%context: !llvm.ptr, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  %a = memref.alloc(%end) : memref<?xf32>
  memref.store %v, %a[%c0] : memref<?xf32>
  return
}
func.func private @runs(%context: !llvm.ptr, %n: i64) {
  %f = constant @relax.parallel.0 : (!llvm.ptr, index, index) -> ()
  %p = builtin.unrealized_conversion_cast %f : (!llvm.ptr, index, index) -> () to !llvm.ptr
  call @relax.rt.parallel(%p, %context, %n, %n, %n) : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  return
}
// -----
// The job calls a function that takes memory.
// CHECK-LABEL: func.func private @runs
// CHECK: constant @relax.parallel.0.guarded
// CHECK: func.func private @relax.status.relax.parallel.0
func.func private @relax.rt.parallel(!llvm.ptr, !llvm.ptr, i64, i64, i64)
func.func private @fills(%n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  %a = memref.alloc(%n) : memref<?xf32>
  memref.store %v, %a[%c0] : memref<?xf32>
  return
}
func.func private @calls(%n: index) attributes {relax.prim_func} {
  call @fills(%n) : (index) -> ()
  return
}
func.func private @relax.parallel.0(%context: !llvm.ptr, %begin: index, %end: index) {
  call @calls(%end) : (index) -> ()
  return
}
func.func private @runs(%context: !llvm.ptr, %n: i64) {
  %f = constant @relax.parallel.0 : (!llvm.ptr, index, index) -> ()
  %p = builtin.unrealized_conversion_cast %f : (!llvm.ptr, index, index) -> () to !llvm.ptr
  call @relax.rt.parallel(%p, %context, %n, %n, %n) : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  return
}
// -----
// A job that takes no memory is left alone, and so is the rest of a module: nothing is declared.
// CHECK: // -----
// CHECK-NEXT: module {
// CHECK-NEXT: func.func private @relax.rt.parallel(
// CHECK-LABEL: func.func private @runs
// CHECK-NEXT: constant @relax.parallel.0 :
// CHECK-NOT: raise_kept
// CHECK-NOT: workspace_take
func.func private @relax.rt.parallel(!llvm.ptr, !llvm.ptr, i64, i64, i64)
func.func private @nothing() attributes {relax.prim_func} {
  return
}
func.func private @relax.parallel.0(%context: !llvm.ptr, %begin: index, %end: index) {
  call @nothing() : () -> ()
  return
}
func.func private @runs(%context: !llvm.ptr, %n: i64) {
  %f = constant @relax.parallel.0 : (!llvm.ptr, index, index) -> ()
  %p = builtin.unrealized_conversion_cast %f : (!llvm.ptr, index, index) -> () to !llvm.ptr
  call @relax.rt.parallel(%p, %context, %n, %n, %n) : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  return
}
