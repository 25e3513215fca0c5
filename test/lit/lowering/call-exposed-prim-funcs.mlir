// RUN: relax-opt %s --call-exposed-prim-funcs | filecheck %s

func.func private @f.prim(%a: memref<?xf32>, %n: index) attributes {relax.prim_func} { return }

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]: memref<?xf32>, %[[N:[A-Za-z0-9_]+]]: index)
// CHECK-NOT: relax.exposes
// CHECK: call @f.prim(%[[A]], %[[N]])
// CHECK-NEXT: return
func.func @f(%a: memref<?xf32>, %n: index) attributes {relax.exposes = {callee = @f.prim, written = array<i64: 0>}} { return }

// CHECK-LABEL: func.func @g(
// CHECK-NEXT: return
func.func @g(%a: memref<?xf32>, %n: index) { return }
