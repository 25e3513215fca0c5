// Convolutions and poolings: what is copied into zeros for them alone is not copied, what has another form is left.
// lowering/kernels/windows: window_match.py, window_params.py, window_gemm.py, channel_windows.py
// RUN: relax-opt "--lower-contractions=target='cpu -mcpu=x86-64-v4'" --link-kernels="target='cpu -mcpu=x86-64-v4'" %s | filecheck %s

#windows = affine_map<(n, o, y, x, i, u, v) -> (n, i, y + u, x * 2 + v * 3)>
#kernels = affine_map<(n, o, y, x, i, u, v) -> (o, i, u, v)>
#out = affine_map<(n, o, y, x, i, u, v) -> (n, o, y, x)>
#each = affine_map<(n, c, y, x, u, v) -> (n, c, y + u, x + v)>
#own = affine_map<(n, c, y, x, u, v) -> (c, 0, u, v)>
#taps = affine_map<(n, c, y, x, u, v) -> (u, v)>
#pooled = affine_map<(n, c, y, x, u, v) -> (n, c, y, x)>
#sums = affine_map<(n, c, y, x) -> (n, c, y, x)>
#bias = affine_map<(n, c, y, x) -> (c, 0, 0)>
#apart = affine_map<(n, c, y, x, u, v) -> (n, c, y * 2 + u, x * 2 + v)>

