"""Passes that change whole functions preserve results."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.error import ArgumentError, DTypeError, ParseError, RelaxError, ShapeError, UnknownNameError
from relax_mlir.passes.bindings import BindParams, BindSymbolicVars
from relax_mlir.passes.calls import ExpandTupleArguments, InlinePrivateFunctions
from relax_mlir.passes.unused import RemoveUnusedOutputs, RemoveUnusedParameters
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse
from relax_mlir.transform import Pass, Sequential


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def linear() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x, w, b = (rx.Var(n, rx.Tensor(s)) for n, s in (("x", ("n", "k")), ("w", ("k", "m")), ("b", ("m",))))
    with bb.function("main", [x, w, b]):
        with bb.dataflow():
            rows = bb.emit(R.reshape(R.matmul(x, w) + b, ("n*m",)))
            out = bb.emit_output(R.add(rows, R.arange(0, "n*m", dtype="float32")))
        bb.emit_func_output(out)
    return bb.get()


def layers() -> rx.IRModule:
    """Private functions that call each other, in and outside of dataflow, with tuples and spare parts."""
    bb = rx.BlockBuilder()
    a, pair = rx.Var("a", rx.Tensor(("p",))), rx.Var("pair", rx.Tuple([rx.Tensor(("p",)), rx.Tensor(("q",))]))
    with bb.function("inner", [a, pair], private=True):
        with bb.dataflow():
            total = bb.emit_output(a * 2.0 + pair[0])
            spare = bb.emit_output(R.exp(pair[1]))
        bb.emit_func_output((total, spare, R.make_tuple(a, total)))
    x, y, c = rx.Var("x", rx.Tensor(("n",))), rx.Var("y", rx.Tensor((4,))), rx.Var("c", rx.Tensor((), "bool"))
    unused = rx.Var("unused", rx.Tensor(("u",)))
    with bb.function("outer", [x, y, c, unused], private=True):
        result = bb.call("inner", x, R.make_tuple(x, y))
        picked = R.if_then_else(c, lambda: R.tanh(result[0]), lambda: result[2][1] - 1.0)
        sizes = R.full(R.shape_expr(("u",)), 1.5, "float32")
        bb.emit_func_output((picked, sizes))
    v, w, d = (
        rx.Var("v", rx.Tensor(("m",))),
        rx.Var("w", rx.Tensor(("r", 2))),
        rx.Var("d", rx.Tensor((), "bool")),
    )
    with bb.function("main", [v, w, d]):
        first = bb.call("outer", v, bb.const(np.arange(4, dtype="float32")), d, R.flatten(w))
        with bb.dataflow():
            again = bb.emit(bb.call("inner", first[0], R.make_tuple(first[0], first[1])))
            out = bb.emit_output(R.make_tuple(again[0], first[1]))
        bb.emit_func_output(out)
    return bb.get()


def results(module: rx.IRModule, *args: np.ndarray) -> list[np.ndarray]:
    value = rx.build(module)["main"](*args)
    return [to_numpy(v) for v in (value if not hasattr(value, "shape") else [value])]


def names(module: rx.IRModule) -> list[str]:
    return [op.name.value for op in module.functions()]


PASSES: list[Pass] = [
    InlinePrivateFunctions(),
    InlinePrivateFunctions(max_ops=0),
    RemoveUnusedParameters(),
    RemoveUnusedOutputs(),
    ExpandTupleArguments(),
    Sequential((ExpandTupleArguments(), RemoveUnusedOutputs(), RemoveUnusedParameters()), name="all"),
    Sequential((RemoveUnusedParameters(), InlinePrivateFunctions()), name="shrink and inline"),
]


@cache
def original() -> rx.runtime.Executable:
    return rx.build(layers())


@pytest.mark.parametrize("run", PASSES, ids=lambda p: p.info.text)
def test_the_program_stays_the_same(run: Pass) -> None:
    module = layers()
    module.apply_(run)
    module.verify()
    after = rx.build(module)
    for n, choice in itertools.product([0, 1, 5], [True, False]):
        args = (random(n), random(3, 2), np.array(choice))
        for ours, theirs in zip(after["main"](*args), original()["main"](*args), strict=True):
            np.testing.assert_array_equal(to_numpy(ours), to_numpy(theirs))


def test_everything_is_inlined() -> None:
    module = layers()
    module.apply_(InlinePrivateFunctions())
    assert names(module) == ["main"]
    assert "relax.call" not in str(module)


IN_ANY_ORDER = """
@R.function(private=True)
def rows(pair: R.Tuple(R.Tensor(("2*k - 1", 4), "float32"), R.Shape(["k"])), x: R.Tensor(("k + j", "j"), "float32")):
    return R.sum(pair[0]) + R.sum(x) + R.sum(R.full(R.shape(["k", "j"]), 1.0, "float32"))

