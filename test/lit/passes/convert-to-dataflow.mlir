// RUN: relax-opt %s --convert-to-dataflow | filecheck %s
// RUN: relax-opt %s --convert-to-dataflow=min-size=3 | filecheck %s --check-prefix=THREE
// RUN: relax-opt %s --convert-to-dataflow=min-size=1 | filecheck %s --check-prefix=ONE
// RUN: not relax-opt %s --convert-to-dataflow=min-size=0 2>&1 | filecheck %s --check-prefix=ZERO
// ZERO: min_size is 0, expected at least 1

!v = tensor<?xf32, #relax.shape<["n"]>>

// CHECK: memref.global
memref.global "private" constant @table : memref<2xf32> = dense<0.0>

// An effect divides; what one block makes and the rest uses leaves it.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK-NEXT: %[[D:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.negative"(%[[A]])
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]], %[[B]] :
// CHECK-NEXT: "relax.output"(%[[T]])
// CHECK: %[[OA:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[D]]) {index = 0 : i64}
// CHECK: %[[OB:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[D]]) {index = 1 : i64}
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[OA]] :
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
// CHECK: scf.yield %[[D]] :
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
// ONE-LABEL: func.func private @pure
// ONE-NEXT: relax.dataflow
// ONE-NEXT: relax.abs
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
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]] :
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.call"(%[[T]]) {callee = @prints}
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.negative"(%[[B]])
// CHECK-NEXT: return %[[C]] :
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

// A block ends a run, and so do its outputs; fields of other tuples go in.
// CHECK-LABEL: func.func @fields
// CHECK-SAME: (%[[T:[a-z0-9_]+]]:
// CHECK-NEXT: %[[D:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK-NEXT: relax.tuple_get_item
// CHECK-NEXT: relax.split
// CHECK-NEXT: relax.tuple_get_item
// CHECK-NEXT: relax.output
// CHECK-NEXT: })
// CHECK: %[[E:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK-NEXT: relax.abs
// CHECK-NEXT: relax.negative
// CHECK: relax.output
// CHECK-NEXT: })
// CHECK-NEXT: "relax.tuple_get_item"(%[[E]]) {index = 0 : i64}
// CHECK-NEXT: "relax.tuple_get_item"(%[[E]]) {index = 1 : i64}
// CHECK-NEXT: %[[F:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK-NEXT: relax.constant
// CHECK-NEXT: relax.add
// CHECK-NEXT: relax.add
// CHECK-NEXT: "relax.output"
// CHECK-NEXT: })
// CHECK-NEXT: return %[[F]] :
func.func @fields(%t: tuple<tensor<4xf32>>) -> tensor<2xf32> {
  %a = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  %s = "relax.split"(%a) {axis = 0 : i64, sections = 2 : i64} : (tensor<4xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %b = "relax.tuple_get_item"(%s) {index = 1 : i64} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %d = "relax.dataflow"() ({
    %e = "relax.abs"(%b) : (tensor<2xf32>) -> tensor<2xf32>
    %n = "relax.negative"(%b) : (tensor<2xf32>) -> tensor<2xf32>
    %o = builtin.unrealized_conversion_cast %e, %n : tensor<2xf32>, tensor<2xf32> to tuple<tensor<2xf32>, tensor<2xf32>>
    "relax.output"(%o) : (tuple<tensor<2xf32>, tensor<2xf32>>) -> ()
  }) : () -> tuple<tensor<2xf32>, tensor<2xf32>>
  %0 = "relax.tuple_get_item"(%d) {index = 0 : i64} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %1 = "relax.tuple_get_item"(%d) {index = 1 : i64} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %c = "relax.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %r = "relax.add"(%0, %c) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %q = "relax.add"(%r, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %q : tensor<2xf32>
}

// The only output of a block is used in the next one; bindings before a block are no part of it.
// CHECK-LABEL: func.func @single
// CHECK-NEXT: relax.exp
// CHECK-NEXT: %[[D:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK: relax.output
// CHECK-NEXT: })
// CHECK-NEXT: "relax.dataflow"() ({
// CHECK-NEXT: "relax.exp"(%[[D]])
// CHECK-NEXT: relax.abs
func.func @single(%x: !v) -> !v {
  %a = "relax.exp"(%x) : (!v) -> !v
  %d = "relax.dataflow"() ({
    %e = "relax.exp"(%a) : (!v) -> !v
    "relax.output"(%e) : (!v) -> ()
  }) : () -> !v
  %b = "relax.exp"(%d) : (!v) -> !v
  %c = "relax.abs"(%b) : (!v) -> !v
  return %c : !v
}

// What a function inside of a function returns stays at its end.
// CHECK-LABEL: func.func @lambda
// CHECK: relax.lambda
// CHECK: %[[D:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK-NEXT: relax.exp
// CHECK-NEXT: relax.abs
// CHECK-NEXT: relax.output
// CHECK-NEXT: })
// CHECK-NEXT: "relax.lambda_return"(%[[D]])
func.func @lambda(%x: !v) -> !v {
  %l = "relax.lambda"() ({
  ^bb0(%p: !v):
    %e = "relax.exp"(%p) : (!v) -> !v
    %a = "relax.abs"(%e) : (!v) -> !v
    "relax.lambda_return"(%a) : (!v) -> ()
  }) {names = ["p"]} : () -> !relax.callable<[tensor<?xf32, #relax.shape<["n"]>>], tensor<?xf32, #relax.shape<["n"]>>, true>
  return %x : !v
}

// A tuple that is used in the run and after it is built twice; one that is used after it alone, there.
// CHECK-LABEL: func.func @tuples
// CHECK: "relax.dataflow"() ({
// CHECK: builtin.unrealized_conversion_cast
// CHECK-NEXT: relax.call_pure_packed
// CHECK: relax.output
// CHECK-NEXT: })
// CHECK: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast
// CHECK-NEXT: %[[U:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast
// CHECK-NEXT: return %{{.*}}, %[[T]], %[[U]] :
func.func @tuples(%x: !v) -> (!v, tuple<!v>, tuple<!v, !v>) {
  %a = "relax.exp"(%x) : (!v) -> !v
  %t = builtin.unrealized_conversion_cast %a : !v to tuple<!v>
  %p = "relax.call_pure_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> !v
  %u = builtin.unrealized_conversion_cast %a, %p : !v, !v to tuple<!v, !v>
  return %p, %t, %u : !v, tuple<!v>, tuple<!v, !v>
}

// Constants of other dialects divide a run.
// CHECK-LABEL: func.func @dialects
// CHECK-NEXT: relax.exp
// CHECK-NEXT: arith.constant
// CHECK-NEXT: relax.negative
// CHECK-NEXT: return
func.func @dialects(%x: !v) -> !v {
  %a = "relax.exp"(%x) : (!v) -> !v
  %c = arith.constant 1 : index
  %b = "relax.negative"(%a) : (!v) -> !v
  return %b : !v
}
