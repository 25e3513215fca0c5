"""`fuse-ops-by-pattern`, `merge-composite-functions`, `run-codegen`: the results compute the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from library_patterns import call, generate
from programs import Program, numpy, register
from relax_mlir import op as R
from relax_mlir import transform as T
from relax_mlir.dpl import DFPattern, has_dtype, is_const, is_op, is_tuple, wildcard
from relax_mlir.dpl.fusion import unregister_pattern
from relax_mlir.error import ArgumentError, RelaxError, ShapeError, UnknownNameError, UnsupportedError
from relax_mlir.script import parse
from relax_mlir.transform.codegens import register_codegen, unregister_codegen

VECTOR = rx.Tensor(("n",), "float32")


@pytest.fixture
def same_ops() -> Iterator[None]:
    """Code generators "one" and "two" that emit the ops of composite functions again."""

    for name in ("one", "two"):
        register_codegen(name, generate)
    yield
    for name in ("one", "two"):
        unregister_codegen(name)


def run(module: rx.IRModule, *args: Any, name: str = "main") -> Any:
    return numpy(rx.build(module)[name](*args))


BRANCHES = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n", "m"), "float32"), c: R.Tensor((), "bool")):
        if c:
            a = R.add(x, y)
            b = R.nn.relu(a)
            r = R.multiply(b, y)
        else:
            a = R.multiply(x, y)
            r = R.add(a, R.const(1.5, "float32"))
        with R.dataflow():
            s = R.sin(r)
            t = R.add(s, r)
            u = R.nn.relu(t)
            parts = R.split(u, 1, axis=0)
            R.output(parts)
        return parts[0]
"""


@pytest.mark.parametrize("opt_level", sweep.quick([0, 2, 3], 0, 3))
def test_each_step_computes_the_same(same_ops: None, opt_level: int) -> None:
    module = parse(BRANCHES)
    rng = np.random.default_rng(0)
    args = [
        [*rng.standard_normal((2, *shape), dtype="f4"), np.array(c)]
        for shape in ((3, 5), (0, 4))
        for c in (True, False)
    ]
    expected = [run(module, *given) for given in args]
    fuse = T.FuseOpsByPattern(
        [
            ("one.add_relu", is_op("relax.nn.relu")(call("add", 2))),
            ("one.add", call("add", 2)),
            ("two.sin", call("sin")),
            ("one.multiply", call("multiply", 2)),
        ]
    )
    for step, marks in ((fuse, (6, 0)), (T.MergeCompositeFunctions(), (6, 4)), (T.RunCodegen(), (0, 0))):
        step.apply_(module)
        text = str(module)
        assert (text.count("relax.composite ="), text.count("relax.codegen =")) == marks, step
        executable = rx.build(module, opt_level=opt_level)
        for given, wanted in zip(args, expected, strict=True):
            np.testing.assert_allclose(numpy(executable["main"](*given)), wanted, rtol=1e-5, atol=1e-6)


def random_program(rng: np.random.Generator, count: int) -> Any:
    """Ops on earlier values, each used later or not; the sum contains all of them."""

    def body(bb: rx.BlockBuilder, x: Any, y: Any) -> Any:
        values = [x, y]
        for index in range(count):
            left, right = (values[i] for i in rng.integers(max(0, len(values) - 6), len(values), 2))
            kind = rng.integers(5)
            ops = (R.add, R.subtract, R.minimum)
            made = ops[kind](left, right) if kind < 3 else (R.sin if kind == 3 else R.tanh)(left)
            values.append(bb.emit(made, f"v{index}"))
        total = values[2]
        for value in values[3:]:
            total = bb.emit(R.maximum(total, value))
        return total

    return body


