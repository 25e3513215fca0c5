// Fields of tuples at hand are names of what the tuples are made of; calls have tuples of their own; tensors that may
// turn out to be one are kept apart; functions inside functions have effects of their own.
// RUN: relax-opt --explicit-effects %s | filecheck %s
// RUN: relax-opt --explicit-effects --explicit-effects %s | filecheck %s

!v = tensor<?xf32, #relax.shape<["n"]>>

// CHECK-LABEL: func.func @fields
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK: %[[T:[a-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]],
// CHECK-NOT: relax.tuple_get_item
// CHECK: "relax.call_packed"(%{{[a-z0-9_]+}})
// CHECK-NEXT: %[[Y:[a-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK: "relax.add"(%[[Y]], %[[Y]])
// CHECK: builtin.unrealized_conversion_cast %{{[a-z0-9_]+}}, %[[T]] :
func.func @fields(%x: !v) -> tuple<!v, tuple<!v, !v>> {
  %t = builtin.unrealized_conversion_cast %x, %x : !v, !v to tuple<!v, !v>
  %f = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!v, !v>) -> !v
  %a = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %c = "relax.call_packed"(%a) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  %g = "relax.tuple_get_item"(%t) {index = 1 : i64} : (tuple<!v, !v>) -> !v
  %r = "relax.add"(%f, %g) : (!v, !v) -> !v
  %u = builtin.unrealized_conversion_cast %r, %t : !v, tuple<!v, !v> to tuple<!v, tuple<!v, !v>>
  return %u : tuple<!v, tuple<!v, !v>>
}

// The second call gets what the first one has left.
// CHECK-LABEL: func.func @one_tuple
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK: %[[Y:[a-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]] :
// CHECK-NEXT: "relax.call_packed"(%[[A]])
// CHECK-NEXT: %[[Z:[a-z0-9_]+]] = "relax.updated"(%[[Y]])
// CHECK-NEXT: return %[[Z]] :
func.func @one_tuple(%x: !v) -> !v {
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %c = "relax.call_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  %d = "relax.call_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  return %x : !v
}

// Parameters may turn out to be one value when the function is inlined; of another dtype they cannot.
// CHECK-LABEL: func.func private @parameters
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: {{.*}}, %[[Y:[a-z0-9_]+]]: {{.*}}, %[[Z:[a-z0-9_]+]]:
// CHECK: %[[D:[a-z0-9_]+]] = "relax.distinct"(%[[Y]])
// CHECK-NEXT: builtin.unrealized_conversion_cast %[[X]], %[[D]], %[[Z]] :
func.func private @parameters(%x: !v, %y: !v, %z: tensor<?xi32, #relax.shape<["n"]>>) -> !v {
  %t = builtin.unrealized_conversion_cast %x, %y, %z : !v, !v, tensor<?xi32, #relax.shape<["n"]>> to tuple<!v, !v, tensor<?xi32, #relax.shape<["n"]>>>
  %c = "relax.call_packed"(%t) {func = "f", arg_spec = [unit, unit, unit]} : (tuple<!v, !v, tensor<?xi32, #relax.shape<["n"]>>>) -> tuple<>
  return %x : !v
}

// CHECK-LABEL: func.func @lambda
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK: relax.lambda
// CHECK: %[[Y:[a-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: "relax.lambda_return"(%[[Y]])
// CHECK: return %[[X]] :
func.func @lambda(%x: !v) -> !v {
  %l = "relax.lambda"() ({
  ^bb0(%p: !v):
    %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
    %c = "relax.call_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
    "relax.lambda_return"(%x) : (!v) -> ()
  }) {names = ["p"]} : () -> !relax.callable<[tensor<?xf32, #relax.shape<["n"]>>], tensor<?xf32, #relax.shape<["n"]>>, false>
  return %x : !v
}

// Without a call of a packed function nothing changes.
// CHECK-LABEL: func.func @no_calls
// CHECK: relax.tuple_get_item
func.func @no_calls(%x: !v) -> !v {
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %f = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!v>) -> !v
  return %f : !v
}

// A tuple that is used once, before the call, stays; after another effect, or in another block, the call gets its own.
// CHECK-LABEL: @tuples(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[Y:[A-Za-z0-9_]+]]:{{.*}}%[[C:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] :
// CHECK-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.exp"(%[[Y]])
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[T]]) {arg_spec = [unit], func = "f"}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]] :
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[V2]]) {arg_spec = [unit], func = "f"}
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.updated"(%[[Y]])
// CHECK-NEXT: %[[F:[A-Za-z0-9_]+]] = tensor.extract %[[C]][] : tensor<i1>
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = scf.if %[[F]] ->
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[E]] :
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[V6]]) {arg_spec = [unit], func = "f"}
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = "relax.updated"(%[[E]])
// CHECK-NEXT: scf.yield %[[V8]] :
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[E]] :
// CHECK: return %[[V5]] :
func.func @tuples(%x: !v, %y: !v, %c: tensor<i1>) -> !v {
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %u = builtin.unrealized_conversion_cast %y : !v to tuple<!v>
  %e = "relax.exp"(%y) : (!v) -> !v
  %0 = "relax.call_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  %1 = "relax.call_packed"(%u) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  %w = builtin.unrealized_conversion_cast %e : !v to tuple<!v>
  %f = tensor.extract %c[] : tensor<i1>
  scf.if %f {
    %2 = "relax.call_packed"(%w) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  }
  return %e : !v
}