// CHECK-LABEL: func.func @padded
// CHECK-NOT: memref.alloc(
// CHECK-NOT: memref.copy
// CHECK-NOT: linalg.
// CHECK: memref.alloca() : memref<28xindex>
// CHECK: call @relax.gemm.f32.windows(
// CHECK: return
func.func @padded(%data: memref<?x8x?x?xf32>, %weight: memref<6x8x3x3xf32>, %out: memref<?x6x?x?xf32>, %n: index, %h: index, %w: index, %high: index, %wide: index) {
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc(%n, %high, %wide) : memref<?x8x?x?xf32>
  linalg.fill ins(%zero : f32) outs(%padded : memref<?x8x?x?xf32>)
  %inside = memref.subview %padded[0, 0, 1, 2] [%n, 8, %h, %w] [1, 1, 1, 1] : memref<?x8x?x?xf32> to memref<?x8x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>
  memref.copy %data, %inside : memref<?x8x?x?xf32> to memref<?x8x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>
  linalg.fill ins(%zero : f32) outs(%out : memref<?x6x?x?xf32>)
  linalg.generic {indexing_maps = [#windows, #kernels, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%padded, %weight : memref<?x8x?x?xf32>, memref<6x8x3x3xf32>) outs(%out : memref<?x6x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %product = arith.mulf %a, %b : f32
    %sum = arith.addf %c, %product : f32
    linalg.yield %sum : f32
  }
  return
}

// The copy is read again, so it stays.
// CHECK-LABEL: func.func @read_again
// CHECK: memref.copy
// CHECK: call @relax.gemm.f32.depthwise(
// CHECK: return %{{.*}} : memref<1x4x9x9xf32>
func.func @read_again(%data: memref<1x4x7x7xf32>, %weight: memref<4x1x3x3xf32>, %out: memref<1x4x7x7xf32>) -> memref<1x4x9x9xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() : memref<1x4x9x9xf32>
  linalg.fill ins(%zero : f32) outs(%padded : memref<1x4x9x9xf32>)
  %inside = memref.subview %padded[0, 0, 1, 1] [1, 4, 7, 7] [1, 1, 1, 1] : memref<1x4x9x9xf32> to memref<1x4x7x7xf32, strided<[324, 81, 9, 1], offset: 10>>
  memref.copy %data, %inside : memref<1x4x7x7xf32> to memref<1x4x7x7xf32, strided<[324, 81, 9, 1], offset: 10>>
  linalg.generic {indexing_maps = [#each, #own, #pooled], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%padded, %weight : memref<1x4x9x9xf32>, memref<4x1x3x3xf32>) outs(%out : memref<1x4x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %product = arith.mulf %a, %b : f32
    %sum = arith.addf %c, %product : f32
    linalg.yield %sum : f32
  }
  return %padded : memref<1x4x9x9xf32>
}

// For a maximum zeros are no neutral elements: what is copied into them is read from there.
// CHECK-LABEL: func.func @zeros_around_a_maximum
// CHECK: memref.copy
// CHECK: call @relax.gemm.f32.max_of_windows(
func.func @zeros_around_a_maximum(%data: memref<1x4x7x7xf32>, %window: memref<3x3xf32>, %out: memref<1x4x7x7xf32>) {
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() : memref<1x4x9x9xf32>
  linalg.fill ins(%zero : f32) outs(%padded : memref<1x4x9x9xf32>)
  %inside = memref.subview %padded[0, 0, 1, 1] [1, 4, 7, 7] [1, 1, 1, 1] : memref<1x4x9x9xf32> to memref<1x4x7x7xf32, strided<[324, 81, 9, 1], offset: 10>>
  memref.copy %data, %inside : memref<1x4x7x7xf32> to memref<1x4x7x7xf32, strided<[324, 81, 9, 1], offset: 10>>
  linalg.generic {indexing_maps = [#each, #taps, #pooled], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%padded, %window : memref<1x4x9x9xf32>, memref<3x3xf32>) outs(%out : memref<1x4x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %greater = arith.maximumf %c, %a : f32
    linalg.yield %greater : f32
  }
  return
}

// Windows without common elements are left to loops; so are integers, and minima.
// CHECK-LABEL: func.func @apart
// CHECK: linalg.generic
// CHECK-NOT: call
// CHECK: return
func.func @apart(%data: memref<1x4x8x8xf32>, %window: memref<2x2xf32>, %out: memref<1x4x4x4xf32>) {
  linalg.generic {indexing_maps = [#apart, #taps, #pooled], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%data, %window : memref<1x4x8x8xf32>, memref<2x2xf32>) outs(%out : memref<1x4x4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %greater = arith.maximumf %c, %a : f32
    linalg.yield %greater : f32
  }
  return
}

// CHECK-LABEL: func.func @integers
// CHECK: linalg.generic
// CHECK-NOT: call
// CHECK: return
func.func @integers(%data: memref<1x4x9x9xi32>, %weight: memref<4x1x3x3xi32>, %out: memref<1x4x7x7xi32>) {
  linalg.generic {indexing_maps = [#each, #own, #pooled], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%data, %weight : memref<1x4x9x9xi32>, memref<4x1x3x3xi32>) outs(%out : memref<1x4x7x7xi32>) {
  ^bb0(%a: i32, %b: i32, %c: i32):
    %product = arith.muli %a, %b : i32
    %sum = arith.addi %c, %product : i32
    linalg.yield %sum : i32
  }
  return
}

// CHECK-LABEL: func.func @minima
// CHECK: linalg.generic
// CHECK-NOT: call
// CHECK: return
func.func @minima(%data: memref<1x4x9x9xf32>, %window: memref<3x3xf32>, %out: memref<1x4x7x7xf32>) {
  linalg.generic {indexing_maps = [#each, #taps, #pooled], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%data, %window : memref<1x4x9x9xf32>, memref<3x3xf32>) outs(%out : memref<1x4x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %less = arith.minimumf %c, %a : f32
    linalg.yield %less : f32
  }
  return
}

// A bias for each channel and bounds are for the registers, whatever order they are written in; no epilogue is called.
// CHECK-LABEL: func.func @at_registers
// CHECK-NOT: linalg.
// CHECK: call @relax.gemm.f32.depthwise(
// CHECK-NOT: linalg.
// CHECK: return
func.func @at_registers(%data: memref<1x4x9x9xf32>, %weight: memref<4x1x3x3xf32>, %bias: memref<4x1x1xf32>, %out: memref<1x4x7x7xf32>) {
  %low = arith.constant 0.0 : f32
  %high = arith.constant 6.0 : f32
  linalg.generic {indexing_maps = [#each, #own, #pooled], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%data, %weight : memref<1x4x9x9xf32>, memref<4x1x3x3xf32>) outs(%out : memref<1x4x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %product = arith.mulf %a, %b : f32
    %sum = arith.addf %c, %product : f32
    linalg.yield %sum : f32
  }
  linalg.generic {indexing_maps = [#sums, #bias, #sums], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%out, %bias : memref<1x4x7x7xf32>, memref<4x1x1xf32>) outs(%out : memref<1x4x7x7xf32>) {
  ^bb0(%total: f32, %b: f32, %c: f32):
    %sum = arith.addf %b, %total : f32
    %below = arith.minimumf %high, %sum : f32
    %above = arith.maximumf %below, %low : f32
    linalg.yield %above : f32
  }
  return
}

// Over all channels a bias and bounds are for an epilogue.
// CHECK-LABEL: func.func @over_channels
// CHECK: constant @relax.gemm.f32.epilogue_
// CHECK: call @relax.gemm.f32.windows.finished(
func.func @over_channels(%data: memref<1x8x9x20xf32>, %weight: memref<6x8x3x3xf32>, %bias: memref<6x1x1xf32>, %out: memref<1x6x7x7xf32>) {
  %low = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#windows, #kernels, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%data, %weight : memref<1x8x9x20xf32>, memref<6x8x3x3xf32>) outs(%out : memref<1x6x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %product = arith.mulf %a, %b : f32
    %sum = arith.addf %c, %product : f32
    linalg.yield %sum : f32
  }
  linalg.generic {indexing_maps = [#sums, #bias, #sums], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%out, %bias : memref<1x6x7x7xf32>, memref<6x1x1xf32>) outs(%out : memref<1x6x7x7xf32>) {
  ^bb0(%total: f32, %b: f32, %c: f32):
    %sum = arith.addf %b, %total : f32
    %above = arith.maximumf %sum, %low : f32
    linalg.yield %above : f32
  }
  return
}

// Bounds that are no numbers, and a bias behind them, are done by an epilogue.
// CHECK-LABEL: func.func @by_an_epilogue
// CHECK-NOT: linalg.
// CHECK: constant @[[BEHIND:relax.gemm.f32.epilogue_[0-9]+]]
// CHECK: call @relax.gemm.f32.depthwise.finished(
// CHECK: return
func.func @by_an_epilogue(%data: memref<1x4x9x9xf32>, %weight: memref<4x1x3x3xf32>, %bias: memref<4x1x1xf32>, %out: memref<1x4x7x7xf32>) {
  %low = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#each, #own, #pooled], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%data, %weight : memref<1x4x9x9xf32>, memref<4x1x3x3xf32>) outs(%out : memref<1x4x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %product = arith.mulf %a, %b : f32
    %sum = arith.addf %c, %product : f32
    linalg.yield %sum : f32
  }
  linalg.generic {indexing_maps = [#sums, #bias, #sums], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%out, %bias : memref<1x4x7x7xf32>, memref<4x1x1xf32>) outs(%out : memref<1x4x7x7xf32>) {
  ^bb0(%total: f32, %b: f32, %c: f32):
    %above = arith.maximumf %total, %low : f32
    %sum = arith.addf %above, %b : f32
    linalg.yield %sum : f32
  }
  return
}

// The kernels: over all channels a product of packed blocks, per channel whole lines.
// CHECK: func.func private @relax.gemm.f32.windows.packed(
// CHECK-NOT: func.func private @relax.gemm.f32.windows.lines(
// CHECK: func.func private @relax.gemm.f32.depthwise(
// CHECK: func.func private @relax.gemm.f32.depthwise.lines(
