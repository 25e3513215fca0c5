// RUN: not relax-opt --drop-destination-results %s 2>&1 | filecheck %s
// bufferize.py: nobody would free such a buffer.

// CHECK: error: {{.*}}:6:1: function 'own': result 1 is a buffer of its own; results must be written into the destinations that the caller gives

func.func @own(%x: memref<4xf32>) -> (memref<4xf32>, memref<4xf32>) {
  %a = memref.alloc() : memref<4xf32>
  return %x, %a : memref<4xf32>, memref<4xf32>
}
