// RUN: not relax-opt --outline-parallel-loops="target='cpu -num-threads=2'" --split-input-file %s 2>&1 | filecheck %s

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
// -----
// CHECK: outline-parallel-loops: the cost of a loop must be computed outside of it
func.func private @relax.parallel_cost(index)
func.func @cost_inside(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%i) : (index) -> ()
  } {relax.parallel}
  return
}
// -----
// CHECK: outline-parallel-loops: a value of type vector<4xindex> cannot be given to another thread
func.func private @relax.parallel_cost(index)
func.func @indices(%n: index, %v: vector<4xindex>, %x: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    vector.store %v, %x[%i] : memref<?xindex>, vector<4xindex>
  } {relax.parallel}
  return
}
// -----
// CHECK: outline-parallel-loops: a value of type vector<2x2xf32> cannot be given to another thread
func.func private @relax.parallel_cost(index)
func.func @matrix(%n: index, %v: vector<2x2xf32>, %x: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    vector.store %v, %x[%i, %i] : memref<?x?xf32>, vector<2x2xf32>
  } {relax.parallel}
  return
}
