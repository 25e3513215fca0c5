// RUN: relax-opt %s --check-bounds | filecheck %s
// RUN: relax-opt %s --check-bounds="mode=all" | filecheck %s --check-prefix=ALL
// RUN: relax-opt %s --check-bounds="mode=none" | filecheck %s --check-prefix=NONE
// RUN: not relax-opt %s --check-bounds="mode=some" 2>&1 | filecheck %s --check-prefix=MODE
// MODE: is one of auto, all, none, not 'some'
// check_bounds.py, index_ranges.py: what is proved needs no check.

// CHECK: relax.check = {kind = "BoundsError", message = "gather: 'A': index {0} is out of range for dimension 0 of size {1}, at
// CHECK: relax.check = {kind = "BoundsError", message = "gather: 'I': index {0} is out of range for dimension 0 of size {1}, at
// NONE-NOT: relax.check
// NONE-NOT: relax.unchecked

// The loop variable is in range by its bounds; what is loaded is not known, nor whether there is a first element.
// CHECK-LABEL: func.func private @gather
// CHECK-NOT: relax.unchecked
// CHECK: call @relax.check.0
// CHECK: scf.for
// CHECK-COUNT-1: call @relax.check.1
// CHECK-NOT: call @relax.check
// CHECK: return
// ALL-LABEL: func.func private @gather
// ALL: call @relax.check.0
// ALL: scf.for
// ALL-COUNT-1: call @relax.check.1
// ALL-NOT: call @relax.check
// ALL: return
func.func private @gather(%a: memref<?xf32>, %i: memref<?xi64>, %out: memref<?xf32>) attributes {
  relax.prim_func,
  relax.unchecked = array<i64>,
  relax.params = [
    {name = "A", shape = ["n"], dtype = "float32"},
    {name = "I", shape = ["m"], dtype = "int64"},
    {name = "B", shape = ["m"], dtype = "float32"}
  ]
} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %i, %c0 : memref<?xi64>
  %first = memref.load %i[%c0] : memref<?xi64>
  scf.for %j = %c0 to %m step %c1 {
    %k = memref.load %i[%j] : memref<?xi64>
    %at = arith.index_cast %k : i64 to index
    %x = memref.load %a[%at] : memref<?xf32>
    memref.store %x, %out[%j] : memref<?xf32>
  }
  return
}

// Windows: the greatest value of i + d is n + 1, the last element of a buffer of n + 2.
// ALL-LABEL: func.func private @window
// ALL-NOT: call @relax.check
// ALL: return
func.func private @window(%a: memref<?xf32>, %out: memref<?xf32>) attributes {
  relax.prim_func,
  relax.params = [{name = "A", shape = ["n + 2"], dtype = "float32"}, {name = "B", shape = ["n"], dtype = "float32"}]
} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n = memref.dim %out, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %d = %c0 to %c3 step %c1 {
      %at = arith.addi %i, %d : index
      %x = memref.load %a[%at] : memref<?xf32>
      memref.store %x, %out[%i] : memref<?xf32>
    }
  }
  return
}

// What is not marked is checked in mode=all alone.
// CHECK-LABEL: func.func private @steps
// CHECK-NOT: call @relax.check
// CHECK: return
// ALL-LABEL: func.func private @steps
// ALL: call @relax.check
// ALL: scf.for
// ALL: return
func.func private @steps(%out: memref<?xf32>, %step: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %out, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %step {
    memref.store %zero, %out[%i] : memref<?xf32>
  }
  return
}

// Quotients and remainders by a number, and slices that end where the dimension does.
// ALL-LABEL: func.func private @proved
// ALL-NOT: call @relax.check
// ALL: return
func.func private @proved(%a: memref<?xf32>, %table: memref<4xf32>, %out: memref<?xf32>) attributes {
  relax.prim_func,
  relax.params = [
    {name = "A", shape = ["n"], dtype = "float32"},
    {name = "T", shape = [4], dtype = "float32"},
    {name = "B", shape = ["n"], dtype = "float32"}
  ]
} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %out, %c0 : memref<?xf32>
  %rows = memref.subview %a[0] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
  scf.for %i = %c0 to %n step %c1 {
    %r = arith.remsi %i, %c4 : index
    %x = memref.load %table[%r] : memref<4xf32>
    %h = arith.floordivsi %i, %c2 : index
    %y = memref.load %a[%h] : memref<?xf32>
    %z = memref.load %rows[%i] : memref<?xf32, strided<[1]>>
    memref.store %z, %out[%i] : memref<?xf32>
  }
  return
}

// Where indices are proved, sizes alone are checked; in mode=all both.
// CHECK-LABEL: func.func private @indices_proved
// CHECK-NOT: relax.indices_proved
// CHECK-NOT: call @relax.check
// CHECK: memref.load
// CHECK: call @relax.check
// CHECK-NEXT: memref.copy
// CHECK: return
// ALL-LABEL: func.func private @indices_proved
// ALL: call @relax.check
// ALL-NEXT: memref.load
// ALL: call @relax.check
// ALL-NEXT: memref.copy
func.func private @indices_proved(%a: memref<?xf32>, %b: memref<?xf32>, %i: index) attributes {
  relax.prim_func, relax.unchecked = array<i64>, relax.indices_proved
} {
  %x = memref.load %a[%i] : memref<?xf32>
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
  return
}
