// RUN: relax-opt %s --convert-to-dataflow | filecheck %s
// RUN: relax-opt %s --convert-to-dataflow=min-size=3 | filecheck %s --check-prefix=THREE
// RUN: not relax-opt %s --convert-to-dataflow=min-size=0 2>&1 | filecheck %s --check-prefix=ZERO
// ZERO: min_size is 0, expected at least 1

!v = tensor<?xf32, #relax.shape<["n"]>>

// An effect divides; what one block makes and the rest uses leaves it.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK-NEXT: %[[D:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.negative"(%[[A]])
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]], %[[B]]
// CHECK-NEXT: "relax.output"(%[[T]])
// CHECK: %[[OA:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[D]]) {index = 0 : i64}
// CHECK: %[[OB:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[D]]) {index = 1 : i64}
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[OA]]
// CHECK-NEXT: "relax.call_packed"(%[[ARGS]])
// CHECK-NEXT: "relax.updated"(%[[OA]])
// CHECK-NEXT: "relax.add"(%[[OB]], %[[X]])
// CHECK-NEXT: return
// THREE-LABEL: func.func @main
// THREE-NOT: relax.dataflow
// THREE: return
func.func @main(%x: !v) -> !v {
  %a = "relax.exp"(%x) : (!v) -> !v
  %b = "relax.negative"(%a) : (!v) -> !v
  %t = builtin.unrealized_conversion_cast %a : !v to tuple<!v>
  %c = "relax.call_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  %r = "relax.add"(%b, %x) : (!v, !v) -> !v
  return %r : !v
}

// Branches have blocks of their own; calls of functions without effects go in.
// CHECK-LABEL: func.func @branches
// CHECK: scf.if
// CHECK-NEXT: %[[D:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK-NEXT: relax.exp
// CHECK-NEXT: builtin.unrealized_conversion_cast
// CHECK-NEXT: "relax.call"
// CHECK-NEXT: "relax.output"
// CHECK: scf.yield %[[D]]
// CHECK-NEXT: } else {
// CHECK-NEXT: relax.negative
// CHECK-NEXT: scf.yield
func.func @branches(%c: i1, %x: !v) -> !v {
  %r = scf.if %c -> (!v) {
    %a = "relax.exp"(%x) : (!v) -> !v
    %t = builtin.unrealized_conversion_cast %a : !v to tuple<!v>
    %b = "relax.call"(%t) {callee = @pure} : (tuple<!v>) -> !v
    scf.yield %b : !v
  } else {
    %a = "relax.negative"(%x) : (!v) -> !v
    scf.yield %a : !v
  }
  return %r : !v
}

// CHECK-LABEL: func.func private @pure
// CHECK-NOT: relax.dataflow
func.func private @pure(%x: !v) -> !v {
  %a = "relax.abs"(%x) : (!v) -> !v
  return %a : !v
}

// Blocks that are there stay as they are, and calls of functions with effects outside.
// CHECK-LABEL: func.func @kept
// CHECK: relax.dataflow
// CHECK-NEXT: relax.exp
// CHECK-NEXT: relax.abs
// CHECK-NEXT: relax.output
// CHECK-NEXT: })
// CHECK-NEXT: builtin.unrealized_conversion_cast
// CHECK-NEXT: relax.call
// CHECK-NEXT: return
func.func @kept(%x: !v) -> !v {
  %d = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (!v) -> !v
    %f = "relax.abs"(%e) : (!v) -> !v
    "relax.output"(%f) : (!v) -> ()
  }) : () -> !v
  %t = builtin.unrealized_conversion_cast %d : !v to tuple<!v>
  %b = "relax.call"(%t) {callee = @main} : (tuple<!v>) -> !v
  return %b : !v
}

// A call of a function with effects divides a run: two runs of one binding each are no block.
// CHECK-LABEL: func.func @divided
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]]
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.call"(%[[T]]) {callee = @prints}
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.negative"(%[[B]])
// CHECK-NEXT: return %[[C]]
func.func @divided(%x: !v) -> !v {
  %a = "relax.exp"(%x) : (!v) -> !v
  %t = builtin.unrealized_conversion_cast %a : !v to tuple<!v>
  %b = "relax.call"(%t) {callee = @prints} : (tuple<!v>) -> !v
  %c = "relax.negative"(%b) : (!v) -> !v
  return %c : !v
}
func.func private @prints(%x: !v) -> !v {
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  "relax.print"(%t) {format = "", arg_spec = [unit]} : (tuple<!v>) -> ()
  return %x : !v
}
