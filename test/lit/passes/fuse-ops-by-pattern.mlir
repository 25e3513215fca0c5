// RUN: relax-opt %s --fuse-ops-by-pattern="patterns=openblas" | filecheck %s
// RUN: relax-opt %s --fuse-ops-by-pattern="patterns=openblas.matmul annotate-codegen" | filecheck %s --check-prefix=WRAPPED

!x = tensor<?x8xf32, #relax.shape<["n", 8]>>
!w = tensor<4x8xf32>
!wt = tensor<8x4xf32>
!y = tensor<?x4xf32, #relax.shape<["n", 4]>>

// The transposition, which nothing else uses, goes into the function; the sum stays.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: {{.*}}, %[[W:[a-z0-9_]+]]: {{.*}})
// CHECK-NEXT: %[[ARGS:[a-z0-9_]+]] = builtin.unrealized_conversion_cast %[[W]], %[[X]]
// CHECK-NEXT: %[[P:[a-z0-9_]+]] = "relax.call"(%[[ARGS]]) {callee = @fused_permute_dims_matmul}
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = "relax.add"(%[[P]], %[[P]])
// CHECK-NEXT: return %[[S]]
func.func @transposed(%x: !x, %w: !w) -> !y {
  %t = "relax.permute_dims"(%w) {axes = [1, 0]} : (!w) -> !wt
  %p = "relax.matmul"(%x, %t) {out_dtype} : (!x, !wt) -> !y
  %s = "relax.add"(%p, %p) : (!y, !y) -> !y
  return %s : !y
}

// A transposition that is used elsewhere stays; the product is one of plain matrices.
// CHECK-LABEL: func.func @used_elsewhere
// CHECK: %[[T:[a-z0-9_]+]] = "relax.permute_dims"
// CHECK-NEXT: %[[ARGS2:[a-z0-9_]+]] = builtin.unrealized_conversion_cast %{{[a-z0-9_]+}}, %[[T]]
// CHECK-NEXT: "relax.call"(%[[ARGS2]]) {callee = @fused_matmul}
func.func @used_elsewhere(%x: !x, %w: !w) -> tuple<!y, !wt> {
  %t = "relax.permute_dims"(%w) {axes = [1, 0]} : (!w) -> !wt
  %p = "relax.matmul"(%x, %t) {out_dtype} : (!x, !wt) -> !y
  %r = builtin.unrealized_conversion_cast %p, %t : !y, !wt to tuple<!y, !wt>
  return %r : tuple<!y, !wt>
}

// CHECK: func.func private @fused_permute_dims_matmul({{.*}}) -> {{.*}} attributes {relax.composite = "openblas.matmul_transposed_b"
// CHECK-NEXT: "relax.permute_dims"
// CHECK-NEXT: "relax.matmul"
// CHECK-NEXT: return
// CHECK: func.func private @fused_matmul({{.*}}) -> {{.*}} attributes {relax.composite = "openblas.matmul"

// WRAPPED-LABEL: func.func @transposed
// WRAPPED: "relax.permute_dims"
// WRAPPED: {callee = @fused_matmul_openblas}
// WRAPPED: func.func private @fused_matmul_openblas({{.*}}) -> {{.*}} attributes {relax.codegen = "openblas"
// WRAPPED: {callee = @fused_matmul}
