// RUN: not relax-opt --lower-objects %s 2>&1 | filecheck %s

// CHECK: error: no object function 'relax.object.colour'; known: array, as_shape, bytes,
func.func private @relax.object.colour(i64) -> index
