"""Loops and conditions of a script, computed and compared with the same program in NumPy."""
# ruff: noqa: B007, F821, SIM201, SIM300, UP037 - names in a script are symbols, and its loops are read

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
import torch
import tvm_ffi
from relax_mlir import op
from relax_mlir.error import ScriptError, ShapeError
from relax_mlir.script import ir as I
from relax_mlir.script import parse
from relax_mlir.script import relax as R

Array = np.ndarray
BIAS = np.arange(4, dtype="float32")
SCALE = torch.tensor([1.0, 2.0, 3.0, 4.0])
ROUNDS = 3
VERBOSE = False
NOTED: list[int] = []


def run(module: rx.IRModule, *arguments: object, name: str = "main") -> Array:
    """The result of a function of the module, also after a round trip through its text."""
    from relax_mlir.analysis.structural import find_difference
    from relax_mlir.script import script_constants

    text = module.script()
    again = parse(text, script_constants(module.mlir))
    assert "I.mlir" not in text
    assert find_difference(module, again) is None, text
    return np.from_dlpack(rx.build(again)[name](*arguments))


def rows(count: int) -> Array:
    return np.random.default_rng(7).random((count, 4), dtype="float32")


@I.ir_module
class Accumulate:
    @R.function
    def main(x: R.Tensor[(n, 4), "f32"], s: R.Shape[(k,)]) -> R.Tensor[(n, 4), "f32"]:
        """The loop variable as a number, in a condition, in a shape."""
        acc = R.zeros((n, 4), "float32")
        for i in R.range(k):
            acc = acc + x * i
            if i > 2 and not n == 3:
                acc += BIAS
            acc = acc + R.sum(R.ones((i, 4), "float32"), axis=0)
        return acc


@pytest.mark.parametrize("n", [0, 1, 3, 5])
@pytest.mark.parametrize("k", [0, 1, 6])
def test_for(n: int, k: int) -> None:
    x = rows(n)
    expected = np.zeros_like(x)
    for i in range(k):
        expected = expected + x * np.float32(i) + (BIAS if i > 2 and n != 3 else 0) + i
    np.testing.assert_allclose(run(Accumulate, x, (k,)), expected, rtol=1e-5)


@I.ir_module
class Strides:
    @R.function
    def main(x: R.Tensor[(n, 4), "f32"], s: R.Shape[(a, b)]) -> R.Tensor[(n, 4), "f32"]:
        for i in R.range(a, b * 2, 3):
            for j in range(i):
                x = x + R.full((), 0.5, "float32") * j
            x = x - i
        for _ in range(ROUNDS):
            x = x * SCALE
        return x


@pytest.mark.parametrize(("a", "b"), [(0, 0), (1, 4), (5, 1), (2, 5)])
def test_steps_nesting_and_captured_values(a: int, b: int) -> None:
    x = rows(2)
    expected = x
    for i in range(a, b * 2, 3):
        for j in range(i):
            expected = expected + np.float32(j * 0.5)
        expected = expected - i
    for _ in range(ROUNDS):
        expected = expected * SCALE.numpy()
    np.testing.assert_allclose(run(Strides, x, (a, b)), expected, rtol=1e-5, atol=1e-5)


@I.ir_module
class While:
    @R.function
    def main(x: R.Tensor[(n, 4), "f32"], limit: R.Tensor[(), "f32"]) -> R.Tensor[(n, 4), "f32"]:
        count = 0
        y = x
        while R.sum(y) < limit and R.max(y) < 100.0:
            x, y = y, x + y
            count += 1
        for i in R.range(count - 1):
            y = y + (i + 1)
        if count % 2 == 1:
            return y
        return x if count // 2 >= 2 else y * 2.0


@pytest.mark.parametrize("limit", [0.0, 10.0, 50.0, 1e9])
def test_while_with_a_swap_and_a_counter(limit: float) -> None:
    first = rows(3)
    x, y, count = first, first, 0
    while y.sum() < limit and y.max() < 100:
        x, y, count = y, x + y, count + 1
    for i in range(count - 1):
        y = y + (i + 1)
    expected = y if count % 2 == 1 else x if count // 2 >= 2 else y * 2
    result = run(While, first, np.array(limit, "float32"))
    np.testing.assert_allclose(result, expected, rtol=1e-5)


