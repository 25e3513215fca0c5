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
        f"%v = memref.load %a[%r, %s] : memref<4x4xf32>\n{body}\n"
        "memref.store %w, %b[%r, %s] : memref<4x4xf32>"
    )


def generic(body: str, access: str = ROWS, ins: str = "%a", out: str = "%b", kind: str = "memref") -> str:
    """A linalg.generic that reads `a` by `access`; the body yields."""
    return (
        f"linalg.generic {{indexing_maps = [{access}, {ROWS}], iterator_types = ['parallel', 'parallel']}} "
        f"ins({ins} : {kind}<4x4xf32>) outs({out} : {kind}<4x4xf32>) {{ ^bb0(%v: f32, %old: f32): {body} }}"
    ).replace("'", '"')


COPY = "%w = arith.addf %v, %zero : f32"
ADD = "%w = arith.addf %v, %one : f32"
COLLAPSE = "memref.collapse_shape {0} [[0, 1]] : {1} into "
CASES: dict[str, tuple[str, str, str, Reference]] = {
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
        "%m = memref.alloc() : memref<4x4xf32>\n"
        + loops(
            "%v = memref.load %a[%r, %s] : memref<4x4xf32>\nmemref.store %v, %m[%r, %s] : memref<4x4xf32>\n"
            "%u = memref.load %m[%r, %s] : memref<4x4xf32>\nmemref.store %u, %b[%r, %s] : memref<4x4xf32>"
        ),
        lambda a, i: a,
    ),
    "atomic": (
        "%x = memref.atomic_rmw addf %one, %b[%c0, %c0] : (f32, memref<4x4xf32>) -> f32",
        "prim funcs run on one thread: load, compute and store",
        elements(ADD),
        lambda a, i: a + 1,
    ),
    "large_constant": (
        "TENSORS%g = arith.constant dense<1.0> : tensor<4294967296xf32>\nreturn %b : tensor<4x4xf32>",
        "is too large for code: use linalg.fill on tensor.empty",
        "TENSORS%e = tensor.empty() : tensor<4x4xf32>\n"
        "%f = linalg.fill ins(%one : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>\n"
        "%s = linalg.add ins(%a, %f : tensor<4x4xf32>, tensor<4x4xf32>) outs(%b : tensor<4x4xf32>) -> tensor<4x4xf32>\n"
        "return %s : tensor<4x4xf32>",
        lambda a, i: a + 1,
    ),
    "parallel": (
        "scf.parallel (%r) = (%c0) to (%c4) step (%c1) { memref.store %one, %b[%r, %c0] : memref<4x4xf32> }",
        "write scf.for, or a linalg.generic with parallel loops",
        elements(ADD),
        lambda a, i: a + 1,
    ),
    "forall": (
        "scf.forall (%r) in (4) { memref.store %one, %b[%r, %c0] : memref<4x4xf32> }",
        "or a linalg.generic with parallel loops",
        generic(f"{ADD} linalg.yield %w : f32"),
        lambda a, i: a + 1,
    ),
    "scatter": (
        "TENSORS%j = arith.constant dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>\n"
        "%u = tensor.expand_shape %a [[0], [1, 2]] output_shape [4, 1, 4] : tensor<4x4xf32> into tensor<4x1x4xf32>\n"
        "%c = tensor.scatter %u into %b[%j] scatter_dims([0]) unique : (tensor<4x1x4xf32>, tensor<4x4xf32>, "
        "tensor<4x1xi64>) -> tensor<4x4xf32>\nreturn %c : tensor<4x4xf32>",
        "store the elements in a loop, on memrefs",
        loops(
            "%k = memref.load %i[%r] : memref<4xi64>\n%p = arith.index_cast %k : i64 to index\n"
            "%v = memref.load %a[%r, %s] : memref<4x4xf32>\nmemref.store %v, %b[%p, %s] : memref<4x4xf32>"
        ),
        lambda a, i: a[np.argsort(i)],
    ),
    "gather": (
        "TENSORS%j = tensor.expand_shape %i [[0, 1]] output_shape [4, 1] : tensor<4xi64> into tensor<4x1xi64>\n"
        "%c = tensor.gather %a[%j] gather_dims([0]) : (tensor<4x4xf32>, tensor<4x1xi64>) -> tensor<4x1x4xf32>\n"
        "%d = tensor.collapse_shape %c [[0], [1, 2]] : tensor<4x1x4xf32> into tensor<4x4xf32>\n"
        "return %d : tensor<4x4xf32>",
        "read the elements by tensor.extract in a linalg.generic",
        "TENSORS%c = "
        + generic(
            "%r = linalg.index 0 : index %s = linalg.index 1 : index %k = tensor.extract %i[%r] : tensor<4xi64> "
            "%p = arith.index_cast %k : i64 to index %w = tensor.extract %a[%p, %s] : tensor<4x4xf32> "
            "linalg.yield %w : f32",
            kind="tensor",
        )
        + " -> tensor<4x4xf32>\nreturn %c : tensor<4x4xf32>",
        lambda a, i: a[i],
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
        loops(
            "%v = memref.load %a[%r, %s] : memref<4x4xf32>\nmemref.store %v, %b[%r, %s] : memref<4x4xf32>\n"
            "func.call @{name}.add(%b, %r, %s) : (memref<4x4xf32>, index, index) -> ()"
        ),
        lambda a, i: a + 1,
    ),
    "vector": (
        "%v = vector.load %a[%c0, %c0] : memref<4x4xf32>, vector<4xf32>",
        "write loops or linalg on elements",
        elements(ADD),
        lambda a, i: a + 1,
    ),
    "affine": (
        "affine.parallel (%r) = (0) to (4) { affine.store %one, %b[%r, 0] : memref<4x4xf32> }",
        "write scf.for, memref.load and memref.store",
        elements(ADD),
        lambda a, i: a + 1,
    ),
    "index": (
        "%k = index.add %c1, %c2",
        "write arith on values of type index",
        loops(
            "%k = arith.subi %c4, %r : index\n%p = arith.subi %k, %c1 : index\n"
            "%v = memref.load %a[%p, %s] : memref<4x4xf32>\nmemref.store %v, %b[%r, %s] : memref<4x4xf32>"
        ),
        lambda a, i: a[::-1],
    ),
    "bufferization": (
        "%t = bufferization.to_tensor %a : memref<4x4xf32> to tensor<4x4xf32>",
        "work on tensors or on memrefs, not on both",
        generic(f"{ADD} linalg.yield %w : f32"),
        lambda a, i: a + 1,
    ),
    "linalg": (
        "linalg.softmax dimension(1) ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>)",
        "write a linalg.generic",
        generic("%w = math.exp %v : f32 linalg.yield %w : f32"),
        lambda a, i: np.exp(a),
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
        elements("%k = arith.cmpf ogt, %v, %zero : f32\n%w = arith.select %k, %v, %zero : f32"),
        lambda a, i: np.maximum(a, 0),
    ),
    "fptoui": (
        elements("%k = arith.fptoui %v : f32 to i1\n%w = arith.select %k, %v, %zero : f32"),
        "arith.fptoui: it has no meaning for i1: compare with zero",
        elements("%k = arith.cmpf ogt, %v, %zero : f32\n%w = arith.select %k, %v, %zero : f32"),
        lambda a, i: np.maximum(a, 0),
    ),
    "power_of_bools": (
        elements(
            "%k = arith.cmpf ogt, %v, %zero : f32\n%p = math.ipowi %k, %k : i1\n"
            "%w = arith.select %p, %one, %zero : f32"
        ),
        "it has no meaning for i1: write the condition",
        elements(
            "%k = arith.cmpf ogt, %v, %zero : f32\n%true = arith.constant true\n%n = arith.xori %k, %true : i1\n"
            "%p = arith.ori %k, %n : i1\n%w = arith.select %p, %one, %zero : f32"
        ),
        lambda a, i: np.ones_like(a),
    ),
    "power_of_indices": (
        elements(
            "%p = math.ipowi %r, %c2 : index\n%k = arith.index_cast %p : index to i64\n"
            "%w = arith.sitofp %k : i64 to f32"
        ),
        "it has no meaning for index: cast it to i64",
        elements(
            "%k = arith.index_cast %r : index to i64\n%two = arith.index_cast %c2 : index to i64\n"
            "%p = math.ipowi %k, %two : i64\n%w = arith.sitofp %p : i64 to f32"
        ),
        lambda a, i: np.repeat(np.arange(4.0)[:, None] ** 2, 4, 1).astype(np.float32),
    ),
    "claim": (
        'ATTRIBUTE relax.kernel = "softmax"\n' + elements(ADD),
        "has the attribute relax.kernel, which legalize-ops makes: leave it out",
        elements(ADD),
        lambda a, i: a + 1,
    ),
    "blocks": (
        "cf.br ^bb1\n^bb1:\n",
        "write scf.if, scf.for and scf.while",
        loops(
            "%v = memref.load %a[%r, %s] : memref<4x4xf32>\n%k = arith.cmpf ogt, %v, %zero : f32\n"
            "%w = scf.if %k -> f32 { scf.yield %v : f32 } else { scf.yield %one : f32 }\n"
            "memref.store %w, %b[%r, %s] : memref<4x4xf32>"
        ),
        lambda a, i: np.where(a > 0, a, 1),
    ),
    "chosen_buffer": (
        "%t = arith.constant true\n%c = arith.select %t, %a, %b : memref<4x4xf32>",
        "branch around what uses it instead",
        loops(
            "%k = arith.cmpi eq, %r, %c0 : index\nscf.if %k { memref.store %one, %b[%r, %s] : memref<4x4xf32> } "
            "else { %v = memref.load %a[%r, %s] : memref<4x4xf32>\n"
            "memref.store %v, %b[%r, %s] : memref<4x4xf32> }"
        ),
        lambda a, i: np.concatenate([np.ones((1, 4), "f4"), a[1:]]),
    ),
    "strided": (
        "%e = memref.subview %a[0, 0][4, 2][1, 1] : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1]>>\n"
        "%f = memref.expand_shape %e [[0, 1], [2]] output_shape [2, 2, 2] : memref<4x2xf32, strided<[4, 1]>> into "
        "memref<2x2x2xf32, strided<[8, 4, 1]>>",
        "copy it into a buffer of its own first",
        "%e = memref.subview %a[0, 0][4, 2][1, 1] : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1]>>\n"
        "%m = memref.alloc() : memref<4x2xf32>\n"
        "linalg.copy ins(%e : memref<4x2xf32, strided<[4, 1]>>) outs(%m : memref<4x2xf32>)\n"
        "%f = memref.expand_shape %m [[0, 1], [2]] output_shape [2, 2, 2] : memref<4x2xf32> into memref<2x2x2xf32>\n"
        + loops(
            "%p = arith.divui %r, %c2 : index\n%q = arith.remui %r, %c2 : index\n%u = arith.remui %s, %c2 : index\n"
            "%v = memref.load %f[%p, %q, %u] : memref<2x2x2xf32>\nmemref.store %v, %b[%r, %s] : memref<4x4xf32>"
        ),
        lambda a, i: a[:, [0, 1, 0, 1]],
    ),
    "attribute": (
        elements(ADD.replace(" : f32", " {relax.mine} : f32")),
        "arith.addf has the attribute relax.mine, which the lowering makes: leave it out",
        elements(ADD),
        lambda a, i: a + 1,
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
        "%c = scf.for %r = %c0 to %c4 step %c1 iter_args(%m = %zero) -> f32 {\n"
        "%v = memref.load %a[%r, %r] : memref<4x4xf32>\n%w = arith.addf %m, %v : f32\nscf.yield %w : f32 }\n"
        + loops("memref.store %c, %b[%r, %s] : memref<4x4xf32>"),
        lambda a, i: np.full((4, 4), np.trace(a)),
    ),
    "reversed": (
        "TENSORS%c = "
        + generic("linalg.yield %v : f32", "affine_map<(r, s) -> (3 - r, s)>", kind="tensor")
        + " -> tensor<4x4xf32>\nreturn %c : tensor<4x4xf32>",
        "read the element by tensor.extract",
        "TENSORS%c3 = arith.constant 3 : index\n%c = "
        + generic(
            "%r = linalg.index 0 : index %s = linalg.index 1 : index %p = arith.subi %c3, %r : index "
            "%w = tensor.extract %a[%p, %s] : tensor<4x4xf32> linalg.yield %w : f32",
            kind="tensor",
        )
        + " -> tensor<4x4xf32>\nreturn %c : tensor<4x4xf32>",
        lambda a, i: a[::-1],
    ),
    "input": (
        loops("memref.store %one, %a[%r, %s] : memref<4x4xf32>"),
        "or store into a copy of it in a buffer of its own",
        "%m = memref.alloc() : memref<4x4xf32>\n"
        "linalg.copy ins(%a : memref<4x4xf32>) outs(%m : memref<4x4xf32>)\n"
        "memref.store %one, %m[%c0, %c0] : memref<4x4xf32>\n"
        "linalg.copy ins(%m : memref<4x4xf32>) outs(%b : memref<4x4xf32>)",
        lambda a, i: np.where(np.arange(16).reshape(4, 4) == 0, 1, a),
    ),
    "results": (
        "WHOLE"
        + HEAD
        + " -> f32 attributes {relax.prim_func} { %one = arith.constant 1.0 : f32\nreturn %one : f32 }",
        "write to its last buffers|it returns what it writes",
        elements(ADD),
        lambda a, i: a + 1,
    ),
    "mixed": (
        "WHOLE" + HEAD.replace("%b: memref", "%b: tensor") + " attributes {relax.prim_func} { return }",
        "its parameters are tensors and memrefs: use one of both",
        elements(ADD),
        lambda a, i: a + 1,
    ),
    "bodiless": (
        "WHOLE"
        "func.func private @{name}(memref<4x4xf32>, memref<4xi64>, memref<4x4xf32>) attributes {relax.prim_func}",
        "it has no body: define it, or call a packed function",
        elements(ADD),
        lambda a, i: a + 1,
    ),
}


class PrimTexts(Table):
    """Prim funcs in text, each called by a separate function."""

    def __init__(self) -> None:
        self.names = list(CASES)

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
        whole = (
            f"{head} attributes {{{attributes}}} {{\n{CONSTANTS}\n{body.removeprefix('TENSORS')}\n{end}\n}}\n"
        )
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
        return rx.build(self.module({name: case[2] for name, case in CASES.items()}), opt_level=0)

    def follow(self, name: str) -> None:
        x = np.random.default_rng(0).uniform(-2.0, 2.0, (4, 4)).astype(np.float32)
        i = np.array([2, 0, 3, 1])
        same(self.built[name](x, i), CASES[name][3](x, i))


TABLE = PrimTexts()
