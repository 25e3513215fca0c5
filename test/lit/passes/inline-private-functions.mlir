// Bodies of private functions replace calls, with the call's dimensions; what nothing calls then goes.
// RUN: relax-opt %s --split-input-file --inline-private-functions --mlir-print-debuginfo | filecheck %s
// RUN: relax-opt %s --split-input-file --inline-private-functions="max-ops=1" | filecheck %s --check-prefix=SMALL

// CHECK-NOT: @double
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32, #relax.shape<["3*n"]>>
// CHECK: "relax.dataflow"() ({
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.add"(%[[X]], %[[X]]) : ({{.*}}) -> tensor<?xf32, #relax.shape<["3*n"]>> loc(#[[CALLSITE:loc[0-9]+]])
// CHECK-NEXT: "relax.output"(%[[R]])
// CHECK: #[[CALLSITE]] = loc(callsite(
func.func private @double(%x: tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = "relax.dataflow"() ({
    %1 = "relax.add"(%x, %x) : (tensor<?xf32, #relax.shape<["m"]>>, tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["m"]>>
    "relax.output"(%1) : (tensor<?xf32, #relax.shape<["m"]>>) -> ()
  }) : () -> tensor<?xf32, #relax.shape<["m"]>>
  return %0 : tensor<?xf32, #relax.shape<["m"]>>
}
func.func @main(%x: tensor<?xf32, #relax.shape<["3*n"]>>, %y: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["3*n"]>> {
  %0 = "relax.dataflow"() ({
    %t = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["3*n"]>> to tuple<tensor<?xf32, #relax.shape<["3*n"]>>>
    %1 = "relax.call"(%t) {callee = @double} : (tuple<tensor<?xf32, #relax.shape<["3*n"]>>>) -> tensor<?xf32, #relax.shape<["3*n"]>>
    "relax.output"(%1) : (tensor<?xf32, #relax.shape<["3*n"]>>) -> ()
  }) : () -> tensor<?xf32, #relax.shape<["3*n"]>>
  return %0 : tensor<?xf32, #relax.shape<["3*n"]>>
}
// -----
// A conditional cannot go into a dataflow block; public functions are not inlined.
// CHECK-LABEL: func.func private @choose(
// CHECK-LABEL: func.func @public(
// CHECK-LABEL: func.func @main(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @choose}
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @public}
// CHECK-NEXT: "relax.exp"
func.func private @choose(%x: tensor<2xf32>, %c: tensor<i1>) -> tensor<2xf32> {
  %0 = tensor.extract %c[] : tensor<i1>
  %1 = scf.if %0 -> tensor<2xf32> {
    scf.yield %x : tensor<2xf32>
  } else {
    %2 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  }
  return %1 : tensor<2xf32>
}
func.func @public(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func private @simple(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %c: tensor<i1>) -> tensor<2xf32> {
  %0 = "relax.dataflow"() ({
    %t = builtin.unrealized_conversion_cast %x, %c : tensor<2xf32>, tensor<i1> to tuple<tensor<2xf32>, tensor<i1>>
    %1 = "relax.call"(%t) {callee = @choose} : (tuple<tensor<2xf32>, tensor<i1>>) -> tensor<2xf32>
    "relax.output"(%1) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %0 : tensor<2xf32> to tuple<tensor<2xf32>>
  %2 = "relax.call"(%u) {callee = @public} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %v = builtin.unrealized_conversion_cast %2 : tensor<2xf32> to tuple<tensor<2xf32>>
  %3 = "relax.call"(%v) {callee = @simple} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}
// -----
// What binds a symbol of the callee comes first, whatever the order of its parameters.
// CHECK-LABEL: func.func @in_order(
// CHECK: "relax.match_shape"(%{{[A-Za-z0-9_]+}}) {pattern = ["n_1"]
// CHECK: "relax.match_shape"(%{{[A-Za-z0-9_]+}}) {pattern = ["2*n_1 - 1"]
// CHECK-NOT: "relax.call"
func.func private @formula(%x: tensor<?xf32, #relax.shape<["2*n - 1"]>>, %s: !relax.shape_value<["n"]>) -> tensor<?xf32, #relax.shape<["2*n - 1"]>> {
  %0 = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["2*n - 1"]>>) -> tensor<?xf32, #relax.shape<["2*n - 1"]>>
  return %0 : tensor<?xf32, #relax.shape<["2*n - 1"]>>
}
func.func @in_order(%x: tensor<?xf32>, %s: !relax.shape_value<["?"]>, %n: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32> {
  %t = builtin.unrealized_conversion_cast %x, %s : tensor<?xf32>, !relax.shape_value<["?"]> to tuple<tensor<?xf32>, !relax.shape_value<["?"]>>
  %0 = "relax.call"(%t) {callee = @formula} : (tuple<tensor<?xf32>, !relax.shape_value<["?"]>>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// -----
// A parameter tells n by a formula; match_shape cannot, so the call stays.
// CHECK-LABEL: func.func @by_formula(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @twice}
func.func private @twice(%x: tensor<?xf32, #relax.shape<["2*n"]>>) -> tensor<?xf32, #relax.shape<["2*n"]>> {
  %0 = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["2*n"]>>) -> tensor<?xf32, #relax.shape<["2*n"]>>
  return %0 : tensor<?xf32, #relax.shape<["2*n"]>>
}
func.func @by_formula(%x: tensor<?xf32>) -> tensor<?xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<?xf32> to tuple<tensor<?xf32>>
  %0 = "relax.call"(%t) {callee = @twice} : (tuple<tensor<?xf32>>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// -----
// A function that calls itself stays, as does one of a cycle, and the calls of them.
// CHECK-LABEL: func.func private @again(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @again}
// CHECK-LABEL: func.func private @ping(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @pong}
// CHECK-LABEL: func.func private @pong(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @ping}
// CHECK-LABEL: func.func @recursive(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @again}
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @ping}
func.func private @again(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call"(%t) {callee = @again} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @ping(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call"(%t) {callee = @pong} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @pong(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call"(%t) {callee = @ping} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @recursive(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call"(%t) {callee = @again} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %0 : tensor<2xf32> to tuple<tensor<2xf32>>
  %1 = "relax.call"(%u) {callee = @ping} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
// -----
// The callee takes 2 to 8 rows: only calls that are known to give so many become its body.
// CHECK-LABEL: func.func private @few(
// CHECK-LABEL: func.func @in_bounds(
// CHECK-NOT: relax.call
// CHECK: relax.exp
// CHECK-LABEL: func.func @too_many(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @few}
// CHECK-LABEL: func.func @too_few(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @few}
// CHECK-LABEL: func.func @unbounded(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @few}
!n = tensor<?xf32, #relax.shape<["n"]>>
!k = tensor<?xf32, #relax.shape<["k"]>>
func.func private @few(%x: !n) -> !n attributes {relax.symbol_bounds = {n = [2, 8]}} {
  %0 = "relax.exp"(%x) : (!n) -> !n
  return %0 : !n
}
func.func @in_bounds(%x: !k) -> !k attributes {relax.symbol_bounds = {k = [3, 8]}} {
  %t = builtin.unrealized_conversion_cast %x : !k to tuple<!k>
  %0 = "relax.call"(%t) {callee = @few} : (tuple<!k>) -> !k
  return %0 : !k
}
func.func @too_many(%x: !k) -> !k attributes {relax.symbol_bounds = {k = [3, 9]}} {
  %t = builtin.unrealized_conversion_cast %x : !k to tuple<!k>
  %0 = "relax.call"(%t) {callee = @few} : (tuple<!k>) -> !k
  return %0 : !k
}
func.func @too_few(%x: !k) -> !k attributes {relax.symbol_bounds = {k = [1, 8]}} {
  %t = builtin.unrealized_conversion_cast %x : !k to tuple<!k>
  %0 = "relax.call"(%t) {callee = @few} : (tuple<!k>) -> !k
  return %0 : !k
}
func.func @unbounded(%x: !k) -> !k {
  %t = builtin.unrealized_conversion_cast %x : !k to tuple<!k>
  %0 = "relax.call"(%t) {callee = @few} : (tuple<!k>) -> !k
  return %0 : !k
}
// -----
// A function whose effects its user vouches for stays, since its callers count as pure; one without effects does not.
// CHECK-LABEL: func.func private @vouched(
// CHECK-NOT: func.func private @harmless(
// CHECK-LABEL: func.func @pure(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @vouched}
// CHECK-NEXT: relax.exp
func.func private @vouched(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.force_pure} {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  "relax.print"(%t) {format = "", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> ()
  return %x : tensor<2xf32>
}
func.func private @harmless(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.force_pure} {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @pure(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call"(%t) {callee = @vouched} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %0 : tensor<2xf32> to tuple<tensor<2xf32>>
  %1 = "relax.call"(%u) {callee = @harmless} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
// -----
// With at most one op: a function of one is inlined, one of two stays where it is called twice.
// CHECK-LABEL: func.func @sizes(
// CHECK-NOT: relax.call
// SMALL-NOT: func.func private @one(
// SMALL-LABEL: func.func private @two(
// SMALL-NOT: func.func private @two_once(
// SMALL-LABEL: func.func @sizes(
// SMALL-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>
// SMALL: %[[A:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// SMALL-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.exp"(%[[A]])
// SMALL-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[B]] :
// SMALL-NEXT: "relax.call"(%[[T]]) {callee = @two}
// SMALL: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @two}
// SMALL: relax.abs
// SMALL-NEXT: relax.tanh
// SMALL-NEXT: return
func.func private @one(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @two(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "relax.negative"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func private @two_once(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.abs"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "relax.tanh"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func @sizes(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call"(%t) {callee = @one} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %s = builtin.unrealized_conversion_cast %0 : tensor<2xf32> to tuple<tensor<2xf32>>
  %4 = "relax.call"(%s) {callee = @one} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %4 : tensor<2xf32> to tuple<tensor<2xf32>>
  %1 = "relax.call"(%u) {callee = @two} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %v = builtin.unrealized_conversion_cast %1 : tensor<2xf32> to tuple<tensor<2xf32>>
  %2 = "relax.call"(%v) {callee = @two} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %w = builtin.unrealized_conversion_cast %2 : tensor<2xf32> to tuple<tensor<2xf32>>
  %3 = "relax.call"(%w) {callee = @two_once} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}
// -----
// What an attribute names in a list or a dictionary stays.
// CHECK-LABEL: func.func private @in_list(
// CHECK-LABEL: func.func private @in_dictionary(
// CHECK-NOT: @called_only
// CHECK-LABEL: func.func @names(
func.func private @in_list(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func private @in_dictionary(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func private @called_only(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @names(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.tanh"(%x) {list = [@in_list], dictionary = {name = [@in_dictionary]}} : (tensor<2xf32>) -> tensor<2xf32>
  %t = builtin.unrealized_conversion_cast %0 : tensor<2xf32> to tuple<tensor<2xf32>>
  %1 = "relax.call"(%t) {callee = @in_list} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %1 : tensor<2xf32> to tuple<tensor<2xf32>>
  %2 = "relax.call"(%u) {callee = @called_only} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
// -----
// A body of several ops, in and after a dataflow block, in a dataflow block.
// CHECK-LABEL: func.func @several(
// CHECK: "relax.dataflow"
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.exp"(%x)
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.negative"(%[[A]])
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.tanh"(%[[B]])
// CHECK-NEXT: %[[D:[A-Za-z0-9_]+]] = "relax.sin"(%[[C]])
// CHECK-NEXT: "relax.output"(%[[D]])
func.func private @steps(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.dataflow"() ({
    %1 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "relax.negative"(%1) : (tensor<2xf32>) -> tensor<2xf32>
    %3 = "relax.tanh"(%2) : (tensor<2xf32>) -> tensor<2xf32>
    "relax.output"(%3) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  %4 = "relax.sin"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %4 : tensor<2xf32>
}
func.func @several(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.dataflow"() ({
    %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
    %1 = "relax.call"(%t) {callee = @steps} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
    "relax.output"(%1) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
// The symbol that a body matches has another name in each copy. Fields of tuples bind symbols in their order, too.
// CHECK-LABEL: func.func @twice_bound(
// CHECK: pattern = ["k"]
// CHECK: pattern = ["k_1"]
// CHECK-LABEL: func.func @tuple_in_order(
// CHECK: "relax.match_shape"(%{{[A-Za-z0-9_]+}}) {pattern = ["n"]
// CHECK: "relax.match_shape"(%{{[A-Za-z0-9_]+}}) {pattern = ["2*n - 1"]
// CHECK-NOT: "relax.call"
!k = tensor<?xf32, #relax.shape<["k"]>>
!f = tensor<?xf32, #relax.shape<["2*n - 1"]>>
!s = !relax.shape_value<["n"]>
!u = !relax.shape_value<["?"]>
func.func private @matching(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "relax.match_shape"(%x) {pattern = ["k"], result_dtype} : (tensor<?xf32>) -> !k
  %1 = "relax.exp"(%0) : (!k) -> !k
  %2 = "relax.match_shape"(%1) {pattern = ["?"], result_dtype} : (!k) -> tensor<?xf32>
  return %2 : tensor<?xf32>
}
func.func @twice_bound(%x: tensor<?xf32>) -> tensor<?xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<?xf32> to tuple<tensor<?xf32>>
  %0 = "relax.call"(%t) {callee = @matching} : (tuple<tensor<?xf32>>) -> tensor<?xf32>
  %u = builtin.unrealized_conversion_cast %0 : tensor<?xf32> to tuple<tensor<?xf32>>
  %1 = "relax.call"(%u) {callee = @matching} : (tuple<tensor<?xf32>>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
func.func private @formula_of_tuple(%p: tuple<!f, !s>) -> !f {
  %x = "relax.tuple_get_item"(%p) {index = 0 : i64} : (tuple<!f, !s>) -> !f
  %0 = "relax.exp"(%x) : (!f) -> !f
  return %0 : !f
}
func.func @tuple_in_order(%p: tuple<tensor<?xf32>, !u>) -> tensor<?xf32> {
  %t = builtin.unrealized_conversion_cast %p : tuple<tensor<?xf32>, !u> to tuple<tuple<tensor<?xf32>, !u>>
  %0 = "relax.call"(%t) {callee = @formula_of_tuple} : (tuple<tuple<tensor<?xf32>, !u>>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// -----
// Outside of dataflow blocks a body keeps its own. What a body changes is its own value. Functions that only call
// themselves go.
// CHECK-NOT: @only_itself
// CHECK-LABEL: func.func @outside(
// CHECK: %[[E:[A-Za-z0-9_]+]] = "relax.dataflow"
// CHECK-NEXT: "relax.exp"(%x)
// CHECK: "relax.call_packed"
// CHECK-NEXT: %[[NEW:[A-Za-z0-9_]+]] = "relax.updated"
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = "relax.tanh"(%[[NEW]])
// CHECK: "relax.add"(%[[T]], %[[E]])
func.func private @only_itself(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call"(%t) {callee = @only_itself} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @block(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.dataflow"() ({
    %1 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "relax.output"(%1) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @changing(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call_packed"(%t) {func = "f.change", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> tuple<>
  %1 = "relax.tanh"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func @outside(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call"(%t) {callee = @block} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %0 : tensor<2xf32> to tuple<tensor<2xf32>>
  %1 = "relax.call"(%u) {callee = @changing} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %2 = "relax.add"(%1, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
