// RUN: not relax-opt %s --lambda-lift 2>&1 | filecheck %s

// CHECK: extern_func at {{.*}}lambda-lift-extern-invalid.mlir:6:{{.*}}: what 'my.f' takes and gives is not known
// CHECK-SAME: write R.ExternFunc("my.f", R.Callable(
func.func @main() -> !relax.callable<unit, unit, false> {
  %f = "relax.extern_func"() {func = "my.f"} : () -> !relax.callable<unit, unit, false>
  return %f : !relax.callable<unit, unit, false>
}
