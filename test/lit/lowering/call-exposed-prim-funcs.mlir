// RUN: relax-opt %s --call-exposed-prim-funcs | filecheck %s

func.func private @f.prim(%a: memref<?xf32>, %n: index) attributes {relax.prim_func} { return }

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]: memref<?xf32>, %[[N:[A-Za-z0-9_]+]]: index)
// CHECK-NOT: relax.exposes
// CHECK: call @f.prim(%[[A]], %[[N]])
// CHECK-NEXT: return
func.func @f(%a: memref<?xf32>, %n: index) attributes {relax.exposes = {callee = @f.prim, written = array<i64: 0>}} { return }

// Other functions stay; the call comes last in what an entry does.
// CHECK-LABEL: func.func @g(
// CHECK-NEXT: return
func.func @g(%a: memref<?xf32>, %n: index) { return }

// CHECK-LABEL: func.func @h(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]: memref<?xf32>, %[[N:[A-Za-z0-9_]+]]: index)
// CHECK-NEXT: call @g(%[[A]], %[[N]])
// CHECK-NEXT: call @f.prim(%[[A]], %[[N]])
// CHECK-NEXT: return
func.func @h(%a: memref<?xf32>, %n: index) attributes {relax.exposes = {callee = @f.prim, written = array<i64: 0>}} {
  call @g(%a, %n) : (memref<?xf32>, index) -> ()
  return
}
