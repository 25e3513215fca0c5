// RUN: not relax-opt --lower-checks %s 2>&1 | filecheck %s
// checks.py: clean-up is for all exits or for errors.

// CHECK: relax.defer is "always" or "error", not 'sometimes'
func.func private @release(index)
func.func @main(%n: index) {
  call @release(%n) {relax.defer = "sometimes"} : (index) -> ()
  return
}
