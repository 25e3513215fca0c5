// A function value that is not known before the program runs is refused, with its place.
// RUN: not relax-opt %s --specialize-closures 2>&1 | filecheck %s

// CHECK: main: parameter 'f' is a function; native functions are not called with functions: make 'main' private
func.func @main(%f: !relax.callable<[tensor<2xf32>], tensor<2xf32>, true> {relax.name = "f"}, %x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
