// RUN: relax-opt --lower-checks --split-input-file %s | filecheck %s

// A check becomes a branch to an exit that raises the error, runs what was deferred and returns -1.
// `support.py` has the functions that raise.
func.func private @relax.check.0(i1, index) attributes {relax.check = {kind = "ShapeError", message = "n is {0}"}}
func.func private @release(index)

// CHECK-LABEL: func.func private @inner
// CHECK-SAME: (%[[OK:[a-z0-9_]+]]: i1, %[[N:[a-z0-9_]+]]: index) -> (i32, index)
// CHECK: cf.cond_br %[[OK]] weights([2000, 1]), ^[[GO:bb[0-9]+]], ^[[FAIL:bb[0-9]+]]
// CHECK: ^[[FAIL]]:
// CHECK: %[[KIND:[A-Za-z0-9_]+]] = llvm.mlir.addressof @[[SHAPEERROR:relax.text.[0-9a-f]+]]
// CHECK: %[[FORMAT:[A-Za-z0-9_]+]] = llvm.mlir.addressof
// CHECK: %[[NUMBER:[A-Za-z0-9_]+]] = arith.index_cast %[[N]] : index to i64
// CHECK: call @relax.rt.raise.1(%[[KIND]], %[[FORMAT]], %[[NUMBER]])
// CHECK: %[[FAILED:[a-z0-9_-]+]] = arith.constant -1 : i32
// CHECK: return %[[FAILED]], %{{[A-Za-z0-9_]+}} : i32, index
// CHECK: ^[[GO]]:
// CHECK: %[[WELL:[a-z0-9_]+]] = arith.constant 0 : i32
// CHECK: return %[[WELL]], %[[N]] : i32, index
func.func private @inner(%ok: i1, %n: index) -> index {
  call @relax.check.0(%ok, %n) : (i1, index) -> ()
  return %n : index
}

// CHECK-LABEL: func.func private @outer
// CHECK-SAME: (%[[OK:[a-z0-9_]+]]: i1, %[[N:[a-z0-9_]+]]: index) -> i32
// CHECK: %[[CALL:[A-Za-z0-9_]+]]:2 = call @inner(%[[OK]], %[[N]]) : (i1, index) -> (i32, index)
// CHECK: %[[ZERO:[a-z0-9_]+]] = arith.constant 0 : i32
// CHECK: %[[FINE:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[CALL]]#0, %[[ZERO]] : i32
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

// Calls with the same clean-up share an exit; what is deferred in between makes it another one.
// CHECK-LABEL: func.func private @twice
// CHECK-SAME: (%[[OK:[a-z0-9_]+]]: i1, %[[N:[a-z0-9_]+]]: index) -> i32
// CHECK: call @inner(
// CHECK: cf.cond_br %{{[A-Za-z0-9_]+}} weights([2000, 1]), ^[[SECOND:bb[0-9]+]], ^[[EXIT:bb[0-9]+]]
// CHECK: ^[[SECOND]]:
// CHECK: call @inner(
// CHECK: cf.cond_br %{{[A-Za-z0-9_]+}} weights([2000, 1]), ^[[THIRD:bb[0-9]+]], ^[[EXIT]]{{$}}
// CHECK: ^[[EXIT]]:
// CHECK-NOT: release
// CHECK: return
// CHECK: ^[[THIRD]]:
// CHECK: call @inner(
// CHECK: cf.cond_br %{{[A-Za-z0-9_]+}} weights([2000, 1]), ^{{bb[0-9]+}}, ^[[OTHER:bb[0-9]+]]
// CHECK: ^[[OTHER]]:
// CHECK: call @release(%[[N]])
// CHECK: return
func.func private @twice(%ok: i1, %n: index) {
  %a = call @inner(%ok, %n) : (i1, index) -> index
  %b = call @inner(%ok, %a) : (i1, index) -> index
  call @release(%n) {relax.defer = "error"} : (index) -> ()
  %c = call @inner(%ok, %b) : (i1, index) -> index
  return
}

// CHECK: llvm.mlir.global internal constant @[[SHAPEERROR]]("ShapeError\00")
// CHECK: func.func private @relax.rt.raise.1(%{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr, %{{.+}}: i64)
// -----
// What is deferred to errors only is not run by a return; functions that cannot fail keep their type.
func.func private @release(index)

// CHECK-LABEL: func.func @fine
// CHECK-SAME: (%[[N:[a-z0-9_]+]]: index) {
// CHECK-NEXT: arith.constant 1
// CHECK-NEXT: call @release(%[[N]]) : (index) -> ()
// CHECK-NEXT: return
func.func @fine(%n: index) {
  %c1 = arith.constant 1 : index
  call @release(%n) {relax.defer = "always"} : (index) -> ()
  call @release(%c1) {relax.defer = "error"} : (index) -> ()
  return
}
// -----
// checks.py, errors.py: a status travels through every caller, also through those that have no check themselves.
func.func private @relax.check.0(i1) attributes {relax.check = {kind = "ValueError", message = "no"}}
func.func private @relax.propagate(i32)
func.func private @foreign() -> i32

