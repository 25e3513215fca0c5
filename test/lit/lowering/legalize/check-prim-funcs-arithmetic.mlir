// RUN: relax-opt %s --check-prim-funcs | filecheck %s
// check_prim_funcs.py: arithmetic has a result for all operands, and an op that has one already stays.

// Divisions by zero give 0, the lowest integer by -1 itself; a remainder by zero is the dividend's by 1.
// CHECK-LABEL: @signed(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[C1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[X:[A-Za-z0-9_]+]] = memref.load %[[A]][%[[C0]]] : memref<4xi32>
// CHECK-NEXT: %[[Y:[A-Za-z0-9_]+]] = memref.load %[[A]][%[[C1]]] : memref<4xi32>
// CHECK-NEXT: %[[C0_I32:[A-Za-z0-9_]+]] = arith.constant 0 : i32
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[Y]], %[[C0_I32]] : i32
// CHECK-NEXT: %[[CM2147483648_I32:[A-Za-z0-9_-]+]] = arith.constant -2147483648 : i32
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[X]], %[[CM2147483648_I32]] : i32
// CHECK-NEXT: %[[CM1_I32:[A-Za-z0-9_-]+]] = arith.constant -1 : i32
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[Y]], %[[CM1_I32]] : i32
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = arith.andi %[[V1]], %[[V2]] : i1
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = arith.ori %[[V0]], %[[V3]] : i1
// CHECK-NEXT: %[[C1_I32:[A-Za-z0-9_]+]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = arith.select %[[V4]], %[[C1_I32]], %[[Y]] : i32
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = arith.floordivsi %[[X]], %[[V5]] : i32
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = arith.select %[[V0]], %[[C0_I32]], %[[V6]] : i32
// CHECK-NEXT: memref.store %[[V7]], %[[A]][%[[C0]]] : memref<4xi32>
// CHECK-NEXT: %[[C0_I32_0:[A-Za-z0-9_]+]] = arith.constant 0 : i32
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[Y]], %[[C0_I32_0]] : i32
// CHECK-NEXT: %[[CM2147483648_I32_1:[A-Za-z0-9_-]+]] = arith.constant -2147483648 : i32
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[X]], %[[CM2147483648_I32_1]] : i32
// CHECK-NEXT: %[[CM1_I32_2:[A-Za-z0-9_-]+]] = arith.constant -1 : i32
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[Y]], %[[CM1_I32_2]] : i32
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = arith.andi %[[V9]], %[[V10]] : i1
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = arith.ori %[[V8]], %[[V11]] : i1
// CHECK-NEXT: %[[C1_I32_3:[A-Za-z0-9_]+]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V13:[A-Za-z0-9_]+]] = arith.select %[[V12]], %[[C1_I32_3]], %[[Y]] : i32
// CHECK-NEXT: %[[V14:[A-Za-z0-9_]+]] = arith.remsi %[[X]], %[[V13]] : i32
// CHECK-NEXT: memref.store %[[V14]], %[[A]][%[[C1]]] : memref<4xi32>
// CHECK-NEXT: return
func.func private @signed(%a: memref<4xi32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.load %a[%c0] : memref<4xi32>
  %y = memref.load %a[%c1] : memref<4xi32>
  %0 = arith.floordivsi %x, %y : i32
  memref.store %0, %a[%c0] : memref<4xi32>
  %1 = arith.remsi %x, %y : i32
  memref.store %1, %a[%c1] : memref<4xi32>
  return
}

// CHECK-LABEL: @unsigned(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[C1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[X:[A-Za-z0-9_]+]] = memref.load %[[A]][%[[C0]]] : memref<4xi8>
// CHECK-NEXT: %[[Y:[A-Za-z0-9_]+]] = memref.load %[[A]][%[[C1]]] : memref<4xi8>
// CHECK-NEXT: %[[C0_I8:[A-Za-z0-9_]+]] = arith.constant 0 : i8
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[Y]], %[[C0_I8]] : i8
// CHECK-NEXT: %[[C1_I8:[A-Za-z0-9_]+]] = arith.constant 1 : i8
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.select %[[V0]], %[[C1_I8]], %[[Y]] : i8
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.ceildivui %[[X]], %[[V1]] : i8
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = arith.select %[[V0]], %[[C0_I8]], %[[V2]] : i8
// CHECK-NEXT: memref.store %[[V3]], %[[A]][%[[C0]]] : memref<4xi8>
// CHECK-NEXT: %[[C0_I8_0:[A-Za-z0-9_]+]] = arith.constant 0 : i8
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[Y]], %[[C0_I8_0]] : i8
// CHECK-NEXT: %[[C1_I8_1:[A-Za-z0-9_]+]] = arith.constant 1 : i8
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = arith.select %[[V4]], %[[C1_I8_1]], %[[Y]] : i8
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = arith.remui %[[X]], %[[V5]] : i8
// CHECK-NEXT: memref.store %[[V6]], %[[A]][%[[C1]]] : memref<4xi8>
// CHECK-NEXT: return
func.func private @unsigned(%a: memref<4xi8>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.load %a[%c0] : memref<4xi8>
  %y = memref.load %a[%c1] : memref<4xi8>
  %0 = arith.ceildivui %x, %y : i8
  memref.store %0, %a[%c0] : memref<4xi8>
  %1 = arith.remui %x, %y : i8
  memref.store %1, %a[%c1] : memref<4xi8>
  return
}

