// Symbols and their expressions become slots of a shape heap.
// RUN: relax-opt %s --vm-shape-lower --split-input-file | filecheck %s
// vm_shape_lower.py.

// Of a parameter's dimensions n and m are stored; the function computes 2*n and 3*m; the shape is loaded.
// CHECK-LABEL: func.func @foo(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?xf32>) -> !relax.shape_value<["?", "?"]>
// CHECK-NEXT: %[[HEAP:[A-Za-z0-9_]+]] = "relax.vm_alloc_shape_heap"() {size = 4 : i64} : () -> tensor<4xi64>
// CHECK-NEXT: %[[SH:[A-Za-z0-9_]+]] = "relax.shape_of"(%[[X]])
// CHECK-NEXT: "relax.vm_store_shape"(%[[SH]], %[[HEAP]]) {indices = [0, 1]}
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[HEAP]]
// CHECK-NEXT: "relax.call_prim"(%[[ARGS]]) {callee = @foo_shape_func, outputs = 1 : i64}
// CHECK-NEXT: %[[TS:[A-Za-z0-9_]+]] = "relax.vm_load_shape"(%[[HEAP]]) {indices = [2, 3]}
// CHECK-NEXT: return %[[TS]]
func.func @foo(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> !relax.shape_value<["2*n", "3*m"]> {
  %0 = "relax.shape_expr"() {values = ["2*n", "3*m"]} : () -> !relax.shape_value<["2*n", "3*m"]>
  return %0 : !relax.shape_value<["2*n", "3*m"]>
}
// CHECK-LABEL: func.func private @foo_shape_func(
// CHECK-SAME: %[[H:[a-z0-9_]+]]: memref<4xi64>) attributes {relax.prim_func}
// CHECK: %[[N:[A-Za-z0-9_]+]] = memref.load %[[H]][%c0]
// CHECK: %[[N2:[A-Za-z0-9_]+]] = arith.muli %[[N]], %c2_i64
// CHECK: memref.store %[[N2]], %[[H]][%c2]
// CHECK: %[[M:[A-Za-z0-9_]+]] = memref.load %[[H]][%c1]
// CHECK: %[[M3:[A-Za-z0-9_]+]] = arith.muli %[[M]], %c3_i64
// CHECK: memref.store %[[M3]], %[[H]][%c3]

// -----

// match_shape in its three forms: it defines n and m, checks them on another tensor, and on a shape.
!nm = tensor<?x?xf32, #relax.shape<["n", "m"]>>
// CHECK-LABEL: func.func @match(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?xf32>, %[[Y:[a-z0-9_]+]]: tensor<?x?xf32>, %[[Z:[a-z0-9_]+]]: tensor<*x!relax.any>
// CHECK: %[[HEAP:[A-Za-z0-9_]+]] = "relax.vm_alloc_shape_heap"() {size = 4 : i64}
// CHECK-NEXT: %[[SX:[A-Za-z0-9_]+]] = "relax.shape_of"(%[[X]])
// CHECK-NEXT: "relax.vm_store_shape"(%[[SX]], %[[HEAP]]) {indices = [0, 1]}
// CHECK: "relax.call_prim"
// CHECK: %[[SY:[A-Za-z0-9_]+]] = "relax.shape_of"(%[[Y]])
// CHECK-NEXT: "relax.vm_match_shape"(%[[SY]], %[[HEAP]]) {codes = [3, 3], values = [0, 1], where = "match: match_shape at {{.*}}:{{[0-9]+}}:8"}
// CHECK: %[[SY2:[A-Za-z0-9_]+]] = "relax.shape_of"(%[[Y]])
// CHECK-NEXT: "relax.vm_match_shape"(%[[SY2]], %[[HEAP]]) {codes = [3, 3]
// CHECK: %[[KNOWN:[A-Za-z0-9_]+]] = "relax.match_shape"(%[[Z]]) {pattern = [7, "?", "?", "?"], result_dtype = f32}
// CHECK-SAME: -> tensor<7x?x?x?xf32>
// CHECK-NEXT: %[[SZ:[A-Za-z0-9_]+]] = "relax.shape_of"(%[[KNOWN]]) : (tensor<7x?x?x?xf32>) -> !relax.shape_value<[7, "?", "?", "?"]>
// CHECK-NEXT: "relax.vm_match_shape"(%[[SZ]], %[[HEAP]]) {codes = [0, 1, 3, 2], values = [7, 2, 0, 0], where = {{.*}}}
// CHECK-NEXT: "relax.vm_match_shape"(%[[SZ]], %[[HEAP]]) {codes = [2, 2, 2, 3], values = [0, 0, 0, 3], where = {{.*}}}
// CHECK-NEXT: return %[[KNOWN]]
func.func @match(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %z: tensor<*x!relax.any>) -> tensor<7x?x?x?xf32, #relax.shape<[7, "k", "n", "m*n"]>> {
  %0 = "relax.match_shape"(%x) {pattern = ["n", "m"], result_dtype} : (tensor<?x?xf32>) -> !nm
  %1 = "relax.match_shape"(%y) {pattern = ["n", "m"], result_dtype} : (tensor<?x?xf32>) -> !nm
  %2 = "relax.shape_of"(%y) : (tensor<?x?xf32>) -> !relax.shape_value<["?", "?"]>
  %3 = "relax.match_shape"(%2) {pattern = ["n", "m"], result_dtype} : (!relax.shape_value<["?", "?"]>) -> !relax.shape_value<["n", "m"]>
  %4 = "relax.match_shape"(%z) {pattern = [7, "k", "n", "m*n"], result_dtype = f32} : (tensor<*x!relax.any>) -> tensor<7x?x?x?xf32, #relax.shape<[7, "k", "n", "m*n"]>>
  return %4 : tensor<7x?x?x?xf32, #relax.shape<[7, "k", "n", "m*n"]>>
}

