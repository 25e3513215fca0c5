// A loop carries the tensors of its surroundings that a round may change; a conditional without else gets one.
// RUN: relax-opt --explicit-effects %s | filecheck %s

// CHECK-LABEL: func.func @for
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
// CHECK: %[[L:.*]] = scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[A:.*]] = %[[X]]) -> (tensor<4xf32>)
// CHECK: %[[I:.*]] = scf.if %{{.*}} -> (tensor<4xf32>) {
// CHECK: builtin.unrealized_conversion_cast %[[A]] :
// CHECK: %[[U:.*]] = "relax.updated"(%[[A]])
// CHECK: scf.yield %[[U]] :
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[A]] :
// CHECK: scf.yield %[[I]] :
// CHECK: return %[[L]] :
func.func @for(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %0 = "relax.prim_value"() {value = 0 : i64} : () -> i64
  %1 = "relax.prim_value"() {value = 1 : i64} : () -> i64
  scf.for %i = %0 to %1 step %1 : i64 {
    %f = tensor.extract %c[] : tensor<i1>
    scf.if %f {
      %t = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
      %e = "relax.call_packed"(%t) {arg_spec = [unit], func = "f"} : (tuple<tensor<4xf32>>) -> tuple<>
    }
  }
  return %x : tensor<4xf32>
}

// What the condition changes is passed on to the body, and to what follows.
// CHECK-LABEL: func.func @while
// CHECK-SAME: (%[[X:[^:]*]]: tensor<4xf32>
// CHECK: %[[W:.*]] = scf.while (%[[B:.*]] = %[[X]])
// CHECK: %[[U:.*]] = "relax.updated"(%[[B]])
// CHECK: scf.condition(%{{.*}}) %[[U]] :
// CHECK: ^bb0(%[[D:.*]]: tensor<4xf32>):
// CHECK-NEXT: scf.yield %[[D]] :
// CHECK: return %[[W]] :
func.func @while(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  scf.while : () -> () {
    %t = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
    %e = "relax.call_packed"(%t) {arg_spec = [unit], func = "f"} : (tuple<tensor<4xf32>>) -> tuple<>
    %f = tensor.extract %c[] : tensor<i1>
    scf.condition(%f)
  } do {
    scf.yield
  }
  return %x : tensor<4xf32>
}
