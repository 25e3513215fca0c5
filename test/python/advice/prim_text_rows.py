"""Prim funcs in MLIR's text: what they must not contain, and the replacements."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import Table, error_of, same
from relax_mlir import op
from relax_mlir.transform import parse_pipeline

Reference = Callable[[Any, Any], Any]

HEAD = "func.func private @{name}(%a: memref<4x4xf32>, %i: memref<4xi64>, %b: memref<4x4xf32>)"
TENSORS = "func.func private @{name}(%a: tensor<4x4xf32>, %i: tensor<4xi64>, %b: tensor<4x4xf32>) -> tensor<4x4xf32>"
CONSTANTS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
"""
HELPER = """
func.func private @{name}.add(%x: memref<4x4xf32>, %r: index, %s: index) attributes {relax.prim_func} {
  %one = arith.constant 1.0 : f32
  %v = memref.load %x[%r, %s] : memref<4x4xf32>
  %w = arith.addf %v, %one : f32
  memref.store %w, %x[%r, %s] : memref<4x4xf32>
  return
}
"""
ROWS = "affine_map<(r, s) -> (r, s)>"


def loops(body: str) -> str:
    """The body for all rows `r` and columns `s`."""
    return f"scf.for %r = %c0 to %c4 step %c1 {{ scf.for %s = %c0 to %c4 step %c1 {{\n{body}\n}} }}"


def elements(body: str) -> str:
    """`b[r, s] = w`, where the body makes `w` of `v = a[r, s]`."""
    return loops(
        f"%v = memref.load %a[%r, %s] : memref<4x4xf32>\n{body}\nmemref.store %w, %b[%r, %s] : memref<4x4xf32>"
    )


def generic(body: str, access: str = ROWS, ins: str = "%a", out: str = "%b", kind: str = "memref") -> str:
    """A linalg.generic that reads `a` by `access`; the body yields."""
    return (
        f"linalg.generic {{indexing_maps = [{access}, {ROWS}], iterator_types = ['parallel', 'parallel']}} "
        f"ins({ins} : {kind}<4x4xf32>) outs({out} : {kind}<4x4xf32>) {{ ^bb0(%v: f32, %old: f32): {body} }}"
    ).replace("'", '"')


