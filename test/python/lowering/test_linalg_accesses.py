"""Accesses of ``linalg`` ops in prim funcs that are monotonic in their loops: sums, multiples and ``floordiv``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.error import ShapeError
from relax_mlir.transform import parse_pipeline

Index = Callable[[Any, Any], Any]
ACCESSES: dict[str, tuple[str, Index]] = {
    "halves": ("i floordiv 2, j floordiv 2", lambda i, j: (i // 2, j // 2)),
    "sum": ("i + j, j floordiv 2", lambda i, j: (i + j, j // 2)),
    "sum_of_halves": ("(i + j) floordiv 2, j floordiv 2", lambda i, j: ((i + j) // 2, j // 2)),
    "halves_and_sum": ("i floordiv 3 + j, j floordiv 2", lambda i, j: (i // 3 + j, j // 2)),
    "columns": ("i floordiv 2, j + 3", lambda i, j: (i // 2, j + 3)),
    "multiple_of_half": ("(i floordiv 2) * 2, j floordiv 2", lambda i, j: (i // 2 * 2, j // 2)),
    "half_of_half": ("(i floordiv 2) floordiv 3, j floordiv 2", lambda i, j: (i // 2 // 3, j // 2)),
    "turned": ("j floordiv 4, i floordiv 5", lambda i, j: (j // 4, i // 5)),
    "constant": ("i floordiv 9223372036854775807, 1", lambda i, j: (i * 0, i * 0 + 1)),
    "far": ("i * 4611686018427387904, j floordiv 2", lambda i, j: (i * 4611686018427387904, j // 2)),
}
T, OUT = 'tensor<?x?xf32, #relax.shape<["p", "q"]>>', 'tensor<?x?xf32, #relax.shape<["n", "m"]>>'
PRIM = """
func.func private @k_{name}(%x: {X}, %o: {O}) -> {O} attributes {{
  relax.prim_func
}} {{
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> ({access})>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  }} ins(%x : {X}) outs(%o : {O}) {{
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }} -> {O}
  return %r : {O}
}}
func.func @{name}(%x: {T}, %like: {OUT}) -> {OUT} {{
  {before}
  %t = builtin.unrealized_conversion_cast %y : {T} to tuple<{T}>
  %z = "relax.call_tir"(%t) {{callee = @k_{name}, tir_vars = []}} : (tuple<{T}>) -> {OUT}
  {after}
  return %w : {OUT}
}}
"""


def function(name: str, access: str, given: str, result: str) -> str:
    """A function of x and like: a prim func's reads of abs(x) at `access`, plus like."""
    plain = [type_.partition(",")[0].rstrip(">") + ">" for type_ in (given, result)]
    before = f'%y = "relax.abs"(%x) : ({given}) -> {given}'
    after = f'%w = "relax.add"(%z, %like) : ({result}, {result}) -> {result}'
    return PRIM.format(
        name=name, access=access, T=given, OUT=result, X=plain[0], O=plain[1], before=before, after=after
    )


@pytest.fixture(scope="module")
def built() -> rx.Executable:
    text = "".join(function(name, access, T, OUT) for name, (access, _) in ACCESSES.items())
    return rx.build(rx.IRModule.parse(text))


@pytest.mark.parametrize("name", ACCESSES)
def test_accesses(built: rx.Executable, name: str) -> None:
    """Elements are those of NumPy, between ops that could be fused; what is outside is an error."""
    random, kinds = np.random.default_rng(0), set()
    main = built[name]
    for n, m in [(0, 0), (0, 3), (3, 0), (1, 1), (2, 1), (5, 1), (7, 3), (12, 12), (33, 19)]:
        i, j = np.indices((n, m))
        rows, columns = ACCESSES[name][1](i.astype(object), j.astype(object))
        last = [int(index.max()) if index.size else 0 for index in (rows, columns)]
        for p, q in {(last[0] + 1, last[1] + 1), (last[0], last[1] + 1), (last[0] + 1, last[1]), (9, 2)}:
            if p > 1000:
                continue
            x, like = (random.standard_normal(s).astype("float32") for s in ((p, q), (n, m)))
            if not rows.size or (p > last[0] and q > last[1]):
                expected = np.abs(x)[rows.astype(int), columns.astype(int)] + like if rows.size else like
                assert np.array_equal(np.from_dlpack(main(x, like)), expected)
                kinds.add("inside")
            else:
                with pytest.raises(ShapeError, match=r"dimension [01] is \d+, which its loops"):
                    main(x, like)
                kinds.add("outside")
    assert kinds == {"inside", "outside"}


@pytest.mark.parametrize(("given", "result"), [("(n + 1) // 2", "n"), ("3", "6"), ("n", "2 * n")])
def test_proved_accesses(given: str, result: str) -> None:
    """Repeated rows, whose indices are proved: the prim func needs no check, and is fused with its neighbours."""
    types = (
        f"tensor<{dim}x4xf32>" if dim.isdecimal() else f'tensor<?x4xf32, #relax.shape<["{dim}", 4]>>'
        for dim in (given, result)
    )
    main = rx.build(rx.IRModule.parse(function("f", "i floordiv 2, j", *types)))["f"]
    random = np.random.default_rng(2)
    for n in [6] if result == "6" else [0, 2, 4, 18]:
        x = random.standard_normal(((n + 1) // 2, 4)).astype("float32")
        like = random.standard_normal((n, 4)).astype("float32")
        expected = np.repeat(np.abs(x), 2, axis=0)[:n] + like
        assert np.array_equal(np.from_dlpack(main(x, like)), expected)


@pytest.mark.parametrize("heads", [(4, 2), (6, 1), (3, 3)])
def test_attention_after_canonicalize(heads: tuple[int, int]) -> None:
    """Bodies of grouped attention read ``h floordiv g``; they are compiled when a pass has changed them, too."""
    bb = rx.BlockBuilder()
    q = rx.Var("q", rx.Tensor(("b", "s", heads[0], 8), "float32"))
    k, v = (rx.Var(name, rx.Tensor(("b", "t", heads[1], 8), "float32")) for name in "kv")
    with bb.function("main", [q, k, v]):
        bb.emit_func_output(bb.emit(R.nn.attention(q, k, v)))
    mod = bb.get()
    plain = rx.build(mod)["main"]
    parse_pipeline("builtin.module(legalize-ops,canonicalize)").apply_(mod)
    changed = rx.build(mod)["main"]
    random = np.random.default_rng(1)
    for b, s, t in [(1, 1, 1), (2, 3, 5), (0, 2, 2), (1, 17, 4)]:
        given = [
            random.standard_normal((b, n, h, 8)).astype("float32")
            for n, h in ((s, heads[0]), (t, heads[1]), (t, heads[1]))
        ]
        results = [np.from_dlpack(f(*given)) for f in (plain, changed)]
        np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-6)
