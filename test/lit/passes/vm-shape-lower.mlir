// Symbols and their expressions become slots of a shape heap.
// RUN: relax-opt %s --vm-shape-lower --split-input-file | filecheck %s
// passes/vm.py.

// Of a parameter's dimensions n and m are stored; the function computes 2*n and 3*m; the shape is loaded.
// CHECK-LABEL: func.func @foo(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?xf32>) -> !relax.shape_value<["?", "?"]>
// CHECK-NEXT: %[[HEAP:[A-Za-z0-9_]+]] = "relax.vm_alloc_shape_heap"() {size = 4 : i64} : () -> tensor<4xi64>
// CHECK-NEXT: %[[SH:[A-Za-z0-9_]+]] = "relax.shape_of"(%[[X]])
// CHECK-NEXT: "relax.vm_store_shape"(%[[SH]], %[[HEAP]]) {indices = [0, 1]}
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[HEAP]] :
// CHECK-NEXT: "relax.call_prim"(%[[ARGS]]) {callee = @foo_shape_func, outputs = 1 : i64}
// CHECK-NEXT: %[[TS:[A-Za-z0-9_]+]] = "relax.vm_load_shape"(%[[HEAP]]) {indices = [2, 3]}
// CHECK-NEXT: return %[[TS]] :
func.func @foo(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> !relax.shape_value<["2*n", "3*m"]> {
  %0 = "relax.shape_expr"() {values = ["2*n", "3*m"]} : () -> !relax.shape_value<["2*n", "3*m"]>
  return %0 : !relax.shape_value<["2*n", "3*m"]>
}
// The limits are those of 64 bits, divided by the factor.
// CHECK-LABEL: func.func private @foo_shape_func(
// CHECK-SAME: %[[H:[a-z0-9_]+]]: memref<4xi64>) attributes {relax.prim_func}
// CHECK: %[[N:[A-Za-z0-9_]+]] = memref.load %[[H]][%c0]
// CHECK: %[[MOST:[a-z0-9_]+]] = arith.constant 4611686018427387903 : i64
// CHECK-NEXT: %[[FITS:[0-9]+]] = arith.cmpi sle, %[[N]], %[[MOST]] :
// CHECK-NEXT: cf.assert %[[FITS]], "foo: '2*n' has more than 64 bits"
// CHECK-NEXT: %[[LEAST:[-a-z0-9_]+]] = arith.constant -4611686018427387903 : i64
// CHECK-NEXT: %[[IS_ABOVE:[0-9]+]] = arith.cmpi sge, %[[N]], %[[LEAST]] :
// CHECK-NEXT: cf.assert %[[IS_ABOVE]], "foo: '2*n' has more than 64 bits"
// CHECK-NEXT: %[[N2:[A-Za-z0-9_]+]] = arith.muli %[[N]], %c2_i64
// CHECK: memref.store %[[N2]], %[[H]][%c2]
// CHECK: %[[M:[A-Za-z0-9_]+]] = memref.load %[[H]][%c1]
// CHECK: arith.constant 3074457345618258602 : i64
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
// CHECK-NEXT: return %[[KNOWN]] :
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
  // CHECK-NEXT: return %[[R]] :
  %1 = "relax.call_packed"(%0) {func = "double", arg_spec = [unit]} : (tuple<tensor<?xf32, #relax.shape<["k"]>>>) -> tensor<?xf32, #relax.shape<["2*k"]>>
  return %1 : tensor<?xf32, #relax.shape<["2*k"]>>
}
// CHECK-LABEL: func.func @caller(
// CHECK-SAME: tensor<4xf32>) -> tensor<8xf32>
// CHECK: %[[C:[A-Za-z0-9_]+]] = "relax.call"({{.*}}) {callee = @twice} : (tuple<tensor<4xf32>>) -> tensor<?xf32>
// CHECK-NEXT: %[[M:[A-Za-z0-9_]+]] = "relax.match_shape"(%[[C]]) {pattern = [8], result_dtype}
// CHECK-NEXT: return %[[M]] :
func.func @caller(%x: tensor<4xf32>) -> tensor<8xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
  %1 = "relax.call"(%0) {callee = @twice} : (tuple<tensor<4xf32>>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
// -----
// An assertion about symbols compares slots and numbers; a quotient by a symbol is computed before. One without symbols
// stays.
// CHECK-LABEL: func.func @asserts(
// CHECK: "relax.vm_assert_relation"(%[[HEAP:[A-Za-z0-9_]+]], %{{[A-Za-z0-9_]+}}) {codes = [1, 0], message = "odd", relation = "==", values = [2, 0]}
// CHECK: "relax.call_prim"(%{{[A-Za-z0-9_]+}}) {callee = @asserts_shape_func_1, outputs = 1 : i64}
// CHECK-NEXT: "relax.vm_assert_relation"(%[[HEAP]], %{{[A-Za-z0-9_]+}}) {codes = [1, 0], message = "short", relation = ">=", values = [3, 2]}
// CHECK-NEXT: "relax.assert_op"({{.*}}) {message = "always"
func.func @asserts(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = builtin.unrealized_conversion_cast to tuple<>
  "relax.assert_op"(%0) {relation = "==", values = ["n % 2", 0], message = "odd"} : (tuple<>) -> ()
  "relax.assert_op"(%0) {relation = ">=", values = ["n // m", 2], message = "short"} : (tuple<>) -> ()
  "relax.assert_op"(%0) {relation = "==", values = [0, 0], message = "always"} : (tuple<>) -> ()
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
// -----
// Dimensions that are no symbols alone are stored, and solved for their symbols; what is no such multiple is refused.
// CHECK-LABEL: func.func @solved(
// CHECK-NEXT: %shape_heap = "relax.vm_alloc_shape_heap"() {size = 5 : i64}
// CHECK-NEXT: %0 = "relax.shape_of"(%x)
// CHECK-NEXT: "relax.vm_store_shape"(%0, %shape_heap) {indices = [3]}
// CHECK-NEXT: %1 = "relax.shape_of"(%y)
// CHECK-NEXT: "relax.vm_store_shape"(%1, %shape_heap) {indices = [1, 4]}
// CHECK-NEXT: %2 = builtin.unrealized_conversion_cast %shape_heap
// CHECK-NEXT: "relax.call_prim"(%2) {callee = @solved_shape_func, outputs = 1 : i64}
// CHECK-NEXT: %3 = "relax.vm_load_shape"(%shape_heap) {indices = [0, 2]}
// CHECK-NEXT: return %3 : !relax.shape_value<["?", "?"]>
// CHECK-LABEL: func.func private @solved_shape_func(
// CHECK-NEXT: %c3 = arith.constant 3
// CHECK-NEXT: %0 = memref.load %arg0[%c3]
// CHECK-NEXT: %c2_i64 = arith.constant 2
// CHECK-NEXT: %1 = arith.subi %0, %c2_i64
// CHECK-NEXT: %c4_i64 = arith.constant 4
// CHECK-NEXT: %2 = arith.floordivsi %1, %c4_i64
// CHECK-NEXT: %3 = arith.muli %2, %c4_i64
// CHECK-NEXT: %4 = arith.cmpi eq, %3, %1
// CHECK-NEXT: cf.assert %4, "solved: parameter 'arg1': the dimension is 4*n + 2 for no n = 0, 1, 2, {{.*}}"
// CHECK-NEXT: %c0_i64 = arith.constant 0
// CHECK-NEXT: %5 = arith.cmpi sge, %2, %c0_i64
// CHECK-NEXT: cf.assert %5, "solved: parameter 'arg1': the dimension is 4*n + 2 for no n = 0, 1, 2, {{.*}}"
// CHECK-NEXT: %c0 = arith.constant 0
// CHECK-NEXT: memref.store %2, %arg0[%c0]
// CHECK-NEXT: %c4 = arith.constant 4
// CHECK-NEXT: %6 = memref.load %arg0[%c4]
// CHECK-NEXT: %c0_i64_0 = arith.constant 0
// CHECK-NEXT: %7 = arith.subi %6, %c0_i64_0
// CHECK-NEXT: %c1 = arith.constant 1
// CHECK-NEXT: %8 = memref.load %arg0[%c1]
// CHECK-NEXT: %c0_i64_1 = arith.constant 0
// CHECK-NEXT: %9 = arith.cmpi ne, %8, %c0_i64_1
// CHECK-NEXT: cf.assert %9, "solved: parameter 'arg2': k*m tells nothing of symbol 'k' where m is 0"
// CHECK-NEXT: %10 = arith.floordivsi %7, %8
// CHECK-NEXT: %11 = arith.muli %10, %8
// CHECK-NEXT: %12 = arith.cmpi eq, %11, %7
// CHECK-NEXT: cf.assert %12, "solved: parameter 'arg2': the dimension is k*m for no k = 0, 1, 2, {{.*}}"
// CHECK-NEXT: %c0_i64_2 = arith.constant 0
// CHECK-NEXT: %13 = arith.cmpi sge, %10, %c0_i64_2
// CHECK-NEXT: cf.assert %13, "solved: parameter 'arg2': the dimension is k*m for no k = 0, 1, 2, {{.*}}"
// CHECK-NEXT: %c2 = arith.constant 2
// CHECK-NEXT: memref.store %10, %arg0[%c2]
// CHECK-NEXT: return
func.func @solved(%s: !relax.shape_value<unit>, %x: tensor<?xf32, #relax.shape<["4*n + 2"]>>, %y: tensor<?x?xf32, #relax.shape<["m", "m*k"]>>) -> !relax.shape_value<["n", "k"]> {
  %0 = "relax.shape_expr"() {values = ["n", "k"]} : () -> !relax.shape_value<["n", "k"]>
  return %0 : !relax.shape_value<["n", "k"]>
}
// -----
// A product of two symbols is divided by one of them, a sum has the sign of its operands: both check for overflow.
// CHECK-LABEL: func.func @product(
// CHECK-NEXT: %shape_heap = "relax.vm_alloc_shape_heap"() {size = 3 : i64}
// CHECK-NEXT: %0 = "relax.shape_of"(%x)
// CHECK-NEXT: "relax.vm_store_shape"(%0, %shape_heap) {indices = [0, 1]}
// CHECK-NEXT: %1 = builtin.unrealized_conversion_cast %shape_heap
// CHECK-NEXT: "relax.call_prim"(%1) {callee = @product_shape_func, outputs = 1 : i64}
// CHECK-NEXT: %2 = "relax.vm_load_shape"(%shape_heap) {indices = [2]}
// CHECK-NEXT: return %2 : !relax.shape_value<["?"]>
// CHECK-LABEL: func.func private @product_shape_func(
// CHECK-NEXT: %c1 = arith.constant 1
// CHECK-NEXT: %0 = memref.load %arg0[%c1]
// CHECK-NEXT: %c0 = arith.constant 0
// CHECK-NEXT: %1 = memref.load %arg0[%c0]
// CHECK-NEXT: %2 = arith.muli %0, %1
// CHECK-NEXT: %c0_i64 = arith.constant 0
// CHECK-NEXT: %3 = arith.cmpi eq, %0, %c0_i64
// CHECK-NEXT: %c1_i64 = arith.constant 1
// CHECK-NEXT: %4 = arith.select %3, %c1_i64, %0
// CHECK-NEXT: %5 = arith.floordivsi %2, %4
// CHECK-NEXT: %6 = arith.select %3, %5, %1
// CHECK-NEXT: %7 = arith.cmpi eq, %5, %6
// CHECK-NEXT: cf.assert %7, "product: 'm*n + 1' has more than 64 bits"
// CHECK-NEXT: %c1_i64_0 = arith.constant 1
// CHECK-NEXT: %8 = arith.addi %2, %c1_i64_0
// CHECK-NEXT: %9 = arith.xori %8, %2
// CHECK-NEXT: %10 = arith.xori %8, %c1_i64_0
// CHECK-NEXT: %11 = arith.andi %9, %10
// CHECK-NEXT: %c0_i64_1 = arith.constant 0
// CHECK-NEXT: %12 = arith.cmpi sge, %11, %c0_i64_1
// CHECK-NEXT: cf.assert %12, "product: 'm*n + 1' has more than 64 bits"
// CHECK-NEXT: %c2 = arith.constant 2
// CHECK-NEXT: memref.store %8, %arg0[%c2]
// CHECK-NEXT: return
func.func @product(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> !relax.shape_value<["n*m + 1"]> {
  %0 = "relax.shape_expr"() {values = ["n*m + 1"]} : () -> !relax.shape_value<["n*m + 1"]>
  return %0 : !relax.shape_value<["n*m + 1"]>
}
// -----
// Extrema and remainders cannot overflow.
// CHECK-LABEL: func.func @extrema(
// CHECK-NEXT: %shape_heap = "relax.vm_alloc_shape_heap"() {size = 5 : i64}
// CHECK-NEXT: %0 = "relax.shape_of"(%x)
// CHECK-NEXT: "relax.vm_store_shape"(%0, %shape_heap) {indices = [0, 1]}
// CHECK-NEXT: %1 = builtin.unrealized_conversion_cast %shape_heap
// CHECK-NEXT: "relax.call_prim"(%1) {callee = @extrema_shape_func, outputs = 1 : i64}
// CHECK-NEXT: %2 = "relax.vm_load_shape"(%shape_heap) {indices = [2, 3, 4]}
// CHECK-NEXT: return %2 : !relax.shape_value<["?", "?", "?"]>
// CHECK-LABEL: func.func private @extrema_shape_func(
// CHECK-NEXT: %c1 = arith.constant 1
// CHECK-NEXT: %0 = memref.load %arg0[%c1]
// CHECK-NEXT: %c0 = arith.constant 0
// CHECK-NEXT: %1 = memref.load %arg0[%c0]
// CHECK-NEXT: %2 = arith.minsi %0, %1
// CHECK-NEXT: %c2 = arith.constant 2
// CHECK-NEXT: memref.store %2, %arg0[%c2]
// CHECK-NEXT: %3 = arith.maxsi %0, %1
// CHECK-NEXT: %c3 = arith.constant 3
// CHECK-NEXT: memref.store %3, %arg0[%c3]
// CHECK-NEXT: %c3_i64 = arith.constant 3
// CHECK-NEXT: %4 = arith.floordivsi %1, %c3_i64
// CHECK-NEXT: %5 = arith.muli %4, %c3_i64
// CHECK-NEXT: %6 = arith.subi %1, %5
// CHECK-NEXT: %c4 = arith.constant 4
// CHECK-NEXT: memref.store %6, %arg0[%c4]
// CHECK-NEXT: return
func.func @extrema(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> !relax.shape_value<["min(n, m)", "max(n, m)", "n % 3"]> {
  %0 = "relax.shape_expr"() {values = ["min(n, m)", "max(n, m)", "n % 3"]} : () -> !relax.shape_value<["min(n, m)", "max(n, m)", "n % 3"]>
  return %0 : !relax.shape_value<["min(n, m)", "max(n, m)", "n % 3"]>
}
// -----
// What is known of a shape is not checked again; another symbol is. Integers are loaded, too.
// CHECK-LABEL: func.func @known(
// CHECK-NEXT: %shape_heap = "relax.vm_alloc_shape_heap"() {size = 3 : i64}
// CHECK-NEXT: %0 = "relax.shape_of"(%x)
// CHECK-NEXT: "relax.vm_store_shape"(%0, %shape_heap) {indices = [0]}
// CHECK-NEXT: %1 = "relax.shape_of"(%y)
// CHECK-NEXT: "relax.vm_store_shape"(%1, %shape_heap) {indices = [1]}
// CHECK-NEXT: %2 = builtin.unrealized_conversion_cast %shape_heap
// CHECK-NEXT: "relax.call_prim"(%2) {callee = @known_shape_func, outputs = 1 : i64}
// CHECK-NEXT: %3 = "relax.shape_of"(%x)
// CHECK-NEXT: %4 = "relax.shape_of"(%y)
// CHECK-NEXT: "relax.vm_match_shape"(%4, %shape_heap) {codes = [3], values = [0], where = "known: match_shape at {{.*}}:{{[0-9]+}}:8"}
// CHECK-NEXT: %5 = "relax.vm_load_prim"(%shape_heap) {index = 2 : i64}
// CHECK-NEXT: %6 = "relax.prim_value"() {value = 4 : i64}
// CHECK-NEXT: return %y, %5, %6 : tensor<?xf32>, i64, i64
// CHECK-LABEL: func.func private @known_shape_func(
// CHECK-NEXT: %c0 = arith.constant 0
// CHECK-NEXT: %0 = memref.load %arg0[%c0]
// CHECK-NEXT: %c1_i64 = arith.constant 1
// CHECK-NEXT: %1 = arith.addi %0, %c1_i64
// CHECK-NEXT: %2 = arith.xori %1, %0
// CHECK-NEXT: %3 = arith.xori %1, %c1_i64
// CHECK-NEXT: %4 = arith.andi %2, %3
// CHECK-NEXT: %c0_i64 = arith.constant 0
// CHECK-NEXT: %5 = arith.cmpi sge, %4, %c0_i64
// CHECK-NEXT: cf.assert %5, "known: 'n + 1' has more than 64 bits"
// CHECK-NEXT: %c2 = arith.constant 2
// CHECK-NEXT: memref.store %1, %arg0[%c2]
// CHECK-NEXT: return
func.func @known(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<?xf32, #relax.shape<["m"]>>) -> (tensor<?xf32, #relax.shape<["n"]>>, i64, i64) {
  %0 = "relax.match_shape"(%x) {pattern = ["n"], result_dtype} : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  %1 = "relax.match_shape"(%y) {pattern = ["n"], result_dtype} : (tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  %2 = "relax.prim_value"() {value = "n + 1"} : () -> i64
  %3 = "relax.prim_value"() {value = 4} : () -> i64
  return %1, %2, %3 : tensor<?xf32, #relax.shape<["n"]>>, i64, i64
}
// -----
// Of the results of packed functions, those of unknown rank or without symbols are not checked; fields are.
// CHECK-LABEL: func.func @results(
// CHECK-NEXT: %shape_heap = "relax.vm_alloc_shape_heap"() {size = 1 : i64}
// CHECK-NEXT: %0 = "relax.shape_of"(%x)
// CHECK-NEXT: "relax.vm_store_shape"(%0, %shape_heap) {indices = [0]}
// CHECK-NEXT: %1 = builtin.unrealized_conversion_cast %x
// CHECK-NEXT: %2 = "relax.call_packed"(%1) {arg_spec = [unit], func = "f"}
// CHECK-NEXT: %3 = "relax.call_packed"(%1) {arg_spec = [unit], func = "g"}
// CHECK-NEXT: %4 = "relax.tuple_get_item"(%3) {index = 1 : i64}
// CHECK-NEXT: %5 = "relax.shape_of"(%4)
// CHECK-NEXT: "relax.vm_match_shape"(%5, %shape_heap) {codes = [3], values = [0], where = "results: result of 'g' at {{.*}}:{{[0-9]+}}:8[1]"}
// CHECK-NEXT: %6 = "relax.tuple_get_item"(%3) {index = 0 : i64}
// CHECK-NEXT: %7 = "relax.tuple_get_item"(%3) {index = 1 : i64}
// CHECK-NEXT: %8 = builtin.unrealized_conversion_cast %2, %6, %7
// CHECK-NEXT: return %8 : tuple<tensor<*xf32>, tensor<4xf32>, tensor<?xf32>>
func.func @results(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tuple<tensor<*xf32>, tensor<4xf32>, tensor<?xf32, #relax.shape<["n"]>>> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
  %1 = "relax.call_packed"(%0) {func = "f", arg_spec = [unit]} : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<*xf32>
  %2 = "relax.call_packed"(%0) {func = "g", arg_spec = [unit]} : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tuple<tensor<4xf32>, tensor<?xf32, #relax.shape<["n"]>>>
  %3 = "relax.tuple_get_item"(%2) {index = 0} : (tuple<tensor<4xf32>, tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<4xf32>
  %4 = "relax.tuple_get_item"(%2) {index = 1} : (tuple<tensor<4xf32>, tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
  %5 = builtin.unrealized_conversion_cast %1, %3, %4 : tensor<*xf32>, tensor<4xf32>, tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<*xf32>, tensor<4xf32>, tensor<?xf32, #relax.shape<["n"]>>>
  return %5 : tuple<tensor<*xf32>, tensor<4xf32>, tensor<?xf32, #relax.shape<["n"]>>>
}
// -----
// Dimensions that are expressions are checked after the shape function; fields of tuples have shapes, too.
// CHECK-LABEL: func.func @late(
// CHECK-NEXT: %shape_heap = "relax.vm_alloc_shape_heap"() {size = 2 : i64}
// CHECK-NEXT: %0 = "relax.tuple_get_item"(%t) {index = 1 : i64}
// CHECK-NEXT: %1 = "relax.tuple_get_item"(%0) {index = 0 : i64}
// CHECK-NEXT: %2 = "relax.shape_of"(%x)
// CHECK-NEXT: "relax.vm_match_shape"(%2, %shape_heap) {codes = [0, 1, 2], values = [2, 0, 0], where = "late: parameter 'arg0'"}
// CHECK-NEXT: %3 = "relax.shape_of"(%1)
// CHECK-NEXT: "relax.vm_match_shape"(%3, %shape_heap) {codes = [3], values = [0], where = "late: parameter 'arg1'[1][0]"}
// CHECK-NEXT: %4 = builtin.unrealized_conversion_cast %shape_heap
// CHECK-NEXT: "relax.call_prim"(%4) {callee = @late_shape_func, outputs = 1 : i64}
// CHECK-NEXT: "relax.vm_match_shape"(%2, %shape_heap) {codes = [2, 2, 3], values = [0, 0, 1], where = "late: parameter 'arg0'"}
// CHECK-NEXT: %5 = "relax.vm_make_shape"(%shape_heap) {codes = [1, 0, 1], values = [0, 5, 1]}
// CHECK-NEXT: return %5 : !relax.shape_value<["?", 5, "?"]>
// CHECK-LABEL: func.func private @late_shape_func(
// CHECK-NEXT: %c0 = arith.constant 0
// CHECK-NEXT: %0 = memref.load %arg0[%c0]
// CHECK-NEXT: %c1_i64 = arith.constant 1
// CHECK-NEXT: %1 = arith.addi %0, %c1_i64
// CHECK-NEXT: %2 = arith.xori %1, %0
// CHECK-NEXT: %3 = arith.xori %1, %c1_i64
// CHECK-NEXT: %4 = arith.andi %2, %3
// CHECK-NEXT: %c0_i64 = arith.constant 0
// CHECK-NEXT: %5 = arith.cmpi sge, %4, %c0_i64
// CHECK-NEXT: cf.assert %5, "late: 'n + 1' has more than 64 bits"
// CHECK-NEXT: %c1 = arith.constant 1
// CHECK-NEXT: memref.store %1, %arg0[%c1]
// CHECK-NEXT: return
func.func @late(%x: tensor<2x?x?xf32, #relax.shape<[2, "n", "n + 1"]>>, %t: tuple<tensor<3xf32>, tuple<tensor<?xf32, #relax.shape<["n"]>>>>, %k: i64) -> !relax.shape_value<["n", 5, "n + 1"]> {
  %0 = "relax.shape_expr"() {values = ["n", 5, "n + 1"]} : () -> !relax.shape_value<["n", 5, "n + 1"]>
  return %0 : !relax.shape_value<["n", 5, "n + 1"]>
}
// -----
// A symbol that a branch defines is defined again after it.
// CHECK-LABEL: func.func @branches(
// CHECK-NEXT: %shape_heap = "relax.vm_alloc_shape_heap"() {size = 2 : i64}
// CHECK-NEXT: %0 = "relax.shape_of"(%x)
// CHECK-NEXT: "relax.vm_store_shape"(%0, %shape_heap) {indices = [0]}
// CHECK-NEXT: %f = tensor.extract %c[]
// CHECK-NEXT: %r = scf.if %f -> (tensor<?xf32>) {
// CHECK-NEXT: %4 = "relax.shape_of"(%y)
// CHECK-NEXT: "relax.vm_store_shape"(%4, %shape_heap) {indices = [1]}
// CHECK-NEXT: scf.yield %y : tensor<?xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: %4 = "relax.shape_of"(%y)
// CHECK-NEXT: "relax.vm_store_shape"(%4, %shape_heap) {indices = [1]}
// CHECK-NEXT: scf.yield %y : tensor<?xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %1 = "relax.shape_of"(%r)
// CHECK-NEXT: "relax.vm_store_shape"(%1, %shape_heap) {indices = [1]}
// CHECK-NEXT: %2 = "relax.vm_load_shape"(%shape_heap) {indices = [1]}
// CHECK-NEXT: %3 = "relax.shape_expr"() {values = [2, 3]}
// CHECK-NEXT: return %2, %3 : !relax.shape_value<["?"]>, !relax.shape_value<[2, 3]>
func.func @branches(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<?xf32>, %c: tensor<i1>) -> (!relax.shape_value<["k"]>, !relax.shape_value<[2, 3]>) {
  %f = tensor.extract %c[] : tensor<i1>
  %r = scf.if %f -> tensor<?xf32, #relax.shape<["k"]>> {
    %0 = "relax.match_shape"(%y) {pattern = ["k"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["k"]>>
    scf.yield %0 : tensor<?xf32, #relax.shape<["k"]>>
  } else {
    %1 = "relax.match_shape"(%y) {pattern = ["k"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["k"]>>
    scf.yield %1 : tensor<?xf32, #relax.shape<["k"]>>
  }
  %2 = "relax.match_shape"(%r) {pattern = ["k"], result_dtype} : (tensor<?xf32, #relax.shape<["k"]>>) -> tensor<?xf32, #relax.shape<["k"]>>
  %3 = "relax.shape_expr"() {values = ["k"]} : () -> !relax.shape_value<["k"]>
  %4 = "relax.shape_expr"() {values = [2, 3]} : () -> !relax.shape_value<[2, 3]>
  return %3, %4 : !relax.shape_value<["k"]>, !relax.shape_value<[2, 3]>
}
// -----
// A bound from below alone.
// CHECK-LABEL: func.func @bounded(
// CHECK-NEXT: %shape_heap = "relax.vm_alloc_shape_heap"() {size = 1 : i64}
// CHECK-NEXT: %0 = "relax.shape_of"(%x)
// CHECK-NEXT: "relax.vm_store_shape"(%0, %shape_heap) {indices = [0]}
// CHECK-NEXT: %1 = builtin.unrealized_conversion_cast %shape_heap
// CHECK-NEXT: "relax.call_prim"(%1) {callee = @bounded_shape_func, outputs = 1 : i64}
// CHECK-NEXT: %2 = "relax.vm_load_shape"(%shape_heap) {indices = [0]}
// CHECK-NEXT: return %2 : !relax.shape_value<["?"]>
// CHECK-LABEL: func.func private @bounded_shape_func(
// CHECK-NEXT: %c0 = arith.constant 0
// CHECK-NEXT: %0 = memref.load %arg0[%c0]
// CHECK-NEXT: %c2_i64 = arith.constant 2
// CHECK-NEXT: %1 = arith.cmpi sge, %0, %c2_i64
// CHECK-NEXT: cf.assert %1, "bounded: symbol 'n' must be at least 2"
// CHECK-NEXT: return
func.func @bounded(%x: tensor<?xf32, #relax.shape<["n"]>>) -> !relax.shape_value<["n"]> attributes {relax.symbol_bounds = {n = [2, unit]}} {
  %3 = "relax.shape_expr"() {values = ["n"]} : () -> !relax.shape_value<["n"]>
  return %3 : !relax.shape_value<["n"]>
}
// -----
// The dtype is known after the first check.
// CHECK-LABEL: func.func @any(
// CHECK-NEXT: %shape_heap = "relax.vm_alloc_shape_heap"() {size = 1 : i64}
// CHECK-NEXT: %0 = "relax.match_shape"(%x) {pattern = ["?", 4], result_dtype = f32}
// CHECK-NEXT: %1 = "relax.shape_of"(%0)
// CHECK-NEXT: "relax.vm_match_shape"(%1, %shape_heap) {codes = [1, 0], values = [0, 4], where = "any: match_shape at {{.*}}:{{[0-9]+}}:8"}
// CHECK-NEXT: %2 = "relax.shape_of"(%0)
// CHECK-NEXT: "relax.vm_match_shape"(%2, %shape_heap) {codes = [3, 2], values = [0, 0], where = "any: match_shape at {{.*}}:{{[0-9]+}}:8"}
// CHECK-NEXT: return %0 : tensor<?x4xf32>
func.func @any(%x: tensor<*x!relax.any>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %1 = "relax.match_shape"(%x) {pattern = ["n", 4], result_dtype = f32} : (tensor<*x!relax.any>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %2 = "relax.match_shape"(%1) {pattern = ["n", 4], result_dtype} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %2 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
// -----
// Of a dimension without a name nothing is checked, though it is known.
// CHECK-LABEL: func.func @unnamed(
// CHECK: "relax.vm_match_shape"({{.*}}) {codes = [2, 1], values = [0, 0]
// CHECK: "relax.vm_match_shape"({{.*}}) {codes = [0, 3], values = [4, 0]
func.func @unnamed(%x: tensor<4x?xf32>) -> tensor<4x?xf32, #relax.shape<[4, "n"]>> {
  %0 = "relax.match_shape"(%x) {pattern = ["?", "n"], result_dtype} : (tensor<4x?xf32>) -> tensor<?x?xf32, #relax.shape<["?", "n"]>>
  %1 = "relax.match_shape"(%0) {pattern = [4, "n"], result_dtype} : (tensor<?x?xf32, #relax.shape<["?", "n"]>>) -> tensor<4x?xf32, #relax.shape<[4, "n"]>>
  return %1 : tensor<4x?xf32, #relax.shape<[4, "n"]>>
}
