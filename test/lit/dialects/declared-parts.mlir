// What every Relax op needs: its attributes and its number of operands.
// RUN: relax-opt %s --split-input-file --verify-diagnostics -o /dev/null

func.func @attribute(%x: tensor<?xf32, #relax.shape<["n"]>>) {
  // expected-error @below {{match_shape: attribute 'pattern' is missing}}
  %0 = "relax.match_shape"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return
}
// -----
func.func @operands(%x: tensor<?xf32, #relax.shape<["n"]>>) {
  // expected-error @below {{add: has 1 operands, expected 2}}
  %0 = "relax.add"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return
}
// -----
func.func @kind_of_attribute() {
  // expected-error @below {{shape_expr: attribute 'values' is 3 : i64, expected an array}}
  %0 = "relax.shape_expr"() {values = 3 : i64} : () -> !relax.shape_value<["n"]>
  return
}
