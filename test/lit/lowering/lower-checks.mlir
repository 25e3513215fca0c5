// RUN: relax-opt --lower-checks --split-input-file %s | filecheck %s

// A check becomes a branch to an exit that raises the error, runs what was deferred and returns -1.
func.func private @relax.check.0(i1, index) attributes {relax.check = {kind = "ShapeError", message = "n is {0}"}}
func.func private @release(index)

// CHECK-LABEL: func.func private @inner
// CHECK-SAME: (%[[OK:[a-z0-9]+]]: i1, %[[N:[a-z0-9]+]]: index) -> (i32, index)
// CHECK: cf.cond_br %[[OK]] weights([2000, 1]), ^[[GO:bb[0-9]+]], ^[[FAIL:bb[0-9]+]]
// CHECK: ^[[FAIL]]:
// CHECK: %[[KIND:[0-9]+]] = llvm.mlir.addressof @[[SHAPEERROR:relax.text.[0-9]+]]
// CHECK: %[[FORMAT:[0-9]+]] = llvm.mlir.addressof
// CHECK: %[[NUMBER:[0-9]+]] = arith.index_cast %[[N]] : index to i64
// CHECK: call @relax.rt.raise.1(%[[KIND]], %[[FORMAT]], %[[NUMBER]])
// CHECK: %[[FAILED:[a-z0-9_-]+]] = arith.constant -1 : i32
// CHECK: return %[[FAILED]], %{{[0-9]+}} : i32, index
// CHECK: ^[[GO]]:
// CHECK: %[[WELL:[a-z0-9_]+]] = arith.constant 0 : i32
// CHECK: return %[[WELL]], %[[N]] : i32, index
func.func private @inner(%ok: i1, %n: index) -> index {
  call @relax.check.0(%ok, %n) : (i1, index) -> ()
  return %n : index
}

// CHECK-LABEL: func.func private @outer
// CHECK-SAME: (%[[OK:[a-z0-9]+]]: i1, %[[N:[a-z0-9]+]]: index) -> i32
// CHECK: %[[CALL:[0-9]+]]:2 = call @inner(%[[OK]], %[[N]]) : (i1, index) -> (i32, index)
// CHECK: %[[ZERO:[a-z0-9_]+]] = arith.constant 0 : i32
// CHECK: %[[FINE:[0-9]+]] = arith.cmpi eq, %[[CALL]]#0, %[[ZERO]] : i32
// CHECK: cf.cond_br %[[FINE]] weights([2000, 1]), ^[[GO:bb[0-9]+]], ^[[FAIL:bb[0-9]+]]
// CHECK: ^[[FAIL]]:
// CHECK-NOT: raise
// CHECK: call @release(%[[N]])
// CHECK: return
// CHECK: ^[[GO]]:
// CHECK: call @release(%[[CALL]]#1)
// CHECK: call @release(%[[N]])
// CHECK: return
func.func private @outer(%ok: i1, %n: index) {
  call @release(%n) {relax.defer = "always"} : (index) -> ()
  %m = call @inner(%ok, %n) : (i1, index) -> index
  call @release(%m) : (index) -> ()
  return
}

// CHECK: llvm.mlir.global internal constant @[[SHAPEERROR]]("ShapeError\00")

// -----

// What is deferred to errors only is not run by a return; functions that cannot fail keep their type.
func.func private @release(index)

// CHECK-LABEL: func.func @fine
// CHECK-SAME: (%[[N:[a-z0-9]+]]: index) {
// CHECK-NEXT: arith.constant 1
// CHECK-NEXT: call @release(%[[N]]) : (index) -> ()
// CHECK-NEXT: return
func.func @fine(%n: index) {
  %c1 = arith.constant 1 : index
  call @release(%n) {relax.defer = "always"} : (index) -> ()
  call @release(%c1) {relax.defer = "error"} : (index) -> ()
  return
}
