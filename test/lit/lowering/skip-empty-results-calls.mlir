// RUN: relax-opt --skip-empty-results %s | filecheck %s

// A function that calls one which returns early: that call checks nothing.
// CHECK: func.func private @relax.leave_if(i1)
// CHECK-LABEL: func.func private @inner(
// CHECK: call @relax.leave_if(
// CHECK-LABEL: func.func private @outer(
// CHECK: call @relax.leave_if(
// CHECK-NEXT: call @inner(
func.func private @inner(%x: memref<?x?xf32>, %y: memref<?x?xf32>) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  return
}
func.func private @outer(%x: memref<?x?xf32>, %y: memref<?x?xf32>) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  call @inner(%x, %y) : (memref<?x?xf32>, memref<?x?xf32>) -> ()
  return
}
