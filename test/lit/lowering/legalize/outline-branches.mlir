// Conditionals among implementations become prim funcs with branches, unless they do more than call prim funcs.
// RUN: relax-opt %s --outline-branches --canonicalize --split-input-file | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NOT: scf.if
// CHECK: %[[R:[a-z0-9]+]] = "relax.call_tir"(%{{[a-z0-9]+}}) {callee = @exp_by_size, tir_vars = ["n"]}
// CHECK: return %[[R]] :
// CHECK-LABEL: func.func @tuple_in_front(
// CHECK-NOT: scf.if
// CHECK: %[[T:[a-z0-9]+]] = "relax.call_tir"(%{{[a-z0-9]+}}) {callee = @shared_by_size, tir_vars = ["n"]}
// CHECK: return %[[T]] :
// CHECK-LABEL: func.func @reshaped(
// CHECK: scf.if
// CHECK: "relax.reshape"
// CHECK-LABEL: func.func @of_users(
// CHECK: scf.if
// CHECK-LABEL: func.func private @exp_by_size(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x4xf32>, %[[OUT:[a-z0-9]+]]: memref<?x4xf32>, %[[N:[a-z0-9]+]]: index)
// CHECK: %[[FEW:[a-z0-9]+]] = arith.cmpi sle, %[[N]], %{{[a-z0-9_]+}} : index
// CHECK: scf.if %[[FEW]] {
// CHECK: call @twice(%[[X]], %[[OUT]])
// CHECK: } else {
// CHECK: %[[MORE:[a-z0-9]+]] = arith.cmpi sle, %[[N]], %{{[a-z0-9_]+}} : index
// CHECK: scf.if %[[MORE]] {
// CHECK: call @exp.memory(%[[X]], %[[OUT]])
// CHECK: } else {
// CHECK: call @twice(%[[X]], %[[OUT]])

#same = affine_map<(d0, d1) -> (d0, d1)>
!x = tensor<?x4xf32, #relax.shape<["n", 4]>>

func.func @main(%x: !x) -> !x {
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %few = arith.cmpi sle, %n, %four : i64
  %1 = scf.if %few -> !x {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %ten = "relax.prim_value"() {value = 10 : i64} : () -> i64
    %more = arith.cmpi sle, %n, %ten : i64
    %2 = scf.if %more -> !x {
      %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
      %b = "relax.call_tir"(%a) {callee = @exp, tir_vars = []} : (tuple<!x>) -> !x
      scf.yield %b : !x
    } else {
      %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
      %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
      scf.yield %b : !x
    } {relax.by_size = "exp"}
    scf.yield %2 : !x
  } {relax.by_size = "exp"}
  return %1 : !x
}

func.func @tuple_in_front(%x: !x) -> !x {
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %few = arith.cmpi sle, %n, %four : i64
  %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
  %1 = scf.if %few -> !x {
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %b = "relax.call_tir"(%a) {callee = @exp, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } {relax.by_size = "shared"}
  return %1 : !x
}

func.func @reshaped(%x: !x) -> !x {
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %few = arith.cmpi sle, %n, %four : i64
  %1 = scf.if %few -> !x {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %s = "relax.shape_expr"() {values = ["n*4"]} : () -> !relax.shape_value<["4*n"]>
    %f = "relax.reshape"(%x, %s) : (!x, !relax.shape_value<["4*n"]>) -> tensor<?xf32, #relax.shape<["4*n"]>>
    %t = "relax.shape_expr"() {values = ["n", 4]} : () -> !relax.shape_value<["n", 4]>
    %b = "relax.reshape"(%f, %t) : (tensor<?xf32, #relax.shape<["4*n"]>>, !relax.shape_value<["n", 4]>) -> !x
    scf.yield %b : !x
  } {relax.by_size = "exp"}
  return %1 : !x
}

func.func @of_users(%x: !x) -> !x {
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %few = arith.cmpi sle, %n, %four : i64
  %1 = scf.if %few -> !x {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    scf.yield %x : !x
  }
  return %1 : !x
}

func.func private @twice(%a: memref<?x4xf32>, %out: memref<?x4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %a, %c0 : memref<?x4xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %x = memref.load %a[%i, %j] : memref<?x4xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %out[%i, %j] : memref<?x4xf32>
    }
  }
  return
}

