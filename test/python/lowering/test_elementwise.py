"""linalg-to-loops, against NumPy: loop shapes, element types, reductions, remainders."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import sweep
from generic_loops import LENGTHS, NUMPY, TARGETS, Generic, compiled, guarded, lowered, random

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


ADD = "%r = arith.addf %x0s, %x1s : f32\n linalg.yield %r : f32"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("maps", "types", "reference"),
    [
        (("d0, d1", "d0, d1"), ("?x?", "?x?"), lambda n, m: ((n, m), (n, m))),
        (("d0, d1", "d1"), ("?x?", "?"), lambda n, m: ((n, m), (m,))),
        (("d0, 0", "d0, d1"), ("?x1", "?x?"), lambda n, m: ((n, 1), (n, m))),
        (("d0, 0", "0, d1"), ("?x1", "1x?"), lambda n, m: ((n, 1), (1, m))),
        (("", "d0, d1"), ("", "?x?"), lambda n, m: ((), (n, m))),
    ],
)
def test_broadcasting(
    maps: tuple[str, str],
    types: tuple[str, str],
    reference: Callable[[int, int], tuple[tuple[int, ...], tuple[int, ...]]],
    target: str,
) -> None:
    memrefs = [f"memref<{t}{'x' if t else ''}f32>" for t in (*types, "?x?")]
    functions = compiled(Generic((*maps, "d0, d1"), memrefs, "pp", ADD).text(), target)
    for n in (0, 1, 3):
        for m in LENGTHS:
            left, right = reference(n, m)
            x, y = random(left, "f32", 1), random(right, "f32", 2)
            out, guard = guarded((n, m), np.float32)
            functions("f", x, y, out)
            np.testing.assert_array_equal(out, np.broadcast_to(x + y, (n, m)))
            assert (guard == 1).all()


def test_contiguous_loops_run_as_one() -> None:
    maps, types = ["d0, d1, d2"] * 3, ["memref<?x?x?xf32>"] * 3
    text = lowered(Generic(maps, types, "ppp", ADD).text())
    # Four vectors per step, with or without streaming stores, then one; the rest is one masked vector.
    assert text.count("scf.for") == 3
    assert "vector<8xf32>" in text


def test_rows_of_a_slice_stay_apart() -> None:
    slice_ = "memref<?x40xf32, strided<[100, 1], offset: ?>>"
    source = Generic(["d0, d1"] * 2, [slice_, "memref<?x40xf32>"], "pp", "linalg.yield %x0s : f32").text()
    whole = random((5, 100), "f32")
    out, guard = guarded((5, 40), np.float32)
    compiled(source)("f", whole[:, 30:70], out)
    np.testing.assert_array_equal(out, whole[:, 30:70])
    assert (guard == 1).all()


@pytest.mark.parametrize("dtype", NUMPY)
def test_copies_of_every_type(dtype: str) -> None:
    type_ = f"memref<?x?x{dtype}>"
    functions = compiled(
        f"func.func @f(%x: {type_}, %o: {type_}) {{ memref.copy %x, %o : {type_} to {type_}\n return }}"
    )
    for length in LENGTHS:
        x = random((3, length), dtype)
        out, guard = guarded(x.shape, NUMPY[dtype])
        functions("f", x, out)
        np.testing.assert_array_equal(out, x)
        assert (guard == 1).all()


def test_fill_and_transpose() -> None:
    functions = compiled("""
