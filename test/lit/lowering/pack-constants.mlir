// pack_constants.py, constant_table.py (the layouts), gemm_prepacked.py (the products).
// RUN: relax-opt --pack-constants="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s
// RUN: relax-opt --pack-constants="target='cpu -mcpu=skylake-avx512'" --split-input-file %s | filecheck %s --check-prefix=AVX512
// RUN: relax-opt --pack-constants="target='cpu -mcpu=sapphirerapids -mattr=-amx_bf16'" --split-input-file %s | filecheck %s --check-prefix=PAIRS
// RUN: relax-opt --pack-constants="target='cpu -mcpu=sapphirerapids -mattr=-amx_bf16'" --link-kernels="target='cpu -mcpu=sapphirerapids -mattr=-amx_bf16'" --split-input-file %s | filecheck %s --check-prefix=KERNEL

// One packed constant for both calls; the plain one is gone.
// CHECK-NOT: @relax.constant.0()
// CHECK: func.func private @relax.constant.0.panels_16() -> memref<320xf32> attributes {relax.constant = 0 : i64, relax.constant_panels = {columns = 16 : i64, group = 1 : i64, transposed = 0 : i64}
// AVX512: @relax.constant.0.panels_32() -> memref<320xf32>
func.func private @relax.constant.0() -> memref<10x20xf32> attributes {relax.constant = 0 : i64, relax.constant_value = dense<1.0> : tensor<10x20xf32>}
// CHECK-NEXT: @relax.constant.1() -> memref<10x20xf32> attributes {relax.constant = 1 : i64
func.func private @relax.constant.1() -> memref<10x20xf32> attributes {relax.constant = 1 : i64, relax.constant_value = dense<2.0> : tensor<10x20xf32>}

// CHECK: func.func @main(
// CHECK-NEXT: %[[P:[A-Za-z0-9_]+]] = call @relax.constant.0.panels_16()
// CHECK-NEXT: call @product(%{{.*}}, %[[P]], %{{.*}})
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

