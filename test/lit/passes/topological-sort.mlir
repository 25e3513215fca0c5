// RUN: relax-opt %s --topological-sort | filecheck %s --check-prefix=DFSIN
// RUN: relax-opt %s --topological-sort="order=breadth-first" | filecheck %s --check-prefix=BFSIN

!v = tensor<?xf32, #relax.shape<["n"]>>

// DFSIN-LABEL: func.func @main
// DFSIN: relax.exp
// DFSIN-NEXT: relax.negative
// DFSIN-NEXT: relax.abs
// DFSIN-NEXT: relax.sqrt
// DFSIN-NEXT: relax.add
// DFSIN-NEXT: relax.log
// BFSIN-LABEL: func.func @main
// BFSIN: relax.exp
// BFSIN-NEXT: relax.abs
// BFSIN-NEXT: relax.log
// BFSIN-NEXT: relax.negative
// BFSIN-NEXT: relax.sqrt
// BFSIN-NEXT: relax.add
func.func @main(%x: !v) -> !v {
  %d = "relax.dataflow"() ({
    %a = "relax.exp"(%x) : (!v) -> !v
    %b = "relax.abs"(%x) : (!v) -> !v
    %c = "relax.negative"(%a) : (!v) -> !v
    %e = "relax.sqrt"(%b) : (!v) -> !v
    %l = "relax.log"(%x) : (!v) -> !v
    %s = "relax.add"(%c, %e) : (!v, !v) -> !v
    "relax.output"(%s) : (!v) -> ()
  }) : () -> !v
  return %d : !v
}

// Outside of dataflow blocks the order stays.
// DFSIN-LABEL: func.func @outside
// DFSIN: relax.exp
// DFSIN-NEXT: relax.abs
// DFSIN-NEXT: relax.negative
func.func @outside(%x: !v) -> (!v, !v) {
  %a = "relax.exp"(%x) : (!v) -> !v
  %b = "relax.abs"(%x) : (!v) -> !v
  %c = "relax.negative"(%a) : (!v) -> !v
  return %b, %c : !v, !v
}

// The symbol that match_shape defines is there before all that use it, though nothing else holds them back; the output
// comes last, and blocks in branches are sorted by themselves.
// DFSIN-LABEL: func.func @kept
// DFSIN-NEXT: relax.dataflow
// DFSIN-NEXT: relax.exp
// DFSIN-NEXT: relax.match_shape
// DFSIN-NEXT: relax.shape_expr
// DFSIN-NEXT: relax.abs
// DFSIN-NEXT: builtin.unrealized_conversion_cast
// DFSIN-NEXT: relax.output
// DFSIN: scf.if
// DFSIN-NEXT: relax.dataflow
// DFSIN-NEXT: relax.exp
// DFSIN-NEXT: relax.negative
// DFSIN-NEXT: relax.abs
// DFSIN-NEXT: relax.add
// DFSIN-NEXT: relax.output
// BFSIN-LABEL: func.func @kept
// BFSIN-NEXT: relax.dataflow
// BFSIN-NEXT: relax.exp
// BFSIN-NEXT: relax.match_shape
// BFSIN-NEXT: relax.abs
// BFSIN-NEXT: relax.shape_expr
// BFSIN-NEXT: builtin.unrealized_conversion_cast
// BFSIN-NEXT: relax.output
func.func @kept(%x: !v, %y: tensor<?xf32>, %c: i1) -> !v {
  %d = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (!v) -> !v
    %m = "relax.match_shape"(%y) {pattern = ["m"], result_dtype = unit} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["m"]>>
    %a = "relax.abs"(%x) : (!v) -> !v
    %s = "relax.shape_expr"() {values = ["m"]} : () -> !relax.shape_value<["m"]>
    %t = builtin.unrealized_conversion_cast %e, %a, %s : !v, !v, !relax.shape_value<["m"]> to tuple<!v, !v, !relax.shape_value<["m"]>>
    "relax.output"(%t) : (tuple<!v, !v, !relax.shape_value<["m"]>>) -> ()
  }) : () -> tuple<!v, !v, !relax.shape_value<["m"]>>
  %0 = "relax.tuple_get_item"(%d) {index = 0 : i64} : (tuple<!v, !v, !relax.shape_value<["m"]>>) -> !v
  %r = scf.if %c -> (!v) {
    %b = "relax.dataflow"() ({
      %e = "relax.exp"(%0) : (!v) -> !v
      %a = "relax.abs"(%0) : (!v) -> !v
      %n = "relax.negative"(%e) : (!v) -> !v
      %s = "relax.add"(%n, %a) : (!v, !v) -> !v
      "relax.output"(%s) : (!v) -> ()
    }) : () -> !v
    scf.yield %b : !v
  } else {
    scf.yield %0 : !v
  }
  return %r : !v
}
