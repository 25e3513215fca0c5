// Fields of tuples at hand are names of what the tuples are made of; calls have tuples of their own; tensors that may
// turn out to be one are kept apart; functions inside functions have effects of their own.
// RUN: relax-opt --explicit-effects %s | filecheck %s
// RUN: relax-opt --explicit-effects --explicit-effects %s | filecheck %s

!v = tensor<?xf32, #relax.shape<["n"]>>

// CHECK-LABEL: func.func @fields
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK: %[[T:[a-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]]
// CHECK-NOT: relax.tuple_get_item
// CHECK: "relax.call_packed"(%{{[a-z0-9_]+}})
// CHECK-NEXT: %[[Y:[a-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK: "relax.add"(%[[Y]], %[[Y]])
// CHECK: builtin.unrealized_conversion_cast %{{[a-z0-9_]+}}, %[[T]]
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
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]]
// CHECK-NEXT: "relax.call_packed"(%[[A]])
// CHECK-NEXT: %[[Z:[a-z0-9_]+]] = "relax.updated"(%[[Y]])
// CHECK-NEXT: return %[[Z]]
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
// CHECK-NEXT: builtin.unrealized_conversion_cast %[[X]], %[[D]], %[[Z]]
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
// CHECK: return %[[X]]
func.func @lambda(%x: !v) -> !v {
  %l = "relax.lambda"() ({
  ^bb0(%p: !v):
    %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
    %c = "relax.call_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
    "relax.lambda_return"(%x) : (!v) -> ()
  }) {names = ["p"]} : () -> !relax.callable<[tensor<?xf32, #relax.shape<["n"]>>], tensor<?xf32, #relax.shape<["n"]>>, false>
  return %x : !v
}