// KERNEL: func.func private @relax.gemm.bf16.f32.panels.strip_1(
// KERNEL: %[[WORDS:[A-Za-z0-9_]+]] = vector.bitcast %{{[A-Za-z0-9_]+}} : vector<32xbf16> to vector<16xi32>
// KERNEL: arith.shli %[[WORDS]],
// KERNEL: arith.andi %[[WORDS]],

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
// -----
// A fill of the result before the product means that nothing is added. The constants that are left are numbered anew.
// A matrix that is multiplied as its transpose is packed as that; a depth of 1 is one as well. Functions without products
// are passed over.
// CHECK: func.func private @relax.constant.0.panels_16() -> memref<320xf32> attributes {relax.constant = 0 : i64,
// CHECK-NEXT: func.func private @relax.constant.1.panels_16_transposed() -> memref<320xf32> attributes {relax.constant = 1 : i64, relax.constant_panels = {columns = 16 : i64, group = 1 : i64, transposed = 1 : i64}
// CHECK-NEXT: func.func private @relax.constant.2() -> memref<10x20xf32> attributes {relax.constant = 2 : i64,
// CHECK-NEXT: func.func private @relax.constant.3.panels_16() -> memref<32xf32> attributes {relax.constant = 3 : i64,
// The widths from which panels take no more than four times the memory. A product by a buffer of the function is passed
// over.
// CHECK-NEXT: func.func private @relax.constant.4.panels_16() -> memref<160xf32>
// CHECK-NEXT: func.func private @relax.constant.5() -> memref<10x3xf32>
// CHECK-NEXT: func.func private @relax.constant.6.panels_16()
func.func private @relax.constant.0() -> memref<10x20xf32> attributes {relax.constant = 0 : i64, relax.constant_value = dense<1.0> : tensor<10x20xf32>}
func.func private @relax.constant.1() -> memref<20x10xf32> attributes {relax.constant = 1 : i64, relax.constant_value = dense<1.0> : tensor<20x10xf32>}
func.func private @relax.constant.2() -> memref<10x20xf32> attributes {relax.constant = 2 : i64, relax.constant_value = dense<1.0> : tensor<10x20xf32>}
func.func private @relax.constant.3() -> memref<1x20xf32> attributes {relax.constant = 3 : i64, relax.constant_value = dense<1.0> : tensor<1x20xf32>}
func.func private @relax.constant.4() -> memref<10x4xf32> attributes {relax.constant = 4 : i64, relax.constant_value = dense<1.0> : tensor<10x4xf32>}
func.func private @relax.constant.5() -> memref<10x3xf32> attributes {relax.constant = 5 : i64, relax.constant_value = dense<1.0> : tensor<10x3xf32>}
func.func private @relax.constant.6() -> memref<10x20xf32> attributes {relax.constant = 6 : i64, relax.constant_value = dense<1.0> : tensor<10x20xf32>}
// CHECK-LABEL: func.func private @nothing(
func.func private @nothing(%x: memref<?x10xf32>) attributes {relax.prim_func} {
  return
}
// CHECK-LABEL: func.func private @filled(
// CHECK-NOT: linalg.fill
// CHECK: %[[NEW:[a-z0-9_]+]] = arith.constant false
// CHECK: call @relax.gemm.f32.panels(%{{.*}}, %{{.*}}, %{{.*}}, %[[NEW]])
func.func private @filled(%a: memref<?x10xf32>, %b: memref<10x20xf32>, %c: memref<?x20xf32>) attributes {relax.prim_func} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<?x20xf32>)
  linalg.matmul ins(%a, %b : memref<?x10xf32>, memref<10x20xf32>) outs(%c : memref<?x20xf32>)
  return
}
// CHECK-LABEL: func.func private @transposed(
// CHECK: call @relax.gemm.f32.panels
func.func private @transposed(%a: memref<?x10xf32>, %b: memref<20x10xf32>, %c: memref<?x20xf32>) attributes {relax.prim_func} {
  linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%a, %b : memref<?x10xf32>, memref<20x10xf32>) outs(%c : memref<?x20xf32>)
  return
}
// CHECK-LABEL: func.func private @depth_1(
// CHECK: call @relax.gemm.f32.panels
func.func private @depth_1(%a: memref<?x1xf32>, %b: memref<1x20xf32>, %c: memref<?x20xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x1xf32>, memref<1x20xf32>) outs(%c : memref<?x20xf32>)
  return
}
func.func @main(%x: memref<?x10xf32>, %y: memref<?x20xf32>, %z: memref<?x1xf32>) {
  call @nothing(%x) : (memref<?x10xf32>) -> ()
  %0 = call @relax.constant.0() : () -> memref<10x20xf32>
  call @filled(%x, %0, %y) : (memref<?x10xf32>, memref<10x20xf32>, memref<?x20xf32>) -> ()
  %1 = call @relax.constant.1() : () -> memref<20x10xf32>
  call @transposed(%x, %1, %y) : (memref<?x10xf32>, memref<20x10xf32>, memref<?x20xf32>) -> ()
  %2 = call @relax.constant.2() : () -> memref<10x20xf32>
  call @add(%2) : (memref<10x20xf32>) -> ()
  %3 = call @relax.constant.3() : () -> memref<1x20xf32>
  call @depth_1(%z, %3, %y) : (memref<?x1xf32>, memref<1x20xf32>, memref<?x20xf32>) -> ()
  return
}
func.func private @add(memref<10x20xf32>)
// CHECK-LABEL: func.func private @second(
// CHECK: linalg.matmul
// CHECK: call @relax.gemm.f32.panels(
func.func private @width_4(%a: memref<?x10xf32>, %b: memref<10x4xf32>, %c: memref<?x4xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x10xf32>, memref<10x4xf32>) outs(%c : memref<?x4xf32>)
  return
}
func.func private @width_3(%a: memref<?x10xf32>, %b: memref<10x3xf32>, %c: memref<?x3xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x10xf32>, memref<10x3xf32>) outs(%c : memref<?x3xf32>)
  return
}
func.func private @second(%a: memref<?x10xf32>, %b: memref<10x20xf32>, %c: memref<?x20xf32>) attributes {relax.prim_func} {
  %d = memref.alloc() : memref<10x20xf32>
  linalg.matmul ins(%a, %d : memref<?x10xf32>, memref<10x20xf32>) outs(%c : memref<?x20xf32>)
  linalg.matmul ins(%a, %b : memref<?x10xf32>, memref<10x20xf32>) outs(%c : memref<?x20xf32>)
  return
}
func.func @widths(%x: memref<?x10xf32>, %y: memref<?x4xf32>, %z: memref<?x3xf32>, %w: memref<?x20xf32>) {
  %0 = call @relax.constant.4() : () -> memref<10x4xf32>
  call @width_4(%x, %0, %y) : (memref<?x10xf32>, memref<10x4xf32>, memref<?x4xf32>) -> ()
  %1 = call @relax.constant.5() : () -> memref<10x3xf32>
  call @width_3(%x, %1, %z) : (memref<?x10xf32>, memref<10x3xf32>, memref<?x3xf32>) -> ()
  %2 = call @relax.constant.6() : () -> memref<10x20xf32>
  call @second(%x, %2, %w) : (memref<?x10xf32>, memref<10x20xf32>, memref<?x20xf32>) -> ()
  return
}
// -----
// Not packed: a matrix without elements, one that is read twice, one of a batch, one whose rows are apart or whose size is
// not known, and operands of public functions, or that other functions give. Without packed constants nothing is
// numbered anew.
// CHECK-LABEL: func.func private @elsewhere()
// CHECK-NEXT: @relax.constant.0() -> memref<10x20xf32> attributes {relax.constant = 7 : i64
// CHECK-NOT: panels
func.func private @elsewhere() -> memref<10x20xf32>
func.func private @relax.constant.0() -> memref<10x20xf32> attributes {relax.constant = 7 : i64, relax.constant_value = dense<1.0> : tensor<10x20xf32>}
func.func private @relax.constant.1() -> memref<0x20xf32> attributes {relax.constant = 8 : i64, relax.constant_value = dense<1.0> : tensor<0x20xf32>}
func.func private @relax.constant.2() -> memref<2x10x20xf32> attributes {relax.constant = 9 : i64, relax.constant_value = dense<1.0> : tensor<2x10x20xf32>}
func.func private @relax.constant.3() -> memref<10x20xf32, strided<[32, 1]>> attributes {relax.constant = 10 : i64, relax.constant_value = dense<1.0> : tensor<10x20xf32>}
func.func private @relax.constant.4() -> memref<?x20xf32> attributes {relax.constant = 11 : i64, relax.constant_value = dense<1.0> : tensor<10x20xf32>}
func.func private @empty(%a: memref<?x0xf32>, %b: memref<0x20xf32>, %c: memref<?x20xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x0xf32>, memref<0x20xf32>) outs(%c : memref<?x20xf32>)
  return
}
func.func private @read_twice(%a: memref<?x10xf32>, %b: memref<10x20xf32>, %c: memref<?x20xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x10xf32>, memref<10x20xf32>) outs(%c : memref<?x20xf32>)
  memref.dealloc %b : memref<10x20xf32>
  return
}
func.func private @batch(%a: memref<2x?x10xf32>, %b: memref<2x10x20xf32>, %c: memref<2x?x20xf32>) attributes {relax.prim_func} {
  linalg.batch_matmul ins(%a, %b : memref<2x?x10xf32>, memref<2x10x20xf32>) outs(%c : memref<2x?x20xf32>)
  return
}
func.func @public(%a: memref<?x10xf32>, %b: memref<10x20xf32>, %c: memref<?x20xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x10xf32>, memref<10x20xf32>) outs(%c : memref<?x20xf32>)
  return
}
func.func private @given(%a: memref<?x10xf32>, %b: memref<10x20xf32>, %c: memref<?x20xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x10xf32>, memref<10x20xf32>) outs(%c : memref<?x20xf32>)
  return
}
func.func private @rows_apart(%a: memref<?x10xf32>, %b: memref<10x20xf32, strided<[32, 1]>>, %c: memref<?x20xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x10xf32>, memref<10x20xf32, strided<[32, 1]>>) outs(%c : memref<?x20xf32>)
  return
}
func.func private @any_size(%a: memref<?x?xf32>, %b: memref<?x20xf32>, %c: memref<?x?xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x20xf32>) outs(%c : memref<?x?xf32>)
  return
}
func.func private @no_prim_func(%a: memref<?x10xf32>, %b: memref<10x20xf32>, %c: memref<?x20xf32>) {
  linalg.matmul ins(%a, %b : memref<?x10xf32>, memref<10x20xf32>) outs(%c : memref<?x20xf32>)
  return
}
func.func private @never_called(%a: memref<?x10xf32>, %b: memref<10x20xf32>, %c: memref<?x20xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x10xf32>, memref<10x20xf32>) outs(%c : memref<?x20xf32>)
  return
}
func.func private @declared(memref<10x20xf32>) attributes {relax.prim_func}
func.func @main(%x: memref<?x10xf32>, %y: memref<?x20xf32>, %e: memref<?x0xf32>, %p: memref<2x?x10xf32>, %q: memref<2x?x20xf32>, %u: memref<?x?xf32>) {
  %0 = call @relax.constant.0() : () -> memref<10x20xf32>
  %1 = call @relax.constant.1() : () -> memref<0x20xf32>
  %2 = call @relax.constant.2() : () -> memref<2x10x20xf32>
  %s = call @relax.constant.3() : () -> memref<10x20xf32, strided<[32, 1]>>
  %t = call @relax.constant.4() : () -> memref<?x20xf32>
  %3 = call @elsewhere() : () -> memref<10x20xf32>
  call @empty(%e, %1, %y) : (memref<?x0xf32>, memref<0x20xf32>, memref<?x20xf32>) -> ()
  call @read_twice(%x, %0, %y) : (memref<?x10xf32>, memref<10x20xf32>, memref<?x20xf32>) -> ()
  call @batch(%p, %2, %q) : (memref<2x?x10xf32>, memref<2x10x20xf32>, memref<2x?x20xf32>) -> ()
  call @public(%x, %0, %y) : (memref<?x10xf32>, memref<10x20xf32>, memref<?x20xf32>) -> ()
  call @given(%x, %3, %y) : (memref<?x10xf32>, memref<10x20xf32>, memref<?x20xf32>) -> ()
  call @rows_apart(%x, %s, %y) : (memref<?x10xf32>, memref<10x20xf32, strided<[32, 1]>>, memref<?x20xf32>) -> ()
  call @any_size(%u, %t, %u) : (memref<?x?xf32>, memref<?x20xf32>, memref<?x?xf32>) -> ()
  call @no_prim_func(%x, %0, %y) : (memref<?x10xf32>, memref<10x20xf32>, memref<?x20xf32>) -> ()
  call @declared(%0) : (memref<10x20xf32>) -> ()
  return
}
