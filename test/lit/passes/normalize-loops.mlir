// A loop keeps the types that it carries: what becomes better known is made to forget.
// RUN: relax-opt --normalize %s | filecheck %s

// CHECK-LABEL: func.func @grow
// CHECK: %[[N:.*]] = "relax.exp"(%{{.*}}) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK: %[[F:.*]] = "relax.match_shape"(%[[N]]) {pattern = ["?"], result_dtype}
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %[[F]]) -> (tensor<?xf32>)
// CHECK: %[[M:.*]] = "relax.match_shape"(%[[A]]) {pattern = ["m"]
// CHECK: %[[E:.*]] = "relax.exp"(%[[M]]) : (tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["m"]>>
// CHECK: %[[G:.*]] = "relax.match_shape"(%[[E]]) {pattern = ["?"], result_dtype}
// CHECK: scf.yield %[[G]] : tensor<?xf32>
func.func @grow(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32> {
  %0 = "relax.prim_value"() {value = 0 : i64} : () -> i64
  %1 = "relax.prim_value"() {value = 1 : i64} : () -> i64
  %2 = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32>
  %3 = scf.for %i = %0 to %1 step %1 iter_args(%a = %2) -> (tensor<?xf32>) : i64 {
    %m = "relax.match_shape"(%a) {pattern = ["m"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["m"]>>
    %e = "relax.exp"(%m) : (tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32>
    scf.yield %e : tensor<?xf32>
  }
  return %3 : tensor<?xf32>
}
