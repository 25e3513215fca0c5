// RUN: relax-opt %s --relax-to-calls --opt-level=0 | filecheck %s --check-prefix=ZERO
// RUN: relax-opt %s --relax-to-calls --opt-level=1 | filecheck %s --check-prefix=ONE
// RUN: relax-opt %s --relax-to-calls | filecheck %s --check-prefix=TWO
// RUN: relax-opt %s --relax-to-calls --opt-level=3 | filecheck %s --check-prefix=THREE
// RUN: not relax-opt %s --relax-to-calls --opt-level=4 2>&1 | filecheck %s --check-prefix=FOUR
// RUN: not relax-opt %s --relax-to-calls --disable-pass=fuse-op 2>&1 | filecheck %s --check-prefix=UNKNOWN

// Every op has a call of its own, and equal ones stay.
// ZERO-LABEL: func.func @main
// ZERO-COUNT-3: "relax.call_tir"
// ZERO: "relax.call"
// ZERO: return

// ONE-LABEL: func.func @main
// ONE-COUNT-2: "relax.call_tir"
// ONE-NOT: "relax.call_tir"
// ONE: "relax.call"
// ONE: return

// TWO-LABEL: func.func @main
// TWO: "relax.call_tir"
// TWO-NOT: "relax.call_tir"
// TWO: "relax.call"
// TWO: return

// THREE-LABEL: func.func @main
// THREE: "relax.call_tir"
// THREE-NOT: "relax.call
// THREE: return

// FOUR: opt_level' is 4, expected an integer from 0 to 3
// UNKNOWN: unknown pass 'fuse-op'; did you mean {{.*}}'fuse-ops'
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %args = builtin.unrealized_conversion_cast %2 : tensor<4xf32> to tuple<tensor<4xf32>>
  %3 = "relax.call"(%args) {callee = @inner} : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.negative"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
