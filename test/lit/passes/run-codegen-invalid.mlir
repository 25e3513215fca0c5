// RUN: not relax-opt %s --run-codegen 2>&1 | filecheck %s
// RUN: sed s/openblaz/openblas/ %s | not relax-opt --run-codegen 2>&1 | filecheck %s --check-prefix=OP

!t = tensor<4x4xf32>

// CHECK: unknown code generator 'openblaz'; did you mean 'openblas'
// OP: function 'f' for a code generator holds sin at {{.*}}, which is no call of a composite function: run fuse-ops-by-pattern
func.func @main(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @f} : (tuple<!t>) -> !t
  return %a : !t
}

func.func private @f(%x: !t {relax.name = "x"}) -> !t attributes {relax.codegen = "openblaz"} {
  %0 = "relax.sin"(%x) : (!t) -> !t
  return %0 : !t
}