@R.function
def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("m", "p"), "float32"), s: R.Tensor((1,), "int64")):
    unknown = R.match_shape(x, (None, 4))
    other = R.match_shape(y, (None, None))
    return cls.rows((unknown, R.tensor_to_shape(s)), other)
"""


def test_symbols_are_bound_before_formulas_use_them() -> None:
    module = parse(IN_ANY_ORDER)
    module.apply_(InlinePrivateFunctions())
    module.verify()
    assert names(module) == ["main"]
    main = rx.build(module)["main"]
    x, y = random(5, 4), random(7, 4)
    found = to_numpy(main(x, y, np.array([3])))
    np.testing.assert_allclose(found, x.sum() + y.sum() + 12.0, rtol=1e-5)
    with pytest.raises(ShapeError):
        main(x, y, np.array([2]))


def test_large_functions_stay() -> None:
    module = layers()
    module.apply_(InlinePrivateFunctions(max_ops=0))
    assert "inner" in names(module)
    assert "outer" not in names(module), "it is called once"


def test_inlining_renames_what_the_body_binds() -> None:
    """The bodies of both calls bind separate symbols k."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "m")))
    with bb.function("rows", [x], private=True):
        y = bb.match_shape(R.flatten(x), ("k",))
        bb.emit_func_output(R.sum(R.full(R.shape_expr(("k",)), 1.0, "float32") + y, keepdims=True))
    a, b = rx.Var("a", rx.Tensor(("k", "l"))), rx.Var("b", rx.Tensor(("l", 3)))
    with bb.function("main", [a, b]):
        bb.emit_func_output(bb.call("rows", a) * bb.call("rows", b))
    before, after = bb.get(), bb.get().clone()
    after.apply_(InlinePrivateFunctions())
    after.verify()
    assert names(after) == ["main"]
    args = (random(2, 5), random(5, 3))
    np.testing.assert_array_equal(results(after, *args)[0], results(before, *args)[0])


def test_unused_parts_are_gone() -> None:
    module = layers()
    for name in (
        "expand-tuple-arguments",
        "remove-unused-outputs",
        "to-non-dataflow",
        "normalize",
        "canonicalize",
    ):
        module.apply_(rx.transform.create_pass(name))
    module.apply_(RemoveUnusedParameters())
    module.verify()
    params = {op.name.value: parameter_names(op) for op in module.functions()}
    assert params == {"inner": ["a", "pair_0"], "outer": ["x", "c", "sizes"], "main": ["v", "w", "d"]}


@pytest.mark.parametrize("n", [0, 3])
def test_bound_parameters(n: int) -> None:
    w, b = random(4, 6), random(6)
    before, after = linear(), linear()
    after.apply_(BindParams.of({"w": w, "b": b}))
    after.verify()
    assert len(after["main"].type.inputs) == 1
    x = random(n, 4)
    np.testing.assert_array_equal(results(after, x)[0], results(before, x, w, b)[0])
    with pytest.raises(ShapeError, match="'x' dimension 1 is 5"):
        rx.build(after)["main"](random(n, 5))


def test_parameters_from_a_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", w=random(4, 6))
    module = linear()
    module.apply_(BindParams(file=str(tmp_path / "w.npz")))
    assert len(module["main"].type.inputs) == 2


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"v": random(2)}, UnknownNameError, "unknown parameter of function 'main' 'v'"),
        ({"w": random(2)}, ShapeError, "'w' is .*, but the array has rank 1"),
        (
            {"w": random(2, 3), "b": random(4)},
            ShapeError,
            "'b' dimension 0 is 4, but m = 3, taken from 'w' dimension 1",
        ),
        ({"w": random(2, 3).astype("float64")}, DTypeError, "the array has dtype float64"),
    ],
)
def test_arrays_that_do_not_fit(params: dict, error: type[RelaxError], message: str) -> None:
    with pytest.raises(error, match=message):
        BindParams.of(params)(linear().mlir)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(ArgumentError, match="cannot read"):
        BindParams(file="none.npz")(linear().mlir)
    with pytest.raises(ArgumentError, match="give 'file'"):
        BindParams()(linear().mlir)


