// RUN: relax-opt --instrument-calls %s | filecheck %s
// instrument_calls.py: operations and bytes as formulas.

// CHECK: module attributes {relax.profile_sites = [{kind = "function", {{.*}}name = "main", sizes = []},
// CHECK-SAME: bytes = "4*a0_0*a0_1 + 4*a1_0*a1_1 + 4*a2_0*a2_1", flops = "2*a0_0*a0_1*a1_1"
// CHECK-SAME: kind = "prim"{{.*}}name = "product", sizes = ["a0_0", "a0_1", "a1_0", "a1_1", "a2_0", "a2_1"]
// CHECK-SAME: {bytes = "4*a0_0", kind = "prim"{{.*}}name = "until_zero", sizes = ["a0_0"]
// CHECK-SAME: kind = "function", {{.*}}name = "others", sizes = []}, {kind = "packed"{{.*}}name = "my.function", sizes = []}]
// CHECK: func.func @main
// CHECK: %[[WHOLE:.+]] = call @relax.rt.profile_now() : () -> i64
// CHECK: %[[N:.+]] = memref.dim %a
// CHECK: %[[K:.+]] = memref.dim %a
// CHECK: memref.dim %b
// CHECK: %[[M:.+]] = memref.dim %b
// CHECK: %[[START:.+]] = {{.*}}call @relax.rt.profile_now() : () -> i64
// CHECK-NEXT: call @product(
// CHECK-NEXT: %[[TWO:.+]] = arith.constant 2 : i64
// CHECK-NEXT: call @relax.rt.profile_record.6(%[[TWO]], %[[START]], %[[N]], %[[K]], %{{.*}}, %[[M]], %{{.*}}, %{{.*}})
// CHECK: call @until_zero
// CHECK: call @relax.rt.profile_record.1(
// CHECK: call @relax.rt.profile_record.0(%{{.*}}, %[[WHOLE]])
// CHECK-NEXT: return
func.func @main(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  call @main.shapes() : () -> ()
  call @product(%a, %b, %c) : (memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>) -> ()
  %zero = arith.constant 0 : index
  %row = memref.subview %a[0, 0] [1, 8] [1, 1] : memref<?x?xf32> to memref<8xf32, strided<[1]>>
  %any = memref.cast %row : memref<8xf32, strided<[1]>> to memref<?xf32, strided<[?], offset: ?>>
  call @until_zero(%any) : (memref<?xf32, strided<[?], offset: ?>>) -> ()
  return
}

// Functions that only check sizes, and prim funcs themselves, stay as they are.
// CHECK: func.func private @main.shapes
// CHECK-NEXT: return
func.func private @main.shapes() {
  return
}

// CHECK: func.func private @product
// CHECK-NEXT: linalg.matmul
func.func private @product(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}

// A loop that ends on data has no formula for its operations.
func.func private @until_zero(%x: memref<?xf32, strided<[?], offset: ?>>) attributes {relax.prim_func} {
  %i = arith.constant 0 : index
  %limit = arith.constant 0.0 : f32
  scf.while : () -> () {
    %v = memref.load %x[%i] : memref<?xf32, strided<[?], offset: ?>>
    %more = arith.cmpf ogt, %v, %limit : f32
    scf.condition(%more)
  } do {
    %v = memref.load %x[%i] : memref<?xf32, strided<[?], offset: ?>>
    %half = arith.subf %v, %v : f32
    memref.store %half, %x[%i] : memref<?xf32, strided<[?], offset: ?>>
    scf.yield
  }
  return
}

// Packed functions are recorded under their names; functions of the runtime, and prim funcs that are only declared, are
// not recorded.
// CHECK-LABEL: func.func @others
// CHECK: call @relax.rt.profile_now()
// CHECK-NEXT: call @runtime()
// CHECK-NEXT: call @declared(
// CHECK-NEXT: %[[START:[A-Za-z0-9_]+]] = call @relax.rt.profile_now()
// CHECK-NEXT: call @relax.packed.0(
// CHECK-NEXT: %[[SITE:[A-Za-z0-9_]+]] = arith.constant 5 : i64
// CHECK-NEXT: call @relax.rt.profile_record.0(%[[SITE]], %[[START]])
// CHECK: call @relax.rt.profile_record.0(
// CHECK-NOT: call @relax.rt.profile_record
// CHECK: return
func.func private @runtime()
func.func private @declared(memref<?xf32>) attributes {relax.prim_func}
func.func private @relax.packed.0(memref<?xf32>) attributes {relax.packed = {name = "my.function"}}
func.func @others(%x: memref<?xf32>) {
  call @runtime() : () -> ()
  call @declared(%x) : (memref<?xf32>) -> ()
  call @relax.packed.0(%x) : (memref<?xf32>) -> ()
  return
}

// CHECK: func.func private @relax.rt.profile_record.6(%{{.*}}: i64, %{{.*}}: i64, %{{.*}}: index
// CHECK: llvm.atomicrmw add
