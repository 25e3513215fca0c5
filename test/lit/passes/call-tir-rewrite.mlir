// Destination-passing calls get their results as arguments, in storages of their own, which end behind the last use.
// RUN: relax-opt %s --call-tir-rewrite | filecheck %s
// RUN: relax-opt %s --call-tir-rewrite --call-tir-rewrite | filecheck %s --check-prefix=AGAIN

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
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"(%[[S2]],
// CHECK-NEXT: %[[ARGS2:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]], %[[B]] :
// CHECK-NEXT: "relax.call_packed"(%[[ARGS2]]) {arg_spec = [unit, 3, unit], func = "scale"} {{.*}} -> tuple<>
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[A]])
// CHECK-NEXT: "relax.memory_kill_storage"(%[[S]])
// CHECK-NEXT: return %[[B]] :
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
// CHECK-NEXT: return %[[B]] :
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
// CHECK-NEXT: scf.yield %[[B]] :
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
// CHECK-NEXT: return %[[B]] :
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
// CHECK-NEXT: return %[[R]] :
// AGAIN-LABEL: func.func @effects(
// AGAIN-COUNT-1: relax.memory_copy
// AGAIN-NOT: relax.memory_copy
// AGAIN-LABEL: func.func @loop(
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
// CHECK-NEXT: return %[[B]] :
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
// CHECK-NEXT: return %[[COPY]] :
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
// CHECK-NEXT: return %[[CHANGED]] :
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
// CHECK: return %[[R]] :
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
// CHECK: scf.yield %[[COPY]] :
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

// Tensors that may be one, numbers and shapes: a copy of the second tensor alone.
// CHECK-LABEL: func.func private @distinct(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: {{.*}}, %[[Y:[a-z0-9_]+]]: {{.*}}, %[[I:[a-z0-9_]+]]: i64
// CHECK: "relax.memory_copy"(%[[Y]], %[[D:[A-Za-z0-9_]+]])
// CHECK: "relax.memory_copy"(%[[X]], %[[C:[A-Za-z0-9_]+]])
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[C]], %[[D]], %[[I]], %{{.*}} :
// CHECK-NEXT: "relax.call_packed"(%[[ARGS]])
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.updated"(%[[D]])
// CHECK: return %[[R]] :
func.func private @distinct(%x: !n, %y: !n, %i: i64, %s: !relax.shape_value<["n"]>) -> !n {
  %0 = builtin.unrealized_conversion_cast %x, %y, %i, %s : !n, !n, i64, !relax.shape_value<["n"]> to tuple<!n, !n, i64, !relax.shape_value<["n"]>>
  %1 = "relax.call_packed"(%0) {func = "change", arg_spec = [unit, unit, unit, unit]} : (tuple<!n, !n, i64, !relax.shape_value<["n"]>>) -> tuple<>
  return %y : !n
}

// What a function has changed that keeps nothing, the next one may change; one that gives a result may have kept it.
// CHECK-LABEL: func.func @calls(
// CHECK-SAME: %[[X:[a-z0-9_]+]]:
// CHECK: "relax.memory_copy"(%[[X]],
// CHECK: "relax.call_packed"({{.*}}func = "first"
// CHECK-NOT: relax.memory_copy
// CHECK: "relax.call_packed"({{.*}}func = "second"
// CHECK: "relax.memory_copy"
// CHECK: "relax.call_packed"({{.*}}func = "third"
// CHECK: return
func.func @calls(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_packed"(%0) {func = "first", arg_spec = [unit]} : (tuple<!n>) -> tuple<>
  %k = "relax.shape_expr"() {values = ["n"]} : () -> !relax.shape_value<["n"]>
  %2 = "relax.call_packed"(%0) {func = "second", arg_spec = [unit]} : (tuple<!n>) -> !relax.object
  %3 = "relax.call_packed"(%0) {func = "third", arg_spec = [unit]} : (tuple<!n>) -> tuple<>
  return %x : !n
}

