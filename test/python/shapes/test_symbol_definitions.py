"""Symbols that appear in the parameters only inside of expressions, and bounds of symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, RelaxError, ShapeError, UnknownNameError, VerifyError
from relax_mlir.lowering.pipeline import pipeline
from relax_mlir.script import parse

Dims = Sequence[Any]


def tensor(*dims: Any) -> rx.Tensor:
    return rx.Tensor(dims, "float32")


def module(
    params: Sequence[rx.StructInfo], sizes: Dims, bounds: Mapping[str, tuple[int, int | None]] | None = None
) -> rx.IRModule:
    """``main(params) = full(sizes, 1.0)``."""
    bb = rx.BlockBuilder()
    variables = [rx.Var("xyz"[i], info) for i, info in enumerate(params)]
    with bb.function("main", variables, bounds=bounds):
        bb.emit_func_output(R.full(list(sizes), 1.0))
    return bb.get()


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    return [np.zeros(shape, "float32") for shape in shapes]


SOLVED: dict[str, tuple[list[rx.StructInfo], Dims, list[tuple[int, ...]], tuple[int, ...]]] = {
    "2*n": ([tensor("2*n")], ("n",), [(10,)], (5,)),
    "2*n, zero": ([tensor("2*n")], ("n",), [(0,)], (0,)),
    "n + 1": ([tensor("n + 1")], ("n",), [(4,)], (3,)),
    "n + 1, least": ([tensor("n + 1")], ("n",), [(1,)], (0,)),
    "3*n + 2": ([tensor("3*n + 2", 4)], ("n", 2), [(11, 4)], (3, 2)),
    "7 - n": ([tensor("7 - n")], ("n",), [(3,)], (4,)),
    "n*m, n": ([tensor("n*m", "n")], ("m", "n"), [(12, 3)], (4, 3)),
    "n, n*m + k, k": ([tensor("n"), tensor("n*m + k", "k")], ("m",), [(3,), (14, 2)], (4,)),
    "a chain": (
        [tensor("a + 1"), tensor("a*b"), tensor("b*c + a")],
        ("a", "b", "c"),
        [(3,), (6,), (11,)],
        (2, 3, 3),
    ),
    "a constant factor first": ([tensor("n*m", "2*n", "n")], ("m",), [(6, 4, 2)], (3,)),
    "used again": ([tensor("2*n", "3*n")], ("n",), [(4, 6)], (2,)),
    "a known division": ([tensor("n", "n // 2 + m")], ("m",), [(5, 3)], (1,)),
    "a shape": ([rx.Shape(("2*n", "n + m"))], ("n", "m"), [(6, 7)], (3, 4)),
    "(n + 1)*m": ([tensor("n", "n*m + m")], ("m",), [(2, 6)], (2,)),
}


@pytest.mark.parametrize("case", SOLVED)
def test_solved(case: str) -> None:
    params, sizes, given, expected = SOLVED[case]
    mod = module(params, sizes)
    assert_structural_equal(mod, parse(mod.script()))
    arguments = given if isinstance(params[0], rx.Shape) else arrays(*given)
    assert np.from_dlpack(rx.build(mod)["main"](*arguments)).shape == expected


FAILING = {
    "odd": (
        [tensor("2*n")],
        [(5,)],
        r"main: parameter 'x' dimension 0 is 5, which is 2\*n for no n = 0, 1, 2",
    ),
    "negative": ([tensor("n + 3")], [(2,)], r"parameter 'x' dimension 0 is 2, which is n \+ 3 for no n"),
    "falling": ([tensor("7 - n")], [(8,)], r"parameter 'x' dimension 0 is 8, which is 7 - n for no n"),
    "not whole": (
        [tensor("n*m", "n")],
        [(7, 2)],
        r"is 7, which is m\*n for no m .*n = 2 taken from parameter 'x' dimension 1",
    ),
    "zero factor": (
        [tensor("n*m", "n")],
        [(0, 0)],
        r"is 0, m\*n, which tells nothing of symbol 'm' where n is 0, n = 0 taken from parameter 'x' dimension 1",
    ),
    "disagrees": (
        [tensor("2*n", "3*n")],
        [(4, 9)],
        r"parameter 'x' dimension 1 is 9, but 3\*n = 6, with n = 2 taken from parameter 'x' dimension 0",
    ),
}


@pytest.mark.parametrize("case", FAILING)
def test_arguments_that_do_not_fit(case: str) -> None:
    params, given, message = FAILING[case]
    with pytest.raises(ShapeError, match=message):
        rx.build(module(params, (1,)))["main"](*arrays(*given))


@pytest.mark.parametrize("dim", ["n // 2", "n % 4", "n*n", "n*m", "n + m", "min(n, 4)", "max(n, m) + n", "n // 2 + n"])
def test_what_stays_refused(dim: str) -> None:
    with pytest.raises(VerifyError, match=r"uses symbol '[nm]', which no dimension .* defines.*\[invariant 3\]"):
        module([tensor(dim)], (1,))


def test_order_of_definitions() -> None:
    dims = [symbolic.parse(text) for text in ("n*m", "2*k + m", "n", "n")]
    found = symbolic.definitions(dims)
    assert [(d.index, d.symbol) for d in found] == [(2, "n"), (0, "m"), (1, "k")]
    assert str(found[2].dim) == "2*k + m" and found[2].scale == 2 and str(found[2].offset) == "m"
    assert symbolic.definitions(dims, known=["n", "m", "k"]) == []


def test_the_caller_learns_shapes_through_expressions() -> None:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", tensor("2*n")), rx.Var("y", tensor("n + 1", "m"))
    with bb.function("half", [x, y], private=True):
        bb.emit_func_output(R.full(("n", "m*n + 1"), 1.0))
    a, b = rx.Var("a", tensor("4*k")), rx.Var("b", tensor("2*k + 1", 3))
    with bb.function("main", [a, b]):
        called = bb.call("half", a, b)
        assert str(called.struct_info) == 'Tensor((2*k, 6*k + 1), "float32")'
        bb.emit_func_output(called)
    result = rx.build(bb.get())["main"](*arrays((8,), (5, 3)))
    assert np.from_dlpack(result).shape == (4, 13)


@pytest.mark.parametrize(("param", "argument"), [("2*n", "k"), ("2*n", 5), ("n + 1", "k"), ("n + 3", 2)])
def test_calls_that_are_not_provably_right(param: Any, argument: Any) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", tensor(param))
    with bb.function("callee", [x], private=True):
        bb.emit_func_output(x)
    y = rx.Var("y", tensor(argument, "k"))
    with (
        pytest.raises(ShapeError, match=r"call of 'callee': argument 0 .* match_shape it"),
        bb.function("main", [y]),
    ):
        bb.call("callee", R.full((argument,), 1.0))


def test_bounds_make_calls_provable() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", tensor("n + 1"))
    with bb.function("callee", [x], private=True):
        bb.emit_func_output(R.full(("n",), 1.0))
    y = rx.Var("y", tensor("k"))
    with bb.function("main", [y], bounds={"k": (1, None)}):
        bb.emit_func_output(bb.call("callee", y))
    executable = rx.build(bb.get())
    assert np.from_dlpack(executable["main"](*arrays((4,)))).shape == (3,)
    with pytest.raises(ShapeError, match=r"main: symbol 'k' is 0, taken from .*, below its lower bound 1"):
        executable["main"](*arrays((0,)))


# -- bounds


def test_bounds_are_checked_at_entry() -> None:
    call = rx.build(module([tensor("n", "m")], ("n",), {"n": (1, 4096), "m": (2, None)}))["main"]
    assert np.from_dlpack(call(*arrays((1, 2)))).shape == (1,)
    assert np.from_dlpack(call(*arrays((4096, 9)))).shape == (4096,)
    with pytest.raises(
        ShapeError, match="symbol 'n' is 0, taken from parameter 'x' dimension 0, below its lower bound 1"
    ):
        call(*arrays((0, 2)))
    with pytest.raises(
        ShapeError, match="symbol 'n' is 4097, taken from parameter 'x' dimension 0, above its upper bound"
    ):
        call(*arrays((4097, 2)))
    with pytest.raises(
        ShapeError, match="symbol 'm' is 1, taken from parameter 'x' dimension 1, below its lower bound 2"
    ):
        call(*arrays((3, 1)))


@pytest.mark.parametrize("private", [True, False])
def test_bounds_are_checked_across_calls(private: bool) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", tensor("n"))
    with bb.function("callee", [x], private=private, bounds={"n": (4, 8)}):
        bb.emit_func_output(R.add(x, x))
    y = rx.Var("y", tensor("k"))
    with bb.function("main", [y]):
        bb.emit_func_output(bb.call("callee", y))
    call = rx.build(bb.get())["main"]
    assert np.from_dlpack(call(*arrays((4,)))).shape == (4,)
    for size, message in (
        (3, "callee: symbol 'n' is 3, .* below its lower bound 4"),
        (9, "is 9, .* above its upper"),
    ):
        with pytest.raises(ShapeError, match=message):
            call(*arrays((size,)))


def test_a_call_that_cannot_fit_the_bounds_is_refused_when_it_is_built() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", tensor("n"))
    with bb.function("callee", [x], private=True, bounds={"n": (4, 8)}):
        bb.emit_func_output(x)
    y = rx.Var("y", tensor("k + 9"))
    with (
        pytest.raises(ShapeError, match=r"call of 'callee': its symbol 'n' is k \+ 9 here, but must be at most 8"),
        bb.function("main", [y]),
    ):
        bb.call("callee", y)


def test_bounds_serve_proofs() -> None:
    """A reshape whose sizes are equal only within the bounds needs no check, and broadcasts are decided."""
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", tensor("n")), rx.Var("y", tensor("n % 8", 2))
    with bb.function("main", [x, y], bounds={"n": (0, 7)}):
        z = R.add(x, R.full(("n % 8",), 1.0))
        assert z.shape == x.shape
        bb.emit_func_output([R.add(R.reshape(x, ("n % 8", 1)), y), z])
    mod = bb.get()
    lowered = mod.clone()
    lowered.apply_(pipeline("relax-to-tensors"))
    assert "cannot make shape" not in str(lowered)
    result = rx.build(mod)["main"](*arrays((5,), (5, 2)))
    assert np.from_dlpack(result[0]).shape == (5, 2)
    with pytest.raises(ShapeError, match="cannot tell whether"):
        _without_bounds()


def _without_bounds() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", tensor("n"))
    with bb.function("main", [x]):
        R.add(x, R.full(("n % 8",), 1.0))


def test_bounds_decide_broadcasts() -> None:
    """n broadcast with an unknown dimension is n if n is not 1."""
    for bounds, known in (({"n": (2, None)}, True), ({"n": (1, None)}, False)):
        bb = rx.BlockBuilder()
        x, y = rx.Var("x", tensor("n")), rx.Var("y", tensor(None))
        with bb.function("main", [x, y], bounds=bounds):
            z = R.add(x, y)
            assert (z.shape == x.shape) is known
            bb.emit_func_output(z)
        bb.get()


def test_bounds_do_not_outlive_their_function() -> None:
    module([tensor("n")], ("n",), {"n": (1, 3)})
    assert not symbolic.prove_less_equal(symbolic.symbol("n"), 3)


def test_bounds_in_script() -> None:
    mod = module([tensor("n", "2*m")], ("n",), {"n": (1, 4096), "m": (2, None)})
    text = mod.script()
    assert 'R.func_attr({"symbol_bounds": {"n": (1, 4096), "m": (2, None)}})' in text.replace(
        '{"m": (2, None), "n": (1, 4096)}', '{"n": (1, 4096), "m": (2, None)}'
    )
    assert_structural_equal(mod, parse(text))
    renamed = parse(text.replace('"n"', '"k"'))
    assert_structural_equal(mod, renamed)
    with pytest.raises(AssertionError, match="bounds"):
        assert_structural_equal(mod, parse(text.replace("4096", "4095")))


@pytest.mark.parametrize(
    ("bounds", "error", "message"),
    [
        ({"k": (1, 2)}, UnknownNameError, "unknown symbol of function 'main' 'k'"),
        ({"n": (3, 2)}, ArgumentError, "no value of symbol 'n' lies between 3 and 2"),
        ({"n": (-1, 2)}, ArgumentError, "no value of symbol 'n' lies between -1 and 2"),
        ({"n": (1.0, 2)}, ArgumentError, "expected integers"),
        ({"n": 4}, ArgumentError, "expected a pair"),
        ({"n": (1, 2, 3)}, ArgumentError, "expected a pair"),
        ({3: (1, 2)}, ArgumentError, "a symbol of 'bounds'"),
        ([("n", 1)], ArgumentError, "a dictionary"),
    ],
)
def test_bad_bounds(bounds: Any, error: type[RelaxError], message: str) -> None:
    with pytest.raises(error, match=message):
        module([tensor("n")], ("n",), bounds)