def test_callers_of_a_function_with_bound_parameters() -> None:
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", rx.Tensor(("n", 2))), rx.Var("w", rx.Tensor((2, "m")))
    with bb.function("dense", [x, w], private=True):
        bb.emit_func_output(R.matmul(x, w))
    y, v = rx.Var("y", rx.Tensor(("n", 2))), rx.Var("v", rx.Tensor((2, 3)))
    with bb.function("main", [y, v]):
        bb.emit_func_output(bb.call("dense", y, v))
    module, array = bb.get(), random(2, 3)
    module.apply_(BindParams.of({"w": array}, "dense"))
    module.verify()
    a = random(4, 2)
    np.testing.assert_allclose(results(module, a, 0 * array)[0], a @ array, rtol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_bound_symbols(n: int) -> None:
    before, after = linear(), linear()
    after.apply_(BindSymbolicVars.of({"n": n, "m": 2}))
    after.verify()
    args = (random(n, 4), random(4, 2), random(2))
    np.testing.assert_array_equal(results(after, *args)[0], results(before, *args)[0])
    assert '"n"' not in str(after)
    with pytest.raises(ShapeError, match=f"'x' dimension 0 is {n + 1}"):
        rx.build(after)["main"](random(n + 1, 4), *args[1:])


@pytest.mark.parametrize(
    ("bindings", "error", "message"),
    [
        (("q=1",), UnknownNameError, "unknown symbol"),
        (("n=-1",), ShapeError, "symbols are not negative"),
        (("n",), ParseError, "not SYMBOL=INTEGER"),
        (("n=x",), ParseError, "not SYMBOL=INTEGER"),
        (("n=1", "n=2"), ArgumentError, "bound to 1 and to 2"),
    ],
)
def test_bad_bindings(bindings: tuple[str, ...], error: type[RelaxError], message: str) -> None:
    with pytest.raises(error, match=message):
        BindSymbolicVars(bindings)(linear().mlir)


def test_symbols_of_a_function_that_others_call() -> None:
    with pytest.raises(ShapeError, match="which is not provably 5; bind the symbols of the caller, too"):
        BindSymbolicVars.of({"p": 5})(layers().mlir)
    with pytest.raises(UnknownNameError, match="unknown Relax function"):
        BindSymbolicVars.of({"p": 5}, "nobody")(layers().mlir)


def bounded() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n",))), rx.Var("y", rx.Tensor(("n",)))
    with bb.function("few", [x, y], private=True, bounds={"n": (1, 3)}):
        bb.emit_func_output(x * 2.0)
    a = rx.Var("a", rx.Tensor(("k",)))
    with bb.function("main", [a]):
        bb.emit_func_output(bb.call("few", a, a))
    with bb.function("main_bounded", [a], bounds={"k": (2, 3)}):
        bb.emit_func_output(bb.call("few", a, a))
    return bb.get()


def test_bounds_stay_in_force() -> None:
    """A call is inlined only if the caller's bounds prove the callee's; removing a parameter keeps its checks."""
    module = bounded()
    module.apply_(InlinePrivateFunctions())
    module.apply_(RemoveUnusedParameters())
    module.verify()
    assert str(module["main"]).count("relax.call") == 1
    assert str(module["main_bounded"]).count("relax.call") == 0
    np.testing.assert_array_equal(results(module, random(3))[0], 2 * random(3))
    with pytest.raises(ShapeError, match="n"):
        results(module, random(4))


def test_symbols_are_bound_within_their_bounds() -> None:
    module = bounded()
    with pytest.raises(ShapeError, match="symbol 'n' cannot be 4: it goes from 1 to 3"):
        module.apply_(BindSymbolicVars.of({"n": 4}, "few"))
    module.apply_(BindSymbolicVars.of({"n": 3, "k": 3}))
    module.verify()


UNUSED_BUT_CHECKED = """
@I.ir_module
class M:
    @R.function(private=True)
    def formula(x: R.Tensor[(2 * n - 1,), "float32"], s: R.Shape[(n,)]) -> R.Tensor[(2 * n - 1,), "float32"]:
        return x

    @R.function(private=True)
    def alike(x: R.Tensor[(m,), "float32"], y: R.Tensor[(m,), "float32"]) -> R.Tensor[(m,), "float32"]:
        return x

    @R.function
    def main(x: R.Tensor("float32", ndim=1), y: R.Tensor("float32", ndim=1), s: R.Shape(ndim=1)) -> R.Tensor:
        return cls.alike(cls.formula(x, s), y)
"""


def test_what_a_call_checks_of_unused_arguments_is_checked_still() -> None:
    module = parse(UNUSED_BUT_CHECKED.replace("cls", "M"))
    RemoveUnusedParameters().apply_(module)
    main = rx.build(module)["main"]
    x = random(3)
    np.testing.assert_array_equal(main(x, x, tvm_ffi.Shape((2,))), x)
    for y, size in ((x, 3), (random(4), 2)):
        with pytest.raises(ShapeError, match=r"formula: parameter 'x'|alike: parameter 'y'"):
            main(x, y, tvm_ffi.Shape((size,)))
