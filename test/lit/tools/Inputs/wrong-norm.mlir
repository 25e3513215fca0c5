func.func @f(%p: !cmath.complex<f32>) -> f64 {
  %n = "cmath.norm"(%p) : (!cmath.complex<f32>) -> f64
  return %n : f64
}