// CHECK-LABEL: @indices(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[I:[A-Za-z0-9_]+]]:{{.*}}%[[J:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[C0_0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[J]], %[[C0_0]] : index
// CHECK-NEXT: %[[CM9223372036854775808:[A-Za-z0-9_-]+]] = arith.constant -9223372036854775808 : index
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[I]], %[[CM9223372036854775808]] : index
// CHECK-NEXT: %[[CM1:[A-Za-z0-9_-]+]] = arith.constant -1 : index
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[J]], %[[CM1]] : index
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = arith.andi %[[V1]], %[[V2]] : i1
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = arith.ori %[[V0]], %[[V3]] : i1
// CHECK-NEXT: %[[C1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = arith.select %[[V4]], %[[C1]], %[[J]] : index
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = arith.ceildivsi %[[I]], %[[V5]] : index
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = arith.select %[[V0]], %[[C0_0]], %[[V6]] : index
// CHECK-NEXT: memref.store %[[V7]], %[[A]][%[[C0]]] : memref<4xindex>
// CHECK-NEXT: return
func.func private @indices(%a: memref<4xindex>, %i: index, %j: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %0 = arith.ceildivsi %i, %j : index
  memref.store %0, %a[%c0] : memref<4xindex>
  return
}

// Shifts by the width or more give 0, or the sign.
// CHECK-LABEL: @shifts(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[C1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[X:[A-Za-z0-9_]+]] = memref.load %[[A]][%[[C0]]] : memref<4xi16>
// CHECK-NEXT: %[[Y:[A-Za-z0-9_]+]] = memref.load %[[A]][%[[C1]]] : memref<4xi16>
// CHECK-NEXT: %[[C16_I16:[A-Za-z0-9_]+]] = arith.constant 16 : i16
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.cmpi ult, %[[Y]], %[[C16_I16]] : i16
// CHECK-NEXT: %[[C0_I16:[A-Za-z0-9_]+]] = arith.constant 0 : i16
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.select %[[V0]], %[[Y]], %[[C0_I16]] : i16
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.shrui %[[X]], %[[V1]] : i16
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = arith.select %[[V0]], %[[V2]], %[[C0_I16]] : i16
// CHECK-NEXT: memref.store %[[V3]], %[[A]][%[[C0]]] : memref<4xi16>
// CHECK-NEXT: %[[C16_I16_0:[A-Za-z0-9_]+]] = arith.constant 16 : i16
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = arith.cmpi ult, %[[Y]], %[[C16_I16_0]] : i16
// CHECK-NEXT: %[[C15_I16:[A-Za-z0-9_]+]] = arith.constant 15 : i16
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = arith.select %[[V4]], %[[Y]], %[[C15_I16]] : i16
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = arith.shrsi %[[X]], %[[V5]] : i16
// CHECK-NEXT: memref.store %[[V6]], %[[A]][%[[C1]]] : memref<4xi16>
// CHECK-NEXT: return
func.func private @shifts(%a: memref<4xi16>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.load %a[%c0] : memref<4xi16>
  %y = memref.load %a[%c1] : memref<4xi16>
  %0 = arith.shrui %x, %y : i16
  memref.store %0, %a[%c0] : memref<4xi16>
  %1 = arith.shrsi %x, %y : i16
  memref.store %1, %a[%c1] : memref<4xi16>
  return
}

