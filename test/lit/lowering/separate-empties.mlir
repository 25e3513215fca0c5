// RUN: relax-opt %s --separate-empties | filecheck %s

func.func private @double(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}

// Each call has a tensor of its own to fill; one use needs no second tensor.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %[[ONCE:[A-Za-z0-9_]+]] = tensor.empty
// CHECK-NEXT: %[[X:[A-Za-z0-9_]+]] = call @double(%{{.*}}, %[[ONCE]])
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = tensor.empty
// CHECK-NEXT: %[[FIRST:[A-Za-z0-9_]+]] = call @double(%[[X]], %[[A]])
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = tensor.empty
// CHECK-NEXT: %[[SECOND:[A-Za-z0-9_]+]] = call @double(%[[FIRST]], %[[B]])
// CHECK-NEXT: return %[[SECOND]] :
func.func @chain(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %once = tensor.empty(%n) : tensor<?xf32>
  %y = func.call @double(%x, %once) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = func.call @double(%y, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = func.call @double(%0, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// A call in a branch has one, too; one in a loop keeps the buffer that is made outside, and so does what the loop carries.
// CHECK-LABEL: func.func @control
// CHECK: %[[E:[A-Za-z0-9_]+]] = tensor.empty
// CHECK-NEXT: scf.if
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = tensor.empty
// CHECK-NEXT: func.call @double(%{{.*}}, %[[A]])
// CHECK: scf.for {{.*}} iter_args(%[[LAST:[a-z0-9_]+]] = %[[E]])
// CHECK-NEXT: func.call @double(%[[LAST]], %[[E]])
func.func @control(%x: tensor<?xf32>, %n: index, %flag: i1) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = scf.if %flag -> tensor<?xf32> {
    %1 = func.call @double(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %1 : tensor<?xf32>
  } else {
    scf.yield %x : tensor<?xf32>
  }
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%last = %e) -> tensor<?xf32> {
    %2 = func.call @double(%last, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %2 : tensor<?xf32>
  }
  %3 = func.call @double(%r, %0) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}

// One use needs no second tensor.
// CHECK-LABEL: func.func @alone
// CHECK: %[[E:[A-Za-z0-9_]+]] = tensor.empty
// CHECK-NEXT: arith.constant
// CHECK-NEXT: call @double(%{{.*}}, %[[E]])
func.func @alone(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %c0 = arith.constant 0 : index
  %0 = func.call @double(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// What fills a tensor without a call keeps it, and so does a call in a branch of a loop; nothing is made for them.
// CHECK-LABEL: func.func @kept
// CHECK: %[[E:[A-Za-z0-9_]+]] = tensor.empty
// CHECK-NEXT: linalg.fill ins(%{{[a-z0-9_]+}} : f32) outs(%[[E]] :
// CHECK-NEXT: linalg.fill ins(%{{[a-z0-9_]+}} : f32) outs(%[[E]] :
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.if
// CHECK-NEXT: func.call @double(%{{[a-z0-9_]+}}, %[[E]])
// CHECK: return
func.func @kept(%x: tensor<?xf32>, %n: index, %v: f32, %flag: i1) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.fill ins(%v : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %1 = linalg.fill ins(%v : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%last = %0) -> tensor<?xf32> {
    %b = scf.if %flag -> tensor<?xf32> {
      %2 = func.call @double(%last, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      scf.yield %2 : tensor<?xf32>
    } else {
      scf.yield %last : tensor<?xf32>
    }
    scf.yield %b : tensor<?xf32>
  }
  return %r, %1 : tensor<?xf32>, tensor<?xf32>
}