func.func @fill(%o: memref<?x?xf32>) {
  %v = arith.constant 2.5 : f32
  linalg.fill ins(%v : f32) outs(%o : memref<?x?xf32>)
  return
}
func.func @transpose(%x: memref<?x?x?xf32>, %o: memref<?x?x?xf32>) {
  linalg.transpose ins(%x : memref<?x?x?xf32>) outs(%o : memref<?x?x?xf32>) permutation = [2, 0, 1]
  return
}
func.func @swap_leading(%x: memref<?x?x?xf32>, %o: memref<?x?x?xf32>) {
  linalg.transpose ins(%x : memref<?x?x?xf32>) outs(%o : memref<?x?x?xf32>) permutation = [1, 0, 2]
  return
}""")
    out = np.empty((3, 11), np.float32)
    functions("fill", out)
    assert (out == 2.5).all()
    x = random((3, 5, 17), "f32")
    for name, axes in {"transpose": (2, 0, 1), "swap_leading": (1, 0, 2)}.items():
        want = x.transpose(axes)
        got = np.empty(want.shape, np.float32)
        functions(name, x, got)
        np.testing.assert_array_equal(got, want)


def test_booleans_take_a_byte() -> None:
    """Comparisons write, and selections read, buffers of i1, one byte per element."""
    compare = Generic(
        ["d0"] * 3,
        ["memref<?xf32>", "memref<?xf32>", "memref<?xi1>"],
        "p",
        "%r = arith.cmpf olt, %x0s, %x1s : f32\n linalg.yield %r : i1",
    )
    select = Generic(
        ["d0"] * 3,
        ["memref<?xi1>", "memref<?xf32>", "memref<?xf32>"],
        "p",
        "%z = arith.constant -1.0 : f32\n %r = arith.select %x0s, %x1s, %z : f32\n linalg.yield %r : f32",
    )
    functions = compiled(compare.text("compare") + select.text("select"))
    for length in LENGTHS:
        x, y = random((length,), "f32", 1), random((length,), "f32", 2)
        less, guard = guarded((length,), np.bool_)
        functions("compare", x, y, less)
        np.testing.assert_array_equal(less, x < y)
        assert guard.all()
        chosen, _ = guarded((length,), np.float32)
        functions("select", less, x, chosen)
        np.testing.assert_array_equal(chosen, np.where(x < y, x, np.float32(-1)))


def test_integer_division_is_never_run_on_made_up_lanes() -> None:
    body = "%r = arith.divsi %x0s, %x1s : i32\n linalg.yield %r : i32"
    functions = compiled(Generic(["d0"] * 3, ["memref<?xi32>"] * 3, "p", body).text())
    for length in LENGTHS:
        x = random((length,), "i32")
        y = np.full((length,), 7, np.int32)
        out, _ = guarded((length,), np.int32)
        functions("f", x, y, out)
        np.testing.assert_array_equal(out, np.trunc(x / 7).astype(np.int32))


def test_index_in_the_body() -> None:
    body = """%i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %s = arith.addi %i, %j : index
    %k = arith.index_cast %s : index to i32
    %r = arith.sitofp %k : i32 to f32
    linalg.yield %r : f32"""
    functions = compiled(Generic(["d0, d1"], ["memref<?x?xf32>"], "pp", body).text())
    out = np.empty((3, 21), np.float32)
    functions("f", out)
    np.testing.assert_array_equal(out, np.add.outer(np.arange(3), np.arange(21)))


REDUCTIONS = {
    "addf": ("f32", np.sum),
    "mulf": ("f32", np.prod),
    "maximumf": ("f32", np.max),
    "minimumf": ("f32", np.min),
    "addi": ("i32", lambda x, axis, initial: np.sum(x, axis=axis, initial=initial, dtype=x.dtype)),
    "maxsi": ("i8", np.max),
    "minsi": ("i64", np.min),
    "ori": ("i1", lambda x, axis, initial: np.any(x, axis=axis) | initial),
    "andi": ("i1", lambda x, axis, initial: np.all(x, axis=axis) & initial),
}
INITIAL = {"mulf": 1, "maxsi": -128, "minsi": 2**62, "maximumf": -np.inf, "minimumf": np.inf, "andi": 1}


AXES: tuple[int | tuple[int, int], ...] = (1, 0, (0, 1))


@pytest.mark.parametrize(
    ("op", "axis", "target"),
    [
        (*case, target)
        for target in TARGETS
        for case in sweep.turn(target, TARGETS, list(itertools.product(REDUCTIONS, AXES)))
    ],
)
def test_reductions(op: str, axis: int | tuple[int, int], target: str) -> None:
    dtype, reference = REDUCTIONS[op]
    out_map, shape, kinds = {1: ("d0", "?x", "pr"), 0: ("d1", "?x", "rp"), (0, 1): ("", "", "rr")}[axis]
    body = f"%r = arith.{op} %x0s, %os : {dtype}\n linalg.yield %r : {dtype}"
    types = [f"memref<?x?x{dtype}>", f"memref<{shape}{dtype}>"]
    functions = compiled(Generic(["d0, d1", out_map], types, kinds, body).text(), target)
    initial = NUMPY[dtype](INITIAL.get(op, 0))
    for length in LENGTHS:
        x = random((3, length), dtype)
        want = np.asarray(reference(x, axis=axis, initial=initial))
        out, guard = guarded(want.shape, NUMPY[dtype])
        out[...] = initial
        functions("f", x, out)
        np.testing.assert_allclose(out, want, rtol=2e-6, atol=1e-5)
        assert (guard == 1).all()


@pytest.mark.parametrize(
    ("axis", "dtype", "target"),
    [
        (*case, target)
        for target in TARGETS
        for case in sweep.turn(target, TARGETS, list(itertools.product(AXES, ("f32", "f64"))))
    ],
)
def test_reductions_of_many_operations(axis: int | tuple[int, int], dtype: str, target: str) -> None:
    """Vectors are interleaved: whole groups, single ones and elements are left over, depending on the length."""
    out_map, shape, kinds = {1: ("d0", "?x", "pr"), 0: ("d1", "?x", "rp"), (0, 1): ("", "", "rr")}[axis]
    body = f"%e = math.exp %x0s : {dtype}\n %r = arith.addf %e, %os : {dtype}\n linalg.yield %r : {dtype}"
    types = [f"memref<?x?x{dtype}>", f"memref<{shape}{dtype}>"]
    functions = compiled(Generic(["d0, d1", out_map], types, kinds, body).text(), target)
    for length in (*LENGTHS, 15, 16, 63, 64, 65, 129, 2100):
        x = random((3, length), dtype)
        want = np.asarray(np.exp(x.astype(np.float64)).sum(axis=axis)) + 1
        out, guard = guarded(want.shape, NUMPY[dtype])
        out[...] = 1
        functions("f", x, out)
        np.testing.assert_allclose(out, want, rtol=4e-6 if dtype == "f32" else 1e-13)
        assert (guard == 1).all()


@pytest.mark.parametrize("op", ["maximumf", "minimumf"])
@pytest.mark.parametrize("position", [0, 9, 36, 44])
def test_maximum_and_minimum_propagate_nan(op: str, position: int) -> None:
    body = f"%r = arith.{op} %x0s, %os : f32\n linalg.yield %r : f32"
    types = ["memref<?x?xf32>", "memref<?xf32>"]
    functions = compiled(Generic(["d0, d1", "d0"], types, "pr", body).text())
    x = random((2, 45), "f32")
    x[1, position] = np.nan
    out = np.full((2,), x[:, 0], np.float32)
    functions("f", x, out)
    np.testing.assert_array_equal(np.isnan(out), [False, True])


def test_sums_of_many_are_accurate() -> None:
    body = "%r = arith.addf %x0s, %os : f32\n linalg.yield %r : f32"
    functions = compiled(Generic(["d0", ""], ["memref<?xf32>", "memref<f32>"], "r", body).text())
    x = np.full((1_000_000,), 0.1, np.float32)
    out = np.zeros((), np.float32)
    out = np.zeros((), np.float32)
    functions("f", x, out)
    assert abs(float(out) / (float(np.float32(0.1)) * x.size) - 1) < 1e-4


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", ["f32", "f64", "i32"])
def test_products(dtype: str, transposed: bool) -> None:
    """Matmuls without a kernel."""
    suffix = "i" if dtype == "i32" else "f"
    body = f"""%p = arith.mul{suffix} %x0s, %x1s : {dtype}
    %r = arith.add{suffix} %os, %p : {dtype}
    linalg.yield %r : {dtype}"""
    maps = ["d0, d2", "d1, d2" if transposed else "d2, d1", "d0, d1"]
    functions = compiled(Generic(maps, [f"memref<?x?x{dtype}>"] * 3, "ppr", body).text())
    a, b = random((5, 19), dtype, 1), random((19, 37), dtype, 2)
    out = np.zeros((5, 37), NUMPY[dtype])
    functions("f", a, np.ascontiguousarray(b.T) if transposed else b, out)
    np.testing.assert_allclose(out, a @ b, rtol=1e-5, atol=1e-5)


def test_argmax_keeps_its_order() -> None:
    """Two outputs that depend on each other: not a plain reduction, so the loop stays in order."""
    functions = compiled("""