// A float beyond the range gives its limit, and NaN gives 0.
// CHECK-LABEL: @limits(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[C1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[X:[A-Za-z0-9_]+]] = memref.load %[[A]][%[[C0]]] : memref<4xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = math.trunc %[[X]] : f32
// CHECK-NEXT: %[[CST:[A-Za-z0-9_]+]] = arith.constant -1.280000e+02 : f32
// CHECK-NEXT: %[[CST_0:[A-Za-z0-9_]+]] = arith.constant 1.280000e+02 : f32
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.cmpf olt, %[[V0]], %[[CST]] : f32
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.cmpf oge, %[[V0]], %[[CST_0]] : f32
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = arith.cmpf oge, %[[V0]], %[[CST]] : f32
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = arith.cmpf olt, %[[V0]], %[[CST_0]] : f32
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = arith.andi %[[V3]], %[[V4]] : i1
// CHECK-NEXT: %[[CST_1:[A-Za-z0-9_]+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = arith.select %[[V5]], %[[V0]], %[[CST_1]] : f32
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = arith.fptosi %[[V6]] : f32 to i8
// CHECK-NEXT: %[[CM128_I8:[A-Za-z0-9_-]+]] = arith.constant -128 : i8
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = arith.select %[[V1]], %[[CM128_I8]], %[[V7]] : i8
// CHECK-NEXT: %[[C127_I8:[A-Za-z0-9_]+]] = arith.constant 127 : i8
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = arith.select %[[V2]], %[[C127_I8]], %[[V8]] : i8
// CHECK-NEXT: memref.store %[[V9]], %[[B]][%[[C0]]] : memref<4xi8>
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = math.trunc %[[X]] : f32
// CHECK-NEXT: %[[CST_2:[A-Za-z0-9_]+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %[[CST_3:[A-Za-z0-9_]+]] = arith.constant 2.560000e+02 : f32
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = arith.cmpf olt, %[[V10]], %[[CST_2]] : f32
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = arith.cmpf oge, %[[V10]], %[[CST_3]] : f32
// CHECK-NEXT: %[[V13:[A-Za-z0-9_]+]] = arith.cmpf oge, %[[V10]], %[[CST_2]] : f32
// CHECK-NEXT: %[[V14:[A-Za-z0-9_]+]] = arith.cmpf olt, %[[V10]], %[[CST_3]] : f32
// CHECK-NEXT: %[[V15:[A-Za-z0-9_]+]] = arith.andi %[[V13]], %[[V14]] : i1
// CHECK-NEXT: %[[CST_4:[A-Za-z0-9_]+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %[[V16:[A-Za-z0-9_]+]] = arith.select %[[V15]], %[[V10]], %[[CST_4]] : f32
// CHECK-NEXT: %[[V17:[A-Za-z0-9_]+]] = arith.fptoui %[[V16]] : f32 to i8
// CHECK-NEXT: %[[C0_I8:[A-Za-z0-9_]+]] = arith.constant 0 : i8
// CHECK-NEXT: %[[V18:[A-Za-z0-9_]+]] = arith.select %[[V11]], %[[C0_I8]], %[[V17]] : i8
// CHECK-NEXT: %[[CM1_I8:[A-Za-z0-9_-]+]] = arith.constant -1 : i8
// CHECK-NEXT: %[[V19:[A-Za-z0-9_]+]] = arith.select %[[V12]], %[[CM1_I8]], %[[V18]] : i8
// CHECK-NEXT: memref.store %[[V19]], %[[B]][%[[C1]]] : memref<4xi8>
// CHECK-NEXT: return
func.func private @limits(%a: memref<4xf32>, %b: memref<4xi8>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.load %a[%c0] : memref<4xf32>
  %0 = arith.fptosi %x : f32 to i8
  memref.store %0, %b[%c0] : memref<4xi8>
  %1 = arith.fptoui %x : f32 to i8
  memref.store %1, %b[%c1] : memref<4xi8>
  return
}

// Powers are computed in f64; an odd exponent keeps the sign.
// CHECK-LABEL: @powers(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[X:[A-Za-z0-9_]+]] = memref.load %[[A]][%[[C0]]] : memref<4xf32>
// CHECK-NEXT: %[[Y:[A-Za-z0-9_]+]] = memref.load %[[B]][%[[C0]]] : memref<4xi32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.extf %[[X]] : f32 to f64
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = math.absf %[[V0]] : f64
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.sitofp %[[Y]] : i32 to f64
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = math.powf %[[V1]], %[[V2]] : f64
// CHECK-NEXT: %[[C1_I32:[A-Za-z0-9_]+]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = arith.andi %[[Y]], %[[C1_I32]] : i32
// CHECK-NEXT: %[[C1_I32_0:[A-Za-z0-9_]+]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[V4]], %[[C1_I32_0]] : i32
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = math.copysign %[[V3]], %[[V0]] : f64
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = arith.select %[[V5]], %[[V6]], %[[V3]] : f64
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = arith.truncf %[[V7]] : f64 to f32
// CHECK-NEXT: memref.store %[[V8]], %[[A]][%[[C0]]] : memref<4xf32>
// CHECK-NEXT: return
func.func private @powers(%a: memref<4xf32>, %b: memref<4xi32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<4xf32>
  %y = memref.load %b[%c0] : memref<4xi32>
  %0 = math.fpowi %x, %y : f32, i32
  memref.store %0, %a[%c0] : memref<4xf32>
  return
}

