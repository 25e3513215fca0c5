// RUN: relax-opt %s --check-bounds | filecheck %s
// RUN: relax-opt %s --check-bounds="mode=all" | filecheck %s --check-prefix=ALL
// RUN: relax-opt %s --check-bounds="mode=none" | filecheck %s --check-prefix=NONE
// check_bounds.py, and index_ranges.py: what is proved needs no check.

// CHECK: relax.check = {kind = "IndexError", message = "gather: 'I': index {0} is out of range for dimension 0 of size {1}, at
// NONE-NOT: relax.check

// The loop variable is in range by its bounds, what is loaded is not known.
// CHECK-LABEL: func.func private @gather
// CHECK: call @relax.check.0
// CHECK: scf.for
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