ADD = "%w = arith.addf %v, %one : f32"
CASES: dict[str, tuple[str, str] | tuple[str, str, str, Reference]] = {
    "reinterpret_cast": (
        "%c = memref.reinterpret_cast %a to offset: [0], sizes: [16], strides: [1] : memref<4x4xf32> to memref<16xf32>",
        "take a memref.subview, a memref.expand_shape or a memref.collapse_shape",
        "%c = memref.collapse_shape %a [[0, 1]] : memref<4x4xf32> into memref<16xf32>\n"
        "%d = memref.expand_shape %c [[0, 1]] output_shape [2, 8] : memref<16xf32> into memref<2x8xf32>\n"
        "%e = memref.subview %d[0, 0][2, 4][1, 1] : memref<2x8xf32> to memref<2x4xf32, strided<[8, 1]>>\n"
        + loops(
            "%p = arith.divui %r, %c2 : index\n%v = memref.load %e[%p, %s] : memref<2x4xf32, strided<[8, 1]>>\n"
            "memref.store %v, %b[%r, %s] : memref<4x4xf32>"
        ),
        lambda a, i: a[[0, 0, 2, 2]],
    ),
    "view": (
        "%m = memref.alloc() : memref<64xi8>\n%c = memref.view %m[%c0][] : memref<64xi8> to memref<4x4xf32>",
        "allocate a buffer of the type that you need",
    ),
    "atomic": (
        "%x = memref.atomic_rmw addf %one, %b[%c0, %c0] : (f32, memref<4x4xf32>) -> f32",
        "prim funcs run on one thread: load, compute and store",
    ),
    "large_constant": (
        "TENSORS%g = arith.constant dense<1.0> : tensor<4294967296xf32>\nreturn %b : tensor<4x4xf32>",
        "is too large for code: use linalg.fill on tensor.empty",
    ),
    "parallel": (
        "scf.parallel (%r) = (%c0) to (%c4) step (%c1) { memref.store %one, %b[%r, %c0] : memref<4x4xf32> }",
        "write scf.for, or a linalg.generic with parallel loops",
    ),
    "forall": (
        "scf.forall (%r) in (4) { memref.store %one, %b[%r, %c0] : memref<4x4xf32> }",
        "or a linalg.generic with parallel loops",
    ),
    "scatter": (
        "TENSORS%j = arith.constant dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>\n"
        "%u = tensor.expand_shape %a [[0], [1, 2]] output_shape [4, 1, 4] : tensor<4x4xf32> into tensor<4x1x4xf32>\n"
        "%c = tensor.scatter %u into %b[%j] scatter_dims([0]) unique : (tensor<4x1x4xf32>, tensor<4x4xf32>, "
        "tensor<4x1xi64>) -> tensor<4x4xf32>\nreturn %c : tensor<4x4xf32>",
        "store the elements in a loop, on memrefs",
    ),
    "gather": (
        "TENSORS%j = tensor.expand_shape %i [[0, 1]] output_shape [4, 1] : tensor<4xi64> into tensor<4x1xi64>\n"
        "%c = tensor.gather %a[%j] gather_dims([0]) : (tensor<4x4xf32>, tensor<4x1xi64>) -> tensor<4x1x4xf32>\n"
        "%d = tensor.collapse_shape %c [[0], [1, 2]] : tensor<4x1x4xf32> into tensor<4x4xf32>\n"
        "return %d : tensor<4x4xf32>",
        "read the elements by tensor.extract in a linalg.generic",
    ),
    "pad": (
        "TENSORS%e = tensor.extract_slice %a[0, 0][4, 3][1, 1] : tensor<4x4xf32> to tensor<4x3xf32>\n"
        "%c = tensor.pad %e low[0, 0] high[0, 1] { ^bb0(%r: index, %s: index): tensor.yield %zero : f32 } "
        ": tensor<4x3xf32> to tensor<4x4xf32>\nreturn %c : tensor<4x4xf32>",
        "fill a tensor and tensor.insert_slice into it",
        "TENSORS%e = tensor.extract_slice %a[0, 0][4, 3][1, 1] : tensor<4x4xf32> to tensor<4x3xf32>\n"
        "%c = linalg.fill ins(%zero : f32) outs(%b : tensor<4x4xf32>) -> tensor<4x4xf32>\n"
        "%d = tensor.insert_slice %e into %c[0, 0][4, 3][1, 1] : tensor<4x3xf32> into tensor<4x4xf32>\n"
        "return %d : tensor<4x4xf32>",
        lambda a, i: np.where(np.arange(4) < 3, a, 0),
    ),
    "call_indirect": (
        "%f = func.constant @{name}.add : (memref<4x4xf32>, index, index) -> ()\n"
        "func.call_indirect %f(%b, %c0, %c0) : (memref<4x4xf32>, index, index) -> ()",
        "call a prim func by its name",
    ),
    "vector": (
        "%v = vector.load %a[%c0, %c0] : memref<4x4xf32>, vector<4xf32>",
        "write loops or linalg on elements",
    ),
    "affine": (
        "affine.parallel (%r) = (0) to (4) { affine.store %one, %b[%r, 0] : memref<4x4xf32> }",
        "write scf.for, memref.load and memref.store",
    ),
    "index": ("%k = index.add %c1, %c2", "write arith on values of type index"),
    "bufferization": (
        "%t = bufferization.to_tensor %a : memref<4x4xf32> to tensor<4x4xf32>",
        "work on tensors or on memrefs, not on both",
    ),
    "linalg": (
        "linalg.softmax dimension(1) ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>)",
        "write a linalg.generic",
    ),
    "relax": (
        'TENSORS%c = "relax.exp"(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>\nreturn %c : tensor<4x4xf32>',
        "write linalg, or the op in a Relax function",
        "TENSORS%c = linalg.exp ins(%a : tensor<4x4xf32>) outs(%b : tensor<4x4xf32>) -> tensor<4x4xf32>\n"
        "return %c : tensor<4x4xf32>",
        lambda a, i: np.exp(a),
    ),
    "fptosi": (
        elements("%k = arith.fptosi %v : f32 to i1\n%w = arith.select %k, %v, %zero : f32"),
        "arith.fptosi: it has no meaning for i1: compare with zero",
    ),
    "fptoui": (
        elements("%k = arith.fptoui %v : f32 to i1\n%w = arith.select %k, %v, %zero : f32"),
        "arith.fptoui: it has no meaning for i1: compare with zero",
        elements("%k = arith.cmpf ogt, %v, %zero : f32\n%w = arith.select %k, %v, %zero : f32"),
        lambda a, i: np.maximum(a, 0),
    ),
    "power_of_bools": (
        elements(
            "%k = arith.cmpf ogt, %v, %zero : f32\n%p = math.ipowi %k, %k : i1\n%w = arith.select %p, %one, %zero : f32"
        ),
        "it has no meaning for i1: write the condition",
    ),
    "power_of_indices": (
        elements(
            "%p = math.ipowi %r, %c2 : index\n%k = arith.index_cast %p : index to i64\n"
            "%w = arith.sitofp %k : i64 to f32"
        ),
        "it has no meaning for index: cast it to i64",
    ),
    "claim": (
        'ATTRIBUTE relax.kernel = "softmax"\n' + elements(ADD),
        "has the attribute relax.kernel, which legalize-ops makes: leave it out",
    ),
    "blocks": ("cf.br ^bb1\n^bb1:\n", "write scf.if, scf.for and scf.while"),
    "chosen_buffer": (
        "%t = arith.constant true\n%c = arith.select %t, %a, %b : memref<4x4xf32>",
        "branch around what uses it instead",
    ),
    "strided": (
        "%e = memref.subview %a[0, 0][4, 2][1, 1] : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1]>>\n"
        "%f = memref.expand_shape %e [[0, 1], [2]] output_shape [2, 2, 2] : memref<4x2xf32, strided<[4, 1]>> into "
        "memref<2x2x2xf32, strided<[8, 4, 1]>>",
        "copy it into a buffer of its own first",
    ),
    "attribute": (
        elements(ADD.replace(" : f32", " {relax.mine} : f32")),
        "arith.addf has the attribute relax.mine, which the lowering makes: leave it out",
    ),
    "recursion": (
        "func.call @{name}(%a, %i, %b) : (memref<4x4xf32>, memref<4xi64>, memref<4x4xf32>) -> ()",
        "leads back here: write a loop",
        elements(ADD),
        lambda a, i: a + 1,
    ),
    "carried_buffer": (
        "%c = scf.for %r = %c0 to %c4 step %c1 iter_args(%m = %b) -> memref<4x4xf32> {\n"
        "scf.yield %m : memref<4x4xf32> }",
        "carries a buffer from round to round: carry numbers, or use one buffer",
    ),
    "reversed": (
        "TENSORS%c = "
        + generic("linalg.yield %v : f32", "affine_map<(r, s) -> (3 - r, s)>", kind="tensor")
        + " -> tensor<4x4xf32>\nreturn %c : tensor<4x4xf32>",
        "read the element by tensor.extract",
    ),
    "input": (
        loops("memref.store %one, %a[%r, %s] : memref<4x4xf32>"),
        "or store into a copy of it in a buffer of its own",
    ),
    "results": (
        "WHOLE" + HEAD + " -> f32 attributes {relax.prim_func} { %one = arith.constant 1.0 : f32\nreturn %one : f32 }",
        "write to its last buffers|it returns what it writes",
    ),
    "mixed": (
        "WHOLE" + HEAD.replace("%b: memref", "%b: tensor") + " attributes {relax.prim_func} { return }",
        "its parameters are tensors and memrefs: use one of both",
    ),
    "bodiless": (
        "WHOLEfunc.func private @{name}(memref<4x4xf32>, memref<4xi64>, memref<4x4xf32>) attributes {relax.prim_func}",
        "it has no body: define it, or call a packed function",
    ),
}


