// RUN: not relax-opt %s --bind-symbolic-vars='bindings=q=4' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not relax-opt %s --bind-symbolic-vars='bindings=n=4 function=main' 2>&1 | filecheck %s --check-prefix=FUNCTION
// RUN: not relax-opt %s --bind-symbolic-vars='bindings=n=-2' 2>&1 | filecheck %s --check-prefix=NEGATIVE
// RUN: not relax-opt %s --bind-symbolic-vars='bindings=p=3' 2>&1 | filecheck %s --check-prefix=CALL
// RUN: not relax-opt %s --bind-symbolic-vars 2>&1 | filecheck %s --check-prefix=MISSING

// UNKNOWN: unknown symbol 'q'
// FUNCTION: unknown Relax function 'main'
// NEGATIVE: symbol 'n' cannot be -2: symbols are not negative
// CALL: call of 'callee': argument 0 is Tensor((n,), "float32"), expected Tensor((3,), "float32"): dimension 0 is n, which is not provably 3; bind the symbols of the caller, too
// MISSING: option 'bindings' is required
func.func @caller(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %t = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
  %0 = "relax.call"(%t) {callee = @callee} : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
func.func private @callee(%x: tensor<?xf32, #relax.shape<["p"]>>) -> tensor<?xf32, #relax.shape<["p"]>> {
  return %x : tensor<?xf32, #relax.shape<["p"]>>
}
