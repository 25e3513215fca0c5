"""Recursive functions, direct and mutual."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import psutil
import pytest
import relax_mlir as rx
from programs import add, from_ffi, registered
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.script import parse

T = rx.Tensor
N = T(("n",), "float32")
K = T((), "int64")


@registered
def halves(x: Any) -> Any:
    return x[: len(x) // 2], x[len(x) // 2 :]


@registered
def merge(x: Any, y: Any) -> Any:
    return np.sort(np.concatenate([x, y]))


@pytest.fixture(scope="module")
def ex() -> Any:
    bb = rx.BlockBuilder()

    def power(x: Any, k: Any) -> Any:
        def more() -> Any:
            return bb.call("power", x, k - 1) * x

        return R.if_then_else(R.greater(k, R.const(0)), more, lambda: x * 0.0 + 1.0)

    def sort(x: Any) -> Any:
        def parts() -> Any:
            pair = R.call_packed(halves, x, out=rx.Tuple([T(ndim=1), T(ndim=1)]))
            first, second = (R.match_shape(R.tuple_get_item(pair, i), (f"m{i}",)) for i in (0, 1))
            both = bb.call("sort", first), bb.call("sort", second)
            return R.call_packed(merge, *both, out=T(ndim=1))

        size = R.call_packed(length, x, out=T((), "bool"))
        return R.if_then_else(size, parts, lambda: R.match_shape(x, (None,)))

    @registered
    def length(x: Any) -> Any:
        return np.array(len(x) > 1)

    add(bb, "power", [N, K], power, result=N)
    add(bb, "forever", [N], lambda x: bb.call("forever", R.exp(x) + x), result=N)
    add(bb, "sort", [N], sort, result=T((None,), "float32"))
    add(bb, "checked", [N, T(("n",), "float32")], lambda x, y: bb.call("power", x + y, R.const(2)))
    return rx.build(bb.get())


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("k", [0, 1, 7, 300])
def test_power(ex: Any, n: int, k: int) -> None:
    x = np.random.default_rng(n).uniform(0.9, 1.1, n).astype("float32")
    np.testing.assert_allclose(from_ffi(ex["power"](x, np.array(k))), x.astype("f8") ** k, rtol=1e-3)


@pytest.mark.parametrize("n", [0, 1, 2, 37])
def test_sizes_that_differ_from_call_to_call(ex: Any, n: int) -> None:
    x = np.random.default_rng(n).random(n, "float32")
    np.testing.assert_array_equal(from_ffi(ex["sort"](x)), np.sort(x))


def test_called_by_others(ex: Any) -> None:
    x = np.arange(4, dtype="float32")
    np.testing.assert_allclose(from_ffi(ex["checked"](x, x)), 4 * x * x, rtol=1e-6)
    with pytest.raises(ShapeError, match="checked: parameter 'y' dimension 0 is 3"):
        ex["checked"](x, x[:3])
    with pytest.raises(rx.error.DTypeError, match="power: parameter 'x' has dtype float64"):
        ex["power"](x.astype("f8"), np.array(1))


def test_endless_recursion_is_an_error(ex: Any) -> None:
    for n in (0, 3, 1000):
        with pytest.raises(RecursionError, match=r"forever: the function calls itself too deep: .* \d+ bytes"):
            ex["forever"](np.ones(n, "float32"))
    x = np.full(3, 2, "float32")
    np.testing.assert_array_equal(from_ffi(ex["power"](x, np.array(3))), x**3)


def test_threads(ex: Any) -> None:
    failures: list[Any] = []

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).random(seed * 5, "float32")
        for _ in range(20):
            try:
                ex["forever"](x)
                failures.append("no error")
            except RecursionError:
                pass
            if not np.allclose(from_ffi(ex["power"](x, np.array(9))), x**9, rtol=1e-4):
                failures.append("power")
            if not np.array_equal(from_ffi(ex["sort"](x)), np.sort(x)):
                failures.append("sort")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 3, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


SCRIPT = """
@I.ir_module
class Module:
    @R.function
    def even(k: R.Tensor((), "int64"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        if k > 0:
            y = cls.odd(k - 1, x + 1.0)
        else:
            y = x * 2.0
        return y

    @R.function(private=True)
    def odd(k: R.Tensor((), "int64"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        if k > 0:
            y = cls.even(k - 1, x + 1.0)
        else:
            y = x * 3.0
        return y
"""


def test_functions_that_call_each_other() -> None:
    module = parse(SCRIPT)
    even = rx.build(module)["even"]
    assert "cls.odd" in module.script()
    for k in (0, 1, 2, 5):
        x = np.arange(3, dtype="float32")
        np.testing.assert_array_equal(from_ffi(even(np.array(k), x)), (x + k) * (3 if k % 2 else 2))
    with pytest.raises(RecursionError):
        even(np.array(10**9), x)


def test_a_function_says_what_it_returns_before_it_calls_itself() -> None:
    bb = rx.BlockBuilder()
    with pytest.raises(ArgumentError, match=r"'main' is still being built; bb.function\(…, result=…\) says"):
        add(bb, "main", [N], lambda x: bb.call("main", x))
    with pytest.raises(ShapeError, match=r'its result is Tensor\(\(n,\), "float32"\), declared is Tensor\(\(4,\)'):
        add(bb, "main", [N], lambda x: x, result=T((4,), "float32"))


def test_errors_come_up_through_all_levels() -> None:
    bb = rx.BlockBuilder()

    @registered
    def fail_at_the_end(k: Any) -> Any:
        if k <= 0:
            raise KeyError("the end")
        return np.array(True)

    def down(x: Any, k: Any) -> Any:
        y = R.match_shape(R.call_packed(halves, x, out=rx.Tuple([T(None, None), rx.Object()]))[0], (None,), "float32")
        R.call_packed(fail_at_the_end, k)
        return R.concat([bb.call("down", x, k - 1), y])

    add(bb, "down", [N, K], down, result=T((None,), "float32"))
    function = rx.build(bb.get())["down"]
    x = np.ones(2000, "float32")

    def call() -> None:
        with pytest.raises(KeyError, match="the end"):
            function(x, np.array(20))

    call()
    gc.collect()
    before = psutil.Process().memory_info().rss
    for _ in range(100):
        call()
    gc.collect()
    assert psutil.Process().memory_info().rss - before < 2 << 20
