// Destination-passing calls get their results as arguments, in storages of their own, which end behind the last use.
// RUN: relax-opt %s --call-tir-rewrite | filecheck %s

!n = tensor<?xf32, #relax.shape<["n"]>>
!nn = tensor<?x?xf32, #relax.shape<["n", "n"]>>

func.func private @exp(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %0 = linalg.exp ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

func.func private @iota(%out: tensor<?xf32>, %n: index) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}

func.func private @both(%x: tensor<?xf32>, %a: tensor<?xf32>, %b: tensor<2x?xf16>) -> (tensor<?xf32>, tensor<2x?xf16>) attributes {relax.prim_func} {
  return %a, %b : tensor<?xf32>, tensor<2x?xf16>
}

// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>
// CHECK-NEXT: %[[SIZE:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["4*n"]}
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"(%[[SIZE]]) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<["4*n"]>) -> !relax.object
// CHECK-NEXT: %[[SHAPE:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["n"]}
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"(%[[S]], %[[SHAPE]]) {dtype = f32, offset = 0 : i64}
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[A]] :
// CHECK-NEXT: "relax.call_prim"(%[[ARGS]]) {callee = @exp, outputs = 1 : i64}
// CHECK: %[[S2:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"(%[[S2]]
// CHECK-NEXT: %[[ARGS2:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]], %[[B]] :
// CHECK-NEXT: "relax.call_packed"(%[[ARGS2]]) {arg_spec = [unit, 3, unit], func = "scale"} {{.*}} -> tuple<>
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[A]])
// CHECK-NEXT: "relax.memory_kill_storage"(%[[S]])
// CHECK-NEXT: return %[[B]]
func.func @chain(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
  %3 = "relax.call_dps_packed"(%2) {func = "scale", arg_spec = [unit, 3]} : (tuple<!n>) -> !n
  return %3 : !n
}

// Symbolic integers go into a shape, a tuple of results into one storage per field.
// CHECK-LABEL: func.func @several(
// CHECK: %[[I:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK-NEXT: %[[IARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[I]] :
// CHECK-NEXT: %[[VARS:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["2*n"]}
// CHECK-NEXT: "relax.vm_call_tir_dyn"(%[[IARGS]], %[[VARS]]) {callee = @iota, outputs = 1 : i64}
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: "relax.shape_expr"() {values = ["4*n"]}
// CHECK: "relax.memory_alloc_storage"({{.*}}) {device = 0 : i64, dtype = f16
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: builtin.unrealized_conversion_cast %[[I]], %[[A]], %[[B]] :
// CHECK: callee = @both, outputs = 2 : i64
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[I]])
// CHECK-NEXT: "relax.memory_kill_storage"
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[A]])
// CHECK-NEXT: "relax.memory_kill_storage"
// CHECK-NEXT: return %[[B]]
func.func @several(%x: !n) -> tensor<2x?xf16, #relax.shape<[2, "n"]>> {
  %0 = builtin.unrealized_conversion_cast to tuple<>
  %1 = "relax.call_tir"(%0) {callee = @iota, tir_vars = ["2*n"]} : (tuple<>) -> !n
  %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
  %3 = "relax.call_tir"(%2) {callee = @both, tir_vars = []} : (tuple<!n>) -> tuple<!n, tensor<2x?xf16, #relax.shape<[2, "n"]>>>
  %4 = "relax.tuple_get_item"(%3) {index = 1 : i64} : (tuple<!n, tensor<2x?xf16, #relax.shape<[2, "n"]>>>) -> tensor<2x?xf16, #relax.shape<[2, "n"]>>
  return %4 : tensor<2x?xf16, #relax.shape<[2, "n"]>>
}

// A view shares the memory of its source: neither ends where the view is returned.
// CHECK-LABEL: func.func @view(
// CHECK: "relax.call_prim"
// CHECK-NEXT: "relax.flatten"
// CHECK-NOT: relax.memory_kill
// CHECK: return
func.func @view(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %2 = "relax.flatten"(%1) : (!n) -> !n
  return %2 : !n
}

