// Conditionals among implementations become prim funcs with branches, unless they do more than call prim funcs.
// RUN: relax-opt %s --outline-branches --canonicalize | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NOT: scf.if
// CHECK: %[[R:[a-z0-9]+]] = "relax.call_tir"(%{{[a-z0-9]+}}) {callee = @exp_by_size, tir_vars = ["n"]}
// CHECK: return %[[R]]
// CHECK-LABEL: func.func @tuple_in_front(
// CHECK-NOT: scf.if
// CHECK: %[[T:[a-z0-9]+]] = "relax.call_tir"(%{{[a-z0-9]+}}) {callee = @shared_by_size, tir_vars = ["n"]}
// CHECK: return %[[T]]
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
