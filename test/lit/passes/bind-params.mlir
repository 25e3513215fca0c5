// Parameters become the arrays of a file; calls lose the argument.
// RUN: python -c "import numpy; numpy.savez(r'%t.npz', w=numpy.ones((2, 3), 'float32'))"
// RUN: relax-opt %s --bind-params='function=dense file=%t.npz' | filecheck %s
// RUN: not relax-opt %s --bind-params 2>&1 | filecheck %s --check-prefix=NOFILE
// RUN: not relax-opt %s --bind-params='function=main file=%t.npz' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: relax-opt %s --load-pass-plugin=%S/Inputs/bind.py --bind-arrays | filecheck %s --check-prefix=ARRAYS
// RUN: python -c "import numpy; numpy.save(r'%t.npy', numpy.ones(3))"
// RUN: not relax-opt %s --bind-params=file=%t.npy 2>&1 | filecheck %s --check-prefix=ONE
// RUN: not relax-opt %s --bind-params=function=none 2>&1 | filecheck %s --check-prefix=FUNCTION
// RUN: not relax-opt %s --bind-params=params=w 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not relax-opt %s --bind-params='function=dense file=none.npz' 2>&1 | filecheck %s --check-prefix=UNREADABLE

// NOFILE: bind-params: give 'file', an .npz file of arrays by the parameters' names
// UNKNOWN: unknown parameter of function 'main' 'w'
// ONE: .npy' is one array, expected arrays by name (.npz)
// FUNCTION: unknown Relax function 'none'
// OPTION: unknown option of pass 'bind-params' 'params'; known: file, function
// UNREADABLE: bind-params: cannot read 'none.npz'

// CHECK-LABEL: func.func private @dense(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x2xf32, #relax.shape<["n", 2]>>{{.*}}) -> tensor<?x3xf32, #relax.shape<["n", 3]>>
// CHECK: %[[W:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<1.000000e+00> : tensor<2x3xf32>}
// CHECK: "relax.matmul"(%[[X]], %[[W]])
func.func private @dense(%x: tensor<?x?xf32, #relax.shape<["n", "k"]>> {relax.name = "x"}, %w: tensor<?x?xf32, #relax.shape<["k", "m"]>> {relax.name = "w"}) -> tensor<?x?xf32, #relax.shape<["n", "m"]>> {
  %0 = "relax.matmul"(%x, %w) {out_dtype} : (tensor<?x?xf32, #relax.shape<["n", "k"]>>, tensor<?x?xf32, #relax.shape<["k", "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.shape<["n", "m"]>>
}

// CHECK-LABEL: func.func @main(
// CHECK: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %{{[a-z0-9_]+}} : tensor<5x2xf32> to tuple<tensor<5x2xf32>>
// CHECK: "relax.call"(%[[T]]) {callee = @dense} : (tuple<tensor<5x2xf32>>) -> tensor<5x3xf32>
func.func @main(%x: tensor<5x2xf32> {relax.name = "x"}, %v: tensor<2x3xf32> {relax.name = "v"}) -> tensor<5x3xf32> {
  %t = builtin.unrealized_conversion_cast %x, %v : tensor<5x2xf32>, tensor<2x3xf32> to tuple<tensor<5x2xf32>, tensor<2x3xf32>>
  %0 = "relax.call"(%t) {callee = @dense} : (tuple<tensor<5x2xf32>, tensor<2x3xf32>>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

// In Python, arrays may be given by name; a parameter may leave dimensions, the rank or the dtype open.
// ARRAYS: a key of 'params' is 3 (int), expected the name of a parameter
// ARRAYS: params['d'] is of type list, expected an array
// ARRAYS-NEXT: BindParams(function='partly', file='')
// ARRAYS-LABEL: func.func @partly() ->
// ARRAYS-NEXT: %[[D:.*]] = "relax.constant"() {value = dense<0.000000e+00> : tensor<2x3xf32>}
// ARRAYS-NEXT: %[[R:.*]] = "relax.constant"() {value = dense<0.000000e+00> : tensor<4xf32>}
// ARRAYS-NEXT: %[[T:.*]] = "relax.constant"() {value = dense<0.000000e+00> : tensor<5xf32>}
// ARRAYS-NEXT: %[[S:.*]] = "relax.constant"() {value = dense<0.000000e+00> : tensor<f32>}
// ARRAYS-NEXT: return %[[D]], %[[R]], %[[T]], %[[S]] :
// ARRAYS-LABEL: func.func @other() ->
func.func @partly(%d: tensor<?x?xf32> {relax.name = "d"}, %r: tensor<*xf32> {relax.name = "r"}, %t: tensor<5x!relax.any> {relax.name = "t"}, %s: tensor<f32> {relax.name = "s"}) -> (tensor<?x?xf32>, tensor<*xf32>, tensor<5x!relax.any>, tensor<f32>) {
  return %d, %r, %t, %s : tensor<?x?xf32>, tensor<*xf32>, tensor<5x!relax.any>, tensor<f32>
}
func.func @other(%v: tensor<i64> {relax.name = "v"}) -> tensor<i64> {
  return %v : tensor<i64>
}
