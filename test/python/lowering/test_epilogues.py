"""Epilogues of GEMM: which ones are fused, which are not, and correct results of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from jit import Compiled, link
from relax_mlir.lowering.kernels.gemm.lower_contractions import LowerContractions
from relax_mlir.lowering.kernels.nest.vector_loops import LinalgToLoops
from relax_mlir.mlir import ir
from relax_mlir.transform import PassContext

NUMPY = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "i1": np.bool_}
Array = np.ndarray


@dataclass(frozen=True)
class Case:
    """An einsum, then a body on its result `%c` and other operands `%x0`, `%x1`, … (by their letters).

    The result has the element type `to`, in a separate buffer if `separate`. `%n` is an index argument, and `%half` a
    float computed from it outside of the body.
    """

    spec: str
    operands: tuple[str, ...]
    body: str
    result: Callable[..., Array]
    element: str = "f32"
    to: str = "f32"
    separate: bool = False
    taken: bool = True


def relu(c: Array, x: Array) -> Array:
    return np.maximum(c + x, 0)


RELU = """%s = arith.addf %c, %x0 : f32
        %y = arith.maximumf %s, %zero : f32"""
ADD = "%y = arith.addf %c, %x0 : f32"
BOTH = """%s = arith.addf %c, %x0 : f32
        %y = arith.addf %s, %x1 : f32"""
CASES = {
    "bias-relu": Case("mk,kn->mn", ("n",), RELU, relu),
    "residual": Case("mk,kn->mn", ("mn",), ADD, np.add),
    "bias-residual": Case("bsk,kn->bsn", ("n", "bsn"), BOTH, lambda c, x, y: c + x + y),
    "row-scale": Case("mk,kn->mn", ("m",), "%y = arith.mulf %c, %x0 : f32", lambda c, x: c * x[:, None]),
    "rank-0": Case("mk,kn->mn", ("",), ADD, np.add),
    "captured": Case("mk,kn->mn", (), "%y = arith.mulf %c, %half : f32", lambda c: c * 3.5),
    "vector": Case("mk,k->m", ("m",), ADD, np.add),
    "row-vector": Case("k,kn->n", ("n",), RELU, relu),
    "dot": Case("k,k->", ("",), ADD, np.add),
    "outer": Case("m,n->mn", ("n",), RELU, relu),
    "transposed": Case("mk,kn->nm", ("n",), ADD, lambda c, x: c + x[:, None]),
    "batches": Case("bmk,bkn->bmn", ("bn",), RELU, lambda c, x: np.maximum(c + x[:, None], 0)),
    "heads": Case("bshd,bthd->bhst", ("bst",), ADD, lambda c, x: c + x[:, None]),
    "to-bf16": Case("mk,kn->mn", ("n",), "%s = arith.addf %c, %x0 : f32\n%y = arith.truncf %s : f32 to bf16",
                    np.add, to="bf16", separate=True),
    "from-f16": Case("mk,kn->mn", ("n",), RELU, relu, element="f16"),
    "to-bool": Case("mk,kn->mn", ("n",), "%y = arith.cmpf ogt, %c, %x0 : f32", lambda c, x: c > x,
                    to="i1", separate=True),
    "separate": Case("mk,kn->mn", ("mn",), ADD, np.add, separate=True),
    "uneven-rows": Case("bsk,kn->bsn", ("sn",), ADD, np.add, taken=False),
}  # fmt: skip


def function(name: str, case: Case) -> str:
    inputs, out = case.spec.split("->")
    first, second = inputs.split(",")
    dims = sorted({*first, *second})
    wide = "f64" if case.element == "f64" else "f32"

    def memref(letters: str, element: str) -> str:
        return f"memref<{'?x' * len(letters)}{element}>"

    def map_of(letters: str, space: str | list[str]) -> str:
        return f"affine_map<({', '.join(space)}) -> ({', '.join(letters)})>"

    kinds = ", ".join('"parallel"' if d in out else '"reduction"' for d in dims)
    types = [memref(first, case.element), memref(second, case.element), memref(out, wide)]
    more = [memref(letters, wide) for letters in case.operands]
    arguments = [f"%a: {types[0]}", f"%b: {types[1]}", f"%r: {types[2]}"]
    arguments += [f"%m{i}: {type_}" for i, type_ in enumerate(more)]
    target, target_type = ("%d", memref(out, case.to)) if case.separate else ("%r", types[2])
    arguments += [f"%d: {target_type}"] if case.separate else []
    ins = [*([("%r", types[2], out)] if case.separate else [])]
    ins += [(f"%m{i}", t, o) for i, (t, o) in enumerate(zip(more, case.operands, strict=True))]
    names = [*(["%c"] if case.separate else []), *(f"%x{i}" for i in range(len(more)))]
    region = [f"{n}: {wide}" for n in names] + [f"{'%old' if case.separate else '%c'}: {case.to}"]
    maps = ", ".join(map_of(letters, list(out)) for letters in [*(i[2] for i in ins), out])
    read = f"ins({', '.join(i[0] for i in ins)} : {', '.join(i[1] for i in ins)})" if ins else ""
    widen = ["%xw = arith.extf %x : f16 to f32", "%yw = arith.extf %y : f16 to f32"]
    left, right = ("%xw", "%yw") if case.element == "f16" else ("%x", "%y")
    return f"""
    func.func @{name}({", ".join(arguments)}, %n: index) attributes {{llvm.emit_c_interface}} {{
      %zero = arith.constant 0.0 : {wide}
      %int = arith.index_cast %n : index to i64
      %float = arith.sitofp %int : i64 to f32
      %two = arith.constant 2.0 : f32
      %half = arith.divf %float, %two : f32
      linalg.fill ins(%zero : {wide}) outs(%r : {types[2]})
      linalg.generic {{indexing_maps = [{", ".join(map_of(x, dims) for x in (first, second, out))}],
          iterator_types = [{kinds}]}} ins(%a, %b : {types[0]}, {types[1]}) outs(%r : {types[2]}) {{
      ^bb0(%x: {case.element}, %y: {case.element}, %s: {wide}):
        {chr(10).join(widen) if case.element == "f16" else ""}
        %p = arith.mulf {left}, {right} : {wide}
        %t = arith.addf %s, %p : {wide}
        linalg.yield %t : {wide}
      }}
      linalg.generic {{indexing_maps = [{maps}],
          iterator_types = [{", ".join(['"parallel"'] * len(out))}]}} {read} outs({target} : {target_type}) {{
      ^bb0({", ".join(region)}):
        {case.body}
        linalg.yield %y : {case.to}
      }}
      return
    }}"""


def lowered(text: str) -> ir.Module:
    module = ir.Module.parse(text)
    LowerContractions().run(module, PassContext())
    link(module, "cpu")
    module.operation.verify()
    return module


@pytest.fixture(scope="module")
def compiled() -> Iterator[Compiled]:
    with ir.Context(), ir.Location.unknown():
        module = lowered("\n".join(function(name.replace("-", "_"), case) for name, case in CASES.items()))
        LinalgToLoops().run(module, PassContext())
        yield Compiled(module)


SIZES: list[tuple[int, int, int]] = [
    (1, 1, 1), (0, 3, 5), (3, 0, 5), (3, 5, 0), (1, 9, 40), (2, 64, 17), (4, 16, 16), (7, 33, 65), (29, 20, 130),
    (200, 40, 70), (13, 600, 90), (5, 1100, 3),
]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_against_float64(compiled: Compiled, name: str) -> None:
    case = CASES[name]
    inputs, out = case.spec.split("->")
    first, second = inputs.split(",")
    rng = np.random.default_rng(0)
    outer, rows, columns = (set(first) & set(out)), [d for d in out if d in first], set(second) & set(out)
    for m, k, n in SIZES:
        size = dict.fromkeys({*first, *second} - set(out), k)
        size |= {d: m if d in rows else n for d in outer | columns}
        size |= {d: min(m, 3) for d in set(first) & set(second) & set(out)} | {"b": min(m, 3), "h": 2}
        kind = NUMPY[case.element]
        a = rng.uniform(-1, 1, [size[d] for d in first]).astype(kind)
        b = rng.uniform(-1, 1, [size[d] for d in second]).astype(kind)
        wide = np.float64 if case.element == "f64" else np.float32
        holder = np.full([size[d] for d in out], 9.0, wide)
        others = [rng.uniform(-1, 1, [size[d] for d in x]).astype(wide) for x in case.operands]
        product = np.einsum(case.spec, a.astype(np.float64), b.astype(np.float64))
        expected = np.broadcast_to(case.result(product, *others), holder.shape)
        result = np.zeros(holder.shape, NUMPY[case.to]) if case.separate else holder
        arguments = [a, b, holder, *others, *([result] if case.separate else []), 7]
        compiled(name.replace("-", "_"), *arguments)
        if case.to == "i1":
            far = np.abs(product - others[0]) > 1e-4
            np.testing.assert_array_equal(result[far], expected[far])
        else:
            limit = 2e-2 if case.to == "bf16" else 2e-4
            np.testing.assert_allclose(result.astype(np.float64), expected, atol=limit, rtol=limit)


@pytest.mark.parametrize("name", CASES)
def test_is_taken(name: str) -> None:
    with ir.Context(), ir.Location.unknown():
        text = str(lowered(function("f", CASES[name])))
    main = text[: text.index("func.func private")]
    assert ("linalg.generic" not in main) == CASES[name].taken
    assert (" constant @relax.gemm." in main) == CASES[name].taken


HEAD = """
    func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %r: memref<?x?xf32>, %x: memref<?x?xf32>) {
      linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%r : memref<?x?xf32>)"""
GENERIC = """
      linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> ({0})>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]}} ins({1} : memref<?x?xf32>) outs({2} : memref<?x?xf32>) {{
      ^bb0(%u: f32, %v: f32):
        {3}
        linalg.yield %w : f32
      }}"""
SUM = "%w = arith.addf %u, %v : f32"


@pytest.mark.parametrize(
    "rest",
    [
        GENERIC.format("d1, d0", "%r", "%x", SUM),  # reads the result transposed
        GENERIC.format("d0, d1", "%r", "%a", SUM),  # overwrites an operand that the GEMM still reads
        GENERIC.format("d0, d1", "%x", "%b", SUM),  # does not read the result
        "\n      linalg.fill ins(%z : f32) outs(%x : memref<?x?xf32>)" + GENERIC.format("d0, d1", "%r", "%x", SUM),
        GENERIC.format("d0, d1", "%r", "%x", "%i = linalg.index 0 : index\n%w = arith.addf %u, %v : f32"),
    ],
    ids=["transposed", "operand", "unrelated", "not-next", "index"],
)  # fmt: skip
def test_is_left(rest: str) -> None:
    with ir.Context(), ir.Location.unknown():
        head = HEAD.replace("{\n", "{\n      %z = arith.constant 0.0 : f32\n", 1)
        text = str(lowered(head + rest + "\n      return\n    }"))
    assert "linalg.generic" in text[: text.index("func.func private")]