// CHECK-LABEL: func.func private @lowest({{.*}}: i1) -> i32
// CHECK-LABEL: func.func private @middle({{.*}}: i1) -> i32
// CHECK: %[[S:[A-Za-z0-9_]+]] = call @lowest(
// CHECK: %[[FINE:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[S]],
// CHECK-NEXT: cf.cond_br %[[FINE]] weights
// CHECK-LABEL: func.func @top({{.*}}: i1) -> i32
// CHECK: %[[S:[A-Za-z0-9_]+]] = call @middle(
// CHECK: %[[FINE:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[S]],
// CHECK-NEXT: cf.cond_br %[[FINE]] weights
func.func private @lowest(%ok: i1) {
  call @relax.check.0(%ok) : (i1) -> ()
  return
}
func.func private @middle(%ok: i1) {
  call @lowest(%ok) : (i1) -> ()
  return
}
func.func @top(%ok: i1) {
  call @middle(%ok) : (i1) -> ()
  return
}

// The status of a foreign function has set its error already: nothing is raised again.
// CHECK-LABEL: func.func @foreign_call() -> i32
// CHECK: %[[S:[A-Za-z0-9_]+]] = call @foreign()
// CHECK: %[[FINE:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[S]],
// CHECK-NEXT: cf.cond_br %[[FINE]] weights
// CHECK-NOT: raise
// CHECK: return
func.func @foreign_call() {
  %0 = call @foreign() : () -> i32
  call @relax.propagate(%0) : (i32) -> ()
  return
}

// Who calls nothing that fails keeps his type.
// CHECK-LABEL: func.func @safe({{.*}}: i32) -> i32 {
// CHECK-NEXT: return
func.func @safe(%x: i32) -> i32 { return %x : i32 }
// -----
// An assertion is a check that shows no values: braces in its text are text.
// CHECK-LABEL: func.func @asserted(
// CHECK: cf.cond_br
// CHECK-NOT: cf.assert
// CHECK: call @relax.rt.raise.0(
// CHECK: llvm.mlir.global internal constant @{{.*}}("CheckError\00")
// CHECK: llvm.mlir.global internal constant @{{.*}}("set {0}\00")
// CHECK: func.func private @relax.rt.raise.0(%{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr)
func.func @asserted(%c: i1) {
  cf.assert %c, "set {0}" loc(unknown)
  return
}
// -----
// An assertion at a known place says it. The error exit of a call of a prim func adds where the op is; nothing is added within
// prim funcs, nor where the place of the call is unknown.
// CHECK-LABEL: func.func private @inner(
// CHECK-NOT: @relax.rt.raise.place
// CHECK-LABEL: func.func private @outer(
// CHECK-NOT: @relax.rt.raise.place
// CHECK-LABEL: func.func @calls(
// CHECK: cf.cond_br %{{.*}}, ^{{.*}}, ^[[failed:bb[0-9]+]]
// CHECK: ^[[failed]]:
// CHECK-NEXT: %[[text:[A-Za-z0-9_]+]] = llvm.mlir.addressof @[[name:[A-Za-z0-9_.]+]] : !llvm.ptr
// CHECK-NEXT: call @relax.rt.raise.place(%[[text]])
// CHECK-LABEL: func.func @nowhere(
// CHECK-NOT: call @relax.rt.raise.place
// A function may say itself where it was called. The entry of a function names it; calls of what is no prim func, and has
// no mark, do not say where they are.
// CHECK-LABEL: func.func @said(
// CHECK-NOT: call @relax.rt.raise.place
// CHECK-LABEL: func.func @marked(
// CHECK: call @relax.rt.raise.place
// CHECK-LABEL: func.func @__tvm_ffi_calls(
// CHECK: %[[text:[A-Za-z0-9_]+]] = llvm.mlir.addressof @[[entry:[A-Za-z0-9_.]+]] : !llvm.ptr
// CHECK-NEXT: call @relax.rt.raise.place(%[[text]])
// CHECK-LABEL: func.func @plain(
// CHECK-NOT: call @relax.rt.raise.place
// CHECK: llvm.mlir.global internal constant @{{.*}}("assertion failed at here.py:7:3: set\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[name]](" (called at there.py:8:5)\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[entry]](" (in calls)\00")
// CHECK: func.func private @relax.rt.raise.place(
func.func private @inner(%c: i1) attributes {relax.prim_func} {
  cf.assert %c, "set" loc("here.py":7:3)
  return
}
func.func private @outer(%c: i1) attributes {relax.prim_func} {
  func.call @inner(%c) : (i1) -> () loc("here.py":9:3)
  return
}
func.func @calls(%c: i1) {
  func.call @outer(%c) : (i1) -> () loc("there.py":8:5)
  return
}
func.func @nowhere(%c: i1) {
  func.call @outer(%c) : (i1) -> () loc(unknown)
  return
}
func.func private @says(i1) attributes {relax.may_fail, relax.says_place}
func.func private @fails(i1) attributes {relax.may_fail}
func.func @said(%c: i1) {
  func.call @says(%c) : (i1) -> () loc("there.py":8:6)
  return
}
func.func @marked(%c: i1) {
  func.call @fails(%c) : (i1) -> () loc("there.py":8:7)
  return
}
func.func @__tvm_ffi_calls(%c: i1) {
  func.call @outer(%c) : (i1) -> () loc("there.py":8:8)
  return
}
func.func @plain(%c: i1) {
  func.call @calls(%c) : (i1) -> () loc("there.py":8:9)
  return
}
// -----
// A declaration with `relax.status_of` asks for the status of a function, and does not leave when it fails.
func.func private @relax.check.0(i1, index) attributes {relax.check = {kind = "ShapeError", message = "n is {0}"}}
func.func private @relax.status.fails(i1, index) -> i32 attributes {relax.status_of = @fails}
func.func private @relax.status.works(index) -> i32 attributes {relax.status_of = @works}
func.func private @fails(%ok: i1, %n: index) {
  call @relax.check.0(%ok, %n) : (i1, index) -> ()
  return
}
func.func private @elsewhere()
func.func private @works(%n: index) {
  return
}