func.func private @exp(%x: tensor<?x4xf32>, %out: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {relax.pattern = "elementwise", relax.prim_func} {
  %0 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x4xf32>) outs(%out : tensor<?x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %1 = math.exp %p : f32
    linalg.yield %1 : f32
  } -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
// -----
!x = tensor<?x4xf32, #relax.shape<["n", 4]>>
!m = tensor<?xf32, #relax.shape<["m"]>>

// All of several conditions must hold. A buffer between two calls has the size that is passed; a buffer is cast to what a
// prim func takes; what a prim func on tensors takes after them stays behind.
// CHECK-LABEL: func.func @conditions(
// CHECK: {callee = @conditions_by_size, tir_vars = ["n"]}
// CHECK-LABEL: func.func @between(
// CHECK: {callee = @between_by_size, tir_vars = ["m", "n"]}
// CHECK-LABEL: func.func @room(
// CHECK: {callee = @room_by_size, tir_vars = ["m", "n"]}
// CHECK-LABEL: func.func @two_results(
// CHECK: {callee = @two_results_by_size,
// CHECK-LABEL: func.func private @conditions_by_size(
// CHECK-SAME: %[[N:[a-z0-9]+]]: index)
// CHECK-DAG: %[[A:[a-z0-9]+]] = arith.cmpi sle, %[[N]], %c4
// CHECK-DAG: %[[B:[a-z0-9]+]] = arith.cmpi ne, %[[N]], %c2
// CHECK-DAG: %[[C:[a-z0-9]+]] = arith.cmpi eq, %[[N]], %c3
// CHECK: %[[AB:[a-z0-9]+]] = arith.andi %[[A]], %[[B]] :
// CHECK-NEXT: %[[ABC:[a-z0-9]+]] = arith.andi %[[AB]], %[[C]] :
// CHECK-NEXT: scf.if %[[ABC]] {
// CHECK-LABEL: func.func private @between_by_size(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x4xf32>, %[[OUT:[a-z0-9]+]]: memref<?x4xf32>, %[[M:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index)
// CHECK: %[[FEW:[a-z0-9]+]] = arith.cmpi sle, %[[M]], %c4
// CHECK: %[[ROOM:[a-z0-9_]+]] = memref.alloc(%[[N]]) : memref<?x4xf32>
// CHECK: %[[CAST:[a-z0-9_]+]] = memref.cast %[[X]] : memref<?x4xf32> to memref<?x?xf32>
// CHECK: call @any(%[[CAST]], %[[ROOM]])
// CHECK: call @sized.memory(%[[ROOM]], %[[OUT]], %[[N]])
// CHECK: func.func private @sized.memory(
// CHECK-SAME: relax.exposes = {callee = @sized, written = array<i64: 1>}
// CHECK-LABEL: func.func private @two_results_by_size(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x4xf32>, %[[OUT:[a-z0-9]+]]: memref<?x4xf32>, %[[N:[a-z0-9]+]]: index)
// CHECK: %[[UNUSED:[a-z0-9_]+]] = memref.alloc(%[[N]]) : memref<?x4xf32>
// CHECK: call @both(%[[X]], %[[UNUSED]], %[[OUT]])
func.func @conditions(%x: !x) -> !x {
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %two = "relax.prim_value"() {value = 2 : i64} : () -> i64
  %three = "relax.prim_value"() {value = 3 : i64} : () -> i64
  %few = arith.cmpi sle, %n, %four : i64
  %not_two = arith.cmpi ne, %n, %two : i64
  %is_three = arith.cmpi eq, %n, %three : i64
  %first = arith.andi %few, %not_two : i1
  %all = arith.andi %first, %is_three : i1
  %1 = scf.if %all -> !x {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } {relax.by_size = "conditions"}
  return %1 : !x
}
func.func @between(%x: !x, %y: !m) -> !x {
  %n = "relax.prim_value"() {value = "m"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %few = arith.cmpi sle, %n, %four : i64
  %1 = scf.if %few -> !x {
    %p = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %q = "relax.call_tir"(%p) {callee = @any, tir_vars = []} : (tuple<!x>) -> !x
    %r = builtin.unrealized_conversion_cast %q : !x to tuple<!x>
    %b = "relax.call_tir"(%r) {callee = @sized, tir_vars = ["n"]} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } {relax.by_size = "between"}
  return %1 : !x
}
func.func @room(%x: !x, %y: !m) -> !x {
  %n = "relax.prim_value"() {value = "m"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %few = arith.cmpi sle, %n, %four : i64
  %1 = scf.if %few -> !x {
    %p = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %q = "relax.call_tir"(%p) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    %r = builtin.unrealized_conversion_cast %q : !x to tuple<!x>
    %b = "relax.call_tir"(%r) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } {relax.by_size = "room"}
  return %1 : !x
}
func.func @two_results(%x: !x) -> !x {
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %few = arith.cmpi sle, %n, %four : i64
  %1 = scf.if %few -> !x {
    %p = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %q = "relax.call_tir"(%p) {callee = @both, tir_vars = []} : (tuple<!x>) -> tuple<!x, !x>
    %b = "relax.tuple_get_item"(%q) {index = 1 : i64} : (tuple<!x, !x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } {relax.by_size = "two_results"}
  return %1 : !x
}
func.func private @twice(%a: memref<?x4xf32>, %out: memref<?x4xf32>) attributes {relax.prim_func} {
  return
}
func.func private @any(%a: memref<?x?xf32>, %out: memref<?x4xf32>) attributes {relax.prim_func} {
  return
}
func.func private @both(%a: memref<?x4xf32>, %out: memref<?x4xf32>, %other: memref<?x4xf32>) attributes {relax.prim_func} {
  return
}
func.func private @sized(%x: tensor<?x4xf32>, %out: tensor<?x4xf32>, %n: index) -> tensor<?x4xf32> attributes {relax.prim_func} {
  return %x : tensor<?x4xf32>
}
// -----
!x = tensor<?x4xf32, #relax.shape<["n", 4]>>

// These stay: conditions on data, alone or with one on sizes, and other relations; results that are tuples; operands that
// are returned, or two equal results; fields of tuples that no call takes.
// CHECK-NOT: by_size(
func.func @on_data(%x: !x, %c: tensor<i1>) -> !x {
  %d = tensor.extract %c[] : tensor<i1>
  %1 = scf.if %d -> !x {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } {relax.by_size = "on_data"}
  return %1 : !x
}
func.func @argument(%x: !x, %c: i1) -> !x {
  %1 = scf.if %c -> !x {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } {relax.by_size = "argument"}
  return %1 : !x
}
func.func @on_both(%x: !x, %c: tensor<i1>) -> !x {
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %few = arith.cmpi sle, %n, %four : i64
  %d = tensor.extract %c[] : tensor<i1>
  %e = arith.andi %few, %d : i1
  %1 = scf.if %e -> !x {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } {relax.by_size = "on_both"}
  return %1 : !x
}
func.func @less(%x: !x) -> !x {
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %few = arith.cmpi slt, %n, %four : i64
  %1 = scf.if %few -> !x {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } {relax.by_size = "less"}
  return %1 : !x
}
func.func @no_size(%x: !x) -> !x {
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %four = arith.constant 4 : i64
  %few = arith.cmpi sle, %n, %four : i64
  %1 = scf.if %few -> !x {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } {relax.by_size = "no_size"}
  return %1 : !x
}
func.func @tuples(%x: !x) -> tuple<!x, !x> {
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %few = arith.cmpi sle, %n, %four : i64
  %1 = scf.if %few -> tuple<!x, !x> {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @both, tir_vars = []} : (tuple<!x>) -> tuple<!x, !x>
    scf.yield %b : tuple<!x, !x>
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @both, tir_vars = []} : (tuple<!x>) -> tuple<!x, !x>
    scf.yield %b : tuple<!x, !x>
  } {relax.by_size = "tuples"}
  return %1 : tuple<!x, !x>
}
func.func @returned(%x: !x) -> !x {
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %few = arith.cmpi sle, %n, %four : i64
  %t = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
  %1 = scf.if %few -> !x {
    %b = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } {relax.by_size = "returned"}
  return %1 : !x
}
func.func @other_field(%x: !x, %z: !x) -> !x {
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %few = arith.cmpi sle, %n, %four : i64
  %t = builtin.unrealized_conversion_cast %z : !x to tuple<!x>
  %1 = scf.if %few -> !x {
    %f = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!x>) -> !x
    %a = builtin.unrealized_conversion_cast %f : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } {relax.by_size = "other_field"}
  return %1 : !x
}
func.func @other_tuple(%x: !x, %z: !x) -> !x {
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %few = arith.cmpi sle, %n, %four : i64
  %1 = scf.if %few -> !x {
    %t = builtin.unrealized_conversion_cast %z : !x to tuple<!x>
    %f = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!x>) -> !x
    %a = builtin.unrealized_conversion_cast %f : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } {relax.by_size = "other_tuple"}
  return %1 : !x
}
func.func @equal_results(%x: !x) -> (!x, !x) {
  %n = "relax.prim_value"() {value = "n"} : () -> i64
  %four = "relax.prim_value"() {value = 4 : i64} : () -> i64
  %few = arith.cmpi sle, %n, %four : i64
  %1:2 = scf.if %few -> (!x, !x) {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b, %b : !x, !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b, %b : !x, !x
  } {relax.by_size = "equal_results"}
  return %1#0, %1#1 : !x, !x
}
func.func private @twice(%a: memref<?x4xf32>, %out: memref<?x4xf32>) attributes {relax.prim_func} {
  return
}
func.func private @both(%a: memref<?x4xf32>, %out: memref<?x4xf32>, %other: memref<?x4xf32>) attributes {relax.prim_func} {
  return
}
