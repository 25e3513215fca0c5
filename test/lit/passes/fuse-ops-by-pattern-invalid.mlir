// RUN: not relax-opt %s --fuse-ops-by-pattern="patterns=openblaz" 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not relax-opt %s --fuse-ops-by-pattern 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not relax-opt %s --fuse-ops-by-pattern="patterns=openblas entry-functions=main" 2>&1 | filecheck %s --check-prefix=ENTRY

// NAME: unknown pattern 'openblaz'; did you mean 'openblas'
// NONE: option 'patterns' is required
// ENTRY: there is no function 'main'; the module has f
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