// CHECK-LABEL: func.func private @asks
// CHECK-SAME: -> (i32, i32) {
// CHECK-NEXT: call @elsewhere()
// CHECK-NEXT: %[[FIRST:[A-Za-z0-9_]+]] = call @fails(
// CHECK-NEXT: call @works(
// CHECK-NEXT: %[[SECOND:[a-z0-9_]+]] = arith.constant 0 : i32
// CHECK-NEXT: return %[[FIRST]], %[[SECOND]] :
func.func private @asks(%ok: i1, %n: index) -> (i32, i32) {
  call @elsewhere() : () -> ()
  %first = call @relax.status.fails(%ok, %n) : (i1, index) -> i32
  %second = call @relax.status.works(%n) : (index) -> i32
  return %first, %second : i32, i32
}
// -----
// What a part of its own defines fails if it is marked so: its type says so, and its callers branch.
// CHECK-LABEL: func.func private @relax.rt.allocate(i64) -> (i32, !llvm.ptr) attributes {relax.compiled_separately, relax.may_fail}
func.func private @relax.rt.allocate(i64) -> !llvm.ptr attributes {relax.compiled_separately, relax.may_fail}

// CHECK-LABEL: func.func private @relax.rt.free(!llvm.ptr) attributes {relax.compiled_separately}
func.func private @relax.rt.free(!llvm.ptr) attributes {relax.compiled_separately}

// CHECK-LABEL: func.func private @takes
// CHECK-SAME: -> (i32, !llvm.ptr) {
// CHECK: %[[CALL:[A-Za-z0-9_]+]]:2 = call @relax.rt.allocate(%{{[a-z0-9_]+}}) : (i64) -> (i32, !llvm.ptr)
// CHECK: %[[FINE:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[CALL]]#0,
// CHECK: cf.cond_br %[[FINE]] weights
// CHECK: return %{{[a-z0-9_]+}}, %[[CALL]]#1
func.func private @takes(%n: i64) -> !llvm.ptr {
  %p = call @relax.rt.allocate(%n) : (i64) -> !llvm.ptr
  return %p : !llvm.ptr
}

// CHECK-LABEL: func.func private @gives
// CHECK-SAME: (%[[P:[a-z0-9_]+]]: !llvm.ptr) {
// CHECK-NEXT: call @relax.rt.free(%[[P]])
// CHECK-NEXT: return
func.func private @gives(%p: !llvm.ptr) {
  call @relax.rt.free(%p) : (!llvm.ptr) -> ()
  return
}

// A function with the mark that is defined here gives a status, too: a part of its own calls it.
// CHECK-LABEL: func.func private @defined
// CHECK-SAME: () -> i32 attributes {relax.may_fail} {
// CHECK-NEXT: %[[FINE:[a-z0-9_]+]] = arith.constant 0 : i32
// CHECK-NEXT: return %[[FINE]] :
func.func private @defined() attributes {relax.may_fail} {
  return
}
// -----
// Each assertion raises its own error.
// CHECK-LABEL: func.func @two_asserts(
// CHECK-COUNT-2: call @relax.rt.raise.0(
func.func @two_asserts(%c: i1, %d: i1) {
  cf.assert %c, "first" loc(unknown)
  cf.assert %d, "second" loc(unknown)
  return
}