func.func @f(%x: memref<?x?xf32>, %best: memref<?xf32>, %place: memref<?xi64>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
                                   affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x?xf32>) outs(%best, %place : memref<?xf32>, memref<?xi64>) {
  ^bb0(%v: f32, %b: f32, %p: i64):
    %j = linalg.index 1 : index
    %i = arith.index_cast %j : index to i64
    %g = arith.cmpf ogt, %v, %b : f32
    %nb = arith.select %g, %v, %b : f32
    %np = arith.select %g, %i, %p : i64
    linalg.yield %nb, %np : f32, i64
  }
  return
}""")
    x = random((6, 33), "f32")
    best, place = np.full(6, -np.inf, np.float32), np.zeros(6, np.int64)
    functions("f", x, best, place)
    np.testing.assert_array_equal(place, x.argmax(1))
    np.testing.assert_array_equal(best, x.max(1))


def test_reading_a_table_in_the_body() -> None:
    """An embedding look-up: the body reads a captured buffer."""
    functions = compiled("""
func.func @f(%ids: memref<?xi64>, %table: memref<?x?xf32>, %o: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%ids : memref<?xi64>) outs(%o : memref<?x?xf32>) {
  ^bb0(%id: i64, %old: f32):
    %i = arith.index_cast %id : i64 to index
    %j = linalg.index 1 : index
    %v = memref.load %table[%i, %j] : memref<?x?xf32>
    linalg.yield %v : f32
  }
  return
}""")
    table, ids = random((10, 21), "f32"), np.array([3, 9, 0, 3], np.int64)
    out = np.empty((4, 21), np.float32)
    functions("f", ids, table, out)
    np.testing.assert_array_equal(out, table[ids])


def test_unit_loops_and_single_elements() -> None:
    scale = "%r = arith.addf %x0s, %x0s : f32\n linalg.yield %r : f32"
    functions = compiled(
        Generic(["d0, d1, d2", "d0, d1, d2"], ["memref<1x?x1xf32>"] * 2, "ppp", scale).text("unit")
        + Generic(["", ""], ["memref<f32>"] * 2, "", scale).text("single")
        + Generic(["d0", "d0"], ["memref<1xf32>"] * 2, "p", scale).text("one")
    )
    for name, shape in {"unit": (1, 19, 1), "single": (), "one": (1,)}.items():
        x = random(shape, "f32")
        out, guard = guarded(shape, np.float32)
        functions(name, x, out)
        np.testing.assert_array_equal(out, x + x)
        assert (guard == 1).all()


def test_windows_are_left_to_upstream() -> None:
    """An index map that adds loops."""
    body = "%r = arith.addf %x0s, %os : f32\n linalg.yield %r : f32"
    source = """