@pytest.mark.slow
def test_random_programs(same_ops: None) -> None:
    """Two libraries share the ops of programs, in dataflow blocks and outside."""
    patterns = [
        ("one.add", call("add", 2)),
        ("one.sin", call("sin")),
        ("two.subtract", call("subtract", 2)),
        ("two.twice", is_op("relax.tanh")(call("tanh"))),
        ("two.tanh", call("tanh")),
    ]
    program, seeds = Program(), range(12 if sweep.ALL else 6)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        body = random_program(rng, int(rng.integers(1, 16)))
        body.__name__ = f"f{seed}"
        program.function(VECTOR, VECTOR)(body)
    module = program.bb.get()
    T.create_pass("convert-to-dataflow").apply_(module)
    steps = T.Sequential([T.FuseOpsByPattern(patterns), T.MergeCompositeFunctions()])
    merged = steps(module.clone())
    assert str(merged).count("relax.codegen =") < str(merged).count('= "relax.call"') - len(seeds)
    done = T.RunCodegen()(merged)
    assert '"relax.call"' not in str(done)
    executables = [rx.build(each) for each in (module, merged, done)]
    x, y = np.random.default_rng(1).standard_normal((2, 7), dtype="f4")
    for seed in seeds:
        first, *others = (numpy(executable[f"f{seed}"](x, y)) for executable in executables)
        for other in others:
            np.testing.assert_allclose(other, first, rtol=1e-5, err_msg=str(seed))


def test_symbols_that_no_argument_defines() -> None:
    """A function needs `n` and `m` in addition to a vector of n*m elements: they are passed as sizes."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "m"), "float32"))
    with bb.function("main", [x]):
        flat = bb.emit(R.reshape(x, ("n * m",)), "flat")
        bb.emit_func_output(bb.emit(R.exp(R.reshape(flat, ("n", "m"))), "out"))
    module = bb.get()
    T.FuseOpsByPattern([("lib.reshape", is_op("relax.exp")(is_op("relax.reshape")(wildcard(), wildcard())))]).apply_(
        module
    )
    assert 'sizes: R.Shape(["m", "n"])' in module.script()
    for shape in ((2, 3), (0, 3)):
        given = np.random.default_rng(0).standard_normal(shape, dtype="f4")
        np.testing.assert_allclose(run(module, given), np.exp(given), rtol=1e-5, atol=1e-6)


def test_bounds_go_into_the_function() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", VECTOR)
    with bb.function("main", [x], bounds={"n": (2, 8)}):
        bb.emit_func_output(bb.emit(R.exp(x), "out"))
    module = T.FuseOpsByPattern([("lib.exp", call("exp"))])(bb.get())
    assert str(module).count("relax.symbol_bounds = {n = [2, 8]}") == 2


def test_constants_are_bound_or_passed() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", VECTOR)
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(R.add(x, R.const(np.float32(1.5))), "out"))
    module = bb.get()
    pattern = ("lib.add", is_op("relax.add")(wildcard(), is_const()))
    inside = T.FuseOpsByPattern([pattern])(module)
    outside = T.FuseOpsByPattern([pattern], bind_constants=False)(module)
    counts = [len(each["fused_add"].params) for each in (inside, outside)]
    assert counts == [1, 2]
    for each in (inside, outside):
        np.testing.assert_array_equal(run(each, np.ones(3, "f4")), np.full(3, 2.5, "f4"))


def test_which_pattern_has_an_op() -> None:
    """The first pattern wins; for one pattern, the later op with the optional part; an op is in one function only."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", VECTOR)
    with bb.function("main", [x]):
        value: Any = x
        for name in ("exp", "sin", "exp", "exp", "sin"):
            value = bb.emit(getattr(R, name)(value))
        bb.emit_func_output(value)
    module = bb.get()
    option = call("exp").optional(lambda inner: is_op("relax.sin")(inner))
    T.FuseOpsByPattern([("a.two", is_op("relax.exp")(call("exp"))), ("b.one", option)]).apply_(module)
    assert "".join(line.split('"')[1] for line in str(module).splitlines() if "relax.composite" in line)
    found = [name for name in module if name != "main"]
    assert sorted(found) == ["fused_exp_exp", "fused_exp_sin"]
    assert str(module).count('"relax.sin"') == 2