@tvm_ffi.register_global_func("test.loops.increment", override=True)
def _increment(x: object) -> None:
    np.from_dlpack(x)[...] += 1


@tvm_ffi.register_global_func("test.loops.note", override=True)
def _note(i: int) -> None:
    NOTED.append(i)


@I.ir_module
class Effects:
    @R.function
    def main(x: R.Tensor[(n, 4), "f32"], s: R.Shape[(k,)]) -> R.Tensor[(n, 4), "f32"]:
        y = x * 2.0
        z = y + 0.0
        for i in R.range(k):
            R.call_packed("test.loops.note", i * 2)
            R.call_packed("test.loops.increment", y)
            limit = R.prim_to_tensor(20 + i * 10)
            while R.sum(y) < R.astype(limit, "float32"):
                R.call_packed("test.loops.increment", y)
                if i > 0:
                    R.call_packed("test.loops.increment", z)
        return y + z * 100.0


@pytest.mark.parametrize("k", [0, 1, 3])
def test_effects_stay_in_order(k: int) -> None:
    x = rows(1)
    y, z = x * 2, x * 2
    for i in range(k):
        y = y + 1
        while y.sum() < 20 + i * 10:
            y = y + 1
            z = z + (i > 0)
    NOTED.clear()
    np.testing.assert_allclose(run(Effects, x.copy(), (k,)), y + z * 100, rtol=1e-5)
    assert NOTED == [2 * i for i in range(k)]


@I.ir_module
class Indexing:
    @R.function
    def main(x: R.Tensor[(n, 4), "f32"]) -> R.Tensor[(4,), "f32"]:
        acc = x[0] * 0.0
        for i in R.range(n):
            acc = acc + x[i, ::-1] * x[-1]
        return acc

    @R.function
    def slices(x: R.Tensor[(n, 4), "f32"]) -> R.Tensor[(1, n, 2, 1), "f32"]:
        return x[None, ..., 1:4:2, None]

    @R.function
    def element(x: R.Tensor[(n, 4), "f32"]) -> R.Tensor[(), "f32"]:
        return x[1, -2]


def test_indexing() -> None:
    x = rows(3)
    expected = (x[:, ::-1] * x[-1]).sum(axis=0)
    np.testing.assert_allclose(run(Indexing, x), expected, rtol=1e-5)
    np.testing.assert_array_equal(run(Indexing, x, name="slices"), x[None, ..., 1:4:2, None])
    np.testing.assert_array_equal(run(Indexing, x, name="element"), x[1, -2])
    with pytest.raises(ShapeError, match="dimension 0 is 0, expected 1"):
        run(Indexing, rows(1), name="element")


@I.ir_module
class Returns:
    @R.function
    def main(x: R.Tensor[(n, 4), "f32"], k: R.Prim("int64")) -> R.Tensor[(n, 4), "f32"]:
        if VERBOSE:
            return no_such_name
        if 0 <= k < 2:
            x += 1.0
            if k == 1:
                return x * 3.0
        elif k == -1 or n > 3:
            return -x
        y = x + k
        return y if not k == 5 else x


@pytest.mark.parametrize("k", [-2, -1, 0, 1, 2, 5])
@pytest.mark.parametrize("n", [1, 4])
def test_returns_in_branches(k: int, n: int) -> None:
    def expected(x: Array) -> Array:
        if 0 <= k < 2:
            x = x + 1
            if k == 1:
                return x * 3
        elif k == -1 or n > 3:
            return -x
        return x + k if k != 5 else x

    np.testing.assert_allclose(run(Returns, rows(n), k), expected(rows(n)), rtol=1e-6)


