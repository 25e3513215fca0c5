// Passes of a Python file are used like those of relax-mlir: as flags, in pipelines, with options, in help.
// RUN: relax-opt --load-pass-plugin=%S/Inputs/plugin.py %s --fuse-multiply-add | filecheck %s --check-prefix=FUSED
// RUN: relax-opt %s --fuse-multiply-add --load-pass-plugin %S/Inputs/plugin.py | filecheck %s --check-prefix=FUSED
// RUN: relax-opt --load-pass-plugin=%S/Inputs/plugin.py %s --pass-pipeline='builtin.module(fuse-multiply-add,change-exp{to=tanh},cse)' | filecheck %s --check-prefixes=FUSED,TANH
// RUN: relax-opt --load-pass-plugin=%S/Inputs/plugin.py %s --change-exp | filecheck %s --check-prefix=RELU
// RUN: relax-opt --load-pass-plugin=%S/Inputs/plugin.py %s --use-activation --relax-to-calls | filecheck %s --check-prefix=OP
// RUN: relax-opt --load-pass-plugin=%S/Inputs/plugin.py --help | filecheck %s --check-prefix=HELP
// RUN: relax-opt %s | filecheck %s --check-prefix=KEPT

// Without it they are unknown. What is wrong in it is shown with file and line.
// RUN: not relax-opt %s --fuse-multiply-add 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not relax-opt --load-pass-plugin=%S/Inputs/plugin.py %s --change-exp=to=sin 2>&1 | filecheck %s --check-prefix=FAILS
// RUN: not relax-opt --load-pass-plugin=%S/Inputs/plugin.py %s --change-exp=too=sin 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not relax-opt --load-pass-plugin=%S/Inputs/failing_plugin.py %s 2>&1 | filecheck %s --check-prefix=RAISES
// RUN: echo 'def f(:' > %t.text && not relax-opt --load-pass-plugin=%t.text %s 2>&1 | filecheck %s --check-prefix=SYNTAX
// RUN: not relax-opt --load-pass-plugin=%S/Inputs/taken_name.py %s 2>&1 | filecheck %s --check-prefix=TAKEN
// RUN: not relax-opt --load-pass-plugin=%S/Inputs/absent-plugin %s 2>&1 | filecheck %s --check-prefix=ABSENT

// HELP: --change-exp {{.*}}Replace exp, or fail.
// HELP-NEXT: to=<str> {{.*}}default: relu
// HELP: --fuse-multiply-add {{.*}}Replace x * y + z by one op.
// UNKNOWN: relax-opt: error: unknown option or pass '--fuse-multiply-add'
// FAILS: relax-opt: error: pass 'change-exp' failed: internal error: KeyError: 'sin'
// FAILS-NEXT: {{.*}}Inputs/plugin.py:53:0: here
// FAILS-NEXT: 53 |                 return {"relu": R.nn.relu, "tanh": R.tanh}[self.to](*binding.operands)
// FAILS: to reproduce: relax-opt --run-reproducer --load-pass-plugin={{.*}}Inputs/plugin.py {{.*}}.mlir
// OPTION: relax-opt: error: unknown option of pass 'change-exp' 'too'
// RAISES: relax-opt: error: plugin '{{.*}}failing_plugin.py' fails
// RAISES-NEXT: failing_plugin.py:3:0: AttributeError: module 'relax_mlir' has no attribute 'nothing'
// RAISES-NEXT: 3 | WIDTH = rx.nothing
// SYNTAX: relax-opt: error: plugin '{{.*}}.text' is no Python
// SYNTAX-NEXT: .text:1:{{[0-9]+}}: invalid syntax
// SYNTAX-NEXT: 1 | def f(:
// TAKEN: taken_name.py:5:0: pass 'fuse-ops' has the name of a pass of relax-mlir
// ABSENT: relax-opt: error: cannot read plugin '{{.*}}absent-plugin': No such file or directory

// FUSED-LABEL: func.func @main
// FUSED-NEXT: %sum = "relax.ewise_fma"(%x, %y, %x)
// TANH-NEXT: %out = "relax.tanh"(%sum)
// OP-LABEL: func.func @main
// OP: %out = "relax.call_pure_packed"({{.*}}) {{.*}}"plugin.activation"{{.*}} -> tensor<2xf32>
// KEPT-LABEL: func.func @main
// KEPT: "relax.multiply"
// KEPT: "relax.exp"
// RELU-LABEL: func.func @main
// RELU: "relax.multiply"
// RELU: %out = "relax.nn_relu"
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %product = "relax.multiply"(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %sum = "relax.add"(%product, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %out = "relax.exp"(%sum) : (tensor<2xf32>) -> tensor<2xf32>
  return %out : tensor<2xf32>
}
