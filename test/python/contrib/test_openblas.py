"""GEMM by OpenBLAS, against NumPy: the packed function, and programs that call it."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import tvm_ffi
from programs import Program, numpy
from relax_mlir import op as R
from relax_mlir.contrib import openblas
from relax_mlir.error import ArgumentError, UnsupportedError
from relax_mlir.strategy import explain_strategy, temporary_strategy

TOLERANCE = {"float32": 2e-5, "float64": 1e-12}


@pytest.fixture(scope="module")
def matmul() -> tvm_ffi.Function:
    return openblas.load()


def draw(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


# -- the packed function

SIZES = [(1, 1, 1), (3, 5, 7), (17, 1, 33), (1, 64, 9), (65, 33, 0), (0, 3, 4), (3, 0, 4), (129, 130, 131)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("trans", [(False, False), (True, False), (False, True), (True, True)])
def test_sizes(matmul: tvm_ffi.Function, dtype: str, trans: tuple[bool, bool]) -> None:
    for m, n, k in SIZES:
        a = draw((k, m) if trans[0] else (m, k), dtype)
        b = draw((n, k) if trans[1] else (k, n), dtype, 1)
        out = np.full((m, n), np.nan, dtype)
        matmul(a, b, *trans, 0, out)
        expected = (a.T if trans[0] else a) @ (b.T if trans[1] else b)
        np.testing.assert_allclose(out, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * 10)


def test_large_products_on_threads(matmul: tvm_ffi.Function) -> None:
    """More rows than columns, more columns than rows, and large batches: each way to split a GEMM."""
    try:
        for count in (1, 2, 3, 5):
            openblas.set_num_threads(count)
            for shape in ((700, 65, 90), (65, 700, 90), (70, 70, 90)):
                m, n, k = shape
                batch = (7,) if m == n else ()
                a, b = draw((*batch, m, k), "float32"), draw((*batch, k, n), "float32", 1)
                out = np.full((*batch, m, n), np.nan, "f4")
                matmul(a, b, False, False, 0, out)
                np.testing.assert_allclose(out, a @ b, rtol=1e-4, atol=1e-4)
    finally:
        openblas.set_num_threads(rx.Target.host().num_threads)


def test_calls_from_several_threads(matmul: tvm_ffi.Function) -> None:
    """Concurrent calls that all use the thread pool."""
    openblas.set_num_threads(2)
    a, b = draw((200, 120), "float32"), draw((120, 150), "float32", 1)
    expected = a @ b

    def product(_: int) -> np.ndarray:
        out = np.full((200, 150), np.nan, "f4")
        matmul(a, b, False, False, 0, out)
        return out

    try:
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(product, range(60)):
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    finally:
        openblas.set_num_threads(rx.Target.host().num_threads)


def test_matrices_that_lie_apart(matmul: tvm_ffi.Function) -> None:
    """Slices, transposed views, mixed layouts, and an output with gaps between its rows."""
    big = draw((2, 40, 50), "float32")
    cases = [
        (big[0, :7, :9], big[1, 3:12, :11]),
        (big[0, :7, :9], big[1, :11, 3:12].T),
        (big[0, :9, :7].T, big[1, 3:12, :11]),
        (big[0, 5:6, :9], big[1, :9, :1]),
        (big[0, :7, 4:5], big[1, :1, :5]),
        (big[:, :7, :9], big[0, :9, :5]),
        (big[0, :7, :9], big[:, :9, :5]),
        (big[:, :7, :9], big[:1, :9, :5]),
        (big[:, :9, :7].transpose(0, 2, 1), big[:, :9, :5]),
    ]
    for a, b in cases:
        expected = a @ b
        room = np.full((*expected.shape[:-1], expected.shape[-1] + 3), np.nan, "f4")
        out = room[..., 1:-2]
        matmul(a, b, False, False, 0, out)
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
        assert np.isnan(room[..., 0]).all() and np.isnan(room[..., -2:]).all()


def test_values_that_are_no_numbers(matmul: tvm_ffi.Function) -> None:
    a, b = draw((5, 4), "float32"), draw((4, 6), "float32")
    a[1, 2], a[3, 0], b[0, 5] = np.nan, np.inf, -np.inf
    out = np.full((5, 6), np.nan, "f4")  # the old content of the result is not read
    matmul(a, b, False, False, 0, out)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(out, a @ b, rtol=1e-5, atol=1e-5)


def test_zeros_where_nothing_is_summed(matmul: tvm_ffi.Function) -> None:
    for dtype in TOLERANCE:
        room = np.full((2, 3, 9), np.nan, dtype)
        matmul(np.empty((2, 3, 0), dtype), np.empty((0, 5), dtype), False, False, 0, room[..., :5])
        assert (room[..., :5] == 0).all() and np.isnan(room[..., 5:]).all()


def test_arguments_that_do_not_fit(matmul: tvm_ffi.Function) -> None:
    a, b, out = (np.zeros(shape, "f4") for shape in ((3, 4), (4, 5), (3, 5)))
    wrong: list[tuple[tuple[Any, ...], str]] = [
        ((a, b, False, False), r"takes 6 arguments \(a, b, trans_a, trans_b, threads, out\); got 4"),
        ((a, 3, False, False, 0, out), "'b' is of type int, expected a tensor"),
        ((a, b, None, False, 0, out), "'trans_a' is of type None, expected an integer"),
        ((a, b, True, False, 0, out), "'a' has 3 columns, 'b' 4 rows"),
        ((a, b, False, True, 0, out), "'a' has 4 columns, 'b' 5 rows"),
        ((a, b, False, False, 0, out[:2]), "'a' has 3 rows, 'out' 2"),
        ((a, b, False, False, 0, out[:, :4]), "'b' has 5 columns, 'out' 4"),
        ((a[0], b, False, False, 0, out), "'a' has rank 1, expected 2 or 3"),
        ((a, b.astype("f8"), False, False, 0, out), "'b' has dtype float64, but 'a' has float32"),
        ((a.astype("i4"), b, False, False, 0, out), "'a' has dtype int32, expected float32 or float64"),
        ((a, b, False, False, 0, out.astype("f8")), "'out' has dtype float64, but 'a' has float32"),
        ((np.zeros((2, 3, 4), "f4"), b, False, False, 0, out), "'a' has 2 matrices, 'out' 1"),
        (
            (np.zeros((3, 8), "f4")[:, ::2], b, False, False, 0, out),
            "neither the rows nor the columns of 'a'",
        ),
        ((a, b, False, False, 0, np.zeros((5, 3), "f4").T), "the rows of 'out' do not lie together"),
        (
            (np.lib.stride_tricks.as_strided(a, (3, 4), (0, 4)), b, False, False, 0, out),
            "neither the rows nor the columns of 'a'",
        ),
    ]
    for args, message in wrong:
        with pytest.raises(Exception, match=f"matrix product by a library: .*{message}"):
            matmul(*args)
    assert (out == 0).all()
    with pytest.raises(ArgumentError, match="expected 1 to 256"):
        openblas.set_num_threads(0)
    with pytest.raises(ArgumentError, match="expected a number"):
        openblas.set_num_threads("2")  # type: ignore[arg-type]  # on purpose


@pytest.fixture
def pieces() -> Iterator[list[int]]:
    """The number of parts of each GEMM with four threads; an unsplit one is not in the list."""
    loaded, found = openblas._loaded(), list[int]()
    part_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    def run(part: int, job: int, count: int, threads: int) -> None:
        found.append(count)
        part_type(part)(job, 0, count)

    before = loaded.table[2], loaded.table[3]
    loaded.table[2], loaded.table[3] = ctypes.cast(run, ctypes.c_void_p).value or 0, 4
    yield found
    loaded.table[2], loaded.table[3] = before


def test_products_run_on_the_threads_of_the_target(matmul: tvm_ffi.Function, pieces: list[int]) -> None:
    a, b = draw((300, 200), "float32"), draw((200, 150), "float32", 1)
    out = np.full((300, 150), np.nan, "f4")
    for limit in (0, 1, 2, 3, 9):
        matmul(a, b, False, False, limit, out)
        np.testing.assert_allclose(out, a @ b, rtol=1e-4, atol=1e-4)
    assert pieces == [4, 2, 3, 4]
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("m", "k"))), rx.Var("y", rx.Tensor(("k", "n")))
    with bb.function("main", [x, y]):
        bb.emit_func_output(R.matmul(x, y))
    for count, wanted in ((1, []), (2, [2])):
        target = f"cpu -num-threads={count}"
        with temporary_strategy("relax.matmul", openblas.strategy()):
            chosen = rx.build(bb.get(), target)
        generated = rx.build(openblas.use_openblas(bb.get(), target=target), target)
        for executable in (chosen, generated):
            pieces.clear()
            np.testing.assert_allclose(numpy(executable["main"](a, b)), a @ b, rtol=1e-4, atol=1e-4)
            assert pieces == wanted


# -- programs

Build = Callable[..., Any]
CASES: dict[str, tuple[Build, tuple[rx.Tensor, ...], Callable[..., Any], int]] = {}
"""The body, the parameters, the same in NumPy, and the number of calls of the library."""


def case(calls: int, *shapes: tuple[Any, ...], dtype: str = "float32") -> Callable[[Build], Build]:
    def add(body: Build) -> Build:
        CASES[body.__name__] = (
            body,
            tuple(rx.Tensor(shape, dtype) for shape in shapes),
            REFERENCES[body.__name__],
            calls,
        )
        return body

    return add


REFERENCES: dict[str, Callable[..., Any]] = {
    "plain": lambda x, y: x @ y,
    "doubles": lambda x, y: x @ y,
    "transposed_weight": lambda x, y: np.maximum(x @ y.T + 1, 0),
    "both_transposed": lambda x, y: x.T @ y.T,
    "gram": lambda x: x @ x.T,
    "square_of_one": lambda x: x @ x,
    "folded_batch": lambda x, y: np.tanh(x @ y),
    "batches": lambda x, y: x @ y.swapaxes(-1, -2),
    "batch_on_the_right": lambda x, y: x @ y,
    "transposed_batch_on_the_left": lambda x, y: x.swapaxes(-1, -2) @ y,
    "heads_first": lambda x, y: x.transpose(0, 2, 1, 3) @ y.transpose(0, 2, 3, 1),
    "constant_weight": lambda x: x @ WEIGHT,
    "constant_transposed": lambda x: x @ WEIGHT.T,
    "chain": lambda x, y: np.maximum(x @ y, 0) @ y.T,
    "used_twice": lambda x, y: (x @ y) + np.exp(x @ y),
    "vector": lambda x, y: x @ y,
    "broadcast": lambda x, y: x @ y,
}
WEIGHT = draw((8, 8), "float32", 9)


@case(1, ("n", "k"), ("k", "m"))
def plain(bb: rx.BlockBuilder, x: Any, y: Any) -> Any:
    return R.matmul(x, y)


@case(1, ("n", "k"), ("k", "m"), dtype="float64")
def doubles(bb: rx.BlockBuilder, x: Any, y: Any) -> Any:
    return R.matmul(x, y)


@case(1, ("n", "k"), ("m", "k"))
def transposed_weight(bb: rx.BlockBuilder, x: Any, y: Any) -> Any:
    return R.nn.relu(R.add(R.matmul(x, R.permute_dims(y)), R.const(1.0)))


@case(1, ("k", "n"), ("m", "k"))
def both_transposed(bb: rx.BlockBuilder, x: Any, y: Any) -> Any:
    return R.matmul(R.permute_dims(x), R.permute_dims(y, (1, 0)))


@case(1, ("n", "k"))
def gram(bb: rx.BlockBuilder, x: Any) -> Any:
    return R.matmul(x, R.permute_dims(x))


@case(1, ("n", "n"))
def square_of_one(bb: rx.BlockBuilder, x: Any) -> Any:
    return R.matmul(x, x)


@case(1, ("b", 3, "n", 8), (8, "m"))
def folded_batch(bb: rx.BlockBuilder, x: Any, y: Any) -> Any:
    return R.tanh(R.matmul(x, y))


@case(1, ("b", 2, "n", "k"), ("b", 2, "m", "k"))
def batches(bb: rx.BlockBuilder, x: Any, y: Any) -> Any:
    return R.matmul(x, R.permute_dims(y, (0, 1, -1, -2)))


@case(1, ("n", 8), ("b", 8, "m"))
def batch_on_the_right(bb: rx.BlockBuilder, x: Any, y: Any) -> Any:
    return R.matmul(x, y)


@case(1, ("b", 8, "n"), (8, "m"))
def transposed_batch_on_the_left(bb: rx.BlockBuilder, x: Any, y: Any) -> Any:
    return R.matmul(R.permute_dims(x, (0, 2, 1)), y)


@case(1, ("b", "n", 2, 8), ("b", "m", 2, 8))
def heads_first(bb: rx.BlockBuilder, x: Any, y: Any) -> Any:
    """Transpositions of more than the last two dimensions are not part of the call."""
    return R.matmul(R.permute_dims(x, (0, 2, 1, 3)), R.permute_dims(y, (0, 2, 3, 1)))


@case(1, ("n", 8))
def constant_weight(bb: rx.BlockBuilder, x: Any) -> Any:
    return R.matmul(x, WEIGHT)


@case(1, ("n", 8))
def constant_transposed(bb: rx.BlockBuilder, x: Any) -> Any:
    return R.matmul(x, R.permute_dims(R.const(WEIGHT)))


@case(2, ("n", 8), (8, "m"))
def chain(bb: rx.BlockBuilder, x: Any, y: Any) -> Any:
    return R.matmul(R.nn.relu(R.matmul(x, y)), R.permute_dims(y))


@case(1, ("n", 8), (8, "m"))
def used_twice(bb: rx.BlockBuilder, x: Any, y: Any) -> Any:
    product = bb.emit(R.matmul(x, y))
    return R.add(product, R.exp(product))


@case(0, (8,), (8, "m"))
def vector(bb: rx.BlockBuilder, x: Any, y: Any) -> Any:
    return R.matmul(x, y)


@case(0, ("b", 1, "n", 8), (1, 2, 8, "m"))
def broadcast(bb: rx.BlockBuilder, x: Any, y: Any) -> Any:
    return R.matmul(x, y)


SYMBOLS = [
    {"n": 3, "m": 5, "k": 4, "b": 2},
    {"n": 1, "m": 1, "k": 1, "b": 1},
    {"n": 0, "m": 3, "k": 2, "b": 1},
]
SYMBOLS += [
    {"n": 2, "m": 0, "k": 3, "b": 3},
    {"n": 4, "m": 3, "k": 0, "b": 0},
    {"n": 33, "m": 65, "k": 17, "b": 2},
]


@pytest.fixture(scope="module")
def module() -> rx.IRModule:
    program = Program()
    for body, infos, _, _ in CASES.values():
        program.function(*infos)(body)
    return openblas.use_openblas(program.bb.get())


@pytest.fixture(scope="module", params=["native", "bytecode"])
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    executable = built(request.param)
    return lambda name, *args: numpy(executable[name](*args))


@functools.cache
def built(mode: str) -> Any:
    program = Program()
    for body, infos, _, _ in CASES.values():
        program.function(*infos)(body)
    executable = rx.build(openblas.use_openblas(program.bb.get()), exec_mode=mode)
    return rx.VirtualMachine(executable) if mode == "bytecode" else executable


@pytest.mark.parametrize("name", CASES)
def test_programs(run: Callable[..., Any], name: str) -> None:
    _, infos, reference, _ = CASES[name]
    for values in SYMBOLS:
        shapes = [tuple(values.get(dim, dim) if isinstance(dim, str) else dim for dim in texts(info)) for info in infos]
        args = [draw(shape, str(infos[0].dtype), index) for index, shape in enumerate(shapes)]
        found, expected = run(name, *args), reference(*args)
        assert found.shape == expected.shape
        tolerance = TOLERANCE[str(infos[0].dtype)]
        np.testing.assert_allclose(found, expected, rtol=tolerance * 10, atol=tolerance * 10)


def texts(info: rx.Tensor) -> list[Any]:
    return [dim if isinstance(dim, int) else str(dim) for dim in info.known_shape or ()]


@pytest.mark.parametrize("name", CASES)
def test_calls_of_the_library(module: rx.IRModule, name: str) -> None:
    text = str(module[name])
    calls = CASES[name][3]
    assert text.count(f'func = "{openblas.FUNCTION}"') == calls
    assert ('"relax.matmul"' in text) == (calls == 0)
    assert '"relax.call"' not in text and "relax.composite" not in str(module)


# -- choices


def test_what_goes_to_the_library_is_asked_for() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 8), "float32"))
    y = rx.Var("y", rx.Tensor((64, 64), "float64"))
    with bb.function("main", [x, y]):
        small = bb.emit(R.matmul(x, R.permute_dims(x)), "small")
        bb.emit_func_output((small, bb.emit(R.matmul(y, y), "large")))
    seen: list[openblas.Product] = []

    def choose(product: openblas.Product) -> bool:
        seen.append(product)
        return product.work is not None and product.work >= 64**3

    module = openblas.use_openblas(bb.get(), choose)
    assert str(module).count("call_dps_packed") == 1
    assert {(item.dtype, str(item.m), str(item.n), item.k, item.work) for item in seen} == {
        ("float32", "n", "n", 8, None),
        ("float64", "64", "64", 64, 64**3),
    }
    with pytest.raises(ArgumentError, match=r"what 'choose' gives.*True or False"):
        openblas.use_openblas(module, lambda product: None)  # type: ignore[arg-type, return-value]  # on purpose
    with pytest.raises(ArgumentError, match="expected a function of a Product"):
        openblas.use_openblas(module, 3)  # type: ignore[arg-type]  # on purpose


def test_what_the_library_does_not_have_is_an_error() -> None:
    """Other patterns with the library's name: the code generator refuses what it does not support."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "n"), "int32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(R.matmul(x, x), "product"))
    module = bb.get()
    pattern = rx.dpl.is_op("relax.matmul")(rx.dpl.wildcard(), rx.dpl.wildcard())
    fuse = rx.transform.FuseOpsByPattern([("openblas.any", pattern)], annotate_codegen=True)
    with pytest.raises(UnsupportedError) as caught:
        rx.transform.Sequential([fuse, rx.transform.RunCodegen()]).apply_(module)
    for part in (
        "'openblas.any' (matmul) at ",
        "its dtype is int32",
        "give the pattern a check that leaves it out",
    ):
        assert part in str(caught.value)
    assert '"relax.matmul"' in str(module) and "relax.composite" not in str(module)


