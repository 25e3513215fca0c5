// Where control flow goes on with a declared type, what becomes better known is made to forget, or is not refined.
// RUN: relax-opt --normalize %s | filecheck %s
// RUN: relax-opt --normalize --normalize %s | filecheck %s

// A shape value in one branch alone.
// CHECK-LABEL: func.func @shapes
// CHECK: scf.if {{.*}} -> (!relax.shape_value<["?", "?"]>)
// CHECK: %[[S:.*]] = "relax.shape_of"(%{{.*}}) : ({{.*}}) -> !relax.shape_value<["n", "m"]>
// CHECK: %[[F:.*]] = "relax.match_shape"(%[[S]]) {pattern = ["?", "?"], result_dtype}
// CHECK: scf.yield %[[F]] : !relax.shape_value<["?", "?"]>
func.func @shapes(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>, %s: !relax.shape_value<["?", "?"]>, %c: tensor<i1>)
    -> !relax.shape_value<["?", "?"]> {
  %f = tensor.extract %c[] : tensor<i1>
  %r = scf.if %f -> !relax.shape_value<["?", "?"]> {
    scf.yield %s : !relax.shape_value<["?", "?"]>
  } else {
    %2 = "relax.shape_of"(%x) : (tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> !relax.shape_value<["?", "?"]>
    scf.yield %2 : !relax.shape_value<["?", "?"]>
  }
  return %r : !relax.shape_value<["?", "?"]>
}

// Both branches learn the same: so does the result.
// CHECK-LABEL: func.func @agreed
// CHECK-SAME: -> !relax.shape_value<["n"]>
// CHECK: scf.if {{.*}} -> (!relax.shape_value<["n"]>)
func.func @agreed(%x: tensor<?xf32, #relax.shape<["n"]>>, %c: tensor<i1>) -> !relax.shape_value<["?"]> {
  %f = tensor.extract %c[] : tensor<i1>
  %r = scf.if %f -> !relax.shape_value<["?"]> {
    %1 = "relax.shape_of"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> !relax.shape_value<["?"]>
    scf.yield %1 : !relax.shape_value<["?"]>
  } else {
    %2 = "relax.shape_of"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> !relax.shape_value<["?"]>
    scf.yield %2 : !relax.shape_value<["?"]>
  }
  return %r : !relax.shape_value<["?"]>
}

// A tuple, field by field.
// CHECK-LABEL: func.func @tuples
// CHECK: scf.if {{.*}} -> (tuple<tensor<?xf32>, !relax.shape_value<["?"]>>)
// CHECK: %[[E:.*]] = "relax.exp"({{.*}}) -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK: %[[M:.*]] = "relax.match_shape"(%[[E]]) {pattern = ["?"], result_dtype}
// CHECK: %[[T:.*]] = builtin.unrealized_conversion_cast %[[M]], %{{.*}} : tensor<?xf32>, !relax.shape_value<["?"]> to
// CHECK: scf.yield %[[T]] :
func.func @tuples(%x: tensor<?xf32, #relax.shape<["n"]>>, %c: tensor<i1>, %y: tensor<?xf32>, %s: !relax.shape_value<["?"]>)
    -> tuple<tensor<?xf32>, !relax.shape_value<["?"]>> {
  %f = tensor.extract %c[] : tensor<i1>
  %r = scf.if %f -> tuple<tensor<?xf32>, !relax.shape_value<["?"]>> {
    %t = builtin.unrealized_conversion_cast %y, %s : tensor<?xf32>, !relax.shape_value<["?"]> to tuple<tensor<?xf32>, !relax.shape_value<["?"]>>
    scf.yield %t : tuple<tensor<?xf32>, !relax.shape_value<["?"]>>
  } else {
    %1 = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32>
    %t = builtin.unrealized_conversion_cast %1, %s : tensor<?xf32>, !relax.shape_value<["?"]> to tuple<tensor<?xf32>, !relax.shape_value<["?"]>>
    scf.yield %t : tuple<tensor<?xf32>, !relax.shape_value<["?"]>>
  }
  return %r : tuple<tensor<?xf32>, !relax.shape_value<["?"]>>
}

// A rank cannot be forgotten: the value stays as it is declared, also as a field that is at hand.
// CHECK-LABEL: func.func @unknown_rank
// CHECK: "relax.exp"({{.*}}) -> tensor<*xf32>
// CHECK: scf.yield %{{.*}} : tensor<*xf32>
// CHECK: "relax.tuple_get_item"
// CHECK: scf.yield %{{.*}} : tensor<*xf32>
func.func @unknown_rank(%x: tensor<?xf32, #relax.shape<["n"]>>, %c: tensor<i1>) -> tensor<*xf32> {
  %f = tensor.extract %c[] : tensor<i1>
  %r = scf.if %f -> tensor<*xf32> {
    %1 = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<*xf32>
    scf.yield %1 : tensor<*xf32>
  } else {
    %t = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
    %2 = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<*xf32>
    scf.yield %2 : tensor<*xf32>
  }
  return %r : tensor<*xf32>
}

// What loops carry, tuples and values of unknown rank.
// CHECK-LABEL: func.func @loops
// CHECK: "relax.exp"({{.*}}) -> tensor<*xf32>
// CHECK: %[[S:.*]] = "relax.shape_of"({{.*}}) -> !relax.shape_value<["n"]>
// CHECK: %[[M:.*]] = "relax.match_shape"(%[[S]]) {pattern = ["?"], result_dtype}
// CHECK: builtin.unrealized_conversion_cast %[[M]] :
// CHECK: scf.for
// CHECK: "relax.exp"({{.*}}) -> tensor<*xf32>
// CHECK: scf.yield {{.*}} : tensor<*xf32>, tuple<!relax.shape_value<["?"]>>
func.func @loops(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<*xf32> {
  %0 = "relax.prim_value"() {value = 0 : i64} : () -> i64
  %1 = "relax.prim_value"() {value = 1 : i64} : () -> i64
  %2 = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<*xf32>
  %3 = "relax.shape_of"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> !relax.shape_value<["?"]>
  %4 = builtin.unrealized_conversion_cast %3 : !relax.shape_value<["?"]> to tuple<!relax.shape_value<["?"]>>
  %5:2 = scf.for %i = %0 to %1 step %1 iter_args(%a = %2, %b = %4) -> (tensor<*xf32>, tuple<!relax.shape_value<["?"]>>) : i64 {
    %e = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<*xf32>
    scf.yield %e, %b : tensor<*xf32>, tuple<!relax.shape_value<["?"]>>
  }
  return %5#0 : tensor<*xf32>
}

// Both sides of a while loop.
// CHECK-LABEL: func.func @while
// CHECK: scf.while (%{{.*}} = %{{.*}}) : (tensor<?xf32>) -> tensor<?xf32>
// CHECK: %[[E:.*]] = "relax.exp"({{.*}}) -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK: %[[M:.*]] = "relax.match_shape"(%[[E]]) {pattern = ["?"], result_dtype}
// CHECK: scf.condition(%{{.*}}) %[[M]] : tensor<?xf32>
// CHECK: scf.yield %{{.*}} : tensor<?xf32>
func.func @while(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<?xf32>, %c: tensor<i1>) -> tensor<?xf32> {
  %f = tensor.extract %c[] : tensor<i1>
  %r = scf.while (%a = %y) : (tensor<?xf32>) -> tensor<?xf32> {
    %e = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32>
    scf.condition(%f) %e : tensor<?xf32>
  } do {
  ^bb0(%b: tensor<?xf32>):
    scf.yield %b : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// What a match_shape asserts and can never hold is left for it to raise when the program runs.
// CHECK-LABEL: func.func @never
// CHECK: "relax.exp"({{.*}}) -> tensor<?xf32>
// CHECK: "relax.match_shape"({{.*}}) {pattern = [4]
func.func @never(%x: tensor<3xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<3xf32>) -> tensor<?xf32>
  %1 = "relax.match_shape"(%0) {pattern = [4], result_dtype} : (tensor<?xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A function that another one calls, before and after it: what the caller gets is better known, or stays.
// CHECK-LABEL: func.func @caller
// CHECK-SAME: -> tensor<*xf32>
// CHECK: scf.yield %{{.*}} : tensor<*xf32>
func.func @caller(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<*xf32>, %c: tensor<i1>) -> tensor<*xf32> {
  %f = tensor.extract %c[] : tensor<i1>
  %r = scf.if %f -> tensor<*xf32> {
    %t = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
    %1 = "relax.call"(%t) {callee = @callee} : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<*xf32>
    scf.yield %1 : tensor<*xf32>
  } else {
    scf.yield %y : tensor<*xf32>
  }
  return %r : tensor<*xf32>
}
// CHECK-LABEL: func.func private @callee
// CHECK-SAME: -> tensor<?xf32, #relax.shape<["k"]>>
func.func private @callee(%x: tensor<?xf32, #relax.shape<["k"]>>) -> tensor<*xf32> {
  %0 = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["k"]>>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