// CHECK-LABEL: func.func private @integer_power
// CHECK-NOT: math.ipowi
// CHECK: scf.
// CHECK-NOT: math.ipowi
// CHECK: return
func.func private @integer_power(%b: memref<4xi32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %y = memref.load %b[%c0] : memref<4xi32>
  %0 = math.ipowi %y, %y : i32
  memref.store %0, %b[%c0] : memref<4xi32>
  return
}

// CHECK-LABEL: @halves(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:{{.*}}%[[C:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[C1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[X:[A-Za-z0-9_]+]] = memref.load %[[A]][%[[C0]]] : memref<4xbf16>
// CHECK-NEXT: %[[Y:[A-Za-z0-9_]+]] = memref.load %[[B]][%[[C0]]] : memref<4xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.extf %[[X]] : bf16 to f32
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.extf %[[X]] : bf16 to f32
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.extf %[[X]] : bf16 to f32
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = math.fma %[[V0]], %[[V1]], %[[V2]] : f32
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = arith.truncf %[[V3]] : f32 to bf16
// CHECK-NEXT: memref.store %[[V4]], %[[A]][%[[C0]]] : memref<4xbf16>
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = math.fma %[[Y]], %[[Y]], %[[Y]] : f32
// CHECK-NEXT: memref.store %[[V5]], %[[B]][%[[C0]]] : memref<4xf32>
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = arith.extf %[[X]] : bf16 to f32
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = math.absf %[[V6]] : f32
// CHECK-NEXT: %[[CST:[A-Za-z0-9_]+]] = arith.constant 1.17549435E-38 : f32
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = arith.cmpf oge, %[[V7]], %[[CST]] : f32
// CHECK-NEXT: %[[CST_0:[A-Za-z0-9_]+]] = arith.constant 0x7F800000 : f32
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = arith.cmpf olt, %[[V7]], %[[CST_0]] : f32
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = arith.andi %[[V8]], %[[V9]] : i1
// CHECK-NEXT: memref.store %[[V10]], %[[C]][%[[C0]]] : memref<4xi1>
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = math.absf %[[Y]] : f32
// CHECK-NEXT: %[[CST_1:[A-Za-z0-9_]+]] = arith.constant 1.17549435E-38 : f32
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = arith.cmpf oge, %[[V11]], %[[CST_1]] : f32
// CHECK-NEXT: %[[CST_2:[A-Za-z0-9_]+]] = arith.constant 0x7F800000 : f32
// CHECK-NEXT: %[[V13:[A-Za-z0-9_]+]] = arith.cmpf olt, %[[V11]], %[[CST_2]] : f32
// CHECK-NEXT: %[[V14:[A-Za-z0-9_]+]] = arith.andi %[[V12]], %[[V13]] : i1
// CHECK-NEXT: memref.store %[[V14]], %[[C]][%[[C1]]] : memref<4xi1>
// CHECK-NEXT: return
func.func private @halves(%a: memref<4xbf16>, %b: memref<4xf32>, %c: memref<4xi1>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.load %a[%c0] : memref<4xbf16>
  %y = memref.load %b[%c0] : memref<4xf32>
  %0 = math.fma %x, %x, %x : bf16
  memref.store %0, %a[%c0] : memref<4xbf16>
  %1 = math.fma %y, %y, %y : f32
  memref.store %1, %b[%c0] : memref<4xf32>
  %2 = math.isnormal %x : bf16
  memref.store %2, %c[%c0] : memref<4xi1>
  %3 = math.isnormal %y : f32
  memref.store %3, %c[%c1] : memref<4xi1>
  return
}

