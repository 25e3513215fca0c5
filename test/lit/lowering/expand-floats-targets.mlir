// expand.py: conversions of f16 are instructions where the target has them, and integer arithmetic elsewhere.
// RUN: relax-opt --expand-floats="target='cpu -mcpu=haswell'" %s | filecheck %s --check-prefixes=NATIVE
// RUN: relax-opt --expand-floats="target='cpu -mcpu=neoverse-n1'" %s | filecheck %s --check-prefixes=NATIVE
// RUN: relax-opt --expand-floats="target='cpu -mcpu=haswell -mattr=-f16c'" %s | filecheck %s --check-prefixes=EXPANDED

// NATIVE-LABEL: func.func @widen
// NATIVE-SAME: (%[[X:[a-z0-9_]+]]: f16)
// NATIVE-NEXT: %[[R:[A-Za-z0-9_]+]] = arith.extf %[[X]] {{.*}}: f16 to f32
// NATIVE-NEXT: return %[[R]] :
// EXPANDED-LABEL: func.func @widen
// EXPANDED-SAME: (%[[X:[a-z0-9_]+]]: f16)
// EXPANDED-NOT: arith.extf
// EXPANDED: arith.bitcast %[[X]] : f16 to i16
// EXPANDED-NOT: arith.extf
// EXPANDED: return %{{[A-Za-z0-9_]+}} : f32
func.func @widen(%x: f16) -> f32 {
  %0 = arith.extf %x : f16 to f32
  return %0 : f32
}

// NATIVE-LABEL: func.func @narrow
// NATIVE-NEXT: arith.truncf %{{.*}} {{.*}}: f32 to f16
// NATIVE-NEXT: return
// EXPANDED-LABEL: func.func @narrow
// EXPANDED-NOT: arith.truncf
// EXPANDED: arith.bitcast %{{.*}} : i16 to f16
// EXPANDED-NOT: arith.truncf
// EXPANDED: return
func.func @narrow(%x: f32) -> f16 {
  %0 = arith.truncf %x : f32 to f16
  return %0 : f16
}
