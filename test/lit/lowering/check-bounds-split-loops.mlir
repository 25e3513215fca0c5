// RUN: relax-opt %s --check-bounds | filecheck %s
// index_ranges.py: each argument of a minimum that ends a loop bounds its variable, so split loops need no check.

// CHECK: relax.check = {kind = "BoundsError", message = "beyond: 'A': index {0} is out of range for dimension 0 of size {1}, at
// CHECK-LABEL: func.func private @split
// CHECK-NOT: call @relax.check
// CHECK: return
func.func private @split(%a: memref<?xf32>) attributes {
  relax.prim_func, relax.unchecked = array<i64>, relax.params = [{name = "A", shape = ["n"], dtype = "float32"}]
} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?xf32>
  %more = arith.addi %n, %c7 : index
  %tiles = arith.floordivsi %more, %c8 : index
  scf.for %o = %c0 to %tiles step %c1 {
    %first = arith.muli %o, %c8 : index
    %left = arith.subi %n, %first : index
    %size = arith.minsi %c8, %left : index
    scf.for %i = %c0 to %size step %c1 {
      %at = arith.addi %first, %i : index
      memref.store %zero, %a[%at] : memref<?xf32>
    }
  }
  return
}

// CHECK-LABEL: func.func private @beyond
// CHECK-COUNT-1: call @relax.check.0
// CHECK-NOT: call @relax.check
// CHECK: return
func.func private @beyond(%a: memref<?xf32>) attributes {
  relax.prim_func, relax.unchecked = array<i64>, relax.params = [{name = "A", shape = ["n"], dtype = "float32"}]
} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?xf32>
  %more = arith.addi %n, %c7 : index
  %tiles = arith.floordivsi %more, %c8 : index
  scf.for %o = %c0 to %tiles step %c1 {
    %first = arith.muli %o, %c8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %at = arith.addi %first, %i : index
      memref.store %zero, %a[%at] : memref<?xf32>
    }
  }
  return
}
