// What passes before should have removed is refused.
// RUN: not relax-opt %s --vm-shape-lower --split-input-file 2>&1 | filecheck %s

!n = tensor<?xf32, #relax.shape<["n"]>>
func.func @view(%x: !n) -> !n {
  // CHECK: view: relax.flatten is left; run vm-memory-lower before vm-shape-lower
  %0 = "relax.flatten"(%x) : (!n) -> !n
  return %0 : !n
}
// -----
!n = tensor<?xf32, #relax.shape<["n"]>>
func.func @dataflow(%x: !n) -> !n {
  // CHECK: dataflow: relax.dataflow is left; run to-non-dataflow before vm-shape-lower
  %0 = "relax.dataflow"() ({
    "relax.output"(%x) : (!n) -> ()
  }) : () -> !n
  return %0 : !n
}
// -----
func.func @undefined(%x: tensor<?xf32, #relax.shape<["n"]>>) -> !relax.shape_value<["q + 1"]> {
  // CHECK: errors.mlir:{{[0-9]+}}:8: undefined: symbol 'q' in 'q + 1' is not defined
  %0 = "relax.shape_expr"() {values = ["q + 1"]} : () -> !relax.shape_value<["q + 1"]>
  return %0 : !relax.shape_value<["q + 1"]>
}
// -----
// CHECK: error: undefined_parameter: symbol 'q' in 'q*r + 1' is not defined
func.func @undefined_parameter(%x: tensor<?xf32, #relax.shape<["q*r + 1"]>>) -> tensor<?xf32, #relax.shape<["q*r + 1"]>> {
  return %x : tensor<?xf32, #relax.shape<["q*r + 1"]>>
}