// New results among those that take the memory of an argument, and arguments that are fields of a parameter.
func.func private @mixed(%x: tensor<?xf32>, %a: tensor<?xf32>, %b: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) attributes {relax.prim_func} {
  return %a, %x, %b : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
// CHECK-LABEL: func.func @some_new(
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK-NOT: relax.memory_copy
// CHECK: %[[F:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK-NOT: relax.memory_copy
// CHECK: %[[G:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]], %[[F]], %[[G]] :
// CHECK-NEXT: "relax.call_prim"(%[[ARGS]]) {callee = @mixed, outputs = 2 : i64}
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[F]], %[[A]], %[[G]] :
// CHECK-NEXT: return %[[R]] :
func.func @some_new(%x: !n) -> tuple<!n, !n, !n> {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
  %3 = "relax.call_tir_inplace"(%2) {callee = @mixed, inplace_indices = [-1, 0, -1], tir_vars = []} : (tuple<!n>) -> tuple<!n, !n, !n>
  return %3 : tuple<!n, !n, !n>
}
// CHECK-LABEL: func.func @parameter(
// CHECK-SAME: %[[T:[a-z0-9_]+]]: tuple
// CHECK: %[[X:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[T]]) {index = 0 : i64}
// CHECK: "relax.memory_copy"(%[[X]], %[[C:[A-Za-z0-9_]+]])
// CHECK: "relax.call_prim"
// CHECK: return %[[C]] :
func.func @parameter(%t: tuple<!n>) -> !n {
  %0 = "relax.call_tir_inplace"(%t) {callee = @twice, inplace_indices = [0], tir_vars = []} : (tuple<!n>) -> !n
  return %0 : !n
}

// Three results in one memory, without a copy; the fields of what a packed function gives are no operands of it.
// CHECK-LABEL: func.func @in_turn(
// CHECK-NOT: relax.memory_copy
// CHECK: "relax.call_prim"
// CHECK-NOT: relax.memory_copy
// CHECK: "relax.call_prim"
// CHECK-NOT: relax.memory_copy
// CHECK: "relax.call_prim"
// CHECK: %[[P:[A-Za-z0-9_]+]] = "relax.call_pure_packed"
// CHECK-NEXT: %[[F:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 0 : i64}
// CHECK: return %{{.*}}, %[[F]] :
func.func @in_turn(%x: !n) -> (!n, !n) {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
  %3 = "relax.call_tir_inplace"(%2) {callee = @twice, inplace_indices = [0], tir_vars = []} : (tuple<!n>) -> !n
  %4 = builtin.unrealized_conversion_cast %3 : !n to tuple<!n>
  %5 = "relax.call_tir_inplace"(%4) {callee = @twice, inplace_indices = [0], tir_vars = []} : (tuple<!n>) -> !n
  %a = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %p = "relax.call_pure_packed"(%a) {func = "g", arg_spec = [unit]} : (tuple<!n>) -> tuple<!n, !n>
  %f = "relax.tuple_get_item"(%p) {index = 0 : i64} : (tuple<!n, !n>) -> !n
  return %5, %f : !n, !n
}

// A result of a conditional that nothing reads: what a branch yields ends after the conditional, or not at all if it is
// made in the branch.
// CHECK-LABEL: func.func @unread(
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: scf.if
// CHECK-NOT: relax.memory_kill
// CHECK: } else {
// CHECK-NOT: relax.memory_kill
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[A]])
// CHECK-NEXT: "relax.memory_kill_storage"
// CHECK-NEXT: return
func.func @unread(%x: !n, %c: tensor<i1>) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %f = tensor.extract %c[] : tensor<i1>
  %r = scf.if %f -> !n {
    scf.yield %1 : !n
  } else {
    %2 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
    %3 = "relax.call_tir"(%2) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
    scf.yield %3 : !n
  }
  return %x : !n
}