// -----

// Bounds are checked where the symbol gets its value; a quotient by a symbol is computed where it is used.
// CHECK-LABEL: func.func @bounds(
// CHECK-NOT: relax.symbol_bounds
// CHECK: "relax.call_prim"({{.*}}) {callee = @bounds_shape_func, outputs = 1 : i64}
// CHECK: scf.if
// CHECK-NEXT: builtin.unrealized_conversion_cast
// CHECK-NEXT: "relax.call_prim"({{.*}}) {callee = @bounds_shape_func_1, outputs = 1 : i64}
// CHECK-NEXT: "relax.vm_make_shape"({{.*}}) {codes = [1, 0], values = [2, 3]}
// CHECK-LABEL: func.func private @bounds_shape_func(
// CHECK: cf.assert %{{[A-Za-z0-9_]+}}, "bounds: symbol 'n' must be between 1 and 16"
// CHECK: cf.assert %{{[A-Za-z0-9_]+}}, "bounds: symbol 'n' must be between 1 and 16"
// CHECK-LABEL: func.func private @bounds_shape_func_1(
// CHECK: cf.assert %{{[A-Za-z0-9_]+}}, "bounds: 'm // n' divides by n, which is 0"
// CHECK: arith.floordivsi
func.func @bounds(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>, %c: tensor<i1>) -> !relax.shape_value<["?", "?"]> attributes {relax.symbol_bounds = {n = [1, 16]}} {
  %f = tensor.extract %c[] : tensor<i1>
  %r = scf.if %f -> !relax.shape_value<["?", "?"]> {
    %0 = "relax.shape_expr"() {values = ["m // n", 3]} : () -> !relax.shape_value<["m // n", 3]>
    %1 = "relax.match_shape"(%0) {pattern = ["?", "?"], result_dtype} : (!relax.shape_value<["m // n", 3]>) -> !relax.shape_value<["?", "?"]>
    scf.yield %1 : !relax.shape_value<["?", "?"]>
  } else {
    %2 = "relax.shape_of"(%x) : (tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> !relax.shape_value<["?", "?"]>
    scf.yield %2 : !relax.shape_value<["?", "?"]>
  }
  return %r : !relax.shape_value<["?", "?"]>
}

// -----

// What a packed function returns is checked; a callee's static dimension that its erased type no longer tells is said
// again.
!n = tensor<?xf32, #relax.shape<["n"]>>
// CHECK-LABEL: func.func private @twice(
// CHECK-SAME: tensor<?xf32>) -> tensor<?xf32>
func.func private @twice(%x: tensor<?xf32, #relax.shape<["k"]>>) -> tensor<?xf32, #relax.shape<["2*k"]>> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["k"]>> to tuple<tensor<?xf32, #relax.shape<["k"]>>>
  // CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.call_packed"({{.*}}) {arg_spec = [unit], func = "double"} {{.*}} -> tensor<?xf32>
  // CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.shape_of"(%[[R]])
  // CHECK-NEXT: "relax.vm_match_shape"(%[[S]], {{.*}}) {codes = [3], values = [1], where = "twice: result of 'double' at {{.*}}:{{[0-9]+}}:8"}
  // CHECK-NEXT: return %[[R]]
  %1 = "relax.call_packed"(%0) {func = "double", arg_spec = [unit]} : (tuple<tensor<?xf32, #relax.shape<["k"]>>>) -> tensor<?xf32, #relax.shape<["2*k"]>>
  return %1 : tensor<?xf32, #relax.shape<["2*k"]>>
}
// CHECK-LABEL: func.func @caller(
// CHECK-SAME: tensor<4xf32>) -> tensor<8xf32>
// CHECK: %[[C:[A-Za-z0-9_]+]] = "relax.call"({{.*}}) {callee = @twice} : (tuple<tensor<4xf32>>) -> tensor<?xf32>
// CHECK-NEXT: %[[M:[A-Za-z0-9_]+]] = "relax.match_shape"(%[[C]]) {pattern = [8], result_dtype}
// CHECK-NEXT: return %[[M]]
func.func @caller(%x: tensor<4xf32>) -> tensor<8xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
  %1 = "relax.call"(%0) {callee = @twice} : (tuple<tensor<4xf32>>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// An assertion about symbols compares slots and numbers.
// CHECK-LABEL: func.func @asserts(
// CHECK: "relax.vm_assert_relation"(%[[HEAP:[A-Za-z0-9_]+]], %{{[A-Za-z0-9_]+}}) {codes = [1, 0], message = "odd", relation = "==", values = [1, 0]}
func.func @asserts(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = builtin.unrealized_conversion_cast to tuple<>
  "relax.assert_op"(%0) {relation = "==", values = ["n % 2", 0], message = "odd"} : (tuple<>) -> ()
  return %x : tensor<?xf32, #relax.shape<["n"]>>
}

// -----

// An integer that match_shape gives a symbol is a shape of one dimension.
// CHECK-LABEL: func.func @integer(
// CHECK-SAME: %[[K:[a-z0-9_]+]]: i64, %[[X:[a-z0-9_]+]]: tensor<?xf32>)
// CHECK-NEXT: %[[HEAP:[A-Za-z0-9_]+]] = "relax.vm_alloc_shape_heap"() {size = 2 : i64}
// CHECK: %[[ONE:[a-z_]+]] = tensor.from_elements %[[K]] : tensor<1xi64>
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.tensor_to_shape"(%[[ONE]])
// CHECK-NEXT: "relax.vm_store_shape"(%[[S]], %[[HEAP]]) {indices = [1]}
// CHECK-NEXT: "relax.vm_load_shape"(%[[HEAP]]) {indices = [1, 0]}
func.func @integer(%k: i64, %x: tensor<?xf32, #relax.shape<["m"]>>) -> !relax.shape_value<["k", "m"]> {
  %0 = "relax.match_shape"(%k) {pattern = ["k"], result_dtype} : (i64) -> i64
  %1 = "relax.shape_expr"() {values = ["k", "m"]} : () -> !relax.shape_value<["k", "m"]>
  return %1 : !relax.shape_value<["k", "m"]>
}
