// pack_constants.py, constant_table.py (the layouts), gemm_prepacked.py (the products).
// RUN: relax-opt --pack-constants="target='cpu -mcpu=haswell'" %s | filecheck %s
// RUN: relax-opt --pack-constants="target='cpu -mcpu=skylake-avx512'" %s | filecheck %s --check-prefix=AVX512
// RUN: relax-opt --pack-constants="target='cpu -mcpu=sapphirerapids -mattr=-amx_bf16'" %s | filecheck %s --check-prefix=PAIRS

// One packed constant for both calls; the plain one is gone.
// CHECK-NOT: @relax.constant.0()
// CHECK: func.func private @relax.constant.0.panels_16() -> memref<320xf32> attributes {relax.constant = 0 : i64, relax.constant_panels = {columns = 16 : i64, group = 1 : i64, transposed = 0 : i64}
// AVX512: @relax.constant.0.panels_32() -> memref<320xf32>
func.func private @relax.constant.0() -> memref<10x20xf32> attributes {relax.constant = 0 : i64, relax.constant_value = dense<1.0> : tensor<10x20xf32>}
// CHECK: @relax.constant.1() -> memref<10x20xf32>
func.func private @relax.constant.1() -> memref<10x20xf32> attributes {relax.constant = 1 : i64, relax.constant_value = dense<2.0> : tensor<10x20xf32>}

// CHECK: func.func @main(
// CHECK: %[[P:[A-Za-z0-9_]+]] = call @relax.constant.0.panels_16()
// CHECK: call @product(%{{.*}}, %[[P]], %{{.*}})
func.func @main(%x: memref<?x10xf32>, %y: memref<?x20xf32>, %w: memref<10x20xf32>) {
  %0 = call @relax.constant.0() : () -> memref<10x20xf32>
  call @product(%x, %0, %y) : (memref<?x10xf32>, memref<10x20xf32>, memref<?x20xf32>) -> ()
  call @product(%x, %0, %y) : (memref<?x10xf32>, memref<10x20xf32>, memref<?x20xf32>) -> ()
  %1 = call @relax.constant.1() : () -> memref<10x20xf32>
  call @mixed(%x, %1, %y) : (memref<?x10xf32>, memref<10x20xf32>, memref<?x20xf32>) -> ()
  call @mixed(%x, %w, %y) : (memref<?x10xf32>, memref<10x20xf32>, memref<?x20xf32>) -> ()
  return
}

// CHECK: func.func private @product(%{{.*}}: memref<?x10xf32>, %[[B:.*]]: memref<320xf32>, %{{.*}}: memref<?x20xf32>)
// CHECK: %[[FLAT:.*]] = memref.cast %[[B]] : memref<320xf32> to memref<?xf32>
// CHECK: call @relax.gemm.f32.panels(%{{.*}}, %[[FLAT]], %{{.*}}, %{{.*}})
func.func private @product(%a: memref<?x10xf32>, %b: memref<10x20xf32>, %c: memref<?x20xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x10xf32>, memref<10x20xf32>) outs(%c : memref<?x20xf32>)
  return
}

// An operand that is a constant in some calls only stays as it is.
// CHECK: func.func private @mixed(%{{.*}}: memref<?x10xf32>, %{{.*}}: memref<10x20xf32>,
// CHECK: linalg.matmul
func.func private @mixed(%a: memref<?x10xf32>, %b: memref<10x20xf32>, %c: memref<?x20xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x10xf32>, memref<10x20xf32>) outs(%c : memref<?x20xf32>)
  return
}

// Where pairs of bf16 are multiplied together two rows at a time lie side by side; an odd depth is filled up.
// PAIRS: func.func private @relax.constant.2.panels_32x2() -> memref<384xbf16> attributes {{{.*}}columns = 32 : i64, group = 2 : i64, transposed = 0 : i64}
func.func private @relax.constant.2() -> memref<11x20xbf16> attributes {relax.constant = 2 : i64, relax.constant_value = dense<1.0> : tensor<11x20xbf16>}
func.func @halves(%x: memref<?x11xbf16>, %y: memref<?x20xf32>) {
  %0 = call @relax.constant.2() : () -> memref<11x20xbf16>
  call @product_of_halves(%x, %0, %y) : (memref<?x11xbf16>, memref<11x20xbf16>, memref<?x20xf32>) -> ()
  return
}
func.func private @product_of_halves(%a: memref<?x11xbf16>, %b: memref<11x20xbf16>, %c: memref<?x20xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x11xbf16>, memref<11x20xbf16>) outs(%c : memref<?x20xf32>)
  return
}

// PAIRS: func.func private @relax.gemm.bf16.f32.panels.strip_1(
// PAIRS: %[[WORDS:[A-Za-z0-9_]+]] = vector.bitcast %{{[A-Za-z0-9_]+}} : vector<32xbf16> to vector<16xi32>
// PAIRS: arith.shli %[[WORDS]]
// PAIRS: arith.andi %[[WORDS]]

// Panels of a constant of a few columns would be too large (here for vectors of AVX-512 only).
// CHECK: @relax.constant.3.panels_16()
// AVX512: func.func private @relax.constant.3()
func.func private @relax.constant.3() -> memref<10x7xf32> attributes {relax.constant = 3 : i64, relax.constant_value = dense<1.0> : tensor<10x7xf32>}
func.func @narrow(%x: memref<?x10xf32>, %y: memref<?x7xf32>) {
  %0 = call @relax.constant.3() : () -> memref<10x7xf32>
  call @narrow_product(%x, %0, %y) : (memref<?x10xf32>, memref<10x7xf32>, memref<?x7xf32>) -> ()
  return
}
func.func private @narrow_product(%a: memref<?x10xf32>, %b: memref<10x7xf32>, %c: memref<?x7xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x10xf32>, memref<10x7xf32>) outs(%c : memref<?x7xf32>)
  return
}
