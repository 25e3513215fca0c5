// RUN: relax-opt %s --dead-code-elimination | filecheck %s
// What nobody uses goes; checks, effects and public functions stay.

!v = tensor<?xf32, #relax.shape<["n"]>>

// CHECK: memref.global
memref.global "private" constant @table : memref<2xf32> = dense<0.0>

// CHECK-LABEL: func.func @main
// CHECK-NOT: relax.exp
// CHECK-NOT: relax.dataflow
// CHECK: relax.match_shape
// CHECK-NOT: callee = @pure
// CHECK: callee = @effect
// CHECK-NOT: scf.if
// CHECK: return
func.func @main(%x: !v, %y: tensor<?xf32>, %c: i1) -> !v {
  %a = "relax.exp"(%x) : (!v) -> !v
  %b = "relax.negative"(%a) : (!v) -> !v
  %d = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (!v) -> !v
    "relax.output"(%e) : (!v) -> ()
  }) : () -> !v
  %m = "relax.match_shape"(%y) {pattern = ["n"], result_dtype = unit} : (tensor<?xf32>) -> !v
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %p = "relax.call"(%t) {callee = @pure} : (tuple<!v>) -> !v
  %q = "relax.call"(%t) {callee = @effect} : (tuple<!v>) -> !v
  %i = scf.if %c -> (!v) {
    %e = "relax.exp"(%x) : (!v) -> !v
    scf.yield %e : !v
  } else {
    scf.yield %x : !v
  }
  return %x : !v
}

// An output without users.
// CHECK-LABEL: func.func @outputs
// CHECK: relax.exp
// CHECK-NEXT: relax.output
func.func @outputs(%x: !v) -> !v {
  %d = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (!v) -> !v
    %n = "relax.negative"(%x) : (!v) -> !v
    %t = builtin.unrealized_conversion_cast %e, %n : !v, !v to tuple<!v, !v>
    "relax.output"(%t) : (tuple<!v, !v>) -> ()
  }) : () -> tuple<!v, !v>
  %0 = "relax.tuple_get_item"(%d) {index = 0 : i64} : (tuple<!v, !v>) -> !v
  return %0 : !v
}

// A branch with a call that has effects stays, and so does one with a check; a branch loses what it does not use.
// CHECK-LABEL: func.func @branches
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: {{.*}}, %[[Y:[a-z0-9_]+]]: tensor<?xf32>, %[[C:[a-z0-9_]+]]: i1)
// CHECK: scf.if %[[C]] ->
// CHECK-NOT: relax.exp
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @effect}
// CHECK: scf.if %[[C]] ->
// CHECK: "relax.match_shape"(%[[Y]]) {pattern = ["n"]
// CHECK: return %[[X]] :
func.func @branches(%x: !v, %y: tensor<?xf32>, %c: i1) -> !v {
  %i = scf.if %c -> (!v) {
    %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
    %e = "relax.exp"(%x) : (!v) -> !v
    %q = "relax.call"(%t) {callee = @effect} : (tuple<!v>) -> !v
    scf.yield %q : !v
  } else {
    scf.yield %x : !v
  }
  %j = scf.if %c -> (!v) {
    %m = "relax.match_shape"(%y) {pattern = ["n"], result_dtype = unit} : (tensor<?xf32>) -> !v
    scf.yield %m : !v
  } else {
    scf.yield %x : !v
  }
  return %x : !v
}

// Functions that an attribute names stay: by itself, in a list, in a dictionary; so does what these call.
// CHECK-LABEL: func.func @names
// CHECK-DAG: alone = @alone
// CHECK-DAG: list = [@listed]
// CHECK-DAG: table = {first = @in_table}
// CHECK: return
func.func @names(%x: !v) -> !v {
  %a = "relax.exp"(%x) {test.alone = @alone, test.list = [@listed], test.table = {first = @in_table}, test.none = @none} : (!v) -> !v
  return %a : !v
}
// CHECK-LABEL: func.func private @alone
func.func private @alone(%x: !v) -> !v {
  return %x : !v
}
// CHECK-LABEL: func.func private @listed
func.func private @listed(%x: !v) -> !v {
  return %x : !v
}
// CHECK-LABEL: func.func private @in_table
func.func private @in_table(%x: !v) -> !v {
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %r = "relax.call"(%t) {callee = @from_table} : (tuple<!v>) -> !v
  return %r : !v
}
// CHECK-LABEL: func.func private @from_table
func.func private @from_table(%x: !v) -> !v {
  return %x : !v
}

// CHECK-NOT: @pure
func.func private @pure(%x: !v) -> !v {
  return %x : !v
}

// CHECK-LABEL: func.func private @effect
// CHECK: relax.call_packed
// CHECK: %[[U:[A-Za-z0-9_]+]] = "relax.updated"
// CHECK: return %[[U]] :
func.func private @effect(%x: !v) -> !v {
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %c = "relax.call_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  return %x : !v
}

// Two that call each other, and nobody else does.
// CHECK-NOT: @ping
func.func private @ping(%x: !v) -> !v {
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %r = "relax.call"(%t) {callee = @pong} : (tuple<!v>) -> !v
  return %r : !v
}
// CHECK-NOT: @pong
func.func private @pong(%x: !v) -> !v {
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %r = "relax.call"(%t) {callee = @ping} : (tuple<!v>) -> !v
  return %r : !v
}

// A function inside of a function loses what it does not use.
// CHECK-LABEL: func.func @lambda
// CHECK: relax.lambda
// CHECK-NEXT: ^bb0(%[[P:[a-z0-9_]+]]:
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.abs"(%[[P]])
// CHECK-NEXT: "relax.lambda_return"(%[[A]])
func.func @lambda(%x: !v) -> !relax.callable<[tensor<?xf32, #relax.shape<["n"]>>], tensor<?xf32, #relax.shape<["n"]>>, true> {
  %l = "relax.lambda"() ({
  ^bb0(%p: !v):
    %e = "relax.exp"(%p) : (!v) -> !v
    %a = "relax.abs"(%p) : (!v) -> !v
    "relax.lambda_return"(%a) : (!v) -> ()
  }) {names = ["p"]} : () -> !relax.callable<[tensor<?xf32, #relax.shape<["n"]>>], tensor<?xf32, #relax.shape<["n"]>>, true>
  return %l : !relax.callable<[tensor<?xf32, #relax.shape<["n"]>>], tensor<?xf32, #relax.shape<["n"]>>, true>
}
