// RUN: relax-opt --outline-parallel-loops="target='cpu -mcpu=haswell -num-threads=2'" --split-input-file %s | filecheck %s
// RUN: relax-opt --outline-parallel-loops="target='cpu -num-threads=1'" --split-input-file %s | filecheck %s --check-prefix SERIAL

// With one thread no loop becomes a job.
// SERIAL-NOT: relax.{{parallel[._]|rt}}

// A marked loop becomes a function; what it captures goes through a struct on the stack.
// CHECK-LABEL: func.func @scale(
// CHECK: %[[CONTEXT:.+]] = llvm.alloca
// CHECK: %[[BODY:.+]] = constant @relax.parallel.0 : (!llvm.ptr, index, index) -> ()
// CHECK: call @relax.rt.parallel(%{{.+}}, %[[CONTEXT]],
// CHECK-NOT: scf.for
// CHECK: return
// A loop in which a check may fail stays as it is.
// CHECK-LABEL: func.func @checked(
// CHECK-NOT: parallel
// CHECK: scf.for
// CHECK-NOT: parallel
// CHECK: return
// So does one that calls a check, or a function that calls one, or one that is compiled apart and may fail.
// CHECK-LABEL: func.func @calls_check(
// CHECK-NOT: parallel
// CHECK: scf.for
// CHECK-NEXT: memref.load
// CHECK-NOT: parallel
// CHECK: return
// CHECK-LABEL: func.func @calls_function(
// CHECK-NOT: @relax.rt.parallel
// CHECK: scf.for
// CHECK-NEXT: call @through
// CHECK: return
// CHECK-LABEL: func.func @calls_failing(
// CHECK-NOT: @relax.rt.parallel
// CHECK: scf.for
// CHECK-NEXT: call @may_fail
// CHECK: return
// One that calls what cannot fail is outlined.
// CHECK-LABEL: func.func @calls_safe(
// CHECK-NOT: scf.for
// CHECK: call @relax.rt.parallel(
// CHECK: return
// The marked loop had one iteration and is gone: the loop around it is none of the mark's business.
// CHECK-LABEL: func.func @gone(
// CHECK-NOT: constant @relax.parallel
// CHECK: scf.for
// CHECK-NEXT: memref.load
// CHECK-NOT: constant @relax.parallel
// CHECK: return
// CHECK-LABEL: func.func private @relax.parallel.0(
// CHECK-SAME: attributes {llvm.linkage = #llvm.linkage<internal>, relax.job} {
// CHECK: %[[FIRST:.+]] = arith.addi
// CHECK: %[[LAST:.+]] = arith.minsi
// CHECK: scf.for %{{.+}} = %[[FIRST]] to %[[LAST]] step
// CHECK-NEXT: memref.load
// What a kernel or an epilogue has threads do is marked, and called, as it is.
// CHECK-LABEL: func.func private @relax.gemm.f32.parallel.0(
// CHECK-SAME: attributes {llvm.linkage = #llvm.linkage<internal>, relax.as_generated, relax.job} {
// CHECK-LABEL: func.func private @relax.gemm.f32.epilogue_0.parallel.0(
// CHECK-SAME: attributes {llvm.linkage = #llvm.linkage<internal>, relax.as_generated, relax.job} {
// CHECK-LABEL: func.func private @relax.rt.parallel(
// CHECK-SAME: attributes {relax.support} {
func.func @scale(%x: memref<?xf32>, %y: memref<?xf32>, %factor: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %factor : f32
    memref.store %b, %y[%i] : memref<?xf32>
  } {relax.parallel}
  return
}

func.func @checked(%x: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xi32>
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    %a = memref.load %x[%i] : memref<?xi32>
    %b = arith.trunci %a : i32 to i1
    cf.assert %b, "odd"
  } {relax.parallel}
  return
}

func.func private @relax.parallel_cost(index)
func.func private @positive(i1) attributes {relax.check = "negative"}
func.func private @may_fail(index) attributes {relax.compiled_separately, relax.may_fail}
func.func private @cannot_fail(index) attributes {relax.compiled_separately}
func.func private @through(%b: i1) {
  func.call @further(%b) : (i1) -> ()
  return
}
func.func private @further(%b: i1) {
  cf.assert %b, "negative"
  return
}

func.func @calls_check(%x: memref<?xi1>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    %a = memref.load %x[%i] : memref<?xi1>
    func.call @positive(%a) : (i1) -> ()
  } {relax.parallel}
  return
}
func.func @calls_function(%b: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    func.call @through(%b) : (i1) -> ()
  } {relax.parallel}
  return
}
func.func @calls_failing(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    func.call @may_fail(%i) : (index) -> ()
  } {relax.parallel}
  return
}
func.func @calls_safe(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    func.call @cannot_fail(%i) : (index) -> ()
  } {relax.parallel}
  return
}

func.func @gone(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    %a = memref.load %x[%i] : memref<?xf32>
    %next = arith.addi %i, %c1 : index
    memref.store %a, %x[%next] : memref<?xf32>
  }
  return
}

