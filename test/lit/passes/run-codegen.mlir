// RUN: relax-opt %s --fuse-ops-by-pattern="patterns=openblas annotate-codegen" --run-codegen | filecheck %s
// RUN: relax-opt %s --fuse-ops-by-pattern="patterns=openblas" --run-codegen 2>%t | filecheck %s --check-prefix=LEFT
// RUN: filecheck %s --check-prefix=WARNED --input-file %t

!x = tensor<?x3x8xf32, #relax.shape<["n", 3, 8]>>
!y = tensor<?x3x4xf32, #relax.shape<["n", 3, 4]>>

// One product of all rows, by the library; nothing of the functions is left.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: {{.*}}, %[[W:[a-z0-9_]+]]: {{.*}})
// CHECK: %[[ROWS:[a-z0-9_]+]] = "relax.reshape"(%[[X]], %{{[a-z0-9_]+}})
// CHECK-NEXT: %[[ARGS:[a-z0-9_]+]] = builtin.unrealized_conversion_cast %[[ROWS]], %[[W]] :
// CHECK-NEXT: %[[P:[a-z0-9_]+]] = "relax.call_dps_packed"(%[[ARGS]]) {arg_spec = [unit, unit, false, true, 0], func = "relax_mlir.openblas.matmul"}
// CHECK: %[[Y:[a-z0-9_]+]] = "relax.reshape"(%[[P]], %{{[a-z0-9_]+}})
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = "relax.nn_relu"(%[[Y]])
// CHECK-NEXT: return %[[S]] :
// CHECK-NOT: func.func

// Without a function for the code generator the ops are as they were.
// LEFT-LABEL: func.func @main
// LEFT: "relax.permute_dims"
// LEFT-NEXT: "relax.matmul"
// LEFT-NEXT: "relax.nn_relu"
// LEFT-NOT: func.func
// WARNED: no code generator is asked for 'openblas.matmul_transposed_b'
func.func @main(%x: !x, %w: tensor<4x8xf32>) -> !y {
  %t = "relax.permute_dims"(%w) {axes} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %p = "relax.matmul"(%x, %t) {out_dtype} : (!x, tensor<8x4xf32>) -> !y
  %s = "relax.nn_relu"(%p) : (!y) -> !y
  return %s : !y
}
