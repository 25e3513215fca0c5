// The names of parameters and bindings are printed at every level to which the value survives.
// RUN: relax-opt %s | filecheck %s --check-prefix=R0
// RUN: relax-opt %s | relax-opt | filecheck %s --check-prefix=R0
// RUN: relax-opt %s --relax-to-calls | filecheck %s --check-prefix=R1
// RUN: relax-opt %s --relax-to-tensors | filecheck %s --check-prefix=T
// RUN: relax-opt %s --relax-to-memrefs | filecheck %s --check-prefix=M
// RUN: relax-opt %s --relax-to-kernels | filecheck %s --check-prefix=V

// The attribute names a parameter that has only a number in the text.
// R0: func.func @main(%q: tensor<?x4xf32, #{{.*}}> {relax.name = "q"}, %k: tensor<?x4xf32, #{{.*}}>)
// R0: %kt = "relax.permute_dims"(%k)
// R0: %scores = "relax.matmul"(%q, %kt)
// R0: %{{[0-9]+}} = "relax.nn_softmax"(%scores)

// A value that is computed with another is gone: kt is. Prim funcs are nobody's bindings; their values have no names.
// R1-LABEL: func.func @main(%q: tensor<?x4xf32, #{{.*}}> {relax.name = "q"}, %k: tensor<?x4xf32, #{{.*}}>)
// R1: %[[ARGS:[0-9]+]] = builtin.unrealized_conversion_cast %k, %q
// R1: %scores = "relax.call_tir"(%[[ARGS]]) {callee = @permute_dims_matmul
// R1: %{{[0-9]+}} = "relax.call_tir"(%{{[0-9]+}}) {callee = @softmax
// R1: func.func private @permute_dims_matmul(%arg0: tensor<?x4xf32>, %arg1: tensor<?x4xf32>, %arg2: tensor<?x?xf32>)
// R1: %{{[0-9]+}} = linalg.fill

// The memory of a value has its name, too.
// T-LABEL: func.func @main(%q: tensor<?x4xf32>, %k: tensor<?x4xf32>, %result: tensor<?x?xf32>)
// T: %[[N:dim[_0-9]*]] = tensor.dim %q,
// T: %scores = tensor.empty(%[[N]], %{{dim[_0-9]*}})
// T: %[[SCORES:scores_[0-9]+]] = call @permute_dims_matmul(%k, %q, %scores)
// T: call @softmax(%[[SCORES]],

// M-LABEL: func.func @main(%q: memref<?x4xf32>, %k: memref<?x4xf32>, %result: memref<?x?xf32>)
// M: %scores = memref.view
// M-NEXT: call @permute_dims_matmul(%k, %q, %scores)
// M-NEXT: call @softmax(%scores, %result)

// V-LABEL: func.func @main(%q: memref<?x4xf32>, %k: memref<?x4xf32>, %result: memref<?x?xf32>)
// V: %scores = memref.view
// V-NEXT: call @permute_dims_matmul(%k, %q, %scores)
func.func @main(%arg0: tensor<?x4xf32, #relax.shape<["n", 4]>> {relax.name = "q"}, %k: tensor<?x4xf32, #relax.shape<["m", 4]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>> {
  %0 = "relax.dataflow"() ({
    %kt = "relax.permute_dims"(%k) {axes} : (tensor<?x4xf32, #relax.shape<["m", 4]>>) -> tensor<4x?xf32, #relax.shape<[4, "m"]>>
    %scores = "relax.matmul"(%arg0, %kt) {out_dtype} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4x?xf32, #relax.shape<[4, "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
    %3 = "relax.nn_softmax"(%scores) {axis = -1 : i64} : (tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
    "relax.output"(%3) : (tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> ()
  }) : () -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.shape<["n", "m"]>>
}