# -- by strategy


@pytest.mark.parametrize("mode", sweep.quick(["native", "bytecode"], "native"))
def test_strategy(mode: Any) -> None:
    """Large matmuls use the library, small ones our kernels, as do those that it does not support."""
    program = Program()
    matrix, stack = rx.Tensor(("n", "k")), rx.Tensor(("b", "n", "k"), "float64")

    @program.function(matrix, rx.Tensor(("k", "m")))
    def plain(bb: Any, x: Any, y: Any) -> Any:
        return R.nn.relu(R.matmul(x, y))

    @program.function(stack, rx.Tensor(("b", "k", "m"), "float64"))
    def batches(bb: Any, x: Any, y: Any) -> Any:
        return R.matmul(x, y)

    @program.function(rx.Tensor(("n", "k"), "int32"), rx.Tensor(("k", "m"), "int32"))
    def integers(bb: Any, x: Any, y: Any) -> Any:
        return R.matmul(x, y)

    with temporary_strategy("matmul", openblas.strategy(min_work=100)), explain_strategy() as report:
        built = rx.build(program.bb.get(), exec_mode=mode)
    text = report.render(100)
    assert "taken   openblas                20  where k*m*n >= 100" in text
    assert "no      openblas                20  it takes float32 and float64, not int32" in text
    for n, k, m in ((0, 3, 4), (2, 3, 4), (5, 5, 4), (33, 0, 17), (33, 65, 17)):
        a, b = draw((n, k), "float32"), draw((k, m), "float32", 1)
        np.testing.assert_allclose(numpy(built["plain"](a, b)), np.maximum(a @ b, 0), rtol=2e-5, atol=2e-4)
        a, b = draw((3, n, k), "float64"), draw((3, k, m), "float64", 1)
        np.testing.assert_allclose(numpy(built["batches"](a, b)), a @ b, rtol=1e-12, atol=1e-12)
    a = np.arange(6, dtype="int32").reshape(2, 3)
    np.testing.assert_array_equal(numpy(built["integers"](a, a.T.copy())), a @ a.T)
    with pytest.raises(ArgumentError, match="'min_work' is -1"):
        openblas.strategy(min_work=-1)
