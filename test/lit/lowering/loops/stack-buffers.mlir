// RUN: relax-opt %s --stack-buffers | filecheck %s
// RUN: relax-opt %s --stack-buffers --pool-buffers | filecheck %s --check-prefix=PLACED
// pool_buffers.py

// The first fits, the second would be too much with it, the third has a size of its own.
// CHECK-LABEL: func.func private @local
// CHECK: memref.alloc() {relax.on_stack} : memref<8x32xf32>
// CHECK: memref.alloc() : memref<8192xf32>
// CHECK: memref.alloc(%{{[a-z0-9_]+}}) : memref<?xf32>

// On the stack at the beginning, all zeros.
// PLACED-LABEL: func.func private @local
// PLACED: %[[A:[a-z0-9_]+]] = memref.alloca() {alignment = 64 : i64} : memref<8x32xf32>
// PLACED: %[[ADDRESS:[a-z0-9_]+]] = llvm.extractvalue %{{[a-z0-9_]+}}[1]
// PLACED-NEXT: %[[ZERO:[a-z0-9_]+]] = llvm.mlir.constant(0 : i8) : i8
// PLACED-NEXT: %[[SIZE:[a-z0-9_]+]] = llvm.mlir.constant(1024 : i64) : i64
// PLACED-NEXT: "llvm.intr.memset"(%[[ADDRESS]], %[[ZERO]], %[[SIZE]]) <{isVolatile = false}>
// PLACED: scf.for
// PLACED-NEXT: memref.store %{{[a-z0-9_]+}}, %[[A]][
// PLACED-NOT: memref.dealloc
func.func private @local(%n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.alloc() : memref<8x32xf32>
    memref.store %v, %a[%c0, %c0] : memref<8x32xf32>
    memref.dealloc %a : memref<8x32xf32>
    %b = memref.alloc() : memref<8192xf32>
    memref.store %v, %b[%c0] : memref<8192xf32>
    %c = memref.alloc(%n) : memref<?xf32>
    memref.store %v, %c[%c0] : memref<?xf32>
  }
  return
}

// A round reads the buffer of the round before, also through a view: both would be one memory on the stack. The first of
// them is made once.
// CHECK-LABEL: func.func private @carried
// CHECK: %[[FIRST:[a-z0-9_]+]] = memref.alloc() {relax.on_stack} : memref<4xf32>
// CHECK: scf.for
// CHECK: memref.alloc() : memref<4xf32>
// CHECK: memref.alloc() {relax.on_stack} : memref<4xf32>
// CHECK: return
// PLACED-LABEL: func.func private @carried
func.func private @carried(%n: index, %v: f32) -> f32 attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.alloc() : memref<4xf32>
  memref.store %v, %first[%c0] : memref<4xf32>
  %start = memref.cast %first : memref<4xf32> to memref<?xf32>
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %start) -> memref<?xf32> {
    %next = memref.alloc() : memref<4xf32>
    %own = memref.alloc() : memref<4xf32>
    %x = memref.load %before[%c1] : memref<?xf32>
    memref.store %x, %own[%c0] : memref<4xf32>
    memref.store %x, %next[%c0] : memref<4xf32>
    %view = memref.cast %next : memref<4xf32> to memref<?xf32>
    scf.yield %view : memref<?xf32>
  }
  %result = memref.load %last[%c0] : memref<?xf32>
  return %result : f32
}

// An element that the next round is given is no buffer.
// CHECK-LABEL: func.func private @element
// CHECK: memref.alloc() {relax.on_stack} : memref<4xf32>
// PLACED-LABEL: func.func private @element
func.func private @element(%n: index, %v: f32) -> f32 attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %v) -> f32 {
    %own = memref.alloc() : memref<4xf32>
    memref.store %before, %own[%c0] : memref<4xf32>
    %x = memref.load %own[%c0] : memref<4xf32>
    scf.yield %x : f32
  }
  return %last : f32
}

// Relax functions have planned memory.
// CHECK-LABEL: func.func @main
// CHECK: memref.alloc() : memref<4xf32>
func.func @main(%v: f32) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<4xf32>
  memref.store %v, %a[%c0] : memref<4xf32>
  return
}

// Functions that are generated as they are to run, and those that modules share, place their buffers themselves.
// CHECK-LABEL: func.func private @generated
// CHECK-NOT: relax.on_stack
// CHECK-LABEL: func.func private @choices
func.func private @generated(%v: f32) attributes {relax.prim_func, relax.as_generated} {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<4xf32>
  memref.store %v, %a[%c0] : memref<4xf32>
  return
}

// In a loop, a buffer that is chosen among others, or that a branch yields, may be used later; outside of loops it is
// made once. All buffers of the function together have 32 kB, which the last one does not exceed.
// CHECK: memref.alloc() {relax.on_stack} : memref<8xf32>
// CHECK: scf.for
// CHECK-NEXT: memref.alloc() : memref<8xf32>
// CHECK-NEXT: memref.alloc() : memref<8xf32>
// CHECK: scf.if
// CHECK-NEXT: memref.alloc() : memref<8xf32>
// CHECK: memref.alloc() : memref<8185xf32>
// CHECK: memref.alloc() {relax.on_stack} : memref<8184xf32>
// CHECK: memref.alloc() : memref<1xf32>
// CHECK: return
func.func private @choices(%n: index, %b: i1, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %outer = memref.alloc() : memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    %p = memref.alloc() : memref<8xf32>
    %q = memref.alloc() : memref<8xf32>
    %either = arith.select %b, %p, %q : memref<8xf32>
    memref.store %v, %either[%c0] : memref<8xf32>
    %r = scf.if %b -> memref<8xf32> {
      %s = memref.alloc() : memref<8xf32>
      scf.yield %s : memref<8xf32>
    } else {
      scf.yield %outer : memref<8xf32>
    }
    memref.store %v, %r[%c0] : memref<8xf32>
  }
  %same = arith.select %b, %outer, %outer : memref<8xf32>
  memref.store %v, %same[%c0] : memref<8xf32>
  %large = memref.alloc() : memref<8185xf32>
  memref.store %v, %large[%c0] : memref<8185xf32>
  %rest = memref.alloc() : memref<8184xf32>
  memref.store %v, %rest[%c0] : memref<8184xf32>
  %more = memref.alloc() : memref<1xf32>
  memref.store %v, %more[%c0] : memref<1xf32>
  return
}
