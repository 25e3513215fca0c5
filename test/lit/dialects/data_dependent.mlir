// RUN: relax-opt --split-input-file --verify-diagnostics %s
// RUN: relax-opt --normalize --split-input-file --verify-diagnostics %s 2>/dev/null | filecheck %s
// RUN: relax-opt --legalize-ops --split-input-file --verify-diagnostics %s 2>/dev/null | filecheck %s --check-prefix=CALLS

// CHECK-LABEL: @distinct
// CHECK: relax.unique{{.*}} -> tensor<?xf32>
// CHECK: relax.unique{{.*}} -> tuple<tensor<?x4xf32>, tensor<?xi64, #relax.shape<["n"]>>, tensor<?xi64>>
// CALLS-LABEL: @distinct
// CALLS: call_pure_packed{{.*}}arg_spec = [unit, true, false, false, false, "{{[^"]*}}"], func = "relax_mlir.run.unique"
// CALLS: call_pure_packed{{.*}}arg_spec = [unit, false, false, true, true, "{{[^"]*}}", 0], func = "relax_mlir.run.unique"
func.func @distinct(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?xf32> {
  %0 = "relax.unique"(%x) {sorted = true, return_index = false, return_inverse = false, return_counts = false, axis}
    : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?xf32>
  %1 = "relax.unique"(%x) {sorted = false, return_index = false, return_inverse = true, return_counts = true, axis = 0}
    : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tuple<tensor<?x4xf32>, tensor<?xi64>, tensor<?xi64>>
  return %0 : tensor<?xf32>
}
// -----
// CHECK-LABEL: @positions
// CHECK: relax.nonzero{{.*}} -> tensor<2x?xi64>
// CALLS-LABEL: @positions
// CALLS: call_pure_packed{{.*}}arg_spec = [unit], func = "relax_mlir.run.nonzero"
func.func @positions(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x?xi64> {
  %0 = "relax.nonzero"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x?xi64>
  %1 = "relax.match_shape"(%0) {pattern = ["?", "?"], result_dtype} : (tensor<?x?xi64>) -> tensor<?x?xi64>
  return %1 : tensor<?x?xi64>
}
// -----
func.func @axis(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32> {
  // expected-error@+1 {{unique: axis 1 is out of range for a tensor of rank 1}}
  %0 = "relax.unique"(%x) {sorted = true, return_index = false, return_inverse = false, return_counts = false, axis = 1}
    : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// -----
func.func @positions_dtype(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<1x?xi32> {
  // expected-error@+1 {{nonzero: result 0 is Tensor((1, ?), "int32"), but its operands give Tensor((1, ?), "int64")}}
  %0 = "relax.nonzero"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<1x?xi32>
  return %0 : tensor<1x?xi32>
}
