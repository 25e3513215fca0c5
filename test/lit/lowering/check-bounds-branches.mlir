// RUN: relax-opt --check-bounds="mode=all" %s | filecheck %s

// index_ranges.py

// What the comparisons around an access say of its index is not checked: padding.

// CHECK-LABEL: func.func private @padded
// CHECK-NOT: relax.check
// CHECK: return
func.func private @padded(%x: memref<?xf32>, %out: memref<?xf32>) attributes {relax.prim_func, relax.params = [
    {name = "x", dtype = "float32", shape = ["n"]}, {name = "out", dtype = "float32", shape = ["n + 3"]}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %end = arith.addi %n, %c2 : index
  %m = arith.addi %n, %c3 : index
  scf.for %i = %c0 to %m step %c1 {
    %at_least = arith.cmpi sge, %i, %c2 : index
    %less = arith.cmpi slt, %i, %end : index
    %both = arith.andi %at_least, %less : i1
    %v = scf.if %both -> f32 {
      %j = arith.subi %i, %c2 : index
      %e = memref.load %x[%j] : memref<?xf32>
      scf.yield %e : f32
    } else {
      scf.yield %zero : f32
    }
    memref.store %v, %out[%i] : memref<?xf32>
  }
  return
}

// In the else-branch of an alternative, both sides are false.

// CHECK-LABEL: func.func private @otherwise
// CHECK-NOT: relax.check
// CHECK: return
func.func private @otherwise(%x: memref<?xf32>) attributes {relax.prim_func, relax.params = [
    {name = "x", dtype = "float32", shape = ["n"]}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = arith.addi %n, %c1 : index
  scf.for %i = %c0 to %m step %c1 {
    %first = arith.cmpi slt, %i, %c1 : index
    %past = arith.cmpi sgt, %i, %n : index
    %either = arith.ori %first, %past : i1
    scf.if %either {
    } else {
      %j = arith.subi %i, %c1 : index
      memref.store %zero, %x[%j] : memref<?xf32>
    }
  }
  return
}

// A comparison that says less than the access needs, one that holds in the other branch, and an alternative in the
// place of both.

// CHECK-LABEL: func.func private @too_little
// CHECK-COUNT-3: call @relax.check
// CHECK: return
func.func private @too_little(%x: memref<?xf32>) attributes {relax.prim_func, relax.params = [
    {name = "x", dtype = "float32", shape = ["n"]}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %at_least = arith.cmpi sge, %i, %c1 : index
    scf.if %at_least {
      %j = arith.subi %i, %c2 : index
      memref.store %zero, %x[%j] : memref<?xf32>
    } else {
      %j = arith.subi %i, %c1 : index
      memref.store %zero, %x[%j] : memref<?xf32>
    }
    %two = arith.cmpi sge, %i, %c2 : index
    %either = arith.ori %at_least, %two : i1
    scf.if %either {
      %j = arith.subi %i, %c2 : index
      memref.store %zero, %x[%j] : memref<?xf32>
    }
  }
  return
}
