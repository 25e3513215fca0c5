// Loops at level T: carried tensors of sizes that stay have one buffer, into which every round writes.
// RUN: relax-opt --lower-symbolic-shapes %s --split-input-file | filecheck %s

func.func private @add(%a: tensor<?xf32>, %b: tensor<?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %0 = linalg.add ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%o : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func @for
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %[[K:.*]]: index, %[[OUT:.*]]: tensor<?xf32>)
// CHECK: %[[L:.*]]:2 = scf.for %[[I:.*]] = %{{.*}} to %[[K]] step %{{.*}} iter_args(%[[A:.*]] = %[[X]], %[[B:.*]] = %[[X]])
// CHECK: %[[S:.*]] = func.call @add(%[[A]], %[[B]], %{{.*}})
// CHECK-NOT: bufferization.alloc_tensor
// CHECK: %[[MA:.*]] = bufferization.materialize_in_destination %[[B]] in %[[A]] :
// CHECK: %[[MB:.*]] = bufferization.materialize_in_destination %[[S]] in %[[B]] :
// CHECK: scf.yield %[[MA]], %[[MB]] :
func.func @for(%x: tensor<?xf32, #relax.shape<["n"]>>, %s: !relax.shape_value<["k"]>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = "relax.prim_value"() {value = 0 : i64} : () -> i64
  %1 = "relax.prim_value"() {value = "k"} : () -> i64
  %2 = "relax.prim_value"() {value = 1 : i64} : () -> i64
  %3:2 = scf.for %i = %0 to %1 step %2 iter_args(%a = %x, %b = %x) -> (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>) : i64 {
    %m = "relax.match_shape"(%i) {pattern = ["i"], result_dtype} : (i64) -> i64
    %t = builtin.unrealized_conversion_cast %a, %b : tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>>
    %c = "relax.call_tir"(%t) {callee = @add, tir_vars = []} : (tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
    scf.yield %b, %c : tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>
  }
  return %3#0 : tensor<?xf32, #relax.shape<["n"]>>
}
// -----
// Integers are index values; a symbol of one that may be negative is checked, and so is a divisor.
// CHECK-LABEL: func.func @while
// CHECK-SAME: %[[K:.*]]: index
// CHECK: scf.while (%[[B:.*]] = %[[K]]) : (index) -> index
// CHECK: %[[F:.*]] = arith.cmpi sgt, %[[B]], %{{.*}} : index
// CHECK: scf.condition(%[[F]]) %[[B]] : index
// CHECK: ^bb0(%[[A:.*]]: index):
// CHECK: %[[P:.*]] = arith.cmpi sgt, %[[T:.*]], %{{.*}} : index
// CHECK: call @relax.check.0(%[[P]], %[[T]])
// CHECK: %[[D:.*]] = arith.floordivsi %[[A]], %[[T]] : index
// CHECK: scf.yield %[[D]] : index
func.func @while(%k: i64) -> tensor<i64> {
  %0 = "relax.prim_value"() {value = 2 : i64} : () -> i64
  %1 = scf.while (%b = %k) : (i64) -> i64 {
    %f = arith.cmpi sgt, %b, %0 : i64
    scf.condition(%f) %b : i64
  } do {
  ^bb0(%a: i64):
    %d = arith.floordivsi %a, %0 : i64
    scf.yield %d : i64
  }
  %2 = tensor.from_elements %1 : tensor<i64>
  return %2 : tensor<i64>
}
