// RUN: relax-opt --lower-contractions %s | filecheck %s

// Integers have no kernel.
// CHECK-LABEL: func.func @integers
// CHECK: linalg.matmul
// CHECK-NOT: call
func.func @integers(%a: memref<?x?xi8>, %b: memref<?x?xi8>, %c: memref<?x?xi32>) {
  linalg.matmul ins(%a, %b : memref<?x?xi8>, memref<?x?xi8>) outs(%c : memref<?x?xi32>)
  return
}

// The result's last axis has no unit stride.
// CHECK-LABEL: func.func @strided_result
// CHECK: linalg.matmul
// CHECK-NOT: call
func.func @strided_result(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32, strided<[?, 2]>>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32, strided<[?, 2]>>)
  return
}

// The result is an operand.
// CHECK-LABEL: func.func @in_place
// CHECK: linalg.matmul
// CHECK-NOT: call
func.func @in_place(%a: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%c, %a : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}

// The indices of the result, or of the second operand, are sums.
// CHECK-LABEL: func.func @diagonals
// CHECK: linalg.generic
// CHECK-NOT: call
func.func @diagonals(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i + j)>],
                  iterator_types = ["reduction", "reduction", "reduction"]}
      ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32, %total: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %total, %product : f32
    linalg.yield %sum : f32
  }
  return
}

// CHECK-LABEL: func.func @sum_in_b
// CHECK: linalg.generic
// CHECK-NOT: call
func.func @sum_in_b(%a: memref<?x?xf32>, %b: memref<?xf32>, %c: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k + j)>, affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x?xf32>, memref<?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %total: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %total, %product : f32
    linalg.yield %sum : f32
  }
  return
}

// All rows are added up in one.
// CHECK-LABEL: func.func @constant_row
// CHECK: linalg.generic
// CHECK-NOT: call
func.func @constant_row(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<1x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (0, j)>],
                  iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<1x?xf32>) {
  ^bb0(%x: f32, %y: f32, %total: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %total, %product : f32
    linalg.yield %sum : f32
  }
  return
}

// The result is repeated in a dimension that no operand has.
// CHECK-LABEL: func.func @repeated
// CHECK: linalg.generic
// CHECK-NOT: call
func.func @repeated(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k, p) -> (i, k)>, affine_map<(i, j, k, p) -> (k, j)>, affine_map<(i, j, k, p) -> (p, i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction", "parallel"]}
      ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %total: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %total, %product : f32
    linalg.yield %sum : f32
  }
  return
}

// A dimension of the first operand alone is summed over.
// CHECK-LABEL: func.func @sum_of_a
// CHECK: linalg.generic
// CHECK-NOT: call
func.func @sum_of_a(%a: memref<?x?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k, p) -> (i, k, p)>, affine_map<(i, j, k, p) -> (k, j)>, affine_map<(i, j, k, p) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : memref<?x?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %total: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %total, %product : f32
    linalg.yield %sum : f32
  }
  return
}

// The batch is the last axis of the result.
// CHECK-LABEL: func.func @batch_last
// CHECK: linalg.generic
// CHECK-NOT: call
func.func @batch_last(%a: memref<?x?x?xf32>, %b: memref<?x?x?xf32>, %c: memref<?x?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k, p) -> (p, i, k)>, affine_map<(i, j, k, p) -> (p, k, j)>, affine_map<(i, j, k, p) -> (i, j, p)>],
                  iterator_types = ["parallel", "parallel", "reduction", "parallel"]}
      ins(%a, %b : memref<?x?x?xf32>, memref<?x?x?xf32>) outs(%c : memref<?x?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %total: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %total, %product : f32
    linalg.yield %sum : f32
  }
  return
}

// The body adds something else than the product of both operands, once.
// CHECK-LABEL: func.func @differences
// CHECK: linalg.generic
// CHECK-NOT: call
func.func @differences(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %total: f32):
    %product = arith.subf %x, %y : f32
    %sum = arith.addf %total, %product : f32
    linalg.yield %sum : f32
  }
  return
}

// CHECK-LABEL: func.func @squares
// CHECK: linalg.generic
// CHECK-NOT: call
func.func @squares(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %total: f32):
    %product = arith.mulf %x, %x : f32
    %sum = arith.addf %total, %product : f32
    linalg.yield %sum : f32
  }
  return
}

// CHECK-LABEL: func.func @twice
// CHECK: linalg.generic
// CHECK-NOT: call
func.func @twice(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %total: f32):
    %product = arith.mulf %x, %y : f32
    %one = arith.addf %total, %product : f32
    %sum = arith.addf %total, %product : f32
    linalg.yield %sum : f32
  }
  return
}

// CHECK-LABEL: func.func @not_added
// CHECK: linalg.generic
// CHECK-NOT: call
func.func @not_added(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %total: f32):
    %sum = arith.mulf %x, %y : f32
    linalg.yield %sum : f32
  }
  return
}

// CHECK-LABEL: func.func @added_to_x
// CHECK: linalg.generic
// CHECK-NOT: call
func.func @added_to_x(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %total: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %x, %product : f32
    linalg.yield %sum : f32
  }
  return
}

// Nor are other types, and tensors.
// CHECK-LABEL: func.func @two_types
// CHECK: linalg.generic
// CHECK-NOT: call
func.func @two_types(%a: memref<?x?xf32>, %b: memref<?x?xf16>, %c: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x?xf32>, memref<?x?xf16>) outs(%c : memref<?x?xf32>) {
  ^bb0(%x: f32, %y: f16, %total: f32):
    %w = arith.extf %y : f16 to f32
    %product = arith.mulf %x, %w : f32
    %sum = arith.addf %total, %product : f32
    linalg.yield %sum : f32
  }
  return
}
// CHECK-LABEL: func.func @tensors
// CHECK: linalg.matmul
// CHECK-NOT: call
func.func @tensors(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// CHECK-NOT: func.func private