def test_checks_and_attributes() -> None:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", VECTOR), rx.Var("y", rx.Tensor((4,), "float32"))
    with bb.function("main", [x, y]):
        first = bb.emit(R.exp(R.negative(x)), "first")
        second = bb.emit(R.exp(R.negative(y)), "second")
        bb.emit_func_output((first, second))
    module = bb.get()
    operand = wildcard()
    seen: list[T.PatternCheckContext] = []

    def check(context: T.PatternCheckContext) -> bool:
        seen.append(context)
        return context.annotated_expr["operand"].struct_info.known_shape == (4,)

    pattern = T.FusionPattern(
        "lib.decay",
        is_op("relax.exp")(is_op("relax.negative")(operand)),
        {"operand": operand},
        check,
        lambda found: {"length": found["operand"].shape[0], "kind": "static"},
    )
    T.FuseOpsByPattern([pattern]).apply_(module)
    assert len(seen) == 2
    assert [len(context.matched_bindings) for context in seen] == [2, 2]
    assert all(sum(map(len, context.var_usages.values())) >= 1 for context in seen)
    attrs = module["fused_negative_exp"].attrs
    assert attrs["length"] == 4 and attrs["kind"] == "static"
    assert str(module).count("relax.composite") == 1


def test_what_is_used_elsewhere_stays() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", VECTOR)
    with bb.function("main", [x]):
        inner = bb.emit(R.negative(x), "inner")
        bb.emit_func_output((inner, bb.emit(R.exp(inner), "outer")))
    module = bb.get()
    T.FuseOpsByPattern([("lib.decay", is_op("relax.exp")(call("negative")))]).apply_(module)
    assert "relax.composite" not in str(module)


def test_lists_of_operands() -> None:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", VECTOR), rx.Var("y", VECTOR)
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit(R.concat((R.exp(x), y)), "out"))
    for pattern in (
        is_op("relax.concat")(wildcard()),
        is_op("relax.concat")(is_tuple([call("exp"), wildcard()])),
    ):
        module = T.FuseOpsByPattern([("lib.concat", pattern)])(bb.get())
        x_, y_ = np.random.default_rng(0).standard_normal((2, 3), dtype="f4")
        np.testing.assert_allclose(run(module, x_, y_), np.concatenate([np.exp(x_), y_]), rtol=1e-5, atol=1e-6)
        assert len(module[next(name for name in module if name != "main")].params) == 2


# -- code generators


@register("patterns.scaled_sum")
def _scaled_sum(x: Any, y: Any, out: Any) -> None:
    np.from_dlpack(out)[:] = 2 * (np.from_dlpack(x) + np.from_dlpack(y))


def test_the_name_of_a_packed_function_is_enough() -> None:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", VECTOR), rx.Var("y", VECTOR)
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit(R.exp(R.multiply(R.add(x, y), R.const(2.0))), "out"))
    module = bb.get()
    pattern = is_op("relax.multiply")(call("add", 2), is_const())
    register_codegen("patterns_lib", lambda region: "patterns.scaled_sum")
    try:
        T.Sequential(
            [T.FuseOpsByPattern([("patterns_lib.sum", pattern)], annotate_codegen=True), T.RunCodegen()]
        ).apply_(module)
    finally:
        unregister_codegen("patterns_lib")
    assert '"relax.call_dps_packed"' in str(module) and '"relax.add"' not in str(module)
    x_, y_ = np.random.default_rng(0).standard_normal((2, 5), dtype="f4")
    for mode in ("native", "bytecode"):
        executable: Any = rx.build(module, exec_mode=mode)
        main = (rx.VirtualMachine(executable) if mode == "bytecode" else executable)["main"]
        np.testing.assert_allclose(numpy(main(x_, y_)), np.exp(2 * (x_ + y_)), rtol=1e-5, atol=1e-6)


EFFECTS = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        a = R.sin(x)
        R.call_packed("patterns.note", a)
        e = R.exp(x)
        R.call_packed("patterns.note", e)
        b = R.sin(e)
        c = R.add(a, b)
        R.call_packed("patterns.note", c)
        return R.add(c, a)
