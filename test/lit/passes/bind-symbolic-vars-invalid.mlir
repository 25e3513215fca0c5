// RUN: not relax-opt %s --bind-symbolic-vars='bindings=q=4' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not relax-opt %s --bind-symbolic-vars='bindings=q=4 function=caller' 2>&1 | filecheck %s --check-prefix=SYMBOL
// RUN: not relax-opt %s --bind-symbolic-vars='bindings=n=4 function=main' 2>&1 | filecheck %s --check-prefix=FUNCTION
// RUN: not relax-opt %s --bind-symbolic-vars='bindings=n=-1' 2>&1 | filecheck %s --check-prefix=NEGATIVE
// RUN: not relax-opt %s --bind-symbolic-vars='bindings=p=3' 2>&1 | filecheck %s --check-prefix=CALL
// RUN: not relax-opt %s --bind-symbolic-vars='bindings=n=x' 2>&1 | filecheck %s --check-prefix=NUMBER
// RUN: not relax-opt %s --bind-symbolic-vars='bindings==4' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not relax-opt %s --bind-symbolic-vars='bindings=n=4,n=5' 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not relax-opt %s --bind-symbolic-vars='bindings=a=3' 2>&1 | filecheck %s --check-prefix=LOW
// RUN: not relax-opt %s --bind-symbolic-vars='bindings=b=9' 2>&1 | filecheck %s --check-prefix=HIGH
// RUN: relax-opt %s --bind-symbolic-vars='bindings=z=0' | filecheck %s --check-prefix=ZERO
// RUN: relax-opt %s --load-pass-plugin=%S/Inputs/bind.py --bind-integers | filecheck %s --check-prefixes=PYTHON,ZERO
// RUN: not relax-opt %s --bind-symbolic-vars 2>&1 | filecheck %s --check-prefix=MISSING

// UNKNOWN: unknown symbol 'q'
// SYMBOL: unknown symbol of function 'caller' 'q'
// FUNCTION: unknown Relax function 'main'
// NEGATIVE: symbol 'n' cannot be -1: symbols are not negative
// NUMBER: binding 'n=x' is not SYMBOL=INTEGER
// NAME: binding '=4' is not SYMBOL=INTEGER
// TWICE: symbol 'n' is bound to 4 and to 5
// LOW: function 'bounded': symbol 'a' cannot be 3: it goes from 4{{$}}
// HIGH: function 'bounded': symbol 'b' cannot be 9: it goes from 4 to 8{{$}}
// PYTHON: func.func private @bounded(%{{.*}}: tensor<4x?xf32
// ZERO: func.func private @zero(%{{.*}}: tensor<0xf32>)
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
func.func private @bounded(%x: tensor<?x?xf32, #relax.shape<["a", "b"]>>) attributes {relax.symbol_bounds = {a = [4, unit], b = [4, 8]}} {
  return
}
func.func private @zero(%x: tensor<?xf32, #relax.shape<["z"]>>) {
  return
}
