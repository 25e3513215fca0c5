// RUN: relax-opt %s --fuse-ops-by-pattern="patterns=openblas" | filecheck %s
// RUN: relax-opt %s --fuse-ops-by-pattern="patterns=openblas.matmul annotate-codegen" | filecheck %s --check-prefix=WRAPPED
// RUN: relax-opt %s --fuse-ops-by-pattern="patterns=openblas.matmul entry-functions=bounded,weights bind-constants=false" | filecheck %s --check-prefix=ENTRY
// RUN: relax-opt %s --fuse-ops-by-pattern="patterns=openblas" --merge-composite-functions | filecheck %s --check-prefix=MERGED

!x = tensor<?x8xf32, #relax.shape<["n", 8]>>
!w = tensor<4x8xf32>
!wt = tensor<8x4xf32>
!y = tensor<?x4xf32, #relax.shape<["n", 4]>>

// What is a composite function already stays.
// CHECK-LABEL: func.func private @ready
// CHECK-NEXT: "relax.matmul"
func.func private @ready(%x: !x {relax.name = "x"}, %w: !wt {relax.name = "w"}) -> !y attributes {relax.composite = "openblas.matmul"} {
  %p = "relax.matmul"(%x, %w) {out_dtype} : (!x, !wt) -> !y
  return %p : !y
}

// The transposition, which nothing else uses, goes into the function; the sum stays.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: {{.*}}, %[[W:[a-z0-9_]+]]: {{.*}})
// CHECK-NEXT: %[[ARGS:[a-z0-9_]+]] = builtin.unrealized_conversion_cast %[[W]], %[[X]] :
// CHECK-NEXT: %[[P:[a-z0-9_]+]] = "relax.call"(%[[ARGS]]) {callee = @fused_permute_dims_matmul}
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = "relax.add"(%[[P]], %[[P]])
// CHECK-NEXT: return %[[S]] :
func.func @transposed(%x: !x, %w: !w) -> !y {
  %t = "relax.permute_dims"(%w) {axes = [1, 0]} : (!w) -> !wt
  %p = "relax.matmul"(%x, %t) {out_dtype} : (!x, !wt) -> !y
  %s = "relax.add"(%p, %p) : (!y, !y) -> !y
  return %s : !y
}

// A transposition that is used elsewhere stays; the product is one of plain matrices.
// CHECK-LABEL: func.func @used_elsewhere
// CHECK: %[[T:[a-z0-9_]+]] = "relax.permute_dims"
// CHECK-NEXT: %[[ARGS2:[a-z0-9_]+]] = builtin.unrealized_conversion_cast %{{[a-z0-9_]+}}, %[[T]] :
// CHECK-NEXT: "relax.call"(%[[ARGS2]]) {callee = @fused_matmul}
func.func @used_elsewhere(%x: !x, %w: !w) -> tuple<!y, !wt> {
  %t = "relax.permute_dims"(%w) {axes = [1, 0]} : (!w) -> !wt
  %p = "relax.matmul"(%x, %t) {out_dtype} : (!x, !wt) -> !y
  %r = builtin.unrealized_conversion_cast %p, %t : !y, !wt to tuple<!y, !wt>
  return %r : tuple<!y, !wt>
}

// Other functions than those that are named stay in one run; the bounds of
// their symbols go with what is moved, and so do constants, unless they are to be arguments.
// CHECK-LABEL: func.func @bounded
// CHECK: {callee = @[[BOUNDED:fused_matmul[a-z0-9_]*]]}
// ENTRY-LABEL: func.func @bounded
// ENTRY: {callee = @fused_matmul}
func.func @bounded(%x: !x {relax.name = "x"}, %w: !wt {relax.name = "w"}, %z: tensor<?xf32, #relax.shape<["k"]>>) -> !y attributes {relax.symbol_bounds = {n = [2, 8], k = [1, 3]}} {
  %p = "relax.matmul"(%x, %w) {out_dtype} : (!x, !wt) -> !y
  return %p : !y
}
// Two products in a row, and a constant. The operands keep their names.
// CHECK-LABEL: func.func @weights
// CHECK-NOT: relax.constant
// CHECK: %[[P:[a-z0-9_]+]] = "relax.call"(%{{[a-z0-9_]+}}) {callee = @[[FIRST:fused_matmul[a-z0-9_]*]]}
// CHECK-NEXT: %[[T:[a-z0-9_]+]] = builtin.unrealized_conversion_cast %[[P]] :
// CHECK-NEXT: "relax.call"(%[[T]]) {callee = @[[SECOND:fused_matmul[a-z0-9_]*]]}
// ENTRY-LABEL: func.func @weights
// ENTRY: %[[C:[a-z0-9_]+]] = "relax.constant"
// ENTRY: builtin.unrealized_conversion_cast %{{.+}}, %[[C]] :
func.func @weights(%x: !x) -> tensor<?x2xf32, #relax.shape<["n", 2]>> {
  %c = "relax.constant"() {value = dense<1.0> : tensor<8x4xf32>} : () -> !wt
  %d = "relax.constant"() {value = dense<2.0> : tensor<4x2xf32>} : () -> tensor<4x2xf32>
  %p = "relax.matmul"(%x, %c) {out_dtype} : (!x, !wt) -> !y
  %q = "relax.matmul"(%p, %d) {out_dtype} : (!y, tensor<4x2xf32>) -> tensor<?x2xf32, #relax.shape<["n", 2]>>
  return %q : tensor<?x2xf32, #relax.shape<["n", 2]>>
}
// ENTRY-LABEL: func.func @not_named
// ENTRY: "relax.matmul"
// What a packed function changes is another value afterwards. A transposition outside of the block stays.
// CHECK-LABEL: func.func @not_named
// CHECK: "relax.call_packed"
// CHECK-NEXT: %[[NEW:[a-z0-9_]+]] = "relax.updated"
// CHECK: %[[TW:[a-z0-9_]+]] = "relax.permute_dims"
// CHECK: scf.if
// CHECK: builtin.unrealized_conversion_cast %[[NEW]], %[[TW]] :
// CHECK-NEXT: {callee = @[[PLAIN:fused_matmul[a-z0-9_]*]]}
func.func @not_named(%x: !x, %w: !w, %f: tensor<i1>) -> !y {
  %g = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
  %u = "relax.call_packed"(%g) {func = "f.change", arg_spec = [unit]} : (tuple<!x>) -> tuple<>
  %t = "relax.permute_dims"(%w) {axes = [1, 0]} : (!w) -> !wt
  %e = tensor.extract %f[] : tensor<i1>
  %r = scf.if %e -> !y {
    %p = "relax.matmul"(%x, %t) {out_dtype} : (!x, !wt) -> !y
    scf.yield %p : !y
  } else {
    %p = "relax.matmul"(%x, %t) {out_dtype} : (!x, !wt) -> !y
    scf.yield %p : !y
  }
  return %r : !y
}

