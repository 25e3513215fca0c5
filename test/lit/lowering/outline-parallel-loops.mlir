// RUN: relax-opt --outline-parallel-loops="target='cpu -mcpu=haswell -num-threads=2'" %s | filecheck %s

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
// CHECK: scf.for %{{.+}} = %[[FIRST]] to %[[LAST]]
// CHECK-NEXT: memref.load
// What a kernel or an epilogue has threads do is marked, and called, as it is.
// CHECK-LABEL: func.func private @relax.gemm.f32.parallel.0(
// CHECK-SAME: attributes {llvm.linkage = #llvm.linkage<internal>, relax.job, relax.shared_group = "relax.gemm.f32 product"} {
// CHECK-LABEL: func.func private @relax.gemm.f32.epilogue_0.parallel.0(
// CHECK-SAME: attributes {llvm.linkage = #llvm.linkage<internal>, relax.as_generated, relax.job} {
// CHECK-LABEL: func.func private @relax.rt.parallel(
// CHECK-SAME: attributes {relax.shared_group = "relax.rt"} {
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

func.func private @relax.gemm.f32(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) attributes {relax.shared_group = "relax.gemm.f32 product"} {
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