func.func @f(%x: memref<?xf32>, %w: memref<3xf32>, %o: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 + d1)>, affine_map<(d0, d1) -> (d1)>,
                                   affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : memref<?xf32>, memref<3xf32>) outs(%o : memref<?xf32>) {
  ^bb0(%x0s: f32, %ws: f32, %os: f32):
    BODY
  }
  return
}""".replace("BODY", body)
    x, out = random((12,), "f32"), np.zeros(10, np.float32)
    compiled(source)("f", x, np.zeros(3, np.float32), out)
    np.testing.assert_allclose(out, x[:-2] + x[1:-1] + x[2:], rtol=1e-5, atol=1e-6)


def random_generic(rng: np.random.Generator) -> tuple[Generic, list[list[int | None]], list[int]]:
    """A sum of up to three operands with random axes, types and reductions; and the loops that index each operand."""
    loops = int(rng.integers(1, 5))
    kinds = "".join(rng.choice(["p", "p", "r"]) for _ in range(loops))
    sizes = [int(rng.choice([1, 2, 3, 8, 19])) for _ in range(loops)]
    static = rng.random(loops) < 0.4
    parallel = [loop for loop in range(loops) if kinds[loop] == "p"]
    operands: list[list[int | None]] = [list(range(loops))]
    for _ in range(int(rng.integers(0, 3))):
        chosen = [loop for loop in range(loops) if rng.random() < 0.6]
        operands.append([loop if rng.random() < 0.9 else None for loop in chosen])
    operands.append(list(parallel))
    if rng.random() < 0.4:
        for axes in operands:
            rng.shuffle(axes)
    maps, types = [], []
    for axes in operands:
        maps.append(", ".join("0" if axis is None else f"d{axis}" for axis in axes))
        dims = ["1" if axis is None else str(sizes[axis]) if static[axis] else "?" for axis in axes]
        types.append(f"memref<{'x'.join([*dims, 'f32'])}>")
    lines = ["%t0 = arith.addf %x0s, %x0s : f32"]
    for i in range(1, len(operands) - 1):
        lines.append(f"%t{i} = arith.addf %t{i - 1}, %x{i}s : f32")
    last = f"%t{len(operands) - 2}"
    if "r" in kinds:
        lines.append(f"%r = arith.addf %os, {last} : f32")
        last = "%r"
    body = "\n    ".join([*lines, f"linalg.yield {last} : f32"])
    return Generic(maps, types, kinds, body), operands, sizes


def spread(array: np.ndarray, axes: Sequence[int | None], loops: int) -> np.ndarray:
    """The array with one axis per loop, of size 1 where the loop does not index it."""
    kept = [axis for axis in axes if axis is not None]
    squeezed = array.reshape([n for n, axis in zip(array.shape, axes, strict=True) if axis is not None])
    ordered = squeezed.transpose([kept.index(axis) for axis in sorted(kept)])
    return ordered.reshape([ordered.shape[sorted(kept).index(i)] if i in kept else 1 for i in range(loops)])


def test_random_nests() -> None:
    rng = np.random.default_rng(2026)
    cases = [random_generic(rng) for _ in range(60)]
    functions = compiled("".join(case.text(f"f{i}") for i, (case, _, _) in enumerate(cases)))
    for i, (case, operands, sizes) in enumerate(cases):
        shapes = [[1 if axis is None else sizes[axis] for axis in axes] for axes in operands]
        inputs = [random(shape, "f32", seed) for seed, shape in enumerate(shapes[:-1])]
        out, guard = guarded(shapes[-1], np.float32)
        out[...] = 0
        functions(f"f{i}", *inputs, out)
        spreads = [spread(x, axes, len(sizes)) for x, axes in zip(inputs, operands, strict=False)]
        total = np.broadcast_to(sum(spreads[1:], 2 * spreads[0]), sizes).astype(np.float64)
        summed = total.sum(tuple(j for j, kind in enumerate(case.kinds) if kind == "r"))
        left = [loop for loop, kind in enumerate(case.kinds) if kind == "p"]
        want = summed.transpose([left.index(axis) for axis in operands[-1] if axis is not None])
        np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-4, err_msg=case.text())
        assert (guard == 1).all()


def test_copies_between_any_strides() -> None:
    any_ = "memref<?x?xf32, strided<[?, ?], offset: ?>>"
    plain = "memref<?x?xf32>"
    functions = compiled(f"""
