// RUN: relax-opt %s --topological-sort="direction=from-outputs" | filecheck %s --check-prefix=DFSOUT
// RUN: relax-opt %s --topological-sort="order=breadth-first direction=from-outputs" | filecheck %s --check-prefix=BFSOUT

!v = tensor<?xf32, #relax.shape<["n"]>>

// DFSOUT-LABEL: func.func @main
// DFSOUT: relax.exp
// DFSOUT-NEXT: relax.negative
// DFSOUT-NEXT: relax.abs
// DFSOUT-NEXT: relax.sqrt
// DFSOUT-NEXT: relax.add
// DFSOUT-NEXT: relax.log
// BFSOUT-LABEL: func.func @main
// BFSOUT: relax.exp
// BFSOUT-NEXT: relax.abs
// BFSOUT-NEXT: relax.negative
// BFSOUT-NEXT: relax.sqrt
// BFSOUT-NEXT: relax.add
// BFSOUT-NEXT: relax.log
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

// The definition of m stays in front of what uses it, though no value leads from the one to the other.
// DFSOUT-LABEL: func.func @symbols
// DFSOUT: relax.match_shape
// DFSOUT-NEXT: relax.shape_expr
// BFSOUT-LABEL: func.func @symbols
// BFSOUT: relax.match_shape
// BFSOUT-NEXT: relax.shape_expr
func.func @symbols(%x: tensor<?xf32>) -> !relax.shape_value<["m"]> {
  %d = "relax.dataflow"() ({
    %m = "relax.match_shape"(%x) {pattern = ["m"], result_dtype = unit} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["m"]>>
    %s = "relax.shape_expr"() {values = ["m"]} : () -> !relax.shape_value<["m"]>
    "relax.output"(%s) : (!relax.shape_value<["m"]>) -> ()
  }) : () -> !relax.shape_value<["m"]>
  return %d : !relax.shape_value<["m"]>
}

// Generations: exp is needed by two ops of different ones, and comes before the earlier of them; what no output needs
// comes last. Depth first, each stands directly in front of what needs it alone.
// DFSOUT-LABEL: func.func @generations
// DFSOUT: relax.exp
// DFSOUT-NEXT: relax.abs
// DFSOUT-NEXT: relax.tanh
// DFSOUT-NEXT: relax.negative
// DFSOUT-NEXT: relax.sqrt
// DFSOUT-NEXT: relax.add
// DFSOUT-NEXT: relax.multiply
// DFSOUT-NEXT: relax.log
// BFSOUT-LABEL: func.func @generations
// BFSOUT: relax.exp
// BFSOUT-NEXT: relax.abs
// BFSOUT-NEXT: relax.negative
// BFSOUT-NEXT: relax.tanh
// BFSOUT-NEXT: relax.sqrt
// BFSOUT-NEXT: relax.add
// BFSOUT-NEXT: relax.multiply
// BFSOUT-NEXT: relax.log
func.func @generations(%x: !v) -> !v {
  %d = "relax.dataflow"() ({
    %b = "relax.abs"(%x) : (!v) -> !v
    %t = "relax.tanh"(%b) : (!v) -> !v
    %l = "relax.log"(%x) : (!v) -> !v
    %a = "relax.exp"(%x) : (!v) -> !v
    %n = "relax.negative"(%a) : (!v) -> !v
    %q = "relax.sqrt"(%n) : (!v) -> !v
    %s = "relax.add"(%q, %t) : (!v, !v) -> !v
    %m = "relax.multiply"(%s, %a) : (!v, !v) -> !v
    "relax.output"(%m) : (!v) -> ()
  }) : () -> !v
  return %d : !v
}