func.func private @relax.gemm.f32(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) attributes {relax.as_generated} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    %a = memref.load %x[%i] : memref<?xf32>
    memref.store %a, %y[%i] : memref<?xf32>
  } {relax.parallel}
  return
}

func.func private @relax.gemm.f32.epilogue_0(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) attributes {relax.as_generated} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    %a = memref.load %x[%i] : memref<?xf32>
    memref.store %a, %y[%i] : memref<?xf32>
  } {relax.parallel}
  return
}
// -----
// The context holds each captured value once, the bounds first: sizes as i64, buffers as descriptors, and functions as
// pointers. Constants are not captured.
// CHECK-LABEL: func.func @captured(
// CHECK: %[[ONE:[0-9]+]] = llvm.mlir.constant(1 : i64)
// CHECK-NEXT: %{{[0-9]+}} = llvm.alloca %[[ONE]] x !llvm.struct<(i64, i64, i64, f32, struct
// CHECK: %{{[0-9]+}} = llvm.alloca %{{[0-9]+}} x !llvm.struct<(i64, i64, i64, ptr, f32, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, vector<4xf32>, ptr)> {alignment = 64 : i64}
// CHECK: %[[END:[0-9]+]] = arith.index_cast %end : index to i64
// CHECK-NEXT: %[[PLACE:[0-9]+]] = llvm.getelementptr %{{[0-9]+}}[0, 1]
// CHECK-NEXT: llvm.store %[[END]], %[[PLACE]] :
// CHECK: llvm.store %factor, %{{[0-9]+}} : f32, !llvm.ptr
// The number of iterations is 0 if there are none.
// CHECK: %[[SOME:[0-9]+]] = arith.cmpi slt, %begin, %end : index
// CHECK: %[[QUOTIENT:[0-9]+]] = arith.divui %{{[0-9]+}}, %step : index
// CHECK-NEXT: %[[NONE:[a-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[COUNT:[0-9]+]] = arith.select %[[SOME]], %[[QUOTIENT]], %[[NONE]] :
// CHECK: %[[THREADS:[a-z0-9_]+]] = arith.constant 2 : index
// CHECK-DAG: %[[COUNT_:[0-9]+]] = arith.index_cast %[[COUNT]] : index to i64
// CHECK-DAG: %[[COST_:[0-9]+]] = arith.index_cast %cost : index to i64
// CHECK-DAG: %[[THREADS_:[0-9]+]] = arith.index_cast %[[THREADS]] : index to i64
// CHECK: call @relax.rt.parallel(%{{[0-9]+}}, %{{[0-9]+}}, %[[COUNT_]], %[[COST_]], %[[THREADS_]])
// A second loop of the function has the next name.
// CHECK: constant @relax.parallel.1 :
// A job runs the iterations from %arg1 to %arg2.
// CHECK-LABEL: func.func private @relax.parallel.0(
// CHECK-SAME: %[[CONTEXT:.+]]: !llvm.ptr, %[[FIRST:.+]]: index, %[[LAST:.+]]: index)
// CHECK: %[[BEGIN_:[0-9]+]] = llvm.load %{{[0-9]+}} : !llvm.ptr -> i64
// CHECK-NEXT: %[[BEGIN:[0-9]+]] = arith.index_cast %[[BEGIN_]] : i64 to index
// CHECK: %[[FIELD:[0-9]+]] = llvm.getelementptr %[[CONTEXT]][0, 2]
// CHECK-NEXT: %[[STEP_:[0-9]+]] = llvm.load %[[FIELD]] : !llvm.ptr -> i64
// CHECK-NEXT: %[[STEP:[0-9]+]] = arith.index_cast %[[STEP_]] : i64 to index
// CHECK: constant @callee
// CHECK: %[[AHEAD:[0-9]+]] = arith.muli %[[FIRST]], %[[STEP]] : index
// CHECK-NEXT: %[[FROM:[0-9]+]] = arith.addi %[[BEGIN]], %[[AHEAD]] : index
// CHECK-NEXT: %[[WIDTH:[0-9]+]] = arith.muli %[[LAST]], %[[STEP]] : index
// CHECK-NEXT: %[[STOP:[0-9]+]] = arith.addi %[[BEGIN]], %[[WIDTH]] : index
// CHECK-NEXT: %[[TO:[0-9]+]] = arith.minsi %[[STOP]], %{{[0-9]+}} : index
// CHECK-NEXT: scf.for %{{[a-z]+}} = %[[FROM]] to %[[TO]] step %[[STEP]] {
// CHECK: llvm.mlir.global external @__relax_threads()
func.func private @relax.parallel_cost(index)
func.func private @callee(%x: f32) -> f32 { return %x : f32 }
func.func @captured(%begin: index, %end: index, %step: index, %cost: index, %x: memref<?xf32>, %factor: f32, %f: (f32) -> f32, %v: vector<4xf32>, %p: !llvm.ptr) {
  %known = func.constant @callee : (f32) -> f32
  scf.for %i = %begin to %end step %step {
    func.call @relax.parallel_cost(%cost) : (index) -> ()
    %a = func.call_indirect %f(%factor) : (f32) -> f32
    %b = func.call_indirect %known(%factor) : (f32) -> f32
    memref.store %factor, %x[%i] : memref<?xf32>
    memref.store %b, %x[%i] : memref<?xf32>
    llvm.store %v, %p : vector<4xf32>, !llvm.ptr
  } {relax.parallel}
  scf.for %i = %begin to %end step %step {
    func.call @relax.parallel_cost(%cost) : (index) -> ()
    memref.store %factor, %x[%i] : memref<?xf32>
  } {relax.parallel}
  return
}
// -----
// Of two nested loops the inner one runs on threads; so does one in a function that a loop calls.
// CHECK-LABEL: func.func private @called(
// CHECK: call @relax.rt.parallel(
// CHECK-LABEL: func.func @calls_outlined(
// CHECK-NOT: @relax.rt.parallel
// CHECK: scf.for
// CHECK-NEXT: call @called
// CHECK-LABEL: func.func @nested(
// CHECK: scf.for
// CHECK: call @relax.rt.parallel(
// CHECK-NEXT: }
// The mark in @gone has no loop: the loop that calls it is outlined.
// CHECK-LABEL: func.func @calls_gone(
// CHECK-NOT: scf.for
// CHECK: call @relax.rt.parallel(
// Functions that call themselves are looked at once.
// CHECK-LABEL: func.func @calls_recursive(
// CHECK-NOT: scf.for
// CHECK: call @relax.rt.parallel(
// CHECK-LABEL: func.func @calls_recursive_check(
// CHECK-NOT: @relax.rt.parallel
// CHECK: scf.for
// CHECK-NEXT: call @recursive_check
// The second loop of @twice still has its mark when its first one, which calls @twice, is looked at.
// CHECK-LABEL: func.func @twice(
// CHECK: scf.for
// CHECK-NEXT: call @twice
// CHECK: call @relax.rt.parallel(
func.func private @relax.parallel_cost(index)
func.func private @called(%x: memref<?xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    memref.store %v, %x[%i] : memref<?xf32>
  } {relax.parallel}
  return
}
func.func @calls_outlined(%x: memref<?xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    func.call @called(%x, %v, %n) : (memref<?xf32>, f32, index) -> ()
  } {relax.parallel}
  return
}
func.func @nested(%x: memref<?x?xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    scf.for %j = %c0 to %n step %c1 {
      func.call @relax.parallel_cost(%n) : (index) -> ()
      memref.store %v, %x[%i, %j] : memref<?x?xf32>
    } {relax.parallel}
  } {relax.parallel}
  return
}
func.func private @gone(%x: memref<?xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    memref.store %v, %x[%i] : memref<?xf32>
  }
  return
}
func.func @calls_gone(%x: memref<?xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    func.call @gone(%x, %v, %n) : (memref<?xf32>, f32, index) -> ()
  } {relax.parallel}
  return
}
func.func private @recursive() {
  func.call @recursive() : () -> ()
  return
}
func.func @calls_recursive(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    func.call @recursive() : () -> ()
  } {relax.parallel}
  return
}
func.func private @positive(i1) attributes {relax.check = "negative"}
func.func private @recursive_check(%b: i1) {
  func.call @recursive_check(%b) : (i1) -> ()
  func.call @positive(%b) : (i1) -> ()
  return
}
func.func @calls_recursive_check(%n: index, %b: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    func.call @recursive_check(%b) : (i1) -> ()
  } {relax.parallel}
  return
}
func.func @twice(%x: memref<?xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    func.call @twice(%x, %v, %i) : (memref<?xf32>, f32, index) -> ()
  } {relax.parallel}
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    memref.store %v, %x[%i] : memref<?xf32>
  } {relax.parallel}
  return
}
// -----
// What a loop inside of the job computes is not captured.
// CHECK-LABEL: func.func @inside(
// CHECK: llvm.alloca %{{[0-9]+}} x !llvm.struct<(i64, struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>)>
// CHECK: call @relax.rt.parallel(
// A mark that does not begin its loop is of one that is gone.
// CHECK-LABEL: func.func @late(
// CHECK: scf.for
// CHECK-NEXT: memref.store
func.func private @relax.parallel_cost(index)
func.func @inside(%x: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    scf.for %j = %c0 to %n step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x?xf32>
      %b = arith.negf %a : f32
      memref.store %b, %x[%i, %j] : memref<?x?xf32>
    }
  } {relax.parallel}
  return
}
func.func @late(%x: memref<?xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %x[%i] : memref<?xf32>
    func.call @relax.parallel_cost(%n) : (index) -> ()
  } {relax.parallel}
  return
}
// -----
// Without marks nothing is declared.
// CHECK-LABEL: func.func @unmarked(
// CHECK-NEXT: return
// CHECK-NOT: parallel
func.func @unmarked() { return }
