// RUN: relax-opt %s --stack-buffers | filecheck %s
// RUN: relax-opt %s --stack-buffers --pool-buffers | filecheck %s --check-prefix=PLACED
// stack_buffers.py, stack_memory.py

// The first fits, the second would be too much with it, the third has a size of its own.
// CHECK-LABEL: func.func private @local
// CHECK: memref.alloc() {relax.on_stack} : memref<8x32xf32>
// CHECK: memref.alloc() : memref<8192xf32>
// CHECK: memref.alloc(%{{[a-z0-9_]+}}) : memref<?xf32>

// On the stack at the beginning, all zeros.
// PLACED-LABEL: func.func private @local
// PLACED: %[[A:[a-z0-9_]+]] = memref.alloca() {alignment = 64 : i64} : memref<8x32xf32>
// PLACED: llvm.intr.memset
// PLACED: scf.for
// PLACED-NOT: memref.alloc
// PLACED: memref.store %{{[a-z0-9_]+}}, %[[A]]
func.func private @local(%n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.alloc() : memref<8x32xf32>
    memref.store %v, %a[%c0, %c0] : memref<8x32xf32>
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

// Relax functions have planned memory.
// CHECK-LABEL: func.func @main
// CHECK: memref.alloc() : memref<4xf32>
func.func @main(%v: f32) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<4xf32>
  memref.store %v, %a[%c0] : memref<4xf32>
  return
}