// On branches: what one reads last, both end. What a branch yields lives on.
// CHECK-LABEL: func.func @branches(
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: scf.if
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: "relax.call_prim"
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[A]])
// CHECK-NEXT: "relax.memory_kill_storage"
// CHECK-NEXT: scf.yield %[[B]]
// CHECK: } else {
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[A]])
// CHECK-NEXT: "relax.memory_kill_storage"
// CHECK-NEXT: scf.yield
// CHECK: }
// CHECK-NEXT: return
func.func @branches(%x: !n, %c: tensor<i1>) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %f = tensor.extract %c[] : tensor<i1>
  %r = scf.if %f -> !n {
    %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
    %3 = "relax.call_tir"(%2) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
    scf.yield %3 : !n
  } else {
    scf.yield %x : !n
  }
  return %r : !n
}

// A branch that yields the tensor itself does not end it; the end is behind the last use of the conditional's result.
// CHECK-LABEL: func.func @yields(
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: %[[R:[A-Za-z0-9_]+]] = scf.if
// CHECK-NOT: relax.memory_kill
// CHECK: }
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: "relax.call_prim"
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[A]])
// CHECK-NEXT: "relax.memory_kill_storage"
// CHECK-NEXT: return %[[B]]
func.func @yields(%x: !n, %c: tensor<i1>) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %f = tensor.extract %c[] : tensor<i1>
  %r = scf.if %f -> !n {
    scf.yield %1 : !n
  } else {
    scf.yield %x : !n
  }
  %2 = builtin.unrealized_conversion_cast %r : !n to tuple<!n>
  %3 = "relax.call_tir"(%2) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %3 : !n
}

// A packed function may change its arguments, and keep them: the caller's array is copied first, a tensor that nothing
// else reads is not; neither ends.
// CHECK-LABEL: func.func @effects(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: "relax.call_prim"
// CHECK: %[[COPY:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK-NEXT: "relax.memory_copy"(%[[X]], %[[COPY]])
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[COPY]], %[[A]] :
// CHECK-NEXT: "relax.call_packed"(%[[ARGS]])
// CHECK-NEXT: %[[NEWX:[A-Za-z0-9_]+]] = "relax.updated"(%[[COPY]])
// CHECK-NEXT: %[[NEWA:[A-Za-z0-9_]+]] = "relax.updated"(%[[A]])
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[NEWX]], %[[NEWA]] :
// CHECK-NEXT: return %[[R]]
func.func @effects(%x: !n) -> tuple<!n, !n> {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %2 = builtin.unrealized_conversion_cast %x, %1 : !n, !n to tuple<!n, !n>
  %3 = "relax.call_packed"(%2) {func = "change", arg_spec = [unit, unit]} : (tuple<!n, !n>) -> tuple<>
  %4 = builtin.unrealized_conversion_cast %x, %1 : !n, !n to tuple<!n, !n>
  return %4 : tuple<!n, !n>
}

// A loop carries the tensor that it is given: its end is behind the loop.
// CHECK-LABEL: func.func @loop(
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: scf.for
// CHECK-NOT: relax.memory_kill
// CHECK: scf.yield
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: "relax.call_prim"
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[A]])
// CHECK-NEXT: "relax.memory_kill_storage"
// CHECK-NEXT: return %[[B]]
func.func @loop(%x: !n, %k: index) -> !n {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %r = scf.for %i = %zero to %k step %one iter_args(%y = %1) -> !n {
    %2 = builtin.unrealized_conversion_cast %y : !n to tuple<!n>
    %3 = "relax.call_tir"(%2) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
    scf.yield %3 : !n
  }
  %4 = builtin.unrealized_conversion_cast %r : !n to tuple<!n>
  %5 = "relax.call_tir"(%4) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %5 : !n
}

// A result takes the memory of a temporary that nothing else reads, but not of the caller's array, which is copied.
func.func private @twice(%x: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %x : tensor<?xf32>
}

