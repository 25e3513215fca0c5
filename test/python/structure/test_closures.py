"""Functions as values: nested functions, closures passed, returned, put in tuples and chosen; native code of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from programs import numpy, register
from relax_mlir import op as R
from relax_mlir.analysis import structural_equal
from relax_mlir.error import ArgumentError, ShapeError, UnsupportedError, VerifyError
from relax_mlir.script import parse
from relax_mlir.transform import Sequential, create_pass

N = rx.Tensor(("n",), "float32")
VECTOR = 'R.Tensor(("n",), "float32")'
FUNCTION = f"R.Callable(({VECTOR},), {VECTOR}, pure=True)"


@register("closures.increment")
def increment(x: Any) -> None:
    array = np.from_dlpack(x)
    np.add(array, 1, out=array)


PROGRAM = f"""
@I.ir_module
class Module:
    @R.function(private=True)
    def twice(x: {VECTOR}) -> {VECTOR}:
        return x + x

    @R.function(private=True)
    def scale(x: {VECTOR}, by: R.Tensor((), "float32")) -> {VECTOR}:
        return x * by

    @R.function(private=True)
    def apply(f: R.Callable((R.Tensor(("k",), "float32"),), R.Tensor(("k",), "float32"), pure=True),
              v: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        return f(f(v))

    @R.function(private=True)
    def apply_pair(t: R.Tuple({FUNCTION}, R.Tuple({FUNCTION}, {VECTOR}))) -> {VECTOR}:
        inner = t[1]
        return t[0](inner[0](inner[1]))

    @R.function(private=True)
    def adder(y: {VECTOR}) -> {FUNCTION}:
        def add(z: {VECTOR}):
            return z + y
        return add

    @R.function(private=True)
    def compose(f: {FUNCTION}, g: {FUNCTION}) -> {FUNCTION}:
        def both(z: {VECTOR}):
            return g(f(z))
        return both

    @R.function(private=True)
    def pick(f: {FUNCTION}, x: {VECTOR}) -> R.Tuple({FUNCTION}, {VECTOR}):
        return f, x

    @R.function
    def captures(x: {VECTOR}, y: {VECTOR}) -> {VECTOR}:
        w = R.exp(y)
        def f(z: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            def g(u: R.Tensor((n,), "float32")):
                return u * w + z
            return g(y)
        with R.dataflow():
            r = f(x) + f(y)
            R.output(r)
        return r

    @R.function
    def symbols(x: {VECTOR}) -> {VECTOR}:
        def spread(s: R.Tensor((), "float32")):
            return R.broadcast_to(s, R.shape([n]))
        return spread(R.sum(x))

    @R.function
    def other_size(x: {VECTOR}, y: R.Tensor((3,), "float32")) -> R.Tuple({VECTOR}, R.Tensor((3,), "float32")):
        def square(z: R.Tensor(("k",), "float32")):
            return z * z
        return square(x), cls.apply(square, y)

    @R.function
    def passed(x: {VECTOR}, y: {VECTOR}) -> {VECTOR}:
        def f(z: {VECTOR}):
            return z * y
        return cls.apply(f, x) + cls.apply(cls.twice, y)

    @R.function
    def bound(x: {VECTOR}, s: R.Tensor((), "float32")) -> {VECTOR}:
        f = R.make_closure(cls.scale, (s,))
        return cls.apply(f, x)

    @R.function
    def returned(x: {VECTOR}, y: {VECTOR}) -> {VECTOR}:
        return cls.adder(y)(x)

    @R.function
    def composed(x: {VECTOR}, y: {VECTOR}) -> {VECTOR}:
        h = cls.compose(cls.twice, cls.adder(y))
        return cls.compose(h, cls.twice)(x)

    @R.function
    def in_tuples(x: {VECTOR}, y: {VECTOR}) -> {VECTOR}:
        t = (cls.adder(y), (cls.twice, x))
        p = cls.pick(t[0], y)
        return cls.apply_pair(t) + p[0](p[1])

    @R.function
    def chosen(c: R.Tensor((), "bool"), x: {VECTOR}, y: {VECTOR}) -> {VECTOR}:
        if c:
            f = cls.adder(y)
        else:
            f = cls.adder(x)
        return x

    @R.function
    def chosen_before(c: R.Tensor((), "bool"), x: {VECTOR}, y: {VECTOR}) -> {VECTOR}:
        a = cls.adder(y)
        if c:
            def double(z: {VECTOR}):
                return z + z
            f = double
        else:
            f = a
        return cls.apply(f, x) - f(y)

    @R.function
    def effects(x: {VECTOR}) -> {VECTOR}:
        y = x * 1.0
        def f(z: {VECTOR}) -> {VECTOR}:
            R.print("f", z)
            R.call_packed("closures.increment", z)
            return z + y
        a = f(x)
        R.call_packed("closures.increment", y)
        b = f(y)
        return a + b
"""


@pytest.fixture(scope="module")
def compiled() -> Any:
    return rx.build(parse(PROGRAM))


@pytest.mark.parametrize("size", [0, 1, 5])
def test_values(compiled: Any, size: int, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.linspace(0, 1, size, dtype="float32")
    y = x * x + 1
    w = np.exp(y)
    cases: dict[str, tuple[list[Any], Any]] = {
        "captures": ([x, y], (y * w + x) + (y * w + y)),
        "symbols": ([x], np.full(size, x.sum(), "float32")),
        "passed": ([x, y], x * y * y + 4 * y),
        "bound": ([x, np.array(3, "float32")], 9 * x),
        "returned": ([x, y], x + y),
        "composed": ([x, y], 2 * (2 * x + y)),
        "in_tuples": ([x, y], (2 * x + y) + 2 * y),
    }
    for name, (arguments, expected) in cases.items():
        np.testing.assert_allclose(numpy(compiled[name](*arguments)), expected, rtol=1e-5, err_msg=name)
    for flag, expected in ((True, 4 * x - 2 * y), (False, x + 2 * y - 2 * y)):
        found = numpy(compiled["chosen_before"](np.array(flag), x, y))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    z = np.arange(3, dtype="float32")
    first, second = numpy(compiled["other_size"](x, z))
    np.testing.assert_allclose(first, x * x)
    np.testing.assert_allclose(second, z**4)


def test_effects_in_order(compiled: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A nested function captures values at its creation; its arguments are separate."""
    x = np.zeros(2, "float32")
    np.testing.assert_array_equal(numpy(compiled["effects"](x)), (x + 1 + x) + (x + 2 + x))
    assert capsys.readouterr().out == "f [0. 0.]\nf [1. 1.]\n"
    np.testing.assert_array_equal(x, [0, 0])


def test_script_round_trip() -> None:
    module = parse(PROGRAM)
    assert structural_equal(module, parse(module.script()))


def test_native_code_has_no_closures() -> None:
    work = parse(PROGRAM).clone()
    work.apply_(Sequential([create_pass(name) for name in ("normalize", "lambda-lift", "specialize-closures")]))
    work.verify()
    for left in ("relax.lambda", "make_closure", "invoke", "relax.callable"):
        assert left not in str(work)


def test_sizes_that_are_multiples_of_a_symbol() -> None:
    """Parameters and captured values of a nested function have sizes from which a division gives the symbol."""
    module = parse(
        """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("4*n",), "float32"):
        flat: R.Tensor(("4*n",), "float32") = R.reshape(x, R.shape(["4*n"]))
        def local(p: R.Tensor(("4*n",), "float32")) -> R.Tensor(("4*n",), "float32"):
            return R.multiply(p, flat)
        return R.invoke_pure_closure(local, (flat,), R.Tensor(("4*n",), "float32"))
"""
    )
    work = module.clone()
    work.apply_(create_pass("lambda-lift"))
    work.verify()
    x = np.arange(12, dtype="float32").reshape(3, 4)
    np.testing.assert_array_equal(numpy(rx.build(module)["main"](x)), (x * x).ravel())


def test_captured_sizes_that_tell_nothing_where_another_is_zero() -> None:
    """A captured tensor of `m*n` elements does not determine `n` if `m` is 0: the sizes are passed, too."""
    module = parse(
        """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("m*n",), "float32"):
        flat: R.Tensor(("m*n",), "float32") = R.flatten(x)
        def local(p: R.Tensor(("m",), "float32")) -> R.Tensor(("m*n",), "float32"):
            return R.cumsum(flat, axis=0)
        return R.invoke_pure_closure(local, (y,), R.Tensor(("m*n",), "float32"))
"""
    )
    for mode in ("native", "bytecode"):
        main = rx.build(module, exec_mode=mode)["main"]
        for shape in ((3, 0), (0, 3), (2, 3)):
            found = numpy(main(np.ones(shape, "float32"), np.ones(shape[1], "float32")))
            np.testing.assert_array_equal(found, np.cumsum(np.ones(shape, "float32")))


def test_parameters_whose_sizes_tell_nothing_where_another_is_zero() -> None:
    """`m*n` is the size of a parameter of a nested function; `m` is known outside of it, for any `n`."""
    part = 'R.Tensor(("m*n",), "float32")'
    module = parse(
        f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n",), "float32")):
        flat: {part} = R.flatten(x)
        def local(p: R.Tensor(("n",), "float32"), q: {part}) -> {part}:
            def inner(r: {part}, s: R.Tensor(("n",), "float32")) -> {part}:
                return R.add(r, R.sum(s))
            return inner(q, p)
        return local(y, flat)
"""
    )
    for mode in ("native", "bytecode"):
        main = rx.build(module, exec_mode=mode)["main"]
        for shape in ((0, 3), (3, 0), (2, 3), (0, 0)):
            x, y = np.ones(shape, "float32"), np.ones(shape[0], "float32")
            np.testing.assert_array_equal(numpy(main(x, y)), x.ravel() + shape[0])


@pytest.mark.parametrize("captured", ["rest", "halves[1]"])
def test_captured_sizes_that_are_formulas(captured: str) -> None:
    """A function argument captures a tensor, or a field of a tuple, whose size is a formula of another."""
    part, vector = 'R.Tensor(("max(n - 2, 0)", "n"), "float32")', 'R.Tensor(("k",), "float32")'
    module = parse(
        f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "n"), "float32"), y: {vector}):
        halves = R.split(x, [2], axis=0)
        rest = halves[1]
        def local(a: {vector}) -> {part}:
            return R.add({captured}, R.sum(a))
        def applies(g: R.Callable(({vector},), {part}, pure=True), b: {vector}) -> {part}:
            return g(b)
        return applies(local, y)
"""
    )
    for mode in ("native", "bytecode"):
        main = rx.build(module, exec_mode=mode)["main"]
        for n in (0, 1, 2, 3, 5):
            x, y = np.arange(n * n, dtype="float32").reshape(n, n), np.ones(3, "float32")
            np.testing.assert_array_equal(numpy(main(x, y)), x[2:] + 3)


def lowered(script: str) -> None:
    rx.build(parse("@I.ir_module\nclass Module:\n" + script))


def test_public_function_of_functions() -> None:
    with pytest.raises(UnsupportedError, match=r"main: parameter 'f' is a function; .* make 'main' private"):
        lowered(f"    @R.function\n    def main(f: {FUNCTION}, x: {VECTOR}):\n        return f(x)\n")
    with pytest.raises(
        UnsupportedError, match="main: its result holds a function; native functions return no functions"
    ):
        lowered(
            f"    @R.function\n    def main(y: {VECTOR}):\n        def f(x: {VECTOR}):\n            return x + y\n"
            "        return f\n"
        )


def test_choice_of_what_a_branch_computes() -> None:
    body = f"""
    @R.function
    def main(c: R.Tensor((), "bool"), x: {VECTOR}) -> {VECTOR}:
        if c:
            y = x + 1.0
            def f(z: {VECTOR}):
                return z + y
        else:
            def f(z: {VECTOR}):
                return z
        return f(x)
"""
    with pytest.raises(
        UnsupportedError, match=r"depends on what is computed in a branch; make it, .* before the conditional"
    ):
        lowered(body)


def test_endless_closures() -> None:
    body = f"""
    @R.function(private=True)
    def loop(f: {FUNCTION}, x: {VECTOR}) -> {VECTOR}:
        def g(z: {VECTOR}):
            return f(z) + z
        return cls.loop(g, x)

    @R.function(private=True)
    def one(x: {VECTOR}) -> {VECTOR}:
        return x

    @R.function
    def main(x: {VECTOR}) -> {VECTOR}:
        return cls.loop(cls.one, x)
"""
    with pytest.raises(UnsupportedError, match="'loop' is called with more than 64 different functions"):
        lowered(body)


def test_sizes_that_do_not_fit() -> None:
    body = """
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        def f(z: R.Tensor((n,), "float32")):
            return z + x
        return f(y)
"""
    with pytest.raises(ShapeError, match="dimension 0 is n, which is not provably m"):
        lowered(body)


def test_builder() -> None:
    bb = rx.BlockBuilder()
    x, y, z = rx.Var("x", N), rx.Var("y", N), rx.Var("z", N)
    with bb.function("main", [x, y]):
        with pytest.raises(ArgumentError, match="function 'none' has no result"), bb.lambda_function("none"):
            pass
        with bb.lambda_function("f", [z]) as f:
            bb.emit_func_output(z * y)
        assert f.struct_info == rx.Callable([N], N, pure=True)
        with pytest.raises(ArgumentError, match="invoke_pure_closure: 2 arguments given, the function takes 1"):
            R.invoke_pure_closure(f, [x, x])
        with pytest.raises(
            ArgumentError, match=r"operand 'closure' is Tensor\(\(n,\), \"float32\"\), expected a function"
        ):
            R.invoke_closure(x, [x], out=N)
        r = R.invoke_pure_closure(f, [x])
        with bb.lambda_function("g", [rx.Var("w", N)]) as g:
            R.print("g")
            bb.emit_func_output(y)
        assert g.struct_info == rx.Callable([N], N)
        with pytest.raises(ArgumentError, match="which may have effects: use invoke_closure"):
            R.invoke_pure_closure(g, [x])
        bb.emit_func_output(r)
    module = bb.get()
    a = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(numpy(rx.build(module)["main"](a, a)), a * a)


def test_unknown_function_type() -> None:
    bb = rx.BlockBuilder()
    f, x = rx.Var("f", rx.Callable()), rx.Var("x", N)
    with bb.function("apply", [f, x], private=True):
        with pytest.raises(ShapeError, match=r"the function is Callable\(\): give 'out'"):
            R.invoke_closure(f, [x])
        bb.emit_func_output(R.invoke_closure(f, [x], out=N))
    y, z = rx.Var("y", N), rx.Var("z", N)
    with bb.function("main", [y]):
        with bb.lambda_function("square", [z]) as square:
            bb.emit_func_output(z * z)
        bb.emit_func_output(bb.call("apply", square, y))
    a = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(numpy(rx.build(bb.get())["main"](a)), a * a)


def test_impure_function_of_pure_type() -> None:
    bb = rx.BlockBuilder()
    x, z = rx.Var("x", N), rx.Var("z", N)
    with bb.function("main", [x]):
        with bb.lambda_function("f", [z], pure=True):
            R.print(z)
            bb.emit_func_output(z)
        bb.emit_func_output(x)
    with pytest.raises(VerifyError, match=r"relax.print has effects, .* whose type is pure \[invariant 12\]"):
        bb.get()


def test_impure_call_in_dataflow() -> None:
    bb = rx.BlockBuilder()
    x, z = rx.Var("x", N), rx.Var("z", N)
    with bb.function("main", [x]):
        with bb.lambda_function("f", [z]) as f:
            R.print(z)
            bb.emit_func_output(z)
        with bb.dataflow():
            y = bb.emit_output(R.invoke_closure(f, [x]))
        bb.emit_func_output(y)
    with pytest.raises(VerifyError, match=r"relax.invoke_closure is not pure; .* \[invariant 4\]"):
        bb.get()


def test_results_are_arrays_where_arguments_are(compiled: Any) -> None:
    assert isinstance(compiled["returned"](np.ones(2, "float32"), np.ones(2, "float32")), np.ndarray)


CAPTURED_TUPLES = """
!row = tensor<2xf32>
!pair = tuple<tensor<2xf32>, tensor<2xf32>>
!function = !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
func.func @parameter(%t: !pair, %x: !row) -> !row {
  %f = "relax.make_closure"(%t) {callee = @combine} : (!pair) -> !function
  %a = builtin.unrealized_conversion_cast %x : !row to tuple<!row>
  %r = "relax.invoke_pure_closure"(%f, %a) : (!function, tuple<!row>) -> !row
  return %r : !row
}
func.func @result(%x: !row, %y: !row) -> !row {
  %p = builtin.unrealized_conversion_cast %x, %y : !row, !row to !pair
  %t = "relax.call"(%p) {callee = @exchanged} : (!pair) -> !pair
  %f = "relax.make_closure"(%t) {callee = @combine} : (!pair) -> !function
  %a = builtin.unrealized_conversion_cast %x : !row to tuple<!row>
  %r = "relax.invoke_pure_closure"(%f, %a) : (!function, tuple<!row>) -> !row
  return %r : !row
}
func.func private @exchanged(%x: !row, %y: !row) -> !pair {
  %p = builtin.unrealized_conversion_cast %y, %x : !row, !row to !pair
  return %p : !pair
}
func.func @field(%t: tuple<!pair>, %x: !row) -> !row {
  %u = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!pair>) -> !pair
  %f = "relax.make_closure"(%u) {callee = @combine} : (!pair) -> !function
  %a = builtin.unrealized_conversion_cast %x : !row to tuple<!row>
  %r = "relax.invoke_pure_closure"(%f, %a) : (!function, tuple<!row>) -> !row
  return %r : !row
}
func.func private @combine(%x: !row, %y: !row, %z: !row) -> !row {
  %0 = "relax.subtract"(%x, %y) : (!row, !row) -> !row
  %1 = "relax.multiply"(%0, %z) : (!row, !row) -> !row
  return %1 : !row
}
"""


@pytest.mark.parametrize("origin", ["parameter", "result", "field"])
def test_captured_values_in_a_tuple_that_comes_from_elsewhere(origin: str) -> None:
    x, y, z = (np.array(values, "float32") for values in ([1, 2], [10, 20], [3, 5]))
    main = rx.build(rx.IRModule.parse(CAPTURED_TUPLES))[origin]
    given = {"parameter": ((y, z), x), "result": (x, y), "field": (((y, z),), x)}[origin]
    second, third = (y, x) if origin == "result" else (y, z)
    np.testing.assert_array_equal(numpy(main(*given)), (x - second) * third)
