// RUN: not relax-opt %s --lower-symbolic-shapes --split-input-file 2>&1 | filecheck %s
// symbols.py: symbols that no dimension of a parameter defines alone.

// CHECK: error: product: symbol 'q' in 'q*r + 1' is not defined
func.func @product(%x: tensor<?xf32, #relax.shape<["q*r + 1"]>>) -> tensor<?xf32, #relax.shape<["q*r + 1"]>> {
  return %x : tensor<?xf32, #relax.shape<["q*r + 1"]>>
}
