// Loops around a conditional move into its branches, if one of these takes them. (`fuse_ops.py`)
// RUN: relax-opt %s --fuse-ops --explain-fusion -o %t 2>&1 | filecheck %s
// RUN: filecheck %s --check-prefix=IR < %t

// CHECK: fused  epilogue: twice (opaque) into relu (elementwise)
// CHECK-NEXT: computed where it is stored; saves
// CHECK: fused  epilogue: exp (elementwise) into relu (elementwise)
// CHECK: fused  prologue: relu (elementwise) into exp (elementwise)
// CHECK: apart  prologue: relu (elementwise) from twice (opaque)
// CHECK-NEXT: twice works on memory: it takes no prologue

// IR-LABEL: func.func @epilogue(
// IR: %[[R:[0-9]+]] = scf.if
// IR: callee = @twice_relu, tir_vars = []
// IR: } else {
// IR: callee = @exp_relu, tir_vars = []
// IR: return %[[R]] :
// IR-LABEL: func.func @prologue(
// IR: scf.if
// IR: callee = @relu, tir_vars = []
// IR: callee = @twice, tir_vars = []
// IR: } else {
// IR: callee = @relu_exp, tir_vars = []
// IR-LABEL: func.func @used_twice(
// IR: scf.if
// IR: callee = @twice, tir_vars = []
// IR: } else {
// IR: callee = @exp, tir_vars = []
// IR: callee = @relu, tir_vars = []

#same = affine_map<(d0, d1) -> (d0, d1)>
!x = tensor<?x4xf32, #relax.shape<["n", 4]>>

func.func @epilogue(%x: !x, %flag: i1) -> !x {
  %1 = scf.if %flag -> !x {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @exp, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  }
  %2 = builtin.unrealized_conversion_cast %1 : !x to tuple<!x>
  %3 = "relax.call_tir"(%2) {callee = @relu, tir_vars = []} : (tuple<!x>) -> !x
  return %3 : !x
}

func.func @prologue(%x: !x, %flag: i1) -> !x {
  %0 = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
  %y = "relax.call_tir"(%0) {callee = @relu, tir_vars = []} : (tuple<!x>) -> !x
  %1 = scf.if %flag -> !x {
    %a = builtin.unrealized_conversion_cast %y : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %y : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @exp, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  }
  return %1 : !x
}

// The result of the conditional is needed as it is, too.
func.func @used_twice(%x: !x, %flag: i1) -> (!x, !x) {
  %1 = scf.if %flag -> !x {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  } else {
    %a = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
    %b = "relax.call_tir"(%a) {callee = @exp, tir_vars = []} : (tuple<!x>) -> !x
    scf.yield %b : !x
  }
  %6 = builtin.unrealized_conversion_cast %1 : !x to tuple<!x>
  %7 = "relax.call_tir"(%6) {callee = @relu, tir_vars = []} : (tuple<!x>) -> !x
  return %1, %7 : !x, !x
}

func.func private @twice(%a: memref<?x4xf32>, %out: memref<?x4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %a, %c0 : memref<?x4xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %x = memref.load %a[%i, %j] : memref<?x4xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %out[%i, %j] : memref<?x4xf32>
    }
  }
  return
}

func.func private @relu(%x: tensor<?x4xf32>, %out: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {relax.pattern = "elementwise", relax.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x4xf32>) outs(%out : tensor<?x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %1 = arith.maximumf %p, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

func.func private @exp(%x: tensor<?x4xf32>, %out: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {relax.pattern = "elementwise", relax.prim_func} {
  %0 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x4xf32>) outs(%out : tensor<?x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %1 = math.exp %p : f32
    linalg.yield %1 : f32
  } -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