// Tuples of parameters and of results are taken apart, also those without fields.
// CHECK-LABEL: @results(
// CHECK-SAME: %[[T:[A-Za-z0-9_]+]]:{{.*}}%[[X:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[T]]) {index = 0 : i64}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[T]]) {index = 1 : i64}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V0]], %[[V1]] :
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[V2]]) {arg_spec = [unit, unit], func = "f"}
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.updated"(%[[V0]])
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[V5]]) {arg_spec = [], func = "f"}
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] :
// CHECK-NEXT: %[[P:[A-Za-z0-9_]+]] = "relax.call_pure_packed"(%[[A]]) {arg_spec = [unit], func = "g"}
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 0 : i64}
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 1 : i64}
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = "relax.distinct"(%[[V8]])
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V7]], %[[V9]] :
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[V10]]) {arg_spec = [unit, unit], func = "f"}
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = "relax.updated"(%[[V7]])
// CHECK-NEXT: %[[V13:[A-Za-z0-9_]+]] = "relax.updated"(%[[V9]])
// CHECK-NEXT: return %[[X]] :
func.func @results(%t: tuple<!v, i64>, %x: !v) -> !v {
  %0 = "relax.call_packed"(%t) {func = "f", arg_spec = [unit, unit]} : (tuple<!v, i64>) -> tuple<>
  %1 = "relax.call_packed"(%0) {func = "f", arg_spec = []} : (tuple<>) -> tuple<>
  %a = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %p = "relax.call_pure_packed"(%a) {func = "g", arg_spec = [unit]} : (tuple<!v>) -> tuple<!v, !v>
  %2 = "relax.call_packed"(%p) {func = "f", arg_spec = [unit, unit]} : (tuple<!v, !v>) -> tuple<>
  return %x : !v
}

// A tuple that is used after the call, too, and one with a conditional between.
// CHECK-LABEL: @other_uses(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[Y:[A-Za-z0-9_]+]]:{{.*}}%[[C:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] :
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] :
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[V0]]) {arg_spec = [unit], func = "f"}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: %[[F:[A-Za-z0-9_]+]] = tensor.extract %[[C]][] : tensor<i1>
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = scf.if %[[F]] ->
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]] :
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[V7]]) {arg_spec = [unit], func = "f"}
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = "relax.updated"(%[[Y]])
// CHECK-NEXT: scf.yield %[[V9]] :
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[Y]] :
// CHECK: %[[V4:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V3]] :
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[V4]]) {arg_spec = [unit], func = "f"}
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.updated"(%[[V3]])
// CHECK-NEXT: return %[[T]] :
func.func @other_uses(%x: !v, %y: !v, %c: tensor<i1>) -> tuple<!v> {
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %u = builtin.unrealized_conversion_cast %y : !v to tuple<!v>
  %0 = "relax.call_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  %f = tensor.extract %c[] : tensor<i1>
  %w = builtin.unrealized_conversion_cast %y : !v to tuple<!v>
  scf.if %f {
    %1 = "relax.call_packed"(%u) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  }
  %2 = "relax.call_packed"(%w) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  return %t : tuple<!v>
}

