// RUN: not relax-opt %s --check-prim-funcs --check-bounds 2>&1 | filecheck %s
// check_bounds.py: the greatest index of an access is known if the index rises with all loop variables, from 0.

// CHECK: prim func 'modulo': linalg.generic: an access is no sum of loop variables, times or floordiv positive numbers: read the element by tensor.extract
func.func private @modulo(%a: tensor<?xf32>, %b: tensor<?x?xf32>) attributes {relax.prim_func} {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> ((i mod 4) floordiv 2 + j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]
  } ins(%a : tensor<?xf32>) outs(%b : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } -> tensor<?x?xf32>
  return
}

// CHECK: prim func 'below': linalg.generic: an access is no sum of loop variables, times or floordiv positive numbers: read the element by tensor.extract
func.func private @below(%a: tensor<?xf32>, %b: tensor<?x?xf32>) attributes {relax.prim_func} {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i + j - 1)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]
  } ins(%a : tensor<?xf32>) outs(%b : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } -> tensor<?x?xf32>
  return
}

// CHECK: prim func 'falling': linalg.generic: an access is no sum of loop variables, times or floordiv positive numbers: read the element by tensor.extract
func.func private @falling(%a: tensor<?xf32>, %b: tensor<?x?xf32>) attributes {relax.prim_func} {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i * -2 + j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]
  } ins(%a : tensor<?xf32>) outs(%b : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } -> tensor<?x?xf32>
  return
}

// CHECK: prim func 'quotient_of_falling': linalg.generic: an access is no sum of loop variables
func.func private @quotient_of_falling(%a: tensor<?xf32>, %b: tensor<?x?xf32>) attributes {relax.prim_func} {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> ((i * -2) floordiv 4 + j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]
  } ins(%a : tensor<?xf32>) outs(%b : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } -> tensor<?x?xf32>
  return
}

// CHECK: prim func 'remainder': linalg.generic: an access is no sum of loop variables
func.func private @remainder(%a: tensor<?xf32>, %b: tensor<?x?xf32>) attributes {relax.prim_func} {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (j mod 4)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]
  } ins(%a : tensor<?xf32>) outs(%b : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } -> tensor<?x?xf32>
  return
}
