"""`relax.donated`: results in the memory of parameters; overlaps, reads before writes, and refused cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.attributes import DONATED
from relax_mlir.error import ArgumentError, RelaxError, UnsupportedError, VerifyError
from relax_mlir.mlir import ir
from relax_mlir.script import parse

MATRIX = rx.Tensor(("n", 4), "float32")


def module(
    make: Callable[..., Any], donated: Sequence[str] | str, params: Sequence[rx.Var], private: bool = False
) -> rx.IRModule:
    builder = rx.BlockBuilder()
    with builder.function("main", params, private=private):
        builder.emit_func_output(make(*params))
    made = builder.get()
    with made.context:
        texts = donated if isinstance(donated, str) else [ir.StringAttr.get(text) for text in donated]
        given = ir.StringAttr.get(texts) if isinstance(texts, str) else ir.ArrayAttr.get(texts)
        made["main"].operation.attributes[DONATED] = given
    return made


def two() -> list[rx.Var]:
    return [rx.Var("x", MATRIX), rx.Var("y", MATRIX)]


def updated(x: rx.Var, cache: rx.Var, at: rx.Var) -> Any:
    """A slice of the cache is replaced; the sum covers all of it, and the first result is the old slice."""
    p, m = symbolic.symbol("p"), symbolic.symbol("m")
    new = R.slice_scatter(cache, x, p, p + m)
    return [R.negative(cache), [R.sum(new), new]]


@pytest.fixture(scope="module")
def cached() -> rx.Executable:
    params = [
        rx.Var("x", rx.Tensor(("m", 4), "float32")),
        rx.Var("cache", MATRIX),
        rx.Var("at", rx.Prim("int64", value="p")),
    ]
    made = module(updated, ["", "", "cache"], params)
    return rx.build(parse(made.script()))


def numbers(rows: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)


def test_a_slice_of_a_parameter(cached: rx.Executable) -> None:
    for rows, new, at in ((6, 2, 3), (1, 1, 0), (3, 0, 1), (5, 5, 0)):
        cache, x = numbers(rows), numbers(new + 10)[:new]
        wanted, before = cache.copy(), cache.copy()
        wanted[at : at + new] = x
        negative, (total,) = cached["main"](x, cache, at)
        np.testing.assert_array_equal(cache, wanted)
        np.testing.assert_array_equal(negative, -before)
        np.testing.assert_allclose(total, wanted.sum(), rtol=1e-5, atol=1e-5)


def test_arguments_that_overlap_are_read_first(cached: rx.Executable) -> None:
    cache = numbers(6)
    wanted = cache.copy()
    wanted[2:5] = cache[1:4].copy()
    cached["main"](cache[1:4], cache, 2)
    np.testing.assert_array_equal(cache, wanted)


def test_memory_that_cannot_be_written(cached: rx.Executable) -> None:
    frozen = numbers(6)
    frozen.flags.writeable = False
    for cache, message in (
        (numbers(6)[::2], "parameter 'cache' is not contiguous, so it cannot be written to"),
        (frozen, "parameter 'cache' is a read-only array, so it cannot be written to"),
    ):
        before = cache.copy()
        with pytest.raises(ArgumentError, match=message):
            cached["main"](numbers(2), cache, 0)
        np.testing.assert_array_equal(cache, before)
    with pytest.raises(ArgumentError, match="takes 3 arguments"):
        cached["main"](numbers(2), numbers(6), 0, np.empty((6, 4), np.float32))


def test_parameters_behind_it_are_read(cached: rx.Executable) -> None:
    """Parameters that are not donated may be read-only, in any position, also in a tuple."""
    assert dict(cached.functions) == {"main": 3}
    pair = rx.Var("p", rx.Tuple((MATRIX, MATRIX)))
    x = rx.Var("x", MATRIX)
    summed = rx.build(module(lambda p, x: R.add(R.add(p[0], p[1]), x), ["p[0]"], [pair, x]))["main"]
    frozen, first = numbers(3), numbers(3) + 1
    frozen.flags.writeable = False
    wanted = first + frozen + frozen
    summed((first, frozen), frozen)
    np.testing.assert_array_equal(first, wanted)
    with pytest.raises(ArgumentError, match=r"parameter 'p\[0\]' is a read-only array"):
        summed((frozen, first), first)


def test_several_parameters() -> None:
    """Values that are swapped, one that is unchanged, and one that is returned in addition."""
    swapped = rx.build(module(lambda x, y: [y, x], ["x", "y"], two()))["main"]
    x, y = numbers(3), numbers(3) + 1
    old = x.copy(), y.copy()
    assert swapped(x, y) == ()
    np.testing.assert_array_equal([x, y], old[::-1])
    with pytest.raises(ArgumentError, match="the given y overlaps the given x"):
        swapped(x, x)
    kept = rx.build(module(lambda x, y: [x, R.add(x, y), R.add(x, y)], ["x", "", "y"], two()))["main"]
    (total,) = kept(x, y)
    np.testing.assert_array_equal(x, old[1])
    np.testing.assert_array_equal(total, old[0] + old[1])
    np.testing.assert_array_equal(y, total)


def test_a_loop_reads_what_it_was_given() -> None:
    """A parameter that each iteration of a loop reads is written after the loop."""

    def rounds(x: rx.Var, y: rx.Var) -> Any:
        return [R.for_loop(0, 3, lambda i, total: R.add(R.multiply(total, R.const(2.0, "float32")), x), y)]

    main = rx.build(module(rounds, ["x"], two()))["main"]
    x, y = numbers(3), numbers(3) + 1
    wanted = 8 * y + 7 * x
    main(x, y)
    np.testing.assert_allclose(x, wanted, rtol=1e-5)


def test_what_reads_all_of_a_parameter() -> None:
    """Prim funcs on buffers, and kernels, which must not overwrite their inputs."""
    n = symbolic.symbol("n")
    weights = np.arange(16, dtype=np.float32).reshape(4, 4)
    cases: list[tuple[Callable[[rx.Var], Any], Callable[[Any], Any]]] = [
        (lambda x: R.sort(x, 0), lambda x: np.sort(x, 0)),
        (lambda x: R.flip(x, 0), lambda x: x[::-1]),
        (lambda x: R.cumsum(x, 0), lambda x: np.cumsum(x, 0)),
        (lambda x: R.matmul(x, R.const(weights)), lambda x: x @ weights),
        (lambda x: R.add(R.take(x, R.const(np.zeros(4, np.int64)), 1), x), lambda x: x[:, :1] + x),
        (
            lambda x: R.slice_scatter(x, R.strided_slice(x, [0], [0], [n - 1], [1]), 1, n),
            lambda x: np.concatenate([x[:1], x[:-1]]),
        ),
        (
            lambda x: R.slice_scatter(x, R.flip(R.strided_slice(x, [0], [1], [n], [1]), 0), 0, n - 1),
            lambda x: np.concatenate([x[1:][::-1], x[-1:]]),
        ),
        (
            lambda x: R.for_loop(0, 2, lambda i, total: R.add(R.flip(total, 0), x), x),
            lambda x: (x[::-1] + x)[::-1] + x,
        ),
        (
            lambda x: R.if_then_else(
                R.greater(R.sum(x), R.const(0.0, "float32")), lambda: R.flip(x, 0), lambda: R.negative(x)
            ),
            lambda x: x[::-1] if x.sum() > 0 else -x,
        ),
        (
            lambda x: R.reshape(R.sort(R.reshape(x, [4, n]), 0), [n, 4]),
            lambda x: np.sort(x.reshape(4, -1), 0).reshape(-1, 4),
        ),
    ]
    builder = rx.BlockBuilder()
    for number, (make, _) in enumerate(cases):
        param = rx.Var("x", MATRIX)
        with builder.function(f"f{number}", [param], bounds={"n": (1, None)}):
            builder.emit_func_output([make(param)])
    made = builder.get()
    with made.context:
        for number in range(len(cases)):
            given = ir.ArrayAttr.get([ir.StringAttr.get("x")])
            made[f"f{number}"].operation.attributes[DONATED] = given
    built = rx.build(made)
    for number, (_, wanted) in enumerate(cases):
        for rows in (1, 5, 33):
            x = numbers(rows)
            expected = wanted(x.copy())
            built[f"f{number}"](x)
            np.testing.assert_allclose(x, expected, rtol=1e-5, atol=1e-5, err_msg=str(number))


@pytest.mark.parametrize(
    ("donated", "private", "error", "message"),
    [
        (["x", ""], False, VerifyError, r'expected a parameter or "" for 1 results'),
        ("x", False, VerifyError, "expected a parameter"),
        (["z"], False, VerifyError, "expected different ones of x, y"),
        (["y"], True, UnsupportedError, "is for public functions, which no other calls"),
    ],
)
def test_wrong_attributes(donated: Sequence[str] | str, private: bool, error: type[RelaxError], message: str) -> None:
    made = module(lambda x, y: R.add(x, y), donated, two(), private)
    if private:
        builder = rx.BlockBuilder(made)
        params = two()
        with builder.function("other", params):
            builder.emit_func_output(builder.call("main", *params))
        made = builder.get()
    with pytest.raises(error, match=message):
        rx.build(made)


def test_what_does_not_fit() -> None:
    made = module(lambda x, y: R.sum(x, [1]), ["y"], two())
    with pytest.raises(VerifyError, match="does not fit into the memory of parameter 'y'"):
        rx.build(made)
    wide = module(lambda x, y: R.astype(x, "float64"), ["y"], two())
    with pytest.raises(VerifyError, match="does not fit into the memory of parameter 'y'"):
        rx.build(wide)
    with pytest.raises(UnsupportedError, match="which native code does alone"):
        rx.vm.build(module(lambda x, y: R.add(x, y), ["y"], two()))
