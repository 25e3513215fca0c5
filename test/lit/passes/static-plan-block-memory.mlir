// Tensors that never live at the same time share storages; sizes are compared symbolically.
// RUN: relax-opt %s --call-tir-rewrite --static-plan-block-memory --split-input-file | filecheck %s
// passes/memory.py.

!n = tensor<?xf32, #relax.shape<["n"]>>
func.func private @exp(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %0 = linalg.exp ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// A chain of four: two storages for the temporaries, in turn; the result has its own.
// CHECK-LABEL: func.func @chain(
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"(%[[S]],
// CHECK: %[[T:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"(%[[T]],
// CHECK: "relax.memory_kill_tensor"(%[[A]])
// CHECK-NOT: relax.memory_alloc_storage
// CHECK: %[[C:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"(%[[S]],
// CHECK: "relax.memory_kill_tensor"(%[[B]])
// CHECK-NEXT: "relax.memory_kill_storage"(%[[T]])
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK: %[[D:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"(%[[R]],
// CHECK: "relax.memory_kill_tensor"(%[[C]])
// CHECK-NEXT: "relax.memory_kill_storage"(%[[S]])
// CHECK-NEXT: return %[[D]] :
func.func @chain(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
  %3 = "relax.call_tir"(%2) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %4 = builtin.unrealized_conversion_cast %3 : !n to tuple<!n>
  %5 = "relax.call_tir"(%4) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %6 = builtin.unrealized_conversion_cast %5 : !n to tuple<!n>
  %7 = "relax.call_tir"(%6) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %7 : !n
}
// -----
// An (n + 7,) tensor makes the storage of an (n,) tensor grow, but one of (m,) has a storage of its own.
!n = tensor<?xf32, #relax.shape<["n"]>>
!m = tensor<?xf32, #relax.shape<["m"]>>
!large = tensor<?xf32, #relax.shape<["n + 7"]>>
func.func private @use(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}

// CHECK-LABEL: func.func @sizes(
// CHECK: %[[SIZE:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["4*n + 28"]}
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"(%[[SIZE]])
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"(%[[S]],
// CHECK-SAME: #relax.shape<["n"]>
// CHECK: %[[MSIZE:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["4*m"]}
// CHECK-NEXT: %[[M:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"(%[[MSIZE]])
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"(%[[M]],
// CHECK: "relax.memory_kill_tensor"(%[[A]])
// CHECK-NOT: relax.memory_alloc_storage
// CHECK: %[[C:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"(%[[S]],
// CHECK-SAME: #relax.shape<["n + 7"]>
// CHECK: "relax.memory_kill_tensor"(%[[B]])
// CHECK-NEXT: "relax.memory_kill_storage"(%[[M]])
// CHECK: "relax.memory_alloc_storage"
// CHECK: "relax.memory_kill_tensor"(%[[C]])
// CHECK-NEXT: "relax.memory_kill_storage"(%[[S]])
func.func @sizes(%x: !n, %y: !m) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @use, tir_vars = []} : (tuple<!n>) -> !n
  %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
  %3 = "relax.call_tir"(%2) {callee = @use, tir_vars = []} : (tuple<!n>) -> !m
  %4 = builtin.unrealized_conversion_cast %3 : !m to tuple<!m>
  %5 = "relax.call_tir"(%4) {callee = @use, tir_vars = []} : (tuple<!m>) -> !large
  %6 = builtin.unrealized_conversion_cast %5 : !large to tuple<!large>
  %7 = "relax.call_tir"(%6) {callee = @use, tir_vars = []} : (tuple<!large>) -> !n
  return %7 : !n
}
// -----
// With n at most 16, 4*n bytes fit into 64.
!n = tensor<?xf32, #relax.shape<["n"]>>
func.func private @to_n(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}
func.func private @to_16(%x: tensor<?xf32>, %out: tensor<16xf32>) -> tensor<16xf32> attributes {relax.prim_func} {
  return %out : tensor<16xf32>
}

// CHECK-LABEL: func.func @bounds(
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK-SAME: !relax.shape_value<[64]>
// CHECK: "relax.memory_alloc_tensor"(%[[S]],
// CHECK: "relax.memory_alloc_tensor"
// CHECK: "relax.memory_alloc_tensor"(%[[S]],
// CHECK-SAME: #relax.shape<["n"]>
func.func @bounds(%x: !n) -> tensor<16xf32> attributes {relax.symbol_bounds = {n = [0, 16]}} {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @to_16, tir_vars = []} : (tuple<!n>) -> tensor<16xf32>
  %2 = builtin.unrealized_conversion_cast %1 : tensor<16xf32> to tuple<tensor<16xf32>>
  %3 = "relax.call_tir"(%2) {callee = @to_n, tir_vars = []} : (tuple<tensor<16xf32>>) -> !n
  %4 = builtin.unrealized_conversion_cast %3 : !n to tuple<!n>
  %5 = "relax.call_tir"(%4) {callee = @to_n, tir_vars = []} : (tuple<!n>) -> !n
  %6 = builtin.unrealized_conversion_cast %5 : !n to tuple<!n>
  %7 = "relax.call_tir"(%6) {callee = @to_16, tir_vars = []} : (tuple<!n>) -> tensor<16xf32>
  return %7 : tensor<16xf32>
}
// -----
// The branches take the storage of a tensor that ended before; where one does not, it ends at once.
!n = tensor<?xf32, #relax.shape<["n"]>>
func.func private @exp(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}