@I.ir_module
class Integers:
    @R.function
    def main(a: R.Prim("int64"), b: R.Prim("int64")) -> R.Tensor((5,), "int64"):
        return R.concat(
            [
                R.reshape(R.prim_to_tensor(a + b), (1,)),
                R.reshape(R.prim_to_tensor(a - b * 2), (1,)),
                R.reshape(R.prim_to_tensor(a // b), (1,)),
                R.reshape(R.prim_to_tensor(a % b), (1,)),
                R.reshape(R.prim_to_tensor(-a), (1,)),
            ]
        )

    @R.function
    def shape(x: R.Tensor[(n,), "f32"], k: R.Prim("int64")) -> R.Tensor[(n,), "f32"]:
        R.match_shape(k, (m,))
        return x + R.sum(R.ones((m, 2), "float32"))

    @R.function
    def number(x: R.Tensor[(n,), "f32"], k: R.Prim("int64")) -> R.Tensor[(n,), "f32"]:
        R.match_shape(k, (m,))
        return x + m


@pytest.mark.parametrize(("a", "b"), [(7, 2), (-7, 2), (0, 3), (2**40, 3)])
def test_integers(a: int, b: int) -> None:
    assert run(Integers, a, b).tolist() == [a + b, a - b * 2, a // b, a % b, -a]


def test_errors_of_integers_at_run_time() -> None:
    with pytest.raises(ShapeError, match="division by 0; divisors of integers are positive"):
        run(Integers, 1, 0)
    np.testing.assert_array_equal(run(Integers, np.ones(2, "float32"), 3, name="shape"), [7, 7])
    with pytest.raises(ShapeError, match="the integer m is -1; a symbol stands for zero or more"):
        run(Integers, np.ones(2, "float32"), -1, name="number")


@I.ir_module
class Growing:
    @R.function
    def main(x: R.Tensor[(n, 4), "f32"], s: R.Shape[(k,)]) -> R.Tensor[(4,), "f32"]:
        y: R.Tensor((None, 4), "float32") = R.match_shape(x, (None, 4))
        for i in R.range(k):
            known = R.match_shape(y, (m, 4))
            y = R.concat([known, known + 1.0])
        last = R.match_shape(y, (p, 4))
        return R.sum(last, axis=0)


@pytest.mark.parametrize("k", [0, 1, 4])
def test_values_that_grow(k: int) -> None:
    x = rows(2)
    y = x
    for _ in range(k):
        y = np.concatenate([y, y + 1])
    np.testing.assert_allclose(run(Growing, x, (k,)), y.sum(axis=0), rtol=1e-5)


@I.ir_module
class Asserts:
    @R.function
    def main(x: R.Tensor[(n,), "f32"]) -> R.Tensor[(n,), "f32"]:
        assert n > 1, "at least two"
        assert R.sum(x) < 10.0
        return x + 1.0


def test_assert() -> None:
    np.testing.assert_array_equal(run(Asserts, np.ones(2, "float32")), [2, 2])
    with pytest.raises(AssertionError, match="at least two"):
        run(Asserts, np.ones(1, "float32"))
    with pytest.raises(AssertionError):
        run(Asserts, np.full(2, 9, "float32"))


def test_loops_of_the_builder() -> None:
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        acc = op.for_loop(0, 3, lambda i, a: op.add(a, x * i), x)
        a, b = op.for_loop(1, 4, lambda i, a, b: (b, op.add(a, b)), [acc, x])
        c = op.while_loop(lambda v: op.less(op.sum(v), op.const(100.0)), lambda v: v * 2.0, a)
        bb.emit_func_output(b + c)
    given = rows(3)
    one, two = given * 4, given
    for _ in range(3):
        one, two = two, one + two
    while one.sum() < 100:
        one = one * 2
    np.testing.assert_allclose(run(bb.get(), given), one + two, rtol=1e-5)


def test_loops_of_the_builder_refuse() -> None:
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with pytest.raises(rx.error.ArgumentError, match="the step is 0"), bb.function("main", [x]):
        op.for_loop(0, 3, lambda i, a: a, x, step=0)
    with pytest.raises(ShapeError, match=r"the loop changes 'init\[0\]'"), bb.function("main", [x]):
        op.for_loop(0, 3, lambda i, a: op.concat([a, a]), x)
    with pytest.raises(rx.error.ArgumentError, match="expected a function"), bb.function("main", [x]):
        op.while_loop(True, lambda a: a, x)


def test_several_mistakes_in_a_loop_are_reported_once() -> None:
    text = """
@R.function
def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n",), "float32"):
    for i in R.range(3):
        y = R.ad(x, x)
        x = x + y + z
    if c:
        x = R.mul(x)
        return x
    return q + x
"""
    with pytest.raises(ScriptError) as caught:
        parse(text)
    places = [d.location for d in caught.value.diagnostics]
    assert places == ["<script>:5:13", "<script>:8:13", "<script>:10:12"]