func.func @gather(%x: {any_}, %o: {plain}) {{
  memref.copy %x, %o : {any_} to {plain}
  return
}}
func.func @scatter(%x: {plain}, %o: {any_}) {{
  memref.copy %x, %o : {plain} to {any_}
  return
}}""")
    whole = random((12, 40), "f32")
    for x in (whole.T, whole[::2, ::3], whole[:, 5:9], np.broadcast_to(whole[:1], (7, 40))):
        out = np.empty(x.shape, np.float32)
        functions("gather", x, out)
        np.testing.assert_array_equal(out, x)
    target = np.zeros((12, 40), np.float32)
    functions("scatter", np.ascontiguousarray(whole[::2, ::3]), target[::2, ::3])
    np.testing.assert_array_equal(target[::2, ::3], whole[::2, ::3])
    assert np.count_nonzero(target) == whole[::2, ::3].size


@pytest.mark.parametrize("op", ["isnan", "isinf", "isfinite"])
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16"])
def test_classification(op: str, dtype: str) -> None:
    body = f"%r = math.{op} %x0s : {dtype}\n linalg.yield %r : i1"
    functions = compiled(Generic(["d0"] * 2, [f"memref<?x{dtype}>", "memref<?xi1>"], "p", body).text())
    x = np.array([0.0, np.nan, np.inf, -np.inf, 1e-45, -3.0] * 3, NUMPY[dtype])
    out, _ = guarded(x.shape, np.bool_)
    functions("f", x, out)
    np.testing.assert_array_equal(out, getattr(np, op)(x))
