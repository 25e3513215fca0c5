"""Printed modules read back as the same modules: over the lit corpus, the examples and random modules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.analysis.structural import find_difference
from relax_mlir.error import ParseError
from relax_mlir.script import parse, script_constants
from relax_mlir.transform import create_pass

from examples import minilm

ROOT = Path(__file__).resolve().parents[3]
LIT = ROOT / "test" / "lit"
FILES = sorted(p for p in LIT.rglob("*.mlir") if ".output" not in p.parts)
LOWERED = [p for p in FILES if p.is_relative_to(LIT / "lowering")]
"""Most of these modules are below Relax, which scripts hold as text: a partial sweep prints every third."""
CORPUS = sorted({*FILES} - {*LOWERED} | {*sweep.every(LOWERED, 3)})


def chunks(path: Path) -> list[str]:
    return path.read_text().split("// -----")


def check_round_trip(module: rx.IRModule) -> str:
    """Print, read, compare; returns the text."""
    text = module.script()
    again = parse(text, script_constants(module.mlir))
    difference = find_difference(module, again)
    assert difference is None, f"{difference}\n{text}\n{again.script()}"
    return text


def test_arguments_in_place() -> None:
    """A tuple that two calls share, and one of the parameters."""
    text = """
@I.ir_module
class Module:
    @T.prim_func
    def add(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
        for i in range(n):
            A[i] = A[i] + B[i]

    @R.function
    def main(x: R.Tensor(("n",), "float32"), t: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32"))):
        pair = (x, t[1])
        a = R.call_tir_inplace(cls.add, (*pair,), [0], R.Tensor((n,), "float32"))
        b = R.call_tir_inplace(cls.add, (*pair,), [1], R.Tensor((n,), "float32"))
        c = R.call_tir_inplace(cls.add, (*t,), [0], R.Tensor((n,), "float32"))
        d = R.call_tir_inplace(cls.add, (a, b), [0], R.Tensor((n,), "float32"))
        return pair, c, d
"""
    printed = check_round_trip(parse(text))
    for arguments in ("(*pair,)", "(*t,)", "(a, b)"):
        assert f"R.call_tir_inplace(cls.add, {arguments}, [" in printed, printed


UNEQUAL = (
    ("lambda-lift.mlir", "@names("),  # a parameter has the name of a captured value: the printer renames it
    ("print-ir.mlir", "relax.module_attrs = 3"),  # it has no script form
)


@pytest.mark.parametrize("path", sweep.quick(CORPUS, *CORPUS[::2]), ids=lambda p: str(p.relative_to(LIT)))
def test_lit_files(path: Path) -> None:
    for chunk in chunks(path):
        if any(path.name == name and text in chunk for name, text in UNEQUAL):
            continue
        try:
            module = rx.IRModule.parse(chunk, path.name, trusted=True)
            module.verify()
        except (ParseError, rx.error.VerifyError):
            continue  # a chunk that tests a message
        check_round_trip(module)


def test_large_constants_go_by_name() -> None:
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n", 100), "float32"))
    weights = np.arange(100, dtype="float32")
    with bb.function("main", [x]):
        bb.emit_func_output(x + weights)
    module = bb.get()
    constants = script_constants(module.mlir)
    assert [array.tobytes() for array in constants.values()] == [weights.tobytes()]
    assert f'constants["{next(iter(constants))}"]' in check_round_trip(module)


def test_numbers_without_a_literal() -> None:
    bb = rx.BlockBuilder()
    values = np.array([np.inf, -np.inf, np.nan, -0.0], "float32")
    with bb.function("main", []):
        bb.emit_func_output((bb.const(values), bb.const(np.zeros((0, 3), "int8"))))
    text = check_round_trip(bb.get())
    assert 'R.const([float("inf"), float("-inf"), float("nan"), -0.0], "float32")' in text


def test_shared_values_are_not_made_twice() -> None:
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        one = bb.const(1.0)
        pair = R.make_tuple(x, one)
        bb.emit_func_output((pair, pair, one))
    assert check_round_trip(bb.get()).count("R.const(") == 1


def test_function_attributes_and_odd_names() -> None:
    text = """
      func.func private @"f.1"(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
      func.func @main(%class: tensor<4xf32> {relax.name = "class"}) -> tensor<4xf32>
          attributes {note.a = 3 : i64, note.b = 4 : i32, note.c = ["x", true], note.d} {
        %0 = builtin.unrealized_conversion_cast %class : tensor<4xf32> to tuple<tensor<4xf32>>
        %1 = "relax.call"(%0) {callee = @"f.1"} : (tuple<tensor<4xf32>>) -> tensor<4xf32>
        return %1 : tensor<4xf32>
      }
    """
    printed = check_round_trip(rx.IRModule.parse(text))
    assert 'cls["f.1"](v_class)' in printed
    assert 'R.func_attr({"note.a": 3, "note.b": I.attribute("4 : i32")' in printed


def test_the_encoder_of_the_examples() -> None:
    weights = minilm.load_weights()
    check_round_trip(minilm.build_encoder(weights, minilm.load_config()))


def test_legalized_modules() -> None:
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(R.nn.softmax(R.exp(x) + 1.0))
        bb.emit_func_output(out)
    module = bb.get()
    module.apply_(create_pass("legalize-ops"))
    text = check_round_trip(module)
    assert "R.call_tir(cls." in text and 'I.mlir("""' in text


UNARY = (R.exp, R.nn.relu, R.negative, R.nn.softmax, lambda v: R.sum(v, axis=0, keepdims=True))
BINARY = (R.add, R.multiply, lambda a, b: R.where(R.greater(a, b), a, b))


@settings(max_examples=40 if sweep.ALL else 20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_random_modules(data: st.DataObject) -> None:
    """Ops on tensors of one shape, constants, tuples, dataflow blocks, conditionals and calls, nested at random."""
    dtype = data.draw(st.sampled_from(["float32", "float64", "float16"]))
    info = rx.Tensor(data.draw(st.sampled_from([("n", 4), (1, "m"), ("n", "n*2"), (3, 4)])), dtype)
    bb = rx.BlockBuilder()
    given_params = [rx.Var("x", info), rx.Var("y", info), rx.Var("c", rx.Tensor((), "bool"))]
    given_params.append(rx.Var("s", rx.Shape(("k",))))
    inner = rx.Var("x", info)
    with bb.function("helper", [inner], private=True):
        bb.emit_func_output(R.tanh(inner))
    with bb.function("main", given_params):
        values: list[rx.Value] = [given_params[0], given_params[1]]
        for _ in range(data.draw(st.integers(1, 5))):
            values.append(statement(data, bb, values, given_params[2], depth=2))
        bb.emit_func_output((values[-1], (values[0], data.draw(st.sampled_from(values)))))
    assert "I.mlir" not in check_round_trip(bb.get())


def expression(data: st.DataObject, values: list[rx.Value]) -> rx.Value:
    """One op, or one with a constant, on some of `values`."""
    first, second = data.draw(st.sampled_from(values)), data.draw(st.sampled_from(values))
    kind = data.draw(st.integers(0, 3))
    if kind == 0:
        done = data.draw(st.sampled_from(UNARY))(first)
        return first + done
    if kind == 1:
        return data.draw(st.sampled_from(BINARY))(first, second)
    if kind == 2:
        return first * data.draw(st.floats(-4, 4, width=16))
    return R.make_tuple(first, second)[data.draw(st.integers(0, 1))]


def statement(
    data: st.DataObject, bb: rx.BlockBuilder, values: list[rx.Value], condition: rx.Value, depth: int
) -> rx.Value:
    """An op, a dataflow block, a conditional, a call, a loop or an effect."""
    kind = data.draw(st.integers(0, 7 if depth else 0))
    if kind == 1:
        with bb.dataflow():
            inner = expression(data, values)
            out = bb.emit_output(expression(data, [*values, inner]))
        return out
    if kind == 2:
        return R.if_then_else(
            condition,
            lambda: statement(data, bb, values, condition, depth - 1),
            lambda: expression(data, values),
        )
    if kind == 3:
        return bb.call("helper", data.draw(st.sampled_from(values)))
    if kind in (4, 5):
        return loop(data, bb, values, condition, depth)[data.draw(st.integers(0, 1))]
    if kind == 6:
        R.call_packed("effect", data.draw(st.sampled_from(values)), 3, "text")
        return R.call_packed("make", R.shape_of(values[0]), out=values[0].struct_info)
    if kind == 7:
        first = R.prim_to_tensor(R.prim_value(data.draw(st.integers(-3, 3))))
        return data.draw(st.sampled_from(values)) * R.astype(first, values[0].dtype)
    return expression(data, values)


def loop(
    data: st.DataObject, bb: rx.BlockBuilder, values: list[rx.Value], condition: rx.Value, depth: int
) -> tuple[rx.Value, rx.Value]:
    """A loop of either kind that carries two values."""
    init = [data.draw(st.sampled_from(values)) for _ in range(2)]

    def body(first: rx.Value, second: rx.Value) -> list[rx.Value]:
        found = statement(data, bb, [*values, first, second], condition, depth - 1)
        return data.draw(st.sampled_from([[found, first], [second, found], [first, found]]))

    if data.draw(st.booleans()):
        return R.while_loop(lambda a, b: R.less(R.max(a), R.max(b * 2.0)), body, init)
    name = data.draw(st.sampled_from(["i", "n", "lv", "x"]))
    upper = data.draw(st.sampled_from([3, "k * 2", "k + 1"]))
    bound = symbolic.to_dim(upper)
    return R.for_loop(
        data.draw(st.integers(0, 1)),
        bound,
        lambda i, a, b: body(a * i, b),
        init,
        step=data.draw(st.integers(1, 2)),
        name=name,
    )