// CHECK: func.func private @fused_permute_dims_matmul({{.*}}) -> {{.*}} attributes {relax.composite = "openblas.matmul_transposed_b"
// CHECK-NEXT: "relax.permute_dims"
// CHECK-NEXT: "relax.matmul"
// CHECK-NEXT: return
// CHECK: func.func private @fused_matmul({{.*}}) -> {{.*}} attributes {relax.composite = "openblas.matmul"
// CHECK: func.func private @[[BOUNDED]]({{.*}} {relax.name = "x"}, {{.*}} {relax.name = "w"}) -> {{.*}} attributes {relax.composite = "openblas.matmul", relax.symbol_bounds = {n = [2, 8]}}
// CHECK: func.func private @[[SECOND]](%{{[a-z0-9_]+}}: {{[^%]*}})
// CHECK-NEXT: "relax.constant"
// CHECK: func.func private @[[FIRST]](
// CHECK-NEXT: "relax.constant"
// CHECK-NEXT: "relax.matmul"

// WRAPPED-LABEL: func.func @transposed
// WRAPPED: "relax.permute_dims"
// WRAPPED: {callee = @fused_matmul_openblas}
// WRAPPED: func.func private @fused_matmul_openblas({{.*}}) -> {{.*}} attributes {relax.codegen = "openblas"
// WRAPPED: {callee = @fused_matmul}

// Both products of a row go into one function, with both results where both are used.
// MERGED-LABEL: func.func @both_used
// MERGED: %[[BOTH:[A-Za-z0-9_]+]] = "relax.call"({{.*}}) {callee = @[[TWO:fused_matmul[a-z0-9_]*_openblas]]}
// MERGED-NEXT: %[[P:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[BOTH]]) {index = 0 : i64}
// MERGED-NEXT: %[[Q:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[BOTH]]) {index = 1 : i64}
// MERGED-NEXT: builtin.unrealized_conversion_cast %[[P]], %[[Q]] :
// MERGED: func.func private @[[TWO]](
// MERGED: %[[P:[A-Za-z0-9_]+]] = "relax.call"({{.*}}) {callee = @fused_matmul
// MERGED: %[[Q:[A-Za-z0-9_]+]] = "relax.call"({{.*}}) {callee = @fused_matmul
// MERGED-NEXT: %[[ALL:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[P]], %[[Q]] :
// MERGED-NEXT: return %[[ALL]] :
func.func @both_used(%x: !x, %w: !wt) -> tuple<!y, tensor<?x2xf32, #relax.shape<["n", 2]>>> {
  %d = "relax.constant"() {value = dense<2.0> : tensor<4x2xf32>} : () -> tensor<4x2xf32>
  %p = "relax.matmul"(%x, %w) {out_dtype} : (!x, !wt) -> !y
  %q = "relax.matmul"(%p, %d) {out_dtype} : (!y, tensor<4x2xf32>) -> tensor<?x2xf32, #relax.shape<["n", 2]>>
  %r = builtin.unrealized_conversion_cast %p, %q : !y, tensor<?x2xf32, #relax.shape<["n", 2]>> to tuple<!y, tensor<?x2xf32, #relax.shape<["n", 2]>>>
  return %r : tuple<!y, tensor<?x2xf32, #relax.shape<["n", 2]>>>
}