// What an op promises, and nothing checks, is dropped; other flags stay.
// CHECK-LABEL: @promises(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[C3:[A-Za-z0-9_]+]] = arith.constant 3 : i32
// CHECK-NEXT: %[[X:[A-Za-z0-9_]+]] = memref.load %[[A]][%[[C0]]] : memref<4xi32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.addi %[[X]], %[[X]] : i32
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.divui %[[V0]], %[[C3]] : i32
// CHECK-NEXT: memref.store %[[V1]], %[[A]][%[[C0]]] : memref<4xi32>
// CHECK-NEXT: %[[Y:[A-Za-z0-9_]+]] = memref.load %[[B]][%[[C0]]] : memref<4xf32>
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.addf %[[Y]], %[[Y]] fastmath<contract> : f32
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = arith.mulf %[[V2]], %[[Y]] : f32
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = arith.subf %[[V3]], %[[Y]] fastmath<reassoc,nsz> : f32
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = arith.truncf %[[V4]] : f32 to f16
// CHECK-NEXT: %[[W:[A-Za-z0-9_]+]] = arith.extf %[[R]] : f16 to f32
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = math.exp %[[W]] fastmath<reassoc,nsz,arcp,contract,afn> : f32
// CHECK-NEXT: memref.store %[[V5]], %[[B]][%[[C0]]] : memref<4xf32>
// CHECK-NEXT: return
func.func private @promises(%a: memref<4xi32>, %b: memref<4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : i32
  %x = memref.load %a[%c0] : memref<4xi32>
  %0 = arith.addi %x, %x overflow<nsw, nuw> : i32
  %1 = arith.divui %0, %c3 exact : i32
  memref.store %1, %a[%c0] : memref<4xi32>
  %y = memref.load %b[%c0] : memref<4xf32>
  %3 = arith.addf %y, %y fastmath<nnan,contract> : f32
  %4 = arith.mulf %3, %y fastmath<ninf> : f32
  %5 = arith.subf %4, %y fastmath<reassoc,nsz> : f32
  %r = arith.truncf %5 to_nearest_even : f32 to f16
  %w = arith.extf %r : f16 to f32
  %6 = math.exp %w fastmath<fast> : f32
  memref.store %6, %b[%c0] : memref<4xf32>
  return
}

// Constants that are in range, a maximum with a positive constant, and the guards that the pass would add.
// CHECK-LABEL: func.func private @divisors_kept
// CHECK-COUNT-4: arith.select
// CHECK-NOT: arith.select
// CHECK: return
func.func private @divisors_kept(%a: memref<16xi32>) attributes {relax.prim_func} {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %cm1 = arith.constant -1 : i32
  %least = arith.constant -2147483648 : i32
  %x = memref.load %a[%i0] : memref<16xi32>
  %y = memref.load %a[%i1] : memref<16xi32>
  %0 = arith.divsi %x, %c3 : i32
  %1 = arith.divui %0, %cm1 : i32
  %2 = arith.shli %1, %c0 : i32
  %c31 = arith.constant 31 : i32
  %3 = arith.shrsi %2, %c31 : i32
  %m = arith.maxsi %y, %c1 : i32
  %4 = arith.remsi %3, %m : i32
  %n = arith.maxsi %c3, %y : i32
  %5 = arith.floordivsi %4, %n : i32
  %zero = arith.cmpi eq, %y, %c0 : i32
  %is_least = arith.cmpi eq, %5, %least : i32
  %is_minus = arith.cmpi eq, %y, %cm1 : i32
  %both = arith.andi %is_least, %is_minus : i1
  %either = arith.ori %zero, %both : i1
  %safe = arith.select %either, %c1, %y : i32
  %6 = arith.divsi %5, %safe : i32
  %unsigned = arith.select %zero, %c1, %y : i32
  %7 = arith.divui %6, %unsigned : i32
  %c32 = arith.constant 32 : i32
  %in = arith.cmpi ult, %y, %c32 : i32
  %count = arith.select %in, %y, %c0 : i32
  %8 = arith.shli %7, %count : i32
  %last = arith.select %in, %y, %c31 : i32
  %9 = arith.shrsi %8, %last : i32
  memref.store %9, %a[%i0] : memref<16xi32>
  return
}

