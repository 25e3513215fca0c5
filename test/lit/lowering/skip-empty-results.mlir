// RUN: relax-opt --skip-empty-results --split-input-file %s | filecheck %s
// RUN: relax-opt --skip-empty-results --convert-scf-to-cf --lower-checks --split-input-file %s | filecheck %s --check-prefix=FLAT

// The function returns if its destination has no elements; what it reads does not matter.
// CHECK: func.func private @relax.leave_if(i1)
// CHECK-LABEL: func.func private @rows(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: memref<?x?xf32>, %[[Y:[a-z0-9_]+]]: memref<?x4x?xf32>)
// CHECK-NEXT: %[[ZERO:[a-z0-9_]+]] = arith.constant 0 : index
// CHECK: %[[ROWS:[A-Za-z0-9_]+]] = memref.dim %[[Y]], %c0
// CHECK: %[[COLUMNS:[A-Za-z0-9_]+]] = memref.dim %[[Y]], %c2
// CHECK: %[[NO_ROWS:[0-9]+]] = arith.cmpi eq, %[[ROWS]], %[[ZERO]] : index
// CHECK: %[[NO_COLUMNS:[0-9]+]] = arith.cmpi eq, %[[COLUMNS]], %[[ZERO]] : index
// CHECK: %[[EMPTY:[0-9]+]] = arith.ori %[[NO_ROWS]], %[[NO_COLUMNS]] : i1
// CHECK: call @relax.leave_if(%[[EMPTY]]) : (i1) -> ()
// CHECK-NEXT: call @work(%[[X]], %[[Y]])
// FLAT-NOT: relax.leave_if
// FLAT-LABEL: func.func private @rows(
// FLAT: %[[EMPTY:[0-9]+]] = arith.ori
// FLAT: %[[STAYS:[0-9]+]] = arith.xori %[[EMPTY]], %[[TRUE:[a-z0-9_]+]] : i1
// FLAT-NEXT: cf.cond_br %[[STAYS]] weights([2000, 1]), ^[[WORK:bb[0-9]+]], ^[[LEAVE:bb[0-9]+]]
// FLAT-NEXT: ^[[LEAVE]]:
// FLAT-NEXT: return
// FLAT-NEXT: ^[[WORK]]:
// FLAT-NEXT: call @work
func.func private @work(memref<?x?xf32>, memref<?x4x?xf32>)
func.func private @rows(%x: memref<?x?xf32>, %y: memref<?x4x?xf32>) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  call @work(%x, %y) : (memref<?x?xf32>, memref<?x4x?xf32>) -> ()
  return
}
// -----
// Both destinations must be empty; a static one of length 0 is.
// CHECK-LABEL: func.func private @both(
// CHECK: %[[NONE:[0-9]+]] = arith.cmpi eq
// CHECK: %[[TRUE:[a-z0-9_]+]] = arith.constant true
// CHECK: %[[EMPTY:[0-9]+]] = arith.andi %[[NONE]], %[[TRUE]] : i1
// CHECK-NEXT: call @relax.leave_if(%[[EMPTY]])
func.func private @both(%x: memref<?x?xf32>, %y: memref<?xf32>, %z: memref<?x0xf32>) attributes {relax.prim_func, relax.destinations = array<i64: 1, 2>} {
  return
}
// -----
// Parameters that may be long and empty: an index, a buffer with a dimension of 65,536, and one with a dimension of 0.
// The module may have the declaration.
// CHECK-LABEL: func.func private @length(
// CHECK: call @relax.leave_if(
// CHECK-LABEL: func.func private @long(
// CHECK: call @relax.leave_if(
// CHECK-LABEL: func.func private @empty(
// CHECK: call @relax.leave_if(
// CHECK-LABEL: func.func private @short(
// CHECK-NOT: call @relax.leave_if(
// CHECK-LABEL: func.func private @none(
// CHECK: call @relax.leave_if(
func.func private @relax.leave_if(i1)
func.func private @length(%n: index, %y: memref<?xf32>) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  return
}
func.func private @long(%x: memref<?x65536xf32>, %y: memref<?xf32>) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  return
}
func.func private @empty(%x: memref<?x0xf32>, %y: memref<?xf32>) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  return
}
func.func private @short(%x: memref<?x65535xf32>, %y: memref<?xf32>) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  return
}
func.func private @none(%x: memref<?x?xf32>, %y: memref<0x4xf32>) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  return
}
// -----
// Checks that stand before everything else run first, and their clean-up runs on the way out.
// CHECK-LABEL: func.func private @checks_first(
// CHECK: cf.assert %[[C:[a-z0-9_]+]], "no"
// CHECK: cf.assert %[[C]], "never"
// CHECK: call @relax.leave_if(
// CHECK: scf.for
// FLAT-LABEL: func.func private @checks_first(
// FLAT-SAME: -> i32
// FLAT: cf.cond_br %[[C:[a-z0-9_]+]] weights([2000, 1]), ^[[FINE:bb[0-9]+]], ^[[WRONG:bb[0-9]+]]
// FLAT: ^[[FINE]]:
// FLAT: cf.cond_br %[[STAYS:[0-9]+]] weights([2000, 1]), ^[[WORK:bb[0-9]+]], ^[[LEAVE:bb[0-9]+]]
// FLAT: ^[[LEAVE]]:
// FLAT-NEXT: call @give()
// FLAT-NEXT: %[[OK:[A-Za-z0-9_]+]] = arith.constant 0 : i32
// FLAT-NEXT: return %[[OK]] :
func.func private @give()
func.func private @checks_first(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %c: i1, %n: index) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  call @give() {relax.defer = "always"} : () -> ()
  cf.assert %c, "no"
  cf.assert %c, "never"
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
  }
  return
}
// -----
// Left as they are: a check inside a loop, and in a function that is called there, be it only declared.
// CHECK-NOT: relax.leave_if
// CHECK-LABEL: func.func private @checks_later(
// CHECK: scf.for
// CHECK-LABEL: func.func private @called(
// CHECK-LABEL: func.func private @calls_later(
// CHECK-LABEL: func.func private @calls_declared(
// CHECK-NOT: relax.leave_if
func.func private @checks_later(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %c: i1, %n: index) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    cf.assert %c, "no"
  }
  return
}
func.func private @called(%c: i1) attributes {relax.prim_func} {
  cf.assert %c, "no"
  return
}
func.func private @calls_later(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %c: i1, %n: index) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @called(%c) : (i1) -> ()
  }
  return
}
func.func private @relax.check.0(i1) attributes {relax.check = {kind = "ValueError", message = "no"}}
func.func private @calls_declared(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %c: i1) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  scf.if %c {
    func.call @relax.check.0(%c) : (i1) -> ()
  }
  return
}
// -----
// Nothing to do: destinations that have elements, vectors, and functions that are no prim funcs of a call, give a value,
// or are declarations.
// CHECK-NOT: relax.leave_if
// CHECK-LABEL: func.func private @static(
// CHECK-LABEL: func.func private @vectors(
// CHECK-LABEL: func.func private @other(
// CHECK-LABEL: func.func private @gives(
// CHECK-LABEL: func.func private @declared(
// CHECK-NOT: relax.leave_if
func.func private @static(%x: memref<?x?xf32>, %y: memref<1x4xf32>) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  return
}
func.func private @vectors(%x: memref<?xf32>, %y: memref<?x4xf32>) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  return
}
func.func private @other(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  return
}
func.func private @gives(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %v: f32) -> f32 attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  return %v : f32
}
func.func private @declared(memref<?x?xf32>, memref<?x?xf32>) attributes {relax.prim_func, relax.destinations = array<i64: 1>}
