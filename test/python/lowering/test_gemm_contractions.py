"""The pass `lower-contractions`: which contractions it lowers, which it does not, and correct results of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from jit import Compiled, link
from relax_mlir.lowering.kernels.gemm.lower_contractions import LowerContractions
from relax_mlir.mlir import func, ir
from relax_mlir.transform import PassContext

INTERFACE = "attributes {llvm.emit_c_interface}"
PASS = LowerContractions()


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with ir.Context(), ir.Location.unknown():
        yield


def memref(rank: int, element: str = "f32", shape: str = "") -> str:
    return f"memref<{shape or '?x' * rank}{element}>"


def einsum_function(spec: str, element: str = "f32", result: str = "f32", fill: bool = True, name: str = "f") -> str:
    """A function that computes an einsum of two operands by linalg.generic."""
    inputs, out = spec.split("->")
    names = [*inputs.split(","), out]
    dims = sorted(set("".join(names)))
    space = ", ".join(dims)
    maps = ", ".join(f"affine_map<({space}) -> ({', '.join(name)})>" for name in names)
    kinds = ", ".join('"parallel"' if d in out else '"reduction"' for d in dims)
    types = [memref(len(name), kind) for name, kind in zip(names, (element, element, result), strict=True)]
    widen, x, y = "", "%x", "%y"
    if element != result:
        widen = f"%xw = arith.extf %x : {element} to {result}\n %yw = arith.extf %y : {element} to {result}"
        x, y = "%xw", "%yw"
    zero = f"""
      %zero = arith.constant 0.0 : {result}
      linalg.fill ins(%zero : {result}) outs(%c : {types[2]})"""
    return f"""
    func.func @{name}(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) {INTERFACE} {{{zero if fill else ""}
      linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
          ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[2]}) {{
      ^bb0(%x: {element}, %y: {element}, %s: {result}):
        {widen}
        %p = arith.mulf {x}, {y} : {result}
        %t = arith.addf %s, %p : {result}
        linalg.yield %t : {result}
      }}
      return
    }}"""


def einsum_module(spec: str, element: str = "f32", result: str = "f32", fill: bool = True) -> ir.Module:
    """A module with one such function, `f`."""
    return ir.Module.parse(einsum_function(spec, element, result, fill))


def run_pass(module: ir.Module) -> str:
    PASS.run(module, PassContext())
    link(module, "cpu")
    module.operation.verify()
    return str(module)


EINSUMS = [
    "mk,kn->mn", "km,kn->mn", "mk,nk->mn", "km,nk->mn", "mk,kn->nm", "km,nk->nm",
    "k,k->", "mk,k->m", "k,kn->n", "km,k->m", "m,n->mn", "m,n->nm",
    "bmk,bkn->bmn", "bmk,kn->bmn", "mk,bkn->bmn", "bmk,bnk->bmn", "abmk,abkn->abmn", "abmk,bkn->abmn",
    "bshd,bthd->bhst", "bhst,bthd->bshd", "bsk,kn->bsn", "bmk,bk->bm", "bk,bk->b", "abk,kn->abn",
    "mjk,jkn->mn", "mjk,kjn->mn", "jmk,jkn->mn", "mk,kab->mab", "mk,kab->mba", "amk,kn->man", "mk,bkn->mbn",
    "bmk,bkn->mbn", "bm,bn->bmn", "bkm,bkn->bnm", "mk,k->mk",
]  # fmt: skip


REPEATED = [("bmk", "0kn"), ("0mk", "bkn"), ("0m0k", "cbkn"), ("c0mk", "0bkn")]
"""Batches with axes of size 1 that are read at index 0 for every batch; `0` denotes them."""


def batches_of(first: str, second: str) -> str:
    return "cb" if "c" in first + second else "b"


def repeated_function(first: str, second: str, name: str) -> str:
    out = batches_of(first, second) + "mn"
    types = [memref(len(dims)) for dims in (first, second, out)]
    space = ", ".join([*out, "k"])
    maps = ", ".join(f"affine_map<({space}) -> ({', '.join(dims)})>" for dims in (first, second, out))
    return f"""
    func.func @{name}(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) {INTERFACE} {{
      linalg.generic {{indexing_maps = [{maps}],
          iterator_types = [{'"parallel", ' * len(out)}"reduction"]}}
          ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[2]}) {{
      ^bb0(%x: f32, %y: f32, %s: f32):
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        linalg.yield %t : f32
      }}
      return
    }}"""


NAMED = [
    ("linalg.matmul", 2, 2, 2, "mk,kn->mn"),
    ("linalg.batch_matmul", 3, 3, 3, "bmk,bkn->bmn"),
    ("linalg.matvec", 2, 1, 1, "mk,k->m"),
    ("linalg.vecmat", 1, 2, 1, "k,kn->n"),
    ("linalg.dot", 1, 1, 0, "k,k->"),
    ("linalg.batch_matvec", 3, 2, 2, "bmk,bk->bm"),
]


def named_function(operation: str, ranks: Sequence[int], name: str) -> str:
    types = [memref(rank) for rank in ranks]
    return f"""
    func.func @{name}(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) {INTERFACE} {{
      {operation} ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[2]})
      return
    }}"""


Programs = tuple[dict[str, str], Compiled]


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    """All functions after the pass, as text by name, and compiled together: they share one kernel."""
    with ir.Context(), ir.Location.unknown():
        functions = [
            einsum_function(spec, fill=fill, name=f"f{number}_{int(fill)}")
            for number, spec in enumerate(EINSUMS)
            for fill in (False, True)
        ]
        functions += [repeated_function(*case, f"r{number}") for number, case in enumerate(REPEATED)]
        functions += [named_function(op, ranks, f"n{number}") for number, (op, *ranks, _) in enumerate(NAMED)]
        module = ir.Module.parse("\n".join(functions))
        run_pass(module)
        texts = {op.name.value: str(op) for op in module.body.operations if isinstance(op, func.FuncOp)}
        yield texts, Compiled(module)


@pytest.mark.parametrize("fill", [True, False], ids=["fill", "add"])
@pytest.mark.parametrize("spec", EINSUMS)
def test_einsum_is_taken(programs: Programs, spec: str, fill: bool) -> None:
    text = programs[0][f"f{EINSUMS.index(spec)}_{int(fill)}"]
    assert "linalg.generic" not in text
    sums_outside = spec in ("mjk,kjn->mn", "jmk,jkn->mn")  # several matmuls are added up: the fill is kept
    assert ("linalg.fill" in text) == (fill and sums_outside)


@pytest.mark.parametrize("fill", [True, False], ids=["fill", "add"])
@pytest.mark.parametrize("spec", EINSUMS)
def test_einsum_is_right(programs: Programs, spec: str, fill: bool) -> None:
    inputs, out = spec.split("->")
    first, second = inputs.split(",")
    rng = np.random.default_rng(0)
    for trial in range(8):
        size = {d: int(rng.integers(0 if trial else 1, 20 if trial > 4 else 9)) for d in set(first + second)}
        a = rng.uniform(-1, 1, [size[d] for d in first]).astype(np.float32)
        b = rng.uniform(-1, 1, [size[d] for d in second]).astype(np.float32)
        c = rng.uniform(-1, 1, [size[d] for d in out]).astype(np.float32)
        before = 0 if fill else c.astype(np.float64)
        expected = np.einsum(spec, a.astype(np.float64), b.astype(np.float64)) + before
        programs[1](f"f{EINSUMS.index(spec)}_{int(fill)}", a, b, c)
        np.testing.assert_allclose(c, expected, atol=1e-4)


@pytest.mark.parametrize("spec", ["mb,nb->mnb", "mk,n->mn"])
def test_left_alone(spec: str) -> None:
    """A batch of matrices as the last axis of the result, and a sum over a single operand."""
    module = einsum_module(spec)
    before = str(module)
    assert run_pass(module) == before


@pytest.mark.parametrize(
    ("element", "result"), [("f64", "f64"), ("bf16", "f32"), ("f16", "f32"), ("bf16", "bf16"), ("f16", "f16")]
)
def test_element_types(element: str, result: str) -> None:
    module = einsum_module("bmk,bkn->bmn", element, result)
    suffix = "" if element == result else f".{result}"
    assert f"call @relax.gemm.{element}{suffix}(" in run_pass(module)


@pytest.mark.parametrize("element", ["i8", "i32", "i64"])
def test_integers_stay(element: str) -> None:
    t = f"memref<?x?x{element}>"
    module = ir.Module.parse(f"""
    func.func @f(%a: {t}, %b: {t}, %c: {t}) {{
      linalg.matmul ins(%a, %b : {t}, {t}) outs(%c : {t})
      return
    }}""")
    assert "linalg.matmul" in run_pass(module)


@pytest.mark.parametrize(("first", "second"), REPEATED)
def test_repeated_batches(programs: Programs, first: str, second: str) -> None:
    name, out = f"r{REPEATED.index((first, second))}", batches_of(first, second) + "mn"
    assert "linalg." not in programs[0][name]
    sizes = {"b": 3, "c": 2, "m": 7, "n": 5, "k": 11, "0": 1}
    rng = np.random.default_rng(0)
    a, b, c = (rng.uniform(-1, 1, [sizes[d] for d in dims]).astype(np.float32) for dims in (first, second, out))
    spec = ",".join(dims.replace("0", "") for dims in (first, second)) + "->" + out
    squeezed = [x.reshape([n for n in x.shape if n != 1]) for x in (a, b)]
    expected = np.einsum(spec, *squeezed) + c
    programs[1](name, a, b, c)
    np.testing.assert_allclose(c, expected, atol=1e-5)


@pytest.mark.parametrize("number", range(len(NAMED)), ids=[name for name, *_ in NAMED])
def test_named_operations(programs: Programs, number: int) -> None:
    spec = NAMED[number][-1]
    assert "linalg." not in programs[0][f"n{number}"]
    sizes = {"b": 2, "m": 7, "n": 5, "k": 11}
    inputs, out = spec.split("->")
    rng = np.random.default_rng(0)
    x, y, z = (rng.uniform(-1, 1, [sizes[d] for d in dims]).astype(np.float32) for dims in (*inputs.split(","), out))
    expected = np.einsum(spec, x, y) + z
    programs[1](f"n{number}", x, y, z)
    np.testing.assert_allclose(z, expected, atol=1e-5)


def test_transposed_operands_of_matmul() -> None:
    module = ir.Module.parse(f"""
    func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {INTERFACE} {{
      linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (n, k)>,
                                     affine_map<(m, n, k) -> (m, n)>]
          ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
      return
    }}""")
    assert "linalg." not in run_pass(module)
    compiled = Compiled(module)
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, (23, 40)).astype(np.float32), rng.uniform(-1, 1, (31, 23)).astype(np.float32)
    c = np.zeros((40, 31), np.float32)
    compiled("f", a, b, c)
    np.testing.assert_allclose(c, a.T @ b.T, atol=1e-5)


def test_static_shapes_and_views() -> None:
    """A part of a buffer: strided operand, strided result with unit last stride, static sizes."""
    view = "memref<6x5xf32, strided<[12, 1], offset: 14>>"
    module = ir.Module.parse(f"""
    func.func @f(%a: memref<10x12xf32>, %b: memref<5x5xf32>, %c: memref<10x12xf32>) {INTERFACE} {{
      %x = memref.subview %a[1, 2] [6, 5] [1, 1] : memref<10x12xf32> to {view}
      %y = memref.subview %c[1, 2] [6, 5] [1, 1] : memref<10x12xf32> to {view}
      linalg.matmul ins(%x, %b : {view}, memref<5x5xf32>) outs(%y : {view})
      return
    }}""")
    assert "linalg." not in run_pass(module)
    compiled = Compiled(module)
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, (10, 12)).astype(np.float32), rng.uniform(-1, 1, (5, 5)).astype(np.float32)
    c = np.zeros((10, 12), np.float32)
    compiled("f", a, b, c)
    expected = np.zeros_like(c)
    expected[1:7, 2:7] = a[1:7, 2:7] @ b
    np.testing.assert_allclose(c, expected, atol=1e-5)


@pytest.mark.parametrize(
    "between",
    [
        "%u = memref.load %c[%i, %i] : memref<?x?xf32>\n memref.store %u, %a[%i, %i] : memref<?x?xf32>",
        "memref.store %one, %c[%i, %i] : memref<?x?xf32>",
    ],
)
def test_fill_stays_if_memory_is_touched_between(between: str) -> None:
    module = ir.Module.parse(f"""
    func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>, %i: index) {{
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      linalg.fill ins(%zero : f32) outs(%c : memref<?x?xf32>)
      {between}
      linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
      return
    }}""")
    text = run_pass(module)
    assert "linalg.fill" in text and "linalg.matmul" not in text


def test_other_fill_values_stay() -> None:
    module = ir.Module.parse("""
    func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>, %v: f32) {
      %one = arith.constant 1.0 : f32
      linalg.fill ins(%one : f32) outs(%c : memref<?x?xf32>)
      linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
      linalg.fill ins(%v : f32) outs(%c : memref<?x?xf32>)
      linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
      return
    }""")
    text = run_pass(module)
    assert text.count("linalg.fill") == 2 and "linalg.matmul" not in text


def test_result_that_is_an_operand_stays() -> None:
    module = ir.Module.parse("""
    func.func @f(%a: memref<?x?xf32>, %c: memref<?x?xf32>) {
      linalg.matmul ins(%c, %a : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
      return
    }""")
    assert "linalg.matmul" in run_pass(module)


def test_one_kernel_for_many_calls_and_runs() -> None:
    """Kernels are emitted once, also when the pass runs again."""
    module = einsum_module("bmk,bkn->bmn")
    first = run_pass(module)
    assert run_pass(module) == first
    assert first.count("func.func private @relax.gemm.f32(") == 1