"""
NOTED: list[np.ndarray] = []


@register("patterns.note")
def _note(x: Any) -> None:
    NOTED.append(np.from_dlpack(x).copy())


def test_effects_stay_in_order(same_ops: None) -> None:
    module, x = parse(EFFECTS), np.linspace(-1, 1, 4, dtype="f4")
    e = np.exp(x)
    c = np.sin(x) + np.sin(e)
    steps = [T.FuseOpsByPattern([("one.sin", call("sin")), ("one.add", call("add", 2))])]
    for step in (*steps, T.MergeCompositeFunctions(), T.RunCodegen()):
        step.apply_(module)
        NOTED.clear()
        np.testing.assert_allclose(run(module, x), c + np.sin(x), rtol=1e-5, atol=1e-6)
        for found, expected in zip(NOTED, (np.sin(x), e, c), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def fused(body: Any, pattern: DFPattern, library: str = "lib", **options: Any) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", VECTOR)
    with bb.function("main", [x]):
        bb.emit_func_output(body(bb, x))
    return T.FuseOpsByPattern([(f"{library}.any", pattern)], annotate_codegen=True, **options)(bb.get())


def generated(codegen: Any) -> rx.IRModule:
    module = fused(lambda bb, x: bb.emit(R.exp(x), "out"), call("exp"))
    register_codegen("lib", codegen)
    try:
        return T.RunCodegen()(module)
    finally:
        unregister_codegen("lib")


def test_code_generators_that_do_wrong() -> None:
    wrong: list[tuple[Any, type[RelaxError], str]] = [
        (lambda region: None, ArgumentError, "what the code generator 'lib' gives is None"),
        (lambda region: region.each(lambda made: 3), ArgumentError, "what the rule for 'lib.any' gives is 3"),
        (
            lambda region: region.each(lambda made: R.concat((made.args[0], made.args[0]))),
            ShapeError,
            r"the rule for 'lib.any' at .*gives Tensor\(\(2\*n,\).*but the call is Tensor\(\(n,\)",
        ),
        (lambda region: R.astype(region.params[0], "float64"), RelaxError, "float64"),
        (
            lambda region: (R.call_packed("patterns.note", region.params[0]), R.exp(region.params[0]))[1],
            ArgumentError,
            "emits effects for function",
        ),
        (
            lambda region: region.each(lambda made: (_ for _ in ()).throw(made.refuse("it is too hot"))),
            UnsupportedError,
            r"'lib.any' \(exp\) at .* cannot be generated: it is too hot; give the pattern a check",
        ),
    ]
    for codegen, kind, message in wrong:
        with pytest.raises(kind, match=message):
            generated(codegen)
    with pytest.raises(UnknownNameError, match=r"code generator 'lib'.*register_codegen"):
        T.RunCodegen()(fused(lambda bb, x: bb.emit(R.exp(x), "out"), call("exp")))


def test_patterns_that_do_wrong() -> None:
    body = lambda bb, x: bb.emit(R.exp(x), "out")  # noqa: E731 - as the other bodies here
    wrong: list[tuple[Any, str]] = [
        ([], "'patterns' is empty"),
        (["exp"], "unknown pattern 'exp'"),
        ([3], "is no FusionPattern"),
        ([("exp", call("exp"))], "has no library in front of a dot"),
        ([("lib.exp", 3)], "expected a pattern"),
        ([("lib.exp", call("exp"), {}, 3)], "'check' is 3, expected a function"),
        ([("lib.exp", call("exp"), {"x": 3})], "part 'x' is 3"),
        ([("lib.exp", call("exp"), {}, lambda found: 1)], "expected True or False"),
        ("openblas", "expected|is 'openblas'"),
    ]
    bb = rx.BlockBuilder()
    x = rx.Var("x", VECTOR)
    with bb.function("main", [x]):
        bb.emit_func_output(body(bb, x))
    for patterns, message in wrong:
        with pytest.raises(RelaxError, match=message):
            T.FuseOpsByPattern(patterns)(bb.get())
    with pytest.raises(ArgumentError, match="there is no function 'other'; the module has main"):
        T.FuseOpsByPattern([("lib.exp", call("exp"))], entry_functions=["other"])(bb.get())
    module = parse(EFFECTS)
    noted = rx.dpl.is_call_packed("patterns.note")
    with pytest.raises(ArgumentError, match=r"'lib.note' finds call_packed at .*which has effects.*call_pure_packed"):
        T.FuseOpsByPattern([("lib.note", noted)]).apply_(module)


def test_registered_names() -> None:
    pattern = T.FusionPattern("registered.exp", has_dtype("float32", call("exp")))
    T.register_patterns([pattern])
    try:
        with pytest.raises(ArgumentError, match=r"there is a pattern 'registered\.exp' already"):
            T.register_patterns([pattern])
        bb = rx.BlockBuilder()
        x = rx.Var("x", VECTOR)
        with bb.function("main", [x]):
            bb.emit_func_output(bb.emit(R.exp(x), "out"))
        for name in ("registered", "registered.exp"):
            module = T.parse_pipeline(f"fuse-ops-by-pattern{{patterns={name}}}")(bb.get())
            assert 'relax.composite = "registered.exp"' in str(module)
        assert T.FuseOpsByPattern([pattern]).info.text == "fuse-ops-by-pattern{patterns=registered.exp}"
    finally:
        unregister_pattern("registered.exp")
    with pytest.raises(UnknownNameError, match=r"registered"):
        T.parse_pipeline("fuse-ops-by-pattern{patterns=registered}")(bb.get())
    with pytest.raises(ArgumentError, match="is no name of a library"):
        register_codegen("a.b", lambda region: "f")
    with pytest.raises(ArgumentError, match="expected a function"):
        register_codegen("abc", 3)  # type: ignore[arg-type]  # on purpose
    register_codegen("twice", lambda region: "f")
    with pytest.raises(ArgumentError, match="'twice' is registered already"):
        register_codegen("twice", lambda region: "f")
    register_codegen("twice", lambda region: "g", override=True)
    unregister_codegen("twice")


MARKED = """
func.func @main(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call"(%0) {callee = @f} : (tuple<!n>) -> !n
  return %1 : !n
}
func.func private @f(%x: !n {relax.name = "x"}) -> !n attributes {MARK} {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call"(%0) {callee = @CALLEE} : (tuple<!n>) -> !n
  return %1 : !n
}
func.func private @g(%x: !n {relax.name = "x"}) -> !n {
  %0 = "relax.exp"(%x) : (!n) -> !n
  return %0 : !n
}
"""


def marked(mark: str, callee: str = "g") -> rx.IRModule:
    text = MARKED.replace("MARK", mark).replace("CALLEE", callee)
    return rx.IRModule.parse(text.replace("!n", 'tensor<?xf32, #relax.shape<["n"]>>'))


@pytest.mark.parametrize("value", ["3", '""', '["lib.f"]', "unit"])
def test_marks_that_say_nothing(value: str) -> None:
    wrong = (
        (T.MergeCompositeFunctions(), "composite"),
        (T.RunCodegen(), "composite"),
        (T.RunCodegen(), "codegen"),
    )
    for step, attribute in wrong:
        with pytest.raises(ArgumentError, match=rf"function 'f': the attribute relax\.{attribute} is .*, expected a"):
            step(marked(f"relax.{attribute} = {value}"))


def test_marks_of_users() -> None:
    """Functions marked by users: with other calls, recursive ones, and declarations."""
    module = T.RunCodegen()(marked('relax.composite = "lib.f"'))
    x = np.linspace(-1, 1, 5, dtype="f4")
    np.testing.assert_allclose(run(module, x), np.exp(x), rtol=1e-5)
    again = T.Sequential([T.MergeCompositeFunctions(), T.RunCodegen()])
    with pytest.raises(UnknownNameError, match="code generator 'lib'"):
        again(marked('relax.composite = "lib.f"'))
    endless = T.RunCodegen()(marked('relax.composite = "lib.f"', "f"))
    assert str(endless).count('"relax.call"') >= 2 and "relax.composite" not in str(endless)
    declared = rx.IRModule.parse(
        'func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "openblas"}'
    )
    with pytest.raises(ArgumentError, match=r"'f' has relax\.codegen, but is no Relax function with a body"):
        T.RunCodegen().apply_(declared)


def test_calls_without_arguments(same_ops: None) -> None:
    """A product of constants has no argument; neither has the function around its call."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor((2, 2), "float32"))
    weight = np.arange(4, dtype="f4").reshape(2, 2)
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(R.add(x, R.matmul(weight, weight)), "out"))
    for annotate in (False, True):
        module = T.FuseOpsByPattern([("one.product", call("matmul", 2))], annotate_codegen=annotate)(bb.get().clone())
        for step in (T.MergeCompositeFunctions(), T.RunCodegen()):
            step.apply_(module)
            np.testing.assert_array_equal(run(module, weight), weight + weight @ weight)
