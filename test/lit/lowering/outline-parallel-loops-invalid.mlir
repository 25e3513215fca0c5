// RUN: not relax-opt --outline-parallel-loops %s 2>&1 | filecheck %s

// CHECK: outline-parallel-loops: a loop that carries values cannot run on several threads
func.func @sum(%x: memref<?xf32>, %zero: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %total = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (f32) {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %sum, %a : f32
    scf.yield %b : f32
  } {relax.parallel}
  return %total : f32
}

func.func private @relax.parallel_cost(index)
