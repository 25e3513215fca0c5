// Private functions take what they use; a symbol that only a dropped parameter defined comes in a shape.
// RUN: relax-opt %s --remove-unused-parameters | filecheck %s
// passes/unused.py, function_editing.py.

// CHECK-LABEL: func.func private @first(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "x"}) ->
func.func private @first(%x: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "x"}, %y: tensor<4xf32> {relax.name = "y"}) -> tensor<?xf32, #relax.shape<["n"]>> {
  return %x : tensor<?xf32, #relax.shape<["n"]>>
}

// CHECK-LABEL: func.func private @sizes(
// CHECK-SAME: %{{[a-z0-9_]+}}: !relax.shape_value<["n"]> {relax.name = "sizes"}) ->
// CHECK: "relax.arange"
func.func private @sizes(%x: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "x"}) -> tensor<?xi64, #relax.shape<["n"]>> {
  %0 = "relax.arange"() {start = 0, end = "n", step = 1, dtype = i64} : () -> tensor<?xi64, #relax.shape<["n"]>>
  return %0 : tensor<?xi64, #relax.shape<["n"]>>
}

// Public functions keep what callers pass.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[A:[a-z0-9_]+]]: tensor<?xf32, #relax.shape<["m"]>> {relax.name = "a"}, %{{[a-z0-9_]+}}: tensor<4xf32> {relax.name = "b"}, %{{[a-z0-9_]+}}: tensor<2xf32>
// CHECK: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]] : tensor<?xf32, #relax.shape<["m"]>> to tuple<
// CHECK: "relax.call"(%[[T]]) {callee = @first}
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["m"]}
// CHECK: %[[U:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[S]] :
// CHECK: "relax.call"(%[[U]]) {callee = @sizes}
func.func @main(%a: tensor<?xf32, #relax.shape<["m"]>> {relax.name = "a"}, %b: tensor<4xf32> {relax.name = "b"}, %c: tensor<2xf32> {relax.name = "c"}) -> tensor<?xi64, #relax.shape<["m"]>> {
  %t = builtin.unrealized_conversion_cast %a, %b : tensor<?xf32, #relax.shape<["m"]>>, tensor<4xf32> to tuple<tensor<?xf32, #relax.shape<["m"]>>, tensor<4xf32>>
  %0 = "relax.call"(%t) {callee = @first} : (tuple<tensor<?xf32, #relax.shape<["m"]>>, tensor<4xf32>>) -> tensor<?xf32, #relax.shape<["m"]>>
  %u = builtin.unrealized_conversion_cast %0 : tensor<?xf32, #relax.shape<["m"]>> to tuple<tensor<?xf32, #relax.shape<["m"]>>>
  %1 = "relax.call"(%u) {callee = @sizes} : (tuple<tensor<?xf32, #relax.shape<["m"]>>>) -> tensor<?xi64, #relax.shape<["m"]>>
  return %1 : tensor<?xi64, #relax.shape<["m"]>>
}

// What a call checks when it runs stays, and so does what the check takes its symbols from.
// CHECK-LABEL: func.func private @formula(
// CHECK-SAME: %{{[a-z0-9_]+}}: tensor<?xf32, #relax.shape<["2*n - 1"]>> {{.*}}, %{{[a-z0-9_]+}}: !relax.shape_value<["n"]> {relax.name = "s"}) ->
func.func private @formula(%x: tensor<?xf32, #relax.shape<["2*n - 1"]>> {relax.name = "x"}, %s: !relax.shape_value<["n"]> {relax.name = "s"}, %k: !relax.shape_value<["m"]> {relax.name = "k"}) -> tensor<?xf32, #relax.shape<["2*n - 1"]>> {
  return %x : tensor<?xf32, #relax.shape<["2*n - 1"]>>
}
func.func @checks(%x: tensor<?xf32>, %s: !relax.shape_value<["n"]>) -> tensor<?xf32> {
  %t = builtin.unrealized_conversion_cast %x, %s, %s : tensor<?xf32>, !relax.shape_value<["n"]>, !relax.shape_value<["n"]> to tuple<tensor<?xf32>, !relax.shape_value<["n"]>, !relax.shape_value<["n"]>>
  %0 = "relax.call"(%t) {callee = @formula} : (tuple<tensor<?xf32>, !relax.shape_value<["n"]>, !relax.shape_value<["n"]>>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// A function that something else than a call names keeps its parameters, as does one whose parameters are all used.
// CHECK-LABEL: func.func private @named(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32> {relax.name = "x"}, %{{[a-z0-9_]+}}: tensor<4xf32> {relax.name = "y"}) ->
// CHECK-NEXT: return %[[X]] :
func.func private @named(%x: tensor<2xf32> {relax.name = "x"}, %y: tensor<4xf32> {relax.name = "y"}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
// CHECK-LABEL: func.func @closure(
// CHECK: "relax.make_closure"(%{{[A-Za-z0-9_]+}}) {callee = @named}
// CHECK: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2xf32>, tensor<4xf32> to
// CHECK-NEXT: "relax.call"(%[[T]]) {callee = @named}
func.func @closure(%x: tensor<2xf32>, %y: tensor<4xf32>) -> tensor<2xf32> {
  %e = builtin.unrealized_conversion_cast to tuple<>
  %f = "relax.make_closure"(%e) {callee = @named} : (tuple<>) -> !relax.callable<[tensor<2xf32>, tensor<4xf32>], tensor<2xf32>, true>
  %t = builtin.unrealized_conversion_cast %x, %y : tensor<2xf32>, tensor<4xf32> to tuple<tensor<2xf32>, tensor<4xf32>>
  %0 = "relax.call"(%t) {callee = @named} : (tuple<tensor<2xf32>, tensor<4xf32>>) -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %0, %y : tensor<2xf32>, tensor<4xf32> to tuple<tensor<2xf32>, tensor<4xf32>>
  %1 = "relax.invoke_pure_closure"(%f, %u) : (!relax.callable<[tensor<2xf32>, tensor<4xf32>], tensor<2xf32>, true>, tuple<tensor<2xf32>, tensor<4xf32>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// What a caller only passed on is unused, too: the callee comes last, and its callers are seen again.
// CHECK-LABEL: func.func private @outer(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32> {relax.name = "x"}) ->
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @inner} : (tuple<tensor<2xf32>>)
func.func private @outer(%x: tensor<2xf32> {relax.name = "x"}, %y: tensor<4xf32> {relax.name = "y"}) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x, %y : tensor<2xf32>, tensor<4xf32> to tuple<tensor<2xf32>, tensor<4xf32>>
  %0 = "relax.call"(%t) {callee = @inner} : (tuple<tensor<2xf32>, tensor<4xf32>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// CHECK-LABEL: func.func private @inner(
// CHECK-SAME: tensor<2xf32> {relax.name = "x"}) ->
func.func private @inner(%x: tensor<2xf32> {relax.name = "x"}, %y: tensor<4xf32> {relax.name = "y"}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
// CHECK-LABEL: func.func @passes_on(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @outer} : (tuple<tensor<2xf32>>)
func.func @passes_on(%x: tensor<2xf32>, %y: tensor<4xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x, %y : tensor<2xf32>, tensor<4xf32> to tuple<tensor<2xf32>, tensor<4xf32>>
  %0 = "relax.call"(%t) {callee = @outer} : (tuple<tensor<2xf32>, tensor<4xf32>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// A shape without symbols goes as any other parameter. What a packed function may change is read after it.
// CHECK-LABEL: func.func private @no_symbols(
// CHECK-SAME: %{{[a-z0-9_]+}}: tensor<2xf32> {relax.name = "x"}) ->
func.func private @no_symbols(%x: tensor<2xf32> {relax.name = "x"}, %s: !relax.shape_value<[]> {relax.name = "s"}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
// CHECK-LABEL: func.func @effect(
// CHECK: "relax.call_packed"
// CHECK-NEXT: %[[NEW:[A-Za-z0-9_]+]] = "relax.updated"
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[NEW]] :
// CHECK-NEXT: "relax.call"(%[[T]]) {callee = @no_symbols} : (tuple<tensor<2xf32>>)
func.func @effect(%x: tensor<2xf32>, %s: !relax.shape_value<[]>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %none = "relax.call_packed"(%t) {func = "change", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> tuple<>
  %u = builtin.unrealized_conversion_cast %x, %s : tensor<2xf32>, !relax.shape_value<[]> to tuple<tensor<2xf32>, !relax.shape_value<[]>>
  %0 = "relax.call"(%u) {callee = @no_symbols} : (tuple<tensor<2xf32>, !relax.shape_value<[]>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