// CHECK-LABEL: func.func @inplace(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>
// CHECK: %[[COPY:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK-NEXT: "relax.memory_copy"(%[[X]], %[[COPY]])
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[COPY]] :
// CHECK-NEXT: "relax.call_prim"(%[[ARGS]]) {callee = @twice, outputs = 0 : i64}
// CHECK-NEXT: %[[ARGS2:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[COPY]] :
// CHECK-NEXT: "relax.call_prim"(%[[ARGS2]]) {callee = @twice, outputs = 0 : i64}
// CHECK-NEXT: return %[[COPY]]
func.func @inplace(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir_inplace"(%0) {callee = @twice, inplace_indices = [0], tir_vars = []} : (tuple<!n>) -> !n
  %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
  %3 = "relax.call_tir_inplace"(%2) {callee = @twice, inplace_indices = [0], tir_vars = []} : (tuple<!n>) -> !n
  return %3 : !n
}

// The size of a copy is not known before: the machine's builtin makes it.
// CHECK-LABEL: func.func @unknown(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32>
// CHECK: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] :
// CHECK-NEXT: %[[COPY:[A-Za-z0-9_]+]] = "relax.call_pure_packed"(%[[ARGS]]) {arg_spec = [unit], func = "vm.builtin.copy_tensor"}
// CHECK-NEXT: %[[COPIES:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[COPY]] :
// CHECK-NEXT: "relax.call_packed"(%[[COPIES]])
// CHECK-NEXT: %[[CHANGED:[A-Za-z0-9_]+]] = "relax.updated"(%[[COPY]])
// CHECK-NEXT: return %[[CHANGED]]
func.func @unknown(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<?xf32> to tuple<tensor<?xf32>>
  %1 = "relax.call_packed"(%0) {func = "change", arg_spec = [unit]} : (tuple<tensor<?xf32>>) -> tuple<>
  return %x : tensor<?xf32>
}

// A result does not take the memory of a tensor that something else reads, which is copied; nor does a packed function
// get such a tensor to change it.
// CHECK-LABEL: func.func @read_later(
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: "relax.call_prim"(%{{[A-Za-z0-9_]+}}) {callee = @exp, outputs = 1 : i64}
// CHECK: %[[COPY:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK-NEXT: "relax.memory_copy"(%[[A]], %[[COPY]])
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[COPY]] :
// CHECK-NEXT: "relax.call_prim"(%[[ARGS]]) {callee = @twice, outputs = 0 : i64}
// CHECK: %[[R:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]], %[[COPY]] :
// CHECK: %[[COPY2:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK-NEXT: "relax.memory_copy"(%[[A]], %[[COPY2]])
// CHECK-NEXT: %[[ARGS2:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[COPY2]] :
// CHECK-NEXT: "relax.call_packed"(%[[ARGS2]])
// CHECK: return %[[R]]
func.func @read_later(%x: !n) -> tuple<!n, !n> {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
  %3 = "relax.call_tir_inplace"(%2) {callee = @twice, inplace_indices = [0], tir_vars = []} : (tuple<!n>) -> !n
  %r = builtin.unrealized_conversion_cast %1, %3 : !n, !n to tuple<!n, !n>
  %4 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
  %5 = "relax.call_packed"(%4) {func = "change", arg_spec = [unit]} : (tuple<!n>) -> tuple<>
  return %r : tuple<!n, !n>
}

// In a loop, a tensor from before it is read in every round: each round changes a copy.
// CHECK-LABEL: func.func @each_round(
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: scf.for
// CHECK: %[[COPY:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK-NEXT: "relax.memory_copy"(%[[A]], %[[COPY]])
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[COPY]] :
// CHECK-NEXT: "relax.call_prim"(%[[ARGS]]) {callee = @twice, outputs = 0 : i64}
// CHECK: scf.yield %[[COPY]]
func.func @each_round(%x: !n, %k: index) -> !n {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
  %r = scf.for %i = %zero to %k step %one iter_args(%y = %x) -> !n {
    %3 = "relax.call_tir_inplace"(%2) {callee = @twice, inplace_indices = [0], tir_vars = []} : (tuple<!n>) -> !n
    scf.yield %3 : !n
  }
  return %r : !n
}