// Divisors that only look like that: 0, -1, a maximum with 0, a minimum, and guards with another part each.
// CHECK-LABEL: func.func private @divisors_guarded
// CHECK-COUNT-38: arith.select
// CHECK-NOT: arith.select
// CHECK: return
func.func private @divisors_guarded(%a: memref<16xi32>) attributes {relax.prim_func} {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %cm1 = arith.constant -1 : i32
  %least = arith.constant -2147483648 : i32
  %x = memref.load %a[%i0] : memref<16xi32>
  %y = memref.load %a[%i1] : memref<16xi32>
  %0 = arith.divsi %x, %c0 : i32
  %1 = arith.divsi %0, %cm1 : i32
  %m = arith.maxsi %y, %c0 : i32
  %2 = arith.divsi %1, %m : i32
  %n = arith.minsi %y, %c1 : i32
  %3 = arith.divsi %2, %n : i32
  %zero = arith.cmpi eq, %y, %c0 : i32
  %not_zero = arith.cmpi ne, %y, %c0 : i32
  %other_zero = arith.cmpi eq, %x, %c0 : i32
  %one = arith.cmpi eq, %y, %c1 : i32
  %is_least = arith.cmpi eq, %x, %least : i32
  %is_minus = arith.cmpi eq, %y, %cm1 : i32
  %both = arith.andi %is_least, %is_minus : i1
  %either = arith.ori %zero, %both : i1
  // The dividend, the divisor in place of a trap, an alternative in the place of both, and both in that of an alternative.
  %g4 = arith.select %either, %c1, %y : i32
  %4 = arith.divsi %y, %g4 : i32
  %g5 = arith.select %either, %c2, %y : i32
  %5 = arith.divsi %x, %g5 : i32
  %e6 = arith.ori %is_least, %is_minus : i1
  %t6 = arith.ori %zero, %e6 : i1
  %g6 = arith.select %t6, %c1, %y : i32
  %6 = arith.divsi %x, %g6 : i32
  %t7 = arith.andi %zero, %both : i1
  %g7 = arith.select %t7, %c1, %y : i32
  %7 = arith.divsi %x, %g7 : i32
  // Each of the three tests.
  %t8 = arith.ori %one, %both : i1
  %g8 = arith.select %t8, %c1, %y : i32
  %8 = arith.divsi %x, %g8 : i32
  %b9 = arith.andi %is_least, %one : i1
  %t9 = arith.ori %zero, %b9 : i1
  %g9 = arith.select %t9, %c1, %y : i32
  %9 = arith.divsi %x, %g9 : i32
  %b10 = arith.andi %other_zero, %is_minus : i1
  %t10 = arith.ori %zero, %b10 : i1
  %g10 = arith.select %t10, %c1, %y : i32
  %10 = arith.divsi %x, %g10 : i32
  // Another predicate, another value, and a signed division with the guard of an unsigned one.
  %g11 = arith.select %not_zero, %c1, %y : i32
  %11 = arith.divui %x, %g11 : i32
  %g12 = arith.select %other_zero, %c1, %y : i32
  %12 = arith.divui %x, %g12 : i32
  %g13 = arith.select %zero, %c1, %y : i32
  %13 = arith.divsi %x, %g13 : i32
  memref.store %3, %a[%i0] : memref<16xi32>
  memref.store %4, %a[%i0] : memref<16xi32>
  memref.store %5, %a[%i0] : memref<16xi32>
  memref.store %6, %a[%i0] : memref<16xi32>
  memref.store %7, %a[%i0] : memref<16xi32>
  memref.store %8, %a[%i0] : memref<16xi32>
  memref.store %9, %a[%i0] : memref<16xi32>
  memref.store %10, %a[%i0] : memref<16xi32>
  memref.store %11, %a[%i0] : memref<16xi32>
  memref.store %12, %a[%i0] : memref<16xi32>
  memref.store %13, %a[%i0] : memref<16xi32>
  return
}

// Shifts by constants out of range, and limits with another part each.
// CHECK-LABEL: func.func private @shifts_limited
// CHECK-COUNT-25: arith.select
// CHECK-NOT: arith.select
// CHECK: return
func.func private @shifts_limited(%a: memref<16xi32>, %b: memref<16xi1>) attributes {relax.prim_func} {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %c0 = arith.constant 0 : i32
  %c31 = arith.constant 31 : i32
  %c32 = arith.constant 32 : i32
  %cm1 = arith.constant -1 : i32
  %x = memref.load %a[%i0] : memref<16xi32>
  %y = memref.load %a[%i1] : memref<16xi32>
  %f = memref.load %b[%i0] : memref<16xi1>
  %0 = arith.shli %x, %c32 : i32
  memref.store %0, %a[%i0] : memref<16xi32>
  %1 = arith.shli %x, %cm1 : i32
  memref.store %1, %a[%i0] : memref<16xi32>
  %in = arith.cmpi ult, %y, %c32 : i32
  %less = arith.cmpi slt, %y, %c32 : i32
  %first = arith.cmpi ult, %y, %c31 : i32
  %of_x = arith.cmpi ult, %x, %c32 : i32
  %g2 = arith.select %in, %y, %c32 : i32
  %2 = arith.shli %x, %g2 : i32
  memref.store %2, %a[%i0] : memref<16xi32>
  %g3 = arith.select %in, %y, %cm1 : i32
  %3 = arith.shli %x, %g3 : i32
  memref.store %3, %a[%i0] : memref<16xi32>
  %g4 = arith.select %less, %y, %c0 : i32
  %4 = arith.shli %x, %g4 : i32
  memref.store %4, %a[%i0] : memref<16xi32>
  %g5 = arith.select %first, %y, %c0 : i32
  %5 = arith.shli %x, %g5 : i32
  memref.store %5, %a[%i0] : memref<16xi32>
  %g6 = arith.select %of_x, %y, %c0 : i32
  %6 = arith.shli %x, %g6 : i32
  memref.store %6, %a[%i0] : memref<16xi32>
  %g7 = arith.select %f, %y, %c0 : i32
  %7 = arith.shli %x, %g7 : i32
  memref.store %7, %a[%i0] : memref<16xi32>
  %g8 = arith.select %in, %y, %x : i32
  %8 = arith.shli %x, %g8 : i32
  memref.store %8, %a[%i0] : memref<16xi32>
  return
}