// A rank that is not known may be the same.
// CHECK-LABEL: func.func @rank
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: {{.*}}, %[[W:[a-z0-9_]+]]:
// CHECK-NEXT: "relax.distinct"(%[[W]])
func.func @rank(%x: !v, %w: tensor<*xf32>) -> !v {
  %t = builtin.unrealized_conversion_cast %x, %w : !v, tensor<*xf32> to tuple<!v, tensor<*xf32>>
  %0 = "relax.call_packed"(%t) {func = "f", arg_spec = [unit, unit]} : (tuple<!v, tensor<*xf32>>) -> tuple<>
  return %x : !v
}

// Of another rank they cannot be one; a dtype that is not known may be the same.
// CHECK-LABEL: @kinds(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[Y:[A-Za-z0-9_]+]]:{{.*}}%[[Z:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.distinct"(%[[Z]])
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[Y]], %[[V0]], %[[X]] :
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[V1]]) {arg_spec = [unit, unit, unit, unit], func = "f"}
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.updated"(%[[Y]])
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.updated"(%[[V0]])
// CHECK-NEXT: return %[[V3]] :
func.func @kinds(%x: !v, %y: tensor<2x2xf32>, %z: tensor<?x!relax.any, #relax.shape<["n"]>>) -> !v {
  %t = builtin.unrealized_conversion_cast %x, %y, %z, %x : !v, tensor<2x2xf32>, tensor<?x!relax.any, #relax.shape<["n"]>>, !v to tuple<!v, tensor<2x2xf32>, tensor<?x!relax.any, #relax.shape<["n"]>>, !v>
  %0 = "relax.call_packed"(%t) {func = "f", arg_spec = [unit, unit, unit, unit]} : (tuple<!v, tensor<2x2xf32>, tensor<?x!relax.any, #relax.shape<["n"]>>, !v>) -> tuple<>
  return %x : !v
}

// What a call has made is no other value; what prints changes nothing.
// CHECK-LABEL: @fresh(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] :
// CHECK-NEXT: %[[Y:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[A]]) {arg_spec = [unit], func = "f"}
// CHECK-NEXT: %[[Y_0:[A-Za-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y_0]], %[[Y]] :
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[T]]) {arg_spec = [unit, unit], func = "f"}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.updated"(%[[Y_0]])
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.updated"(%[[Y]])
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.add"(%[[V1]], %[[V2]])
// CHECK-NEXT: return %[[R]] :
func.func @fresh(%x: !v) -> !v {
  %a = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %y = "relax.call_packed"(%a) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> !v
  %t = builtin.unrealized_conversion_cast %x, %y : !v, !v to tuple<!v, !v>
  %0 = "relax.call_packed"(%t) {func = "f", arg_spec = [unit, unit]} : (tuple<!v, !v>) -> tuple<>
  %r = "relax.add"(%x, %y) : (!v, !v) -> !v
  return %r : !v
}