// A branch alone, and a loop of two regions: the end is after them.
// CHECK-LABEL: func.func @inside(
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: scf.if
// CHECK: "relax.call_prim"
// CHECK-NEXT: "relax.memory_kill_tensor"
// CHECK-NEXT: "relax.memory_kill_storage"
// CHECK-NEXT: }
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[A]])
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: scf.while
// CHECK-NOT: relax.memory_kill_tensor"(%[[B]])
// CHECK: } do {
// CHECK-NOT: relax.memory_kill_tensor"(%[[B]])
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[B]])
// CHECK-NEXT: "relax.memory_kill_storage"
// CHECK-NEXT: return
func.func @inside(%x: !n, %c: tensor<i1>) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %f = tensor.extract %c[] : tensor<i1>
  scf.if %f {
    %2 = builtin.unrealized_conversion_cast %1 : !n to tuple<!n>
    %3 = "relax.call_tir"(%2) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  }
  %4 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %5 = "relax.call_tir"(%4) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %w:2 = scf.while (%i = %f, %v = %5) : (i1, !n) -> (i1, !n) {
    scf.condition(%i) %i, %v : i1, !n
  } do {
  ^bb0(%i: i1, %v: !n):
    %g = tensor.extract %c[] : tensor<i1>
    scf.yield %g, %v : i1, !n
  }
  return %x : !n
}

// CHECK-LABEL: func.func @unknown_twice(
// CHECK: vm.builtin.copy_tensor
// CHECK: func = "first"
// CHECK-NOT: vm.builtin.copy_tensor
// CHECK: func = "second"
// CHECK: return
func.func @unknown_twice(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<?xf32> to tuple<tensor<?xf32>>
  %1 = "relax.call_packed"(%0) {func = "first", arg_spec = [unit]} : (tuple<tensor<?xf32>>) -> tuple<>
  %2 = "relax.call_packed"(%0) {func = "second", arg_spec = [unit]} : (tuple<tensor<?xf32>>) -> tuple<>
  return %x : tensor<?xf32>
}

// A call whose result is the empty tuple of arguments stays.
// CHECK-LABEL: func.func @empty(
// CHECK: func = "effect"
// CHECK: callee = @iota
func.func @empty(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast to tuple<>
  %1 = "relax.call_packed"(%0) {func = "effect", arg_spec = []} : (tuple<>) -> tuple<>
  %2 = "relax.call_tir"(%1) {callee = @iota, tir_vars = ["n"]} : (tuple<>) -> !n
  return %2 : !n
}

// One result of a conditional is the tensor, the other one is not; a number that is read from a tensor is no part of it.
func.func private @flag(%x: tensor<?xf32>, %out: tensor<i1>) -> tensor<i1> attributes {relax.prim_func} {
  return %out : tensor<i1>
}
// CHECK-LABEL: func.func @others(
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: %[[F:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"
// CHECK: tensor.extract %[[F]][
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[F]])
// CHECK-NEXT: "relax.memory_kill_storage"
// CHECK-NEXT: %{{.*}} = scf.if
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: "relax.memory_kill_tensor"(%[[A]])
// CHECK-NEXT: "relax.memory_kill_storage"
// CHECK: "relax.call_prim"
// CHECK-NEXT: return
func.func @others(%x: !n, %y: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %2 = "relax.call_tir"(%0) {callee = @flag, tir_vars = []} : (tuple<!n>) -> tensor<i1>
  %f = tensor.extract %2[] : tensor<i1>
  %r:2 = scf.if %f -> (!n, !n) {
    scf.yield %1, %x : !n, !n
  } else {
    scf.yield %x, %y : !n, !n
  }
  %3 = builtin.unrealized_conversion_cast %r#1 : !n to tuple<!n>
  %4 = "relax.call_tir"(%3) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %4 : !n
}

// A packed function in a loop may keep the tensor that the loop carries: it does not end.
// CHECK-LABEL: func.func @captured(
// CHECK: scf.for
// CHECK: relax.call_pure_packed
// CHECK-NOT: relax.memory_kill
// CHECK: return
func.func @captured(%x: !n, %k: index) -> !n {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %r = scf.for %i = %zero to %k step %one iter_args(%y = %1) -> !n {
    %2 = builtin.unrealized_conversion_cast %y : !n to tuple<!n>
    %3 = "relax.call_pure_packed"(%2) {func = "keep", arg_spec = [unit]} : (tuple<!n>) -> !n
    scf.yield %3 : !n
  }
  return %x : !n
}
