"""Work across rows, in blocks transposed in registers, against NumPy: permutations, sizes, element types, chains."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import sweep
from generic_loops import Generic, compiled, guarded, random
from masked import built
from relax_mlir import op as R
from relax_mlir.runtime import to_numpy
from relax_mlir.runtime.elf import SUPPORTED
from relax_mlir.runtime.executable import Executable
from relax_mlir.target import Target

Array = np.ndarray[Any, Any]

TARGETS = ("cpu", "cpu -mattr=-avx512f", "cpu -mcpu=x86-64 -num-threads=2")
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "uint8", "bool")
FEW = ((1, 0), (0, 2, 1), (2, 1, 0))
SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 33)
LARGE = (48, 63, 64, 65, 79, 80, 81, 130, 200)
LATENCY_CRITICAL = (0, 1, 3, 4, 8, 9, 16, 17, 20)


def permutations(ranks: Sequence[int]) -> list[tuple[int, ...]]:
    every = (p for rank in ranks for p in itertools.permutations(range(rank)))
    return [axes for axes in every if axes != tuple(sorted(axes))]


def name_of(axes: Sequence[int], dtype: str = "float32") -> str:
    return f"p{''.join(map(str, axes))}_{dtype}"


def draw(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Array:
    numbers = rng.normal(size=shape) * 20
    if dtype == "bool":
        return np.asarray(numbers > 0)
    if dtype.startswith("uint"):
        numbers = np.abs(numbers)
    return np.asarray(numbers).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def shapes(rng: np.random.Generator, rank: int, count: int) -> Iterator[tuple[int, ...]]:
    for turn in range(count):
        sizes = (LATENCY_CRITICAL if rank == 4 else SIZES) if turn % 4 else SIZES[:6] + LARGE * (4 - rank)
        yield tuple(int(size) for size in rng.choice(sizes, size=rank))


def tried(target: str) -> list[tuple[tuple[int, ...], str]]:
    """Every permutation of two to four axes in f32, and of few axes in all types; most are split among the targets."""
    every = [(axes, "float32") for axes in permutations((2,))]
    for rank in (3, 4):
        every += sweep.turn(target, TARGETS, [(axes, "float32") for axes in permutations((rank,))])
    for number, dtype in enumerate(DTYPES[1:]):
        if dtype in widths(target):
            first = number % len(FEW)
            every += [(axes, dtype) for axes in sweep.turn(target, TARGETS, FEW[first:] + FEW[:first])]
    return every


def widths(target: str) -> list[str]:
    """The types other than f32 that are tested for a target."""
    return sweep.turn(target, TARGETS, DTYPES[1:])


@cache
def copies(target: str) -> Executable:
    """`permute_dims` by the tested permutations."""
    bb = rx.BlockBuilder()
    for axes, dtype in tried(target):
        x = rx.Var("x", rx.Tensor(tuple("abcd"[: len(axes)]), dtype))
        with bb.function(name_of(axes, dtype), [x]):
            bb.emit_func_output(R.permute_dims(x, list(axes)))
    return rx.build(bb.get(), target)


@pytest.mark.parametrize("target", sweep.quick(TARGETS, TARGETS[0], TARGETS[2]))
@pytest.mark.parametrize("rank", [2, 3, 4])
def test_every_permutation(rank: int, target: str) -> None:
    rng = np.random.default_rng(rank)
    for axes, dtype in tried(target):
        if len(axes) != rank or dtype != "float32":
            continue
        for shape in shapes(rng, rank, 40 if rank == 2 else 8):
            x = draw(rng, shape, "float32")
            got = to_numpy(copies(target)[name_of(axes)](x))
            np.testing.assert_array_equal(got, x.transpose(axes), err_msg=f"{axes} {shape}")


@pytest.mark.parametrize(("dtype", "target"), [(dtype, target) for target in TARGETS for dtype in widths(target)])
def test_every_width(dtype: str, target: str) -> None:
    rng = np.random.default_rng(5)
    for axes in (axes for axes, other in tried(target) if other == dtype):
        for shape in shapes(rng, len(axes), 24):
            x = draw(rng, shape, dtype)
            got = to_numpy(copies(target)[name_of(axes, dtype)](x))
            assert got.tobytes() == np.ascontiguousarray(x.transpose(axes)).tobytes(), f"{axes} {shape}"


def chains_of(target: str) -> list[str]:
    """The chains that are tested for a target."""
    return sweep.turn(target, TARGETS, [*CHAINS])


@cache
def chains(target: str) -> Executable:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n", "m"), "float32")), rx.Var("y", rx.Tensor(("m", "n"), "float32"))
    row, column = rx.Var("r", rx.Tensor(("n",), "float32")), rx.Var("c", rx.Tensor(("m", 1), "float32"))

    def turned(value: Any = x) -> Any:
        return R.permute_dims(value, [1, 0])

    def sliced() -> Any:
        part = R.strided_slice(R.strided_slice(x, [1], [1], [1000]), [0], [0], [1000], [2])
        return turned(part)

    programs: dict[str, tuple[list[rx.Var], Callable[[], Any]]] = {
        "sum": ([x, y], lambda: turned() + y),
        "broadcast": ([x, row, column], lambda: turned() * row - column),
        "both": ([x, y], lambda: R.maximum(turned(), turned(x * 2.0)) - y),
        "in_place": ([x, y], lambda: turned() - R.exp(y)),
        "negative": ([x], lambda: R.negative(turned())),
        "less": ([x, y], lambda: R.less(turned(), y)),
        "narrower": ([x, y], lambda: R.astype(turned() + y, "float16")),
        "sliced": ([x], sliced),
        "stepped": ([x], lambda: turned(R.strided_slice(x, [1], [0], [1000], [2]))),
        "placed": ([x, y], lambda: R.concat([y, turned(), y], 1)),
    }
    for name in chains_of(target):
        params, body = programs[name]
        with bb.function(name, params):
            bb.emit_func_output(body())
    return rx.build(bb.get(), target)


CHAINS = {
    "sum": lambda x, y, row, column: (x.T + y, (x, y)),
    "broadcast": lambda x, y, row, column: (x.T * row - column, (x, row, column)),
    "both": lambda x, y, row, column: (np.maximum(x.T, x.T * 2) - y, (x, y)),
    "in_place": lambda x, y, row, column: (x.T - np.exp(y), (x, y)),
    "negative": lambda x, y, row, column: (-x.T, (x,)),
    "less": lambda x, y, row, column: (np.less(x.T, y), (x, y)),
    "narrower": lambda x, y, row, column: ((x.T + y).astype(np.float16), (x, y)),
    "sliced": lambda x, y, row, column: (x[::2, 1:].T, (x,)),
    "stepped": lambda x, y, row, column: (x[:, ::2].T, (x,)),
    "placed": lambda x, y, row, column: (np.concatenate([y, x.T, y], 1), (x, y)),
}


@pytest.mark.parametrize(
    ("name", "target"),
    [(name, target) for target in TARGETS for name in chains_of(target)],
)
def test_chains(name: str, target: str) -> None:
    rng = np.random.default_rng(7)
    for n, m in shapes(rng, 2, 60):
        m += name == "sliced"
        values = [draw(rng, shape, "float32") / 20 for shape in ((n, m), (m, n), (n,), (m, 1))]
        want, arguments = CHAINS[name](*values)
        got = to_numpy(chains(target)[name](*arguments))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=f"{n}x{m}")


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_parts_of_threads(dtype: str) -> None:
    """Enough work for two threads, in parts whose last one holds a partial block."""
    bb = rx.BlockBuilder()
    value = rx.Var("x", rx.Tensor(("n", "m"), dtype))
    with bb.function("main", [value]):
        bb.emit_func_output(R.permute_dims(value, [1, 0]))
    main = rx.build(bb.get(), "cpu -num-threads=2")["main"]
    rng = np.random.default_rng(11)
    for shape in ((700, 900), (20_000, 33), (9, 40_000), (40_000, 15), (1025, 401)):
        x = draw(rng, shape, dtype)
        got = to_numpy(main(x))
        np.testing.assert_array_equal(got, x.T, err_msg=str(shape))


TURN = {"maps": ["d1, d0", "d0, d1"], "kinds": "pp"}


def test_static_sizes() -> None:
    for n, m in ((16, 32), (17, 40), (100, 65), (5, 64), (1, 20)):
        types = [f"memref<{n}x{m}xf32>", f"memref<{m}x{n}xf32>"]
        functions = compiled(Generic(types=types, body="linalg.yield %x0s : f32", **TURN).text())
        x = random((n, m), "f32")
        out, guard = guarded((m, n), np.float32)
        functions("f", x, out)
        np.testing.assert_array_equal(out, x.T)
        assert (guard == 1).all()


def test_numbers_of_iterations_in_the_body() -> None:
    body = """%i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %ten = arith.constant 1000 : index
    %t = arith.muli %i, %ten : index
    %s = arith.addi %t, %j : index
    %k = arith.index_cast %s : index to i32
    %r = arith.addi %x0s, %k : i32
    linalg.yield %r : i32"""
    functions = compiled(Generic(types=["memref<?x?xi32>"] * 2, body=body, **TURN).text())
    for n, m in ((3, 5), (8, 16), (19, 70)):
        x = random((n, m), "i32")
        out, _ = guarded((m, n), np.int32)
        functions("f", x, out)
        np.testing.assert_array_equal(out, x.T + np.add.outer(np.arange(m) * 1000, np.arange(n)))


def test_divisors_of_zero_outside_are_not_divided_by() -> None:
    body = "%r = arith.divsi %x0s, %x1s : i32\n linalg.yield %r : i32"
    maps, types = ["d1, d0", "d0, d1", "d0, d1"], ["memref<?x?xi32>"] * 3
    functions = compiled(Generic(maps, types, "pp", body).text())
    for n, m in ((3, 5), (8, 16), (19, 70)):
        x = random((n, m), "i32")
        out, _ = guarded((m, n), np.int32)
        functions("f", x, np.full((m, n), 7, np.int32), out)
        np.testing.assert_array_equal(out, np.trunc(x.T / 7).astype(np.int32))


@pytest.mark.skipif(not (SUPPORTED and Target.host().has("avx2", "fma")), reason="runs code for AVX2 and FMA")
def test_code_for_a_cpu_with_avx2() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "m"), "float32"))
    with bb.function("f", [x]):
        bb.emit_func_output(R.permute_dims(x, [1, 0]))
    executable, assembly = built(bb.get(), Target("cpu -mcpu=haswell"))
    assert "%ymm" in assembly.text and "%zmm" not in assembly.text
    rng = np.random.default_rng(3)
    for shape in shapes(rng, 2, 40):
        values = draw(rng, shape, "float32")
        np.testing.assert_array_equal(to_numpy(executable["f"](values)), values.T)
