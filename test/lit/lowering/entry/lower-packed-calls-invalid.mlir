// RUN: not relax-opt --lower-packed-calls --split-input-file %s 2>&1 | filecheck %s
// calls.py: hooks that make no sense are named.

// CHECK: relax.packed of relax.packed.0: style is 'alloc' or 'dps', not 'other'
func.func private @relax.packed.0() attributes {relax.packed = {name = "f", style = "other"}}
func.func @style() {
  call @relax.packed.0() : () -> ()
  return
}
// -----
// CHECK: packed function 'f': no operand is left for the argument 'int'
func.func private @relax.packed.0(index) attributes {relax.packed = {name = "f", style = "dps", args = ["int", "int"]}}
func.func @too_few(%n: index) {
  call @relax.packed.0(%n) : (index) -> ()
  return
}
// -----
// CHECK: packed function 'f': no argument takes the operand of type index
func.func private @relax.packed.0(index) attributes {relax.packed = {name = "f", style = "dps", args = []}}
func.func @too_many(%n: index) {
  call @relax.packed.0(%n) : (index) -> ()
  return
}
// -----
// CHECK: packed function 'f': unknown argument 'list:3'
func.func private @relax.packed.0() attributes {relax.packed = {name = "f", style = "dps", args = ["list:3"]}}
func.func @unknown() {
  call @relax.packed.0() : () -> ()
  return
}
// -----
// CHECK: packed function 'f': 1 results, but 0 tensors to write to
func.func private @relax.packed.0() -> memref<4xf32> attributes {relax.packed = {name = "f", style = "dps", args = []}}
func.func @nowhere() {
  %0 = call @relax.packed.0() : () -> memref<4xf32>
  return
}
// -----
// CHECK: packed function 'f': unknown argument 'list'
func.func private @relax.packed.0(index) attributes {relax.packed = {name = "f", style = "dps", args = ["list"]}}
func.func @unknown_kind(%n: index) {
  call @relax.packed.0(%n) : (index) -> ()
  return
}
