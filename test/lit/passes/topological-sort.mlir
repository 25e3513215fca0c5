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
