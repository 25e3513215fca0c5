// RUN: not relax-opt --pool-buffers %s 2>&1 | filecheck %s

// CHECK: pool-buffers: @filled, which @runs calls by its address, needs memory of the pool
func.func private @filled(%n: index) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  %a = memref.alloc(%n) : memref<?xf32>
  memref.store %v, %a[%c0] : memref<?xf32>
  return
}
func.func private @runs(%n: index) {
  %f = constant @filled : (index) -> ()
  func.call_indirect %f(%n) : (index) -> ()
  return
}