class PrimTexts(Table):
    """Prim funcs in text, each called by a separate function."""

    def __init__(self) -> None:
        self.names = list(CASES)
        self.followed = [name for name, case in CASES.items() if len(case) > 2]

    def text(self, name: str, body: str) -> str:
        """A prim func of this name."""
        if body.startswith("WHOLE"):
            return body.removeprefix("WHOLE").replace("{name}", name)
        attributes = "relax.prim_func"
        if body.startswith("ATTRIBUTE"):
            line, _, body = body.partition("\n")
            attributes += "," + line.removeprefix("ATTRIBUTE")
        head = TENSORS if body.startswith("TENSORS") else HEAD
        end = "" if body.startswith("TENSORS") else "return"
        whole = f"{head} attributes {{{attributes}}} {{\n{CONSTANTS}\n{body.removeprefix('TENSORS')}\n{end}\n}}\n"
        return (whole + (HELPER if "{name}.add" in body else "")).replace("{name}", name)

    def module(self, bodies: dict[str, str]) -> rx.IRModule:
        """Prim funcs with these bodies, and functions that call them."""
        text = "\n".join(self.text(f"prim_{name}", body) for name, body in bodies.items())
        bb = rx.BlockBuilder(rx.IRModule.parse(text, trusted=True))
        for name in bodies:
            x = rx.Var("x", rx.Tensor((4, 4), "float32"))
            i = rx.Var("i", rx.Tensor((4,), "int64"))
            with bb.function(name, [x, i]):
                bb.emit_func_output(op.call_tir(f"prim_{name}", [x, i], rx.Tensor((4, 4), "float32")))
        return bb.get()

    def provoke(self, name: str) -> str:
        wrong, message = CASES[name][:2]
        return error_of(lambda: parse_pipeline("check-prim-funcs")(self.module({name: wrong})), message)

    @cached_property
    def built(self) -> rx.Executable:
        return rx.build(self.module({name: CASES[name][2] for name in self.followed}), opt_level=0)

    def follow(self, name: str) -> None:
        x = np.random.default_rng(0).uniform(-2.0, 2.0, (4, 4)).astype(np.float32)
        i = np.array([2, 0, 3, 1])
        same(self.built[name](x, i), CASES[name][3](x, i))


TABLE = PrimTexts()
