// RUN: not relax-opt --emit-ffi-wrappers --split-input-file %s 2>&1 | filecheck %s
// RUN: not relax-opt --emit-ffi-wrappers=hand-on=f %s 2>&1 | filecheck %s --check-prefix=OPTION
// OPTION: unknown option of pass 'emit-ffi-wrappers' 'hand-on'; known: separate
// signature.py: a malformed relax.signature is named.

// CHECK: relax.signature: kind 'list' of #0; known kinds: tensor, shape, int, object, tuple
func.func @kind() attributes {relax.signature = {name = "kind", params = [{kind = "list"}], results = []}} { return }
// -----
// CHECK: malformed relax.signature {{.*}}: 'name'
func.func @unnamed() attributes {relax.signature = {params = [], results = []}} { return }
// -----
// CHECK: more takes 1 values, but its relax.signature stands for 0 inputs and 0 results
func.func private @more.shapes() { return }
func.func @more(%n: index) attributes {relax.signature = {name = "more", params = [], results = [], tuple = true}} { return }