// A float that is 0 unless it is in range needs no more; one of them has another limit, value, predicate or rest each.
// CHECK-LABEL: func.func private @saturated
// CHECK-COUNT-28: arith.select
// CHECK-NOT: arith.select
// CHECK: return
func.func private @saturated(%a: memref<4xf32>, %b: memref<4xi8>) attributes {relax.prim_func} {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %x = memref.load %a[%i0] : memref<4xf32>
  %y = memref.load %a[%i1] : memref<4xf32>
  %low = arith.constant -128.0 : f32
  %high = arith.constant 128.0 : f32
  %top = arith.constant 256.0 : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %from = arith.cmpf oge, %x, %low : f32
  %to = arith.cmpf olt, %x, %high : f32
  %from_zero = arith.cmpf oge, %x, %zero : f32
  %to_top = arith.cmpf olt, %x, %top : f32
  %in = arith.andi %from, %to : i1
  %in_unsigned = arith.andi %from_zero, %to_top : i1
  // Kept.
  %g0 = arith.select %in, %x, %zero : f32
  %0 = arith.fptosi %g0 : f32 to i8
  memref.store %0, %b[%i0] : memref<4xi8>
  %g1 = arith.select %in_unsigned, %x, %zero : f32
  %1 = arith.fptoui %g1 : f32 to i8
  memref.store %1, %b[%i0] : memref<4xi8>
  // Not kept.
  %2 = arith.fptoui %g0 : f32 to i8
  memref.store %2, %b[%i0] : memref<4xi8>
  %3 = arith.fptosi %g1 : f32 to i8
  memref.store %3, %b[%i0] : memref<4xi8>
  %g4 = arith.select %in, %x, %one : f32
  %4 = arith.fptosi %g4 : f32 to i8
  memref.store %4, %b[%i0] : memref<4xi8>
  %g5 = arith.select %in, %y, %zero : f32
  %5 = arith.fptosi %g5 : f32 to i8
  memref.store %5, %b[%i0] : memref<4xi8>
  %either = arith.ori %from, %to : i1
  %g6 = arith.select %either, %x, %zero : f32
  %6 = arith.fptosi %g6 : f32 to i8
  memref.store %6, %b[%i0] : memref<4xi8>
  %beyond = arith.cmpf ogt, %x, %low : f32
  %in7 = arith.andi %beyond, %to : i1
  %g7 = arith.select %in7, %x, %zero : f32
  %7 = arith.fptosi %g7 : f32 to i8
  memref.store %7, %b[%i0] : memref<4xi8>
  %in8 = arith.andi %from, %to_top : i1
  %g8 = arith.select %in8, %x, %zero : f32
  %8 = arith.fptosi %g8 : f32 to i8
  memref.store %8, %b[%i0] : memref<4xi8>
  return
}

