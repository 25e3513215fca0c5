// Forwards as normalize does; backwards from a match_shape over the ops that keep the shape.
// RUN: relax-opt %s --refine-shapes --split-input-file | filecheck %s
// passes/shapes.py, shape_hoisting.py.

// The check moves up to the parameter; what lies between knows the shape and the dtype.
// CHECK-LABEL: func.func @backwards(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<*x!relax.any>) -> tensor<?xf32, #relax.shape<["m*n"]>>
// CHECK-NEXT: %[[M:[A-Za-z0-9_]+]] = "relax.match_shape"(%[[X]]) {pattern = ["m", "n"], result_dtype = f32}
// CHECK-NEXT: %[[L:[A-Za-z0-9_]+]] = "relax.log"(%[[M]]) : ({{.*}}["m", "n"]>>) -> tensor<?x?xf32, #relax.shape<["m", "n"]>>
// CHECK-NEXT: %[[F:[A-Za-z0-9_]+]] = "relax.flatten"(%[[L]])
// CHECK-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.match_shape"(%[[L]])
// CHECK-NEXT: "relax.add"(%[[E]],
// CHECK-NEXT: return %[[F]] :
func.func @backwards(%x: tensor<*x!relax.any>) -> tensor<?x!relax.any> {
  %0 = "relax.log"(%x) : (tensor<*x!relax.any>) -> tensor<*x!relax.any>
  %1 = "relax.flatten"(%0) : (tensor<*x!relax.any>) -> tensor<?x!relax.any>
  %2 = "relax.match_shape"(%0) {pattern = ["m", "n"], result_dtype = f32} : (tensor<*x!relax.any>) -> tensor<?x?xf32, #relax.shape<["m", "n"]>>
  %3 = "relax.add"(%2, %2) : (tensor<?x?xf32, #relax.shape<["m", "n"]>>, tensor<?x?xf32, #relax.shape<["m", "n"]>>) -> tensor<?x?xf32, #relax.shape<["m", "n"]>>
  return %1 : tensor<?x!relax.any>
}

// A chain, a permutation and a scalar operand; the match_shape has no other use of its operand and goes.
// CHECK-LABEL: func.func @chain(
// CHECK: %[[M:[A-Za-z0-9_]+]] = "relax.match_shape"(%{{.*}}) {pattern = ["m", 4]
// CHECK-NEXT: "relax.exp"(%[[M]])
// CHECK-NEXT: "relax.multiply"
// CHECK-NEXT: "relax.permute_dims"
// CHECK-SAME: -> tensor<4x?xf32, #relax.shape<[4, "m"]>>
// CHECK-NEXT: return
func.func @chain(%x: tensor<?x?xf32>, %s: tensor<f32>) -> tensor<4x?xf32, #relax.shape<[4, "m"]>> {
  %0 = "relax.exp"(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = "relax.multiply"(%0, %s) : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  %2 = "relax.permute_dims"(%1) {axes} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %3 = "relax.match_shape"(%2) {pattern = [4, "m"], result_dtype} : (tensor<?x?xf32>) -> tensor<4x?xf32, #relax.shape<[4, "m"]>>
  return %3 : tensor<4x?xf32, #relax.shape<[4, "m"]>>
}

// Into a dataflow block, for one result and for one of several.
// CHECK-LABEL: func.func @dataflow(
// CHECK: "relax.dataflow"
// CHECK-NEXT: "relax.match_shape"(%x) {pattern = ["m"]
// CHECK-NEXT: "relax.exp"
// CHECK-NEXT: "relax.match_shape"(%y) {pattern = ["m"]
// CHECK-NEXT: "relax.log"
func.func @dataflow(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tuple<tensor<?xf32, #relax.shape<["m"]>>, tensor<?xf32, #relax.shape<["m"]>>> {
  %0 = "relax.dataflow"() ({
    %1 = "relax.exp"(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %2 = "relax.log"(%y) : (tensor<?xf32>) -> tensor<?xf32>
    %3 = builtin.unrealized_conversion_cast %1, %2 : tensor<?xf32>, tensor<?xf32> to tuple<tensor<?xf32>, tensor<?xf32>>
    "relax.output"(%3) : (tuple<tensor<?xf32>, tensor<?xf32>>) -> ()
  }) : () -> tuple<tensor<?xf32>, tensor<?xf32>>
  %4 = "relax.tuple_get_item"(%0) {index = 0 : i64} : (tuple<tensor<?xf32>, tensor<?xf32>>) -> tensor<?xf32>
  %5 = "relax.tuple_get_item"(%0) {index = 1 : i64} : (tuple<tensor<?xf32>, tensor<?xf32>>) -> tensor<?xf32>
  %6 = "relax.match_shape"(%4) {pattern = ["m"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["m"]>>
  %7 = "relax.match_shape"(%5) {pattern = ["m"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["m"]>>
  %8 = builtin.unrealized_conversion_cast %6, %7 : tensor<?xf32, #relax.shape<["m"]>>, tensor<?xf32, #relax.shape<["m"]>> to tuple<tensor<?xf32, #relax.shape<["m"]>>, tensor<?xf32, #relax.shape<["m"]>>>
  return %8 : tuple<tensor<?xf32, #relax.shape<["m"]>>, tensor<?xf32, #relax.shape<["m"]>>>
}

// Callers learn what their callees have learnt, in whatever order they stand.
// CHECK-LABEL: func.func @caller(
// CHECK-SAME: -> tensor<?xf32, #relax.shape<["2*k"]>>
// CHECK: "relax.call"({{.*}} -> tensor<?xf32, #relax.shape<["2*k"]>>
// CHECK-LABEL: func.func private @callee(
// CHECK-SAME: -> tensor<?xf32, #relax.shape<["n"]>>
func.func @caller(%x: tensor<?xf32, #relax.shape<["2*k"]>>) -> tensor<?xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["2*k"]>> to tuple<tensor<?xf32, #relax.shape<["2*k"]>>>
  %1 = "relax.call"(%0) {callee = @callee} : (tuple<tensor<?xf32, #relax.shape<["2*k"]>>>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
func.func private @callee(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32> {
  %0 = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// -----
// So do all of a chain of calls, the last of which is the first to learn.
// CHECK-LABEL: func.func private @first(
// CHECK-SAME: -> tensor<?xf32, #relax.shape<["k"]>>
// CHECK-LABEL: func.func private @second(
// CHECK-SAME: -> tensor<?xf32, #relax.shape<["k"]>>
// CHECK-LABEL: func.func private @third(
// CHECK-SAME: -> tensor<?xf32, #relax.shape<["k"]>>
!k = tensor<?xf32, #relax.shape<["k"]>>
func.func private @first(%x: !k) -> tensor<?xf32> {
  %0 = builtin.unrealized_conversion_cast %x : !k to tuple<!k>
  %1 = "relax.call"(%0) {callee = @second} : (tuple<!k>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
func.func private @second(%x: !k) -> tensor<?xf32> {
  %0 = builtin.unrealized_conversion_cast %x : !k to tuple<!k>
  %1 = "relax.call"(%0) {callee = @third} : (tuple<!k>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
func.func private @third(%x: !k) -> tensor<?xf32> {
  %0 = "relax.exp"(%x) : (!k) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// -----
// Other users of what is known now learn it, too, though the function's type stays.
// CHECK-LABEL: func.func @other_user(
// CHECK: %[[M:[A-Za-z0-9_]+]] = "relax.match_shape"(%{{[a-z0-9_]+}}) {pattern = ["m", 4]
// CHECK-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.exp"(%[[M]])
// CHECK-NEXT: "relax.flatten"(%[[E]]) : (tensor<?x4xf32, #relax.shape<["m", 4]>>) -> tensor<?xf32, #relax.shape<["4*m"]>>
func.func @other_user(%x: tensor<?x?xf32>) -> tensor<?x4xf32, #relax.shape<["m", 4]>> {
  %0 = "relax.exp"(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = "relax.flatten"(%0) : (tensor<?x?xf32>) -> tensor<?xf32>
  %2 = "relax.match_shape"(%0) {pattern = ["m", 4], result_dtype} : (tensor<?x?xf32>) -> tensor<?x4xf32, #relax.shape<["m", 4]>>
  return %2 : tensor<?x4xf32, #relax.shape<["m", 4]>>
}
// -----
// A module may hold more than functions. What a packed function changes is another value before the types are deduced.
// CHECK: memref.global "private" @other
// CHECK-LABEL: func.func @changed(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>
// CHECK: "relax.call_packed"
// CHECK-NEXT: %[[NEW:[A-Za-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: "relax.subtract"(%[[NEW]], %[[NEW]])
memref.global "private" @other : memref<2xf32>
func.func @changed(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %c = "relax.call_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> tuple<>
  %r = "relax.subtract"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
