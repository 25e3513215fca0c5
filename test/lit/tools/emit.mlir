// Code of a module: LLVM IR, assembly and objects, for the machine of --target.
// RUN: relax-opt %s --emit=llvm-ir | filecheck %s --check-prefix=IR
// RUN: relax-opt %s --emit=asm --target='cpu -mcpu=neoverse-n1' | filecheck %s --check-prefix=ARM
// RUN: relax-opt %s --emit=obj --target='cpu -mcpu=neoverse-n1' -o %t.o
// RUN: python -c "import sys; print(open(sys.argv[1], 'rb').read(20).hex())" %t.o | filecheck %s --check-prefix=OBJECT
// RUN: not relax-opt %s --emit=asn 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not relax-opt %s --cse --emit=asm 2>&1 | filecheck %s --check-prefix=LEVEL
// cross_compile.py: the code of any target, by llvmlite.

// IR: define {{.*}}void @relax.fn.main(
// IR: define {{.*}}i32 @__tvm_ffi_main(

// ARM-LABEL: relax.fn.add
// ARM: fadd v{{[0-9]+}}.4s
// ARM: __tvm_ffi_main:

// An ELF file of 64 bits, relocatable, of machine 183.
// OBJECT: 7f454c46020101{{0+}}0100b700

// NAME: relax-opt: error: unknown form of code 'asn'; did you mean 'asm'?
// LEVEL: emit.mlir:{{[0-9]+}}:{{[0-9]+}}: error: relax.add is not allowed at level llvm
// LEVEL: relax-opt: error: the module is not at level llvm
// LEVEL: --emit takes a module of level llvm: --relax-to-llvm leads there

func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = "relax.add"(%x, %y) : (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