// A linalg op whose body is no longer what its name says becomes a generic one; a generic one stays.
// CHECK-LABEL: func.func private @named
// CHECK: linalg.generic {indexing_maps = [#[[MAP:[a-z0-9]+]], #[[MAP]], #[[MAP]]], iterator_types = ["parallel", "parallel"]} ins(%{{.*}}, %{{.*}} : tensor<?x4xi32>, tensor<?x4xi32>) outs(%{{.*}} : tensor<?x4xi32>) {
// CHECK-NEXT: ^bb0(%[[X:.*]]: i32, %[[Y:.*]]: i32, %{{.*}}: i32):
// CHECK: arith.divsi %[[X]],
// CHECK: linalg.yield
// CHECK-NEXT: } -> tensor<?x4xi32>
// CHECK-NEXT: linalg.add
// CHECK-NEXT: linalg.generic
// CHECK: arith.divsi
func.func private @named(%a: tensor<?x4xi32>, %b: tensor<?x4xi32>, %out: tensor<?x4xi32>) -> tensor<?x4xi32> attributes {relax.prim_func} {
  %0 = linalg.div ins(%a, %b : tensor<?x4xi32>, tensor<?x4xi32>) outs(%out : tensor<?x4xi32>) -> tensor<?x4xi32>
  %1 = linalg.add ins(%0, %b : tensor<?x4xi32>, tensor<?x4xi32>) outs(%out : tensor<?x4xi32>) -> tensor<?x4xi32>
  %2 = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]
  } ins(%1 : tensor<?x4xi32>) outs(%out : tensor<?x4xi32>) {
  ^bb0(%x: i32, %y: i32):
    %q = arith.divsi %x, %y : i32
    linalg.yield %q : i32
  } -> tensor<?x4xi32>
  return %2 : tensor<?x4xi32>
}

// An exponent of index goes by i64; functions of other types stay.
// CHECK-LABEL: func.func private @index_power
// CHECK: arith.index_cast %{{.*}} : index to i64
// CHECK-NEXT: arith.extf %{{.*}} : f32 to f64
// CHECK: arith.sitofp %{{.*}} : i64 to f64
// CHECK: math.fma %{{.*}} : f64
// CHECK: arith.fptoui %{{.*}} : f32 to i8
// CHECK-NEXT: memref.store
// CHECK-NEXT: arith.addi
// CHECK-NEXT: memref.store
func.func private @index_power(%a: memref<4xf32>, %b: memref<4xf64>, %c: memref<4xi8>, %i: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<4xf32>
  %0 = math.fpowi %x, %i : f32, index
  memref.store %0, %a[%c0] : memref<4xf32>
  %y = memref.load %b[%c0] : memref<4xf64>
  %1 = math.fma %y, %y, %y : f64
  memref.store %1, %b[%c0] : memref<4xf64>
  %zero = arith.constant 0.0 : f32
  %top = arith.constant 256.0 : f32
  %from = arith.cmpf oge, %x, %zero : f32
  %to = arith.cmpf olt, %x, %top : f32
  %in = arith.andi %from, %to : i1
  %g = arith.select %in, %x, %zero : f32
  %2 = arith.fptoui %g : f32 to i8
  memref.store %2, %c[%c0] : memref<4xi8>
  %3 = arith.addi %2, %2 : i8
  memref.store %3, %c[%c0] : memref<4xi8>
  return
}

// Conditions, divisors and shifts that are block arguments.
// CHECK-LABEL: func.func private @arguments
// CHECK-COUNT-23: arith.select
// CHECK-NOT: arith.select
// CHECK: return
func.func private @arguments(%a: memref<4xi32>, %b: memref<4xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = arith.constant true
  %k0 = arith.constant 0 : i32
  %k1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %x = memref.load %a[%c0] : memref<4xi32>
  %y = memref.load %b[%c0] : memref<4xf32>
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%f = %t, %d = %x, %v = %y) -> (i1, i32, f32) {
    %0 = arith.shli %x, %d : i32
    memref.store %0, %a[%c0] : memref<4xi32>
    %g1 = arith.select %f, %d, %k0 : i32
    %1 = arith.shli %x, %g1 : i32
    memref.store %1, %a[%c0] : memref<4xi32>
    %g2 = arith.select %f, %k1, %d : i32
    %2 = arith.divsi %x, %g2 : i32
    memref.store %2, %a[%c0] : memref<4xi32>
    %g3 = arith.select %f, %v, %zero : f32
    %3 = arith.fptosi %g3 : f32 to i32
    memref.store %3, %a[%c0] : memref<4xi32>
    %4 = arith.fptosi %v : f32 to i32
    memref.store %4, %a[%c0] : memref<4xi32>
    %from = arith.cmpf oge, %y, %v : f32
    %to = arith.cmpf olt, %y, %v : f32
    %in = arith.andi %from, %to : i1
    %g5 = arith.select %in, %y, %zero : f32
    %5 = arith.fptosi %g5 : f32 to i32
    memref.store %5, %a[%c0] : memref<4xi32>
    %g6 = arith.select %in, %y, %v : f32
    %6 = arith.fptosi %g6 : f32 to i32
    memref.store %6, %a[%c0] : memref<4xi32>
    scf.yield %f, %x, %v : i1, i32, f32
  }
  return
}