// CHECK-LABEL: func.func @branches(
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK: %[[T:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK: scf.if
// CHECK: "relax.memory_alloc_tensor"(%[[S]],
// CHECK: "relax.memory_kill_storage"(%[[T]])
// CHECK: "relax.memory_kill_storage"(%[[S]])
// CHECK: } else {
// CHECK: "relax.memory_kill_storage"(%[[T]])
// CHECK: "relax.memory_kill_storage"(%[[S]])
// CHECK: }
func.func @branches(%x: !n, %c: tensor<i1>) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
  %3 = "relax.call_tir"(%2) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %f = tensor.extract %c[] : tensor<i1>
  %r = scf.if %f -> !n {
    %4 = builtin.unrealized_conversion_cast %3 : !n to tuple<!n>
    %5 = "relax.call_tir"(%4) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
    %6 = builtin.unrealized_conversion_cast %5 : !n to tuple<!n>
    %7 = "relax.call_tir"(%6) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
    scf.yield %7 : !n
  } else {
    scf.yield %x : !n
  }
  return %r : !n
}
// -----
// A size with a symbol that is defined later cannot be that of an earlier storage.
!n = tensor<?xf32, #relax.shape<["n"]>>
!both = tensor<?x?xf32, #relax.shape<["n", "k + 1"]>>
func.func private @one(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}
func.func private @two(%x: tensor<?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {relax.prim_func} {
  return %out : tensor<?x?xf32>
}
func.func private @back(%x: tensor<?x?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}

// CHECK-LABEL: func.func @later(
// CHECK: "relax.memory_alloc_storage"
// CHECK-SAME: <["4*n"]>
// CHECK: "relax.memory_alloc_storage"
// CHECK-SAME: <["4*n"]>
// CHECK: relax.match_shape
// CHECK: "relax.memory_alloc_storage"
// CHECK-SAME: <["4*k*n + 4*n"]>
func.func @later(%x: !n, %y: tensor<?xf32>) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @one, tir_vars = []} : (tuple<!n>) -> !n
  %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
  %3 = "relax.call_tir"(%2) {callee = @one, tir_vars = []} : (tuple<!n>) -> !n
  %z = "relax.match_shape"(%y) {pattern = ["k"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["k"]>>
  %4 = builtin.unrealized_conversion_cast %3 : !n to tuple<!n>
  %5 = "relax.call_tir"(%4) {callee = @two, tir_vars = []} : (tuple<!n>) -> !both
  %6 = builtin.unrealized_conversion_cast %5 : !both to tuple<!both>
  %7 = "relax.call_tir"(%6) {callee = @back, tir_vars = []} : (tuple<!both>) -> !n
  return %7 : !n
}
// -----
// A storage that grows in one branch serves smaller tensors in the other one and after the conditional.
!n = tensor<?xf32, #relax.shape<["n"]>>
!large = tensor<?xf32, #relax.shape<["n + 7"]>>
func.func private @exp(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}

// CHECK-LABEL: func.func @grows_in_branch(
// CHECK: %[[SIZE:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["4*n + 28"]}
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"(%[[SIZE]])
// CHECK: "relax.memory_alloc_tensor"(%[[S]],
// CHECK: scf.if
// CHECK: "relax.memory_alloc_tensor"(%[[S]],
// CHECK-SAME: #relax.shape<["n + 7"]>
// CHECK: } else {
// CHECK: "relax.memory_alloc_tensor"(%[[S]],
// CHECK-SAME: #relax.shape<["n"]>
// CHECK: }
// CHECK: "relax.memory_alloc_tensor"(%[[S]],
// CHECK-SAME: #relax.shape<["n"]>
// CHECK: %[[MORE:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK: "relax.memory_alloc_tensor"(%[[MORE]],
func.func @grows_in_branch(%x: !n, %y: !large, %c: tensor<i1>) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
  %3 = "relax.call_tir"(%2) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %f = tensor.extract %c[] : tensor<i1>
  scf.if %f {
    %4 = builtin.unrealized_conversion_cast %y : !large to tuple<!large>
    %5 = "relax.call_tir"(%4) {callee = @exp, tir_vars = []} : (tuple<!large>) -> !large
  } else {
    %6 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
    %7 = "relax.call_tir"(%6) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  }
  %8 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %9 = "relax.call_tir"(%8) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %10 = builtin.unrealized_conversion_cast %9 : !n to tuple<!n>
  %11 = "relax.call_tir"(%10) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %3 : !n
}
// -----
// A storage of one branch alone is not reused after the conditional.
!n = tensor<?xf32, #relax.shape<["n"]>>
func.func private @exp(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}

// CHECK-LABEL: func.func @branch_alone(
// CHECK: scf.if
// CHECK: %[[INNER:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK: "relax.memory_alloc_tensor"(%[[INNER]],
// CHECK: "relax.memory_kill_storage"(%[[INNER]])
// CHECK: } else {
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK: "relax.memory_alloc_tensor"(%[[S]],
// CHECK: return
func.func @branch_alone(%x: !n, %c: tensor<i1>) -> !n {
  %f = tensor.extract %c[] : tensor<i1>
  %r = scf.if %f -> !n {
    %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
    %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
    %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
    %3 = "relax.call_tir"(%2) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
    scf.yield %3 : !n
  } else {
    scf.yield %x : !n
  }
  %4 = builtin.unrealized_conversion_cast %r : !n to tuple<!n>
  %5 = "relax.call_tir"(%4) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %6 = builtin.unrealized_conversion_cast %5 : !n to tuple<!n>
  %7 = "relax.call_tir"(%6) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %7 : !n
}
// -----
// Storages of another scope or device are others, though their size fits. Of several that are large enough, the
// smallest is taken, whatever their order.
// CHECK-LABEL: func.func @places(
// CHECK: %[[SHARED:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"(%{{[A-Za-z0-9_]+}}) {device = 0 : i64, dtype = f32, storage_scope = "shared"}
// CHECK: "relax.memory_kill_storage"(%[[SHARED]])
// CHECK: %[[FIRST:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"(%{{[A-Za-z0-9_]+}}) {device = 1 : i64, dtype = f32, storage_scope = "global"}
// CHECK: "relax.memory_kill_storage"(%[[FIRST]])
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"(%{{[A-Za-z0-9_]+}}) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<[64]>)
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"(%{{[A-Za-z0-9_]+}}) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<[32]>)
// CHECK: %[[C:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"(%{{[A-Za-z0-9_]+}}) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<[48]>)
// CHECK-NOT: relax.memory_alloc_storage
// CHECK: "relax.memory_alloc_tensor"(%[[B]], %{{[A-Za-z0-9_]+}}) {{.*}} -> tensor<4xf32>
// CHECK: return
!s64 = !relax.shape_value<[64]>
!s48 = !relax.shape_value<[48]>
!s32 = !relax.shape_value<[32]>
!s16 = !relax.shape_value<[16]>
func.func @places() -> tuple<> {
  %64 = "relax.shape_expr"() {values = [64]} : () -> !s64
  %48 = "relax.shape_expr"() {values = [48]} : () -> !s48
  %32 = "relax.shape_expr"() {values = [32]} : () -> !s32
  %16 = "relax.shape_expr"() {values = [16]} : () -> !s16
  %shape = "relax.shape_expr"() {values = [4]} : () -> !relax.shape_value<[4]>
  %s = "relax.memory_alloc_storage"(%64) {device = 0 : i64, dtype = f32, storage_scope = "shared"} : (!s64) -> !relax.object
  %st = "relax.memory_alloc_tensor"(%s, %shape) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<[4]>) -> tensor<4xf32>
  "relax.memory_kill_tensor"(%st) : (tensor<4xf32>) -> ()
  "relax.memory_kill_storage"(%s) : (!relax.object) -> ()
  %d = "relax.memory_alloc_storage"(%64) {device = 1 : i64, dtype = f32, storage_scope = "global"} : (!s64) -> !relax.object
  %dt = "relax.memory_alloc_tensor"(%d, %shape) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<[4]>) -> tensor<4xf32>
  "relax.memory_kill_tensor"(%dt) : (tensor<4xf32>) -> ()
  "relax.memory_kill_storage"(%d) : (!relax.object) -> ()
  %a = "relax.memory_alloc_storage"(%64) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!s64) -> !relax.object
  %at = "relax.memory_alloc_tensor"(%a, %shape) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<[4]>) -> tensor<4xf32>
  %b = "relax.memory_alloc_storage"(%32) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!s32) -> !relax.object
  %bt = "relax.memory_alloc_tensor"(%b, %shape) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<[4]>) -> tensor<4xf32>
  %c = "relax.memory_alloc_storage"(%48) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!s48) -> !relax.object
  %ct = "relax.memory_alloc_tensor"(%c, %shape) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<[4]>) -> tensor<4xf32>
  "relax.memory_kill_tensor"(%at) : (tensor<4xf32>) -> ()
  "relax.memory_kill_storage"(%a) : (!relax.object) -> ()
  "relax.memory_kill_tensor"(%bt) : (tensor<4xf32>) -> ()
  "relax.memory_kill_storage"(%b) : (!relax.object) -> ()
  "relax.memory_kill_tensor"(%ct) : (tensor<4xf32>) -> ()
  "relax.memory_kill_storage"(%c) : (!relax.object) -> ()
  %e = "relax.memory_alloc_storage"(%16) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!s16) -> !relax.object
  %et = "relax.memory_alloc_tensor"(%e, %shape) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<[4]>) -> tensor<4xf32>
  "relax.memory_kill_tensor"(%et) : (tensor<4xf32>) -> ()
  "relax.memory_kill_storage"(%e) : (!relax.object) -> ()
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}
// -----
// Two storages that are free at once serve the next two; sizes that nothing uses any more go.
// CHECK-LABEL: func.func @two_free(
// CHECK-NEXT: %s1 = "relax.shape_expr"() {values = ["4*n"]}
// CHECK-NEXT: %a = "relax.memory_alloc_storage"(%s1)
// CHECK-NEXT: %ta = "relax.memory_alloc_tensor"(%a, %shape)
// CHECK-NEXT: %s2 = "relax.shape_expr"() {values = ["4*n"]}
// CHECK-NEXT: %b = "relax.memory_alloc_storage"(%s2)
// CHECK-NEXT: %tb = "relax.memory_alloc_tensor"(%b, %shape)
// CHECK-NEXT: %e = "relax.memory_alloc_storage"(%size)
// CHECK-NEXT: %te = "relax.memory_alloc_tensor"(%e, %shape)
// CHECK-NEXT: "relax.memory_kill_tensor"(%ta)
// CHECK-NEXT: "relax.memory_kill_tensor"(%tb)
// CHECK-NEXT: "relax.memory_kill_tensor"(%te)
// CHECK-NEXT: %tc = "relax.memory_alloc_tensor"(%a, %shape)
// CHECK-NEXT: %td = "relax.memory_alloc_tensor"(%b, %shape)
// CHECK-NEXT: %tf = "relax.memory_alloc_tensor"(%e, %shape)
// CHECK-NEXT: "relax.memory_kill_tensor"(%tc)
// CHECK-NEXT: "relax.memory_kill_tensor"(%td)
// CHECK-NEXT: "relax.memory_kill_tensor"(%tf)
// CHECK-NEXT: "relax.memory_kill_storage"(%a)
// CHECK-NEXT: "relax.memory_kill_storage"(%b)
// CHECK-NEXT: "relax.memory_kill_storage"(%e)
// CHECK-NEXT: %r = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: return %r : tuple<>
func.func @two_free(%size: !relax.shape_value<["k"]>, %shape: !relax.shape_value<["n"]>) -> tuple<> {
  %s1 = "relax.shape_expr"() {values = ["4*n"]} : () -> !relax.shape_value<["4*n"]>
  %a = "relax.memory_alloc_storage"(%s1) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<["4*n"]>) -> !relax.object
  %ta = "relax.memory_alloc_tensor"(%a, %shape) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<["n"]>) -> tensor<?xf32, #relax.shape<["n"]>>
  %s2 = "relax.shape_expr"() {values = ["4*n"]} : () -> !relax.shape_value<["4*n"]>
  %b = "relax.memory_alloc_storage"(%s2) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<["4*n"]>) -> !relax.object
  %tb = "relax.memory_alloc_tensor"(%b, %shape) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<["n"]>) -> tensor<?xf32, #relax.shape<["n"]>>
  %e = "relax.memory_alloc_storage"(%size) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<["k"]>) -> !relax.object
  %te = "relax.memory_alloc_tensor"(%e, %shape) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<["n"]>) -> tensor<?xf32, #relax.shape<["n"]>>
  "relax.memory_kill_tensor"(%ta) : (tensor<?xf32, #relax.shape<["n"]>>) -> ()
  "relax.memory_kill_storage"(%a) : (!relax.object) -> ()
  "relax.memory_kill_tensor"(%tb) : (tensor<?xf32, #relax.shape<["n"]>>) -> ()
  "relax.memory_kill_storage"(%b) : (!relax.object) -> ()
  "relax.memory_kill_tensor"(%te) : (tensor<?xf32, #relax.shape<["n"]>>) -> ()
  "relax.memory_kill_storage"(%e) : (!relax.object) -> ()
  %s3 = "relax.shape_expr"() {values = ["4*n"]} : () -> !relax.shape_value<["4*n"]>
  %c = "relax.memory_alloc_storage"(%s3) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<["4*n"]>) -> !relax.object
  %tc = "relax.memory_alloc_tensor"(%c, %shape) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<["n"]>) -> tensor<?xf32, #relax.shape<["n"]>>
  %d = "relax.memory_alloc_storage"(%s3) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<["4*n"]>) -> !relax.object
  %td = "relax.memory_alloc_tensor"(%d, %shape) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<["n"]>) -> tensor<?xf32, #relax.shape<["n"]>>
  %f = "relax.memory_alloc_storage"(%size) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<["k"]>) -> !relax.object
  %tf = "relax.memory_alloc_tensor"(%f, %shape) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<["n"]>) -> tensor<?xf32, #relax.shape<["n"]>>
  "relax.memory_kill_tensor"(%tc) : (tensor<?xf32, #relax.shape<["n"]>>) -> ()
  "relax.memory_kill_storage"(%c) : (!relax.object) -> ()
  "relax.memory_kill_tensor"(%td) : (tensor<?xf32, #relax.shape<["n"]>>) -> ()
  "relax.memory_kill_storage"(%d) : (!relax.object) -> ()
  "relax.memory_kill_tensor"(%tf) : (tensor<?xf32, #relax.shape<["n"]>>) -> ()
  "relax.memory_kill_storage"(%f) : (!relax.object) -> ()
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}
// -----
// Sizes of different symbols are not compared, those of unknown rank have a storage of their own.
// CHECK-LABEL: func.func @unlike(
// CHECK-NEXT: %a = "relax.memory_alloc_storage"(%n)
// CHECK-NEXT: %ta = "relax.memory_alloc_tensor"(%a, %n)
// CHECK-NEXT: "relax.memory_kill_tensor"(%ta)
// CHECK-NEXT: "relax.memory_kill_storage"(%a)
// CHECK-NEXT: %b = "relax.memory_alloc_storage"(%m)
// CHECK-NEXT: %tb = "relax.memory_alloc_tensor"(%b, %m)
// CHECK-NEXT: "relax.memory_kill_tensor"(%tb)
// CHECK-NEXT: "relax.memory_kill_storage"(%b)
// CHECK-NEXT: %z = "relax.match_shape"(%y) {pattern = ["?", "k"], result_dtype}
// CHECK-NEXT: %c = "relax.memory_alloc_storage"(%unknown)
// CHECK-NEXT: %tc = "relax.memory_alloc_tensor"(%c, %n)
// CHECK-NEXT: "relax.memory_kill_tensor"(%tc)
// CHECK-NEXT: "relax.memory_kill_storage"(%c)
// CHECK-NEXT: %d = "relax.memory_alloc_storage"(%open)
// CHECK-NEXT: %td = "relax.memory_alloc_tensor"(%d, %n)
// CHECK-NEXT: "relax.memory_kill_tensor"(%td)
// CHECK-NEXT: "relax.memory_kill_storage"(%d)
// CHECK-NEXT: %r = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: return %r : tuple<>
func.func @unlike(%open: !relax.shape_value<["?"]>, %unknown: !relax.shape_value<unit>, %y: tensor<?x?xf32>, %n: !relax.shape_value<["n"]>, %m: !relax.shape_value<["m"]>) -> tuple<> {
  %a = "relax.memory_alloc_storage"(%n) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<["n"]>) -> !relax.object
  %ta = "relax.memory_alloc_tensor"(%a, %n) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<["n"]>) -> tensor<?xf32, #relax.shape<["n"]>>
  "relax.memory_kill_tensor"(%ta) : (tensor<?xf32, #relax.shape<["n"]>>) -> ()
  "relax.memory_kill_storage"(%a) : (!relax.object) -> ()
  %b = "relax.memory_alloc_storage"(%m) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<["m"]>) -> !relax.object
  %tb = "relax.memory_alloc_tensor"(%b, %m) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<["m"]>) -> tensor<?xf32, #relax.shape<["m"]>>
  "relax.memory_kill_tensor"(%tb) : (tensor<?xf32, #relax.shape<["m"]>>) -> ()
  "relax.memory_kill_storage"(%b) : (!relax.object) -> ()
  %z = "relax.match_shape"(%y) {pattern = ["?", "k"], result_dtype} : (tensor<?x?xf32>) -> tensor<?x?xf32, #relax.shape<["?", "k"]>>
  %c = "relax.memory_alloc_storage"(%unknown) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<unit>) -> !relax.object
  %tc = "relax.memory_alloc_tensor"(%c, %n) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<["n"]>) -> tensor<?xf32, #relax.shape<["n"]>>
  "relax.memory_kill_tensor"(%tc) : (tensor<?xf32, #relax.shape<["n"]>>) -> ()
  "relax.memory_kill_storage"(%c) : (!relax.object) -> ()
  %d = "relax.memory_alloc_storage"(%open) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<["?"]>) -> !relax.object
  %td = "relax.memory_alloc_tensor"(%d, %n) {dtype = f32, offset = 0 : i64} : (!relax.object, !relax.shape_value<["n"]>) -> tensor<?xf32, #relax.shape<["n"]>>
  "relax.memory_kill_tensor"(%td) : (tensor<?xf32, #relax.shape<["n"]>>) -> ()
  "relax.memory_kill_storage"(%d) : (!relax.object) -> ()
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}
// -----
// A tensor ends after a conditional with one branch, after a loop, after the conditional that hands it on, and before a
// number that was read of it is used.
!n = tensor<?xf32, #relax.shape<["n"]>>
func.func private @exp(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}
func.func private @flag(%x: tensor<?xf32>, %out: tensor<i1>) -> tensor<i1> attributes {relax.prim_func} {
  return %out : tensor<i1>
}
// CHECK-LABEL: func.func @ends(
// CHECK: %[[A:[a-z0-9]+]] = "relax.memory_alloc_tensor"
// CHECK: scf.if
// CHECK-NOT: kill_tensor"(%[[A]])
// CHECK: "relax.memory_kill_storage"
// CHECK-NEXT: }
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[A]])
// CHECK: %[[B:[a-z0-9]+]] = "relax.memory_alloc_tensor"
// CHECK: scf.while
// CHECK-NOT: kill_tensor"(%[[B]])
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[B]])
// CHECK: %[[C:[a-z0-9]+]] = "relax.memory_alloc_tensor"
// CHECK: scf.if
// CHECK-NEXT: scf.yield %[[C]] :
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[C]])
// CHECK: %[[F:[a-z0-9]+]] = tensor.extract %[[D:[a-z0-9]+]][]
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[D]])
// CHECK: scf.if %[[F]] {
func.func @ends(%x: !n, %c: i1) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  scf.if %c {
    %i = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
    %j = "relax.call_tir"(%i) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  }
  %2 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %w = scf.while (%a = %x) : (!n) -> !n {
    %i = builtin.unrealized_conversion_cast %2 : !n to tuple<!n>
    %j = "relax.call_tir"(%i) {callee = @flag, tir_vars = []} : (tuple<!n>) -> tensor<i1>
    %k = tensor.extract %j[] : tensor<i1>
    scf.condition(%k) %a : !n
  } do {
  ^bb0(%b: !n):
    scf.yield %b : !n
  }
  %3 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %r = scf.if %c -> !n {
    scf.yield %3 : !n
  } else {
    scf.yield %x : !n
  }
  %4 = "relax.call_tir"(%0) {callee = @flag, tir_vars = []} : (tuple<!n>) -> tensor<i1>
  %f = tensor.extract %4[] : tensor<i1>
  %5 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  scf.if %f {
  }
  return %5 : !n
}
// -----
// Storages that both branches end are free after the conditional.
!n = tensor<?xf32, #relax.shape<["n"]>>
func.func private @exp(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}
// CHECK-LABEL: func.func @ended_in_both(
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK: scf.if
// CHECK: } else {
// CHECK: "relax.memory_kill_tensor"
// CHECK: "relax.memory_alloc_tensor"(%[[S]],
func.func @ended_in_both(%x: !n, %c: i1) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
  %r = scf.if %c -> !n {
    %3 = "relax.call_tir"(%2) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
    scf.yield %3 : !n
  } else {
    scf.yield %x : !n
  }
  %4 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %5 = builtin.unrealized_conversion_cast %4 : !n to tuple<!n>
  %6 = "relax.call_tir"(%5) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %6 : !n
}
// -----
// A symbol that match_shape defines before the storage may make it grow, also if another one checks it later.
!k = tensor<?xf32, #relax.shape<["k"]>>
!large = tensor<?xf32, #relax.shape<["k + 7"]>>
func.func private @use(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}
// CHECK-LABEL: func.func @matched(
// CHECK-NEXT: "relax.match_shape"
// CHECK-NEXT: values = ["4*k + 28"]
// CHECK-NEXT: "relax.memory_alloc_storage"
// CHECK-NOT: relax.memory_alloc_storage
// CHECK: return
func.func @matched(%y: tensor<?xf32>) -> tuple<> {
  %z = "relax.match_shape"(%y) {pattern = ["k"], result_dtype} : (tensor<?xf32>) -> !k
  %0 = builtin.unrealized_conversion_cast %z : !k to tuple<!k>
  %1 = "relax.call_tir"(%0) {callee = @use, tir_vars = []} : (tuple<!k>) -> !k
  %again = "relax.match_shape"(%y) {pattern = ["k"], result_dtype} : (tensor<?xf32>) -> !k
  %2 = "relax.call_tir"(%0) {callee = @use, tir_vars = []} : (tuple<!k>) -> !large
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}
// -----
// A tensor that a loop carries lives as long as what the loop gives.
!n = tensor<?xf32, #relax.shape<["n"]>>
func.func private @exp(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}
// CHECK-LABEL: func.func @carried(
// CHECK: %[[A:[a-z0-9]+]] = "relax.memory_alloc_tensor"
// CHECK: %[[R:[a-z0-9]+]] = scf.for
// CHECK-NOT: kill_tensor"(%[[A]])
// CHECK: builtin.unrealized_conversion_cast %[[R]],
// CHECK-NEXT: "relax.call_prim"
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[A]])
func.func @carried(%x: !n, %i: index, %j: index) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %r = scf.for %k = %i to %j step %i iter_args(%a = %1) -> !n {
    scf.yield %a : !n
  }
  %5 = builtin.unrealized_conversion_cast %r : !n to tuple<!n>
  %6 = "relax.call_tir"(%5) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %7 = builtin.unrealized_conversion_cast %6 : !n to tuple<!n>
  %8 = "relax.call_tir"(%7) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %8 : !n
}
// -----
// What only the second branch has ended is not free after the conditional.
!n = tensor<?xf32, #relax.shape<["n"]>>
func.func private @exp(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}
// CHECK-LABEL: func.func @second_branch(
// CHECK: } else {
// CHECK: %[[INNER:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK: "relax.memory_kill_storage"(%[[INNER]])
// CHECK: }
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK: "relax.memory_alloc_tensor"(%[[S]],
func.func @second_branch(%x: !n, %c: i1) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  scf.if %c {
  } else {
    %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  }
  %2 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %3 = builtin.unrealized_conversion_cast %2 : !n to tuple<!n>
  %4 = "relax.call_tir"(%3) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %4 : !n
}
// -----
// Of two free storages that may grow, the one that has been free for longer does.
!n = tensor<?xf32, #relax.shape<["n"]>>
!m = tensor<?xf32, #relax.shape<["m"]>>
!both = tensor<?xf32, #relax.shape<["m + n"]>>
func.func private @use(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}
// CHECK-LABEL: func.func @longest_free(
// CHECK: values = ["4*m + 4*n"]
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK: "relax.memory_alloc_tensor"(%[[A]],
// CHECK-SAME: #relax.shape<["n"]>
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK: "relax.memory_alloc_tensor"(%[[B]],
// CHECK: "relax.memory_alloc_tensor"(%[[A]],
// CHECK-SAME: #relax.shape<["m + n"]>
func.func @longest_free(%x: !n, %y: !m) -> tuple<> {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @use, tir_vars = []} : (tuple<!n>) -> !n
  %2 = "relax.call_tir"(%0) {callee = @use, tir_vars = []} : (tuple<!n>) -> !m
  %3 = "relax.call_tir"(%0) {callee = @use, tir_vars = []} : (tuple<!n>) -> !both
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}
// -----
// A number that is derived from a tensor does not make it live longer.
!n = tensor<?xf32, #relax.shape<["n"]>>
func.func private @exp(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}
// CHECK-LABEL: func.func @length(
// CHECK: %[[L:[a-z0-9]+]] = tensor.dim %[[A:[a-z0-9]+]],
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[A]])
// CHECK: return %{{[a-z0-9]+}}, %[[L]] :
func.func @length(%x: !n, %i: index) -> (!n, index) {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %d = tensor.dim %1, %i : !n
  %2 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %2, %d : !n, index
}
