// RUN: relax-opt %s --cut-functions | filecheck %s
// RUN: relax-opt %s --cut-functions | filecheck %s --check-prefix=PARTS
// cut_functions.py: what leaves of a module's own functions, as parts of module_parts.py.

// What is used of a part is declared; what may fail, takes memory, copies, or calls what stays, stays; what nobody calls
// is in no part.
// CHECK-LABEL: module
// CHECK: func.func private @relax.gemm.f32.block(memref<4xf32>) attributes {relax.compiled_apart}
// CHECK-NOT: @inner
// CHECK: func.func private @outer(memref<4xf32>) attributes {relax.compiled_apart}
// CHECK: func.func private @fails(%{{.*}}: memref<4xf32>) {
// CHECK: func.func private @takes(%{{.*}}: memref<4xf32>) {
// CHECK: func.func private @copies(%{{.*}}: memref<4xf32>) {
// CHECK: func.func private @needs(%{{.*}}: memref<4xf32>) {
// CHECK: func.func private @asks(%{{.*}}: memref<4xf32>) {
// CHECK: func.func private @unused(%{{.*}}: memref<4xf32>) {
// CHECK: func.func @main

// PARTS: module @functions.0 {
// PARTS: func.func private @relax.gemm.f32.block(memref<4xf32>)
// PARTS: func.func private @inner(%{{.*}}) attributes {llvm.linkage = #llvm.linkage<internal>
// PARTS: func.func private @outer(%{{.*}}) attributes {llvm.linkage = #llvm.linkage<external>
// PARTS: call @inner
// PARTS: call @relax.gemm.f32.block
// PARTS-NOT: module @
module {
  func.func private @relax.gemm.f32.block(memref<4xf32>) attributes {relax.compiled_apart}
  func.func private @outside(memref<4xf32>)
  func.func private @inner(%m: memref<4xf32>) {
    %i = arith.constant 0 : index
    %x = memref.load %m[%i] : memref<4xf32>
    %y = math.sqrt %x : f32
    memref.store %y, %m[%i] : memref<4xf32>
    return
  }
  func.func private @outer(%m: memref<4xf32>) {
    func.call @inner(%m) : (memref<4xf32>) -> ()
    func.call @relax.gemm.f32.block(%m) : (memref<4xf32>) -> ()
    return
  }
  func.func private @fails(%m: memref<4xf32>) {
    %never = arith.constant false
    cf.assert %never, "no"
    return
  }
  func.func private @takes(%m: memref<4xf32>) {
    %b = memref.alloc() : memref<4xf32>
    memref.dealloc %b : memref<4xf32>
    return
  }
  func.func private @copies(%m: memref<4xf32>) {
    memref.copy %m, %m : memref<4xf32> to memref<4xf32>
    return
  }
  func.func private @needs(%m: memref<4xf32>) {
    func.call @fails(%m) : (memref<4xf32>) -> ()
    return
  }
  func.func private @asks(%m: memref<4xf32>) {
    func.call @outside(%m) : (memref<4xf32>) -> ()
    return
  }
  func.func private @unused(%m: memref<4xf32>) {
    return
  }
  func.func @main(%m: memref<4xf32>) {
    func.call @outer(%m) : (memref<4xf32>) -> ()
    func.call @takes(%m) : (memref<4xf32>) -> ()
    func.call @copies(%m) : (memref<4xf32>) -> ()
    func.call @needs(%m) : (memref<4xf32>) -> ()
    func.call @asks(%m) : (memref<4xf32>) -> ()
    return
  }
}