// CHECK-LABEL: func.func @prints
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK-NOT: relax.updated
// CHECK: return %[[X]] :
func.func @prints(%x: !v) -> !v {
  %a = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %0 = "relax.call_packed"(%a) {func = "relax_mlir.run.print", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  return %x : !v
}

// What is updated already is not updated again, also with a checked argument; another value after a call says nothing.
// CHECK-LABEL: @again(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[Y:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[M:[A-Za-z0-9_]+]] = "relax.match_shape"(%[[X]]) {pattern = ["n"], result_dtype}
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[M]] :
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[A]]) {arg_spec = [unit], func = "f"}
// CHECK-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.exp"(%[[Y]])
// CHECK-NEXT: %[[U:[A-Za-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[E]] :
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[B]]) {arg_spec = [unit], func = "g"}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.updated"(%[[E]])
// CHECK-NEXT: %[[W:[A-Za-z0-9_]+]] = "relax.updated"(%[[Y]])
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.add"(%[[V2]], %[[W]])
// CHECK-NEXT: %[[D:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]] :
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[D]]) {arg_spec = [unit], func = "h"}
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.updated"(%[[Y]])
// CHECK-NEXT: %[[H:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V4]] :
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[H]]) {arg_spec = [unit], func = "h"}
// CHECK-NEXT: %[[K:[A-Za-z0-9_]+]] = "relax.updated"(%[[V4]])
// CHECK-NEXT: return %[[U]], %[[R]] :
func.func @again(%x: !v, %y: !v) -> (!v, !v) {
  %m = "relax.match_shape"(%x) {pattern = ["n"], result_dtype = unit} : (!v) -> !v
  %a = builtin.unrealized_conversion_cast %m : !v to tuple<!v>
  %0 = "relax.call_packed"(%a) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  %e = "relax.exp"(%y) : (!v) -> !v
  %u = "relax.updated"(%x) : (!v) -> !v
  %b = builtin.unrealized_conversion_cast %e : !v to tuple<!v>
  %1 = "relax.call_packed"(%b) {func = "g", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  %w = "relax.updated"(%y) : (!v) -> !v
  %r = "relax.add"(%e, %w) : (!v, !v) -> !v
  %d = builtin.unrealized_conversion_cast %y : !v to tuple<!v>
  %2 = "relax.call_packed"(%d) {func = "h", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  %h = builtin.unrealized_conversion_cast %y : !v to tuple<!v>
  %3 = "relax.call_packed"(%h) {func = "h", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  %k = "relax.updated"(%y) : (!v) -> !v
  return %u, %r : !v, !v
}

// A loop and a conditional keep their results; those that hold no call are unchanged.
// CHECK-LABEL: @control_flow(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[Y:[A-Za-z0-9_]+]]:{{.*}}%[[C:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.prim_value"() {value = 0 : i64}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.prim_value"() {value = 1 : i64}
// CHECK-NEXT: %[[F:[A-Za-z0-9_]+]] = tensor.extract %[[C]][] : tensor<i1>
// CHECK-NEXT: %[[L:[A-Za-z0-9_]+]]:2 = scf.for %[[I:[A-Za-z0-9_]+]] = %[[V0]] to %[[V1]] step %[[V1]] iter_args(%[[Z:[A-Za-z0-9_]+]] = %[[Y]], %[[L_0:[A-Za-z0-9_]+]] = %[[X]])
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[L_0]] :
// CHECK-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[T]]) {arg_spec = [unit], func = "f"}
// CHECK-NEXT: %[[E_1:[A-Za-z0-9_]+]] = "relax.updated"(%[[L_0]])
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.add"(%[[Z]], %[[E_1]])
// CHECK-NEXT: scf.yield %[[S]], %[[E_1]] :
// CHECK: %[[K:[A-Za-z0-9_]+]]:2 = scf.if %[[F]] ->
// CHECK-NEXT: %[[T]] = builtin.unrealized_conversion_cast %[[Y]] :
// CHECK-NEXT: %[[E]] = "relax.call_packed"(%[[T]]) {arg_spec = [unit], func = "f"}
// CHECK-NEXT: %[[E_0:[A-Za-z0-9_]+]] = "relax.updated"(%[[Y]])
// CHECK-NEXT: scf.yield %[[L]]#1, %[[E_0]] :
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[L]]#0, %[[Y]] :
// CHECK: scf.if %[[F]] {
// CHECK-NEXT: %[[E]] = "relax.exp"(%[[K]]#1)
// CHECK-NEXT: }
// CHECK-NEXT: scf.for %[[I]] = %[[V0]] to %[[V1]] step %[[V1]]  : i64 {
// CHECK-NEXT: %[[E]] = "relax.exp"(%[[K]]#1)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.add"(%[[K]]#0, %[[L]]#0)
// CHECK-NEXT: return %[[R]], %[[K]]#1
func.func @control_flow(%x: !v, %y: !v, %c: tensor<i1>) -> (!v, !v) {
  %0 = "relax.prim_value"() {value = 0 : i64} : () -> i64
  %1 = "relax.prim_value"() {value = 1 : i64} : () -> i64
  %f = tensor.extract %c[] : tensor<i1>
  %l = scf.for %i = %0 to %1 step %1 iter_args(%z = %y) -> (!v) : i64 {
    %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
    %e = "relax.call_packed"(%t) {arg_spec = [unit], func = "f"} : (tuple<!v>) -> tuple<>
    %s = "relax.add"(%z, %x) : (!v, !v) -> !v
    scf.yield %s : !v
  }
  %k = scf.if %f -> (!v) {
    %t = builtin.unrealized_conversion_cast %y : !v to tuple<!v>
    %e = "relax.call_packed"(%t) {arg_spec = [unit], func = "f"} : (tuple<!v>) -> tuple<>
    scf.yield %x : !v
  } else {
    scf.yield %l : !v
  }
  scf.if %f {
    %e = "relax.exp"(%y) : (!v) -> !v
  }
  scf.for %i = %0 to %1 step %1 : i64 {
    %e = "relax.exp"(%y) : (!v) -> !v
  }
  %r = "relax.add"(%k, %l) : (!v, !v) -> !v
  return %r, %y : !v, !v
}

// A tensor that two branches change is one result; one that is made inside is none.
// CHECK-LABEL: @branches(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[Y:[A-Za-z0-9_]+]]:{{.*}}%[[C:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[F:[A-Za-z0-9_]+]] = tensor.extract %[[C]][] : tensor<i1>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]]:2 = scf.if %[[F]] ->
// CHECK-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.distinct"(%[[E]])
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[V1]] :
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[V2]]) {arg_spec = [unit, unit], func = "f"}
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.updated"(%[[V1]])
// CHECK-NEXT: scf.yield %[[V4]], %[[Y]] :
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[V1]] = "relax.distinct"(%[[Y]])
// CHECK-NEXT: %[[V2]] = builtin.unrealized_conversion_cast %[[X]], %[[V1]] :
// CHECK-NEXT: %[[V3]] = "relax.call_packed"(%[[V2]]) {arg_spec = [unit, unit], func = "f"}
// CHECK-NEXT: %[[V4]] = "relax.updated"(%[[X]])
// CHECK-NEXT: %[[V5]] = "relax.updated"(%[[V1]])
// CHECK-NEXT: scf.yield %[[V4]], %[[V5]] :
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.add"(%[[V0]]#0, %[[V0]]#1)
// CHECK-NEXT: return %[[R]] :
func.func @branches(%x: !v, %y: !v, %c: tensor<i1>) -> !v {
  %f = tensor.extract %c[] : tensor<i1>
  scf.if %f {
    %e = "relax.exp"(%x) : (!v) -> !v
    %t = builtin.unrealized_conversion_cast %x, %e : !v, !v to tuple<!v, !v>
    %0 = "relax.call_packed"(%t) {arg_spec = [unit, unit], func = "f"} : (tuple<!v, !v>) -> tuple<>
  } else {
    %t = builtin.unrealized_conversion_cast %x, %y : !v, !v to tuple<!v, !v>
    %0 = "relax.call_packed"(%t) {arg_spec = [unit, unit], func = "f"} : (tuple<!v, !v>) -> tuple<>
  }
  %r = "relax.add"(%x, %y) : (!v, !v) -> !v
  return %r : !v
}
