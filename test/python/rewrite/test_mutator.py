"""Mutators: replacements of every kind, types of their users, and errors of their authors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError
from relax_mlir.passes.dataflow import ConvertToDataflow, TopologicalSort
from relax_mlir.rewrite import Binding, DataflowMutator, ExprMutator, ExprVisitor
from relax_mlir.runtime import to_numpy

X = rx.Tensor(("n", 4), "float32")


def build(body: Callable[..., Any], *infos: rx.StructInfo, dataflow: bool = True) -> rx.IRModule:
    bb = rx.BlockBuilder()
    params = [rx.Var(f"p{index}", info) for index, info in enumerate(infos)]
    with bb.function("main", params):
        if dataflow:
            with bb.dataflow():
                out = bb.emit_output(body(*params))
        else:
            out = body(*params)
        bb.emit_func_output(out)
    return bb.get()


def ops(module: rx.IRModule) -> list[str]:
    seen: list[str] = []

    class Names(ExprVisitor):
        def visit_default(self, binding: Binding) -> None:
            seen.append(binding.op)

    Names().visit(module)
    return [name for name in seen if name not in ("dataflow", "tensor.extract")]


def result_info(module: rx.IRModule) -> str:
    from relax_mlir.dialects.types import struct_info

    with module.context:
        return str(struct_info(module["main"].type.results[0]))


def run(module: rx.IRModule, *arguments: Any) -> Any:
    return to_numpy(rx.build(module)["main"](*arguments))


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).standard_normal(shape, dtype="f4")


class Fma(ExprMutator):
    def visit_add(self, binding: Binding) -> rx.Value | None:
        left, right = binding.operands
        product = self.definition(left)
        if product is None or product.op != "multiply":
            return None
        return R.ewise_fma(*product.operands, right)


@pytest.mark.parametrize("dataflow", [True, False])
def test_many_to_one(dataflow: bool) -> None:
    module = build(lambda a, b, c: R.exp(R.add(R.multiply(a, b), c)), X, X, X, dataflow=dataflow)
    arrays = sample(3, 4), sample(3, 4), sample(3, 4)
    before = run(module, *arrays)
    assert Fma().visit(module) == 1
    assert ops(module) == ["ewise_fma", "exp"]
    np.testing.assert_allclose(run(module, *arrays), before, rtol=1e-6)


def test_what_others_use_stays() -> None:
    def body(a: rx.Value, b: rx.Value) -> rx.Value:
        product = R.multiply(a, b)
        return R.subtract(R.add(product, b), product)

    module = build(body, X, X)
    assert Fma().visit(module) == 1
    assert ops(module) == ["multiply", "ewise_fma", "subtract"]


def test_nothing_to_do() -> None:
    module = build(lambda a, b: R.add(a, b), X, X)
    text = str(module)
    assert Fma().visit(module) == 0
    assert str(module) == text


def test_one_to_many_keeps_name_and_location() -> None:
    class Split(ExprMutator):
        def visit_nn_silu(self, binding: Binding) -> rx.Value:
            (x,) = binding.operands
            return x * R.sigmoid(x)

    bb = rx.BlockBuilder()
    x = rx.Var("x", X)
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(R.nn.silu(x), "activated"))
    module = bb.get()
    (place,) = [b.location for b in bindings(module)]
    before = run(module, sample(2, 4))
    Split().visit(module)
    first, last = bindings(module)
    assert (first.op, first.name, first.location) == ("sigmoid", None, place)
    assert (last.op, last.name, last.location) == ("multiply", "activated", place)
    np.testing.assert_allclose(run(module, sample(2, 4)), before, rtol=1e-5)


def bindings(module: rx.IRModule) -> list[Binding]:
    found: list[Binding] = []

    class Collect(ExprVisitor):
        def visit_default(self, binding: Binding) -> None:
            found.append(binding)

    Collect().visit(module)
    return found


def test_identity_number_and_tuple() -> None:
    class Simplify(ExprMutator):
        def visit_subtract(self, binding: Binding) -> Any:
            left, right = binding.operands
            return 0.5 if self.same(left, right) else None

        def visit_abs(self, binding: Binding) -> Any:
            return binding.operands[0]

        def visit_tuple(self, binding: Binding) -> Any:
            first, second = binding.operands
            return [second, first]

    scalar = rx.Tensor((), "float32")
    module = build(lambda a, b: R.make_tuple(R.abs(a), R.subtract(b, b)), scalar, scalar)
    assert Simplify().visit(module) == 3
    assert ops(module) == ["constant", "tuple"]
    first, second = rx.build(module)["main"](np.array(3, "f4"), np.array(4, "f4"))
    assert (float(to_numpy(first)), float(to_numpy(second))) == (0.5, 3.0)


def test_a_number_takes_the_shape_of_the_result() -> None:
    class Zero(ExprMutator):
        def visit_subtract(self, binding: Binding) -> float:
            return 0.0

    module = build(lambda a: R.subtract(a, a), X)
    Zero().visit(module)
    np.testing.assert_array_equal(run(module, sample(3, 4)), np.zeros((3, 4), "f4"))


def test_a_replacement_may_wrap_the_binding() -> None:
    class Wrap(ExprMutator):
        def visit_exp(self, binding: Binding) -> rx.Value:
            return R.negative(R.abs(binding.result))

    module = build(lambda a: R.sqrt(R.exp(a)), X)
    Wrap().visit(module)
    assert ops(module) == ["exp", "abs", "negative", "sqrt"]
    assert bool(np.isnan(run(module, sample(1, 4))).all())


def test_types_are_deduced_again_down_the_program() -> None:
    class All(ExprMutator):
        def visit_mean(self, binding: Binding) -> rx.Value:
            return R.sum(binding.operands[0])

    module = build(lambda a: R.exp(R.negative(R.mean(a, axis=[1]))), X)
    with pytest.raises(ShapeError, match=r"result of function 'main' is declared as Tensor\(\(n,\)"):
        All().visit(module)

    module = build(lambda a: R.full((2,), R.sum(R.negative(R.mean(a, axis=[1])))), X)
    All().visit(module)
    infos = [str(b.result.struct_info) for b in bindings(module)]
    assert infos[1:3] == ['Tensor((), "float32")'] * 2


def test_a_better_type_reaches_the_result_of_the_function() -> None:
    class Known(ExprMutator):
        def visit_call_dps_packed(self, binding: Binding) -> rx.Value:
            fields = self.definition(binding.operands[0])
            assert fields is not None
            return R.negative(fields.operands[0])

    module = build(
        lambda a: R.exp(R.match_shape(R.call_dps_packed("f", [a], rx.Tensor((3, 4))), (None, 4))),
        rx.Tensor((3, 4)),
    )
    Known().visit(module)
    assert ops(module) == ["negative", "match_shape", "exp"]


def test_a_type_that_is_not_provable_is_checked_at_run_time() -> None:
    class Swap(ExprMutator):
        def visit_exp(self, binding: Binding) -> rx.Value:
            (x,) = binding.operands
            return R.matmul(x, R.permute_dims(x))

    module = build(lambda a: R.exp(a), rx.Tensor(("n", "m"), "float32"))
    Swap().visit(module)
    assert ops(module) == ["permute_dims", "matmul", "match_shape"]
    assert result_info(module) == 'Tensor((n, m), "float32")'
    assert run(module, sample(3, 3)).shape == (3, 3)
    with pytest.raises(ShapeError):
        run(module, sample(3, 4))


def test_branches() -> None:
    class Double(ExprMutator):
        def visit_exp(self, binding: Binding) -> rx.Value:
            return R.negative(binding.operands[0])

        def visit_abs(self, binding: Binding) -> rx.Value:
            (x,) = binding.operands
            return R.matmul(x, R.permute_dims(x))

    def body(flag: rx.Value, a: rx.Value) -> rx.Value:
        return R.if_then_else(flag, lambda: R.exp(a), lambda: R.abs(a))

    module = build(body, rx.Tensor((), "bool"), rx.Tensor(("n", "m"), "float32"), dataflow=False)
    assert Double().visit(module) == 2
    assert ops(module) == ["if", "negative", "permute_dims", "matmul", "match_shape"]
    np.testing.assert_array_equal(run(module, np.array(True), sample(2, 3)), -sample(2, 3))
    np.testing.assert_allclose(run(module, np.array(False), sample(2, 2)), sample(2, 2) @ sample(2, 2).T, rtol=1e-5)


def test_a_condition_must_stay_one() -> None:
    class Break(ExprMutator):
        def visit_logical_not(self, binding: Binding) -> rx.Value:
            return R.expand_dims(binding.operands[0], [0])

    module = build(
        lambda flag, a: R.if_then_else(R.logical_not(flag), lambda: R.exp(a), lambda: a),
        rx.Tensor((), "bool"),
        X,
        dataflow=False,
    )
    with pytest.raises(ShapeError, match=r"the operand of tensor.extract is declared as"):
        Break().visit(module)


def test_dtype_that_a_user_refuses() -> None:
    class Wrong(ExprMutator):
        def visit_negative(self, binding: Binding) -> rx.Value:
            return R.astype(binding.operands[0], "float64")

    module = build(lambda a: R.add(R.negative(a), a), X)
    with pytest.raises(DTypeError, match=r"changed the type of an operand of add at .*test_mutator"):
        Wrong().visit(module)


def test_an_effect_is_removed_by_no_value() -> None:
    class Quiet(ExprMutator):
        def visit_call_packed(self, binding: Binding) -> tuple[()]:
            return ()

    def body(a: rx.Value) -> rx.Value:
        R.call_packed("log", a)
        return R.exp(a)

    module = build(body, X, dataflow=False)
    assert Quiet().visit(module) == 1
    assert ops(module) == ["exp"]


def test_values_do_not_move_across_effects() -> None:
    import tvm_ffi

    name = "test_mutator.increment"
    tvm_ffi.register_global_func(name, lambda x: np.from_dlpack(x).__iadd__(1), override=True)

    class Alias(ExprMutator):
        def visit_abs(self, binding: Binding) -> rx.Value:
            return binding.operands[0]

    def body(a: rx.Value) -> rx.Value:
        x = R.exp(a)
        y = R.abs(x)
        R.call_packed(name, x)
        return R.make_tuple(x, y)

    module = build(body, X, dataflow=False)
    Alias().visit(module)
    changed, kept = rx.build(module)["main"](np.zeros((1, 4), "f4"))
    np.testing.assert_array_equal(to_numpy(changed), np.full((1, 4), 2, "f4"))
    np.testing.assert_array_equal(to_numpy(kept), np.ones((1, 4), "f4"))


def test_dataflow_mutator_stays_in_its_blocks() -> None:
    class Negate(DataflowMutator):
        def visit_exp(self, binding: Binding) -> rx.Value:
            return R.negative(binding.operands[0])

    bb = rx.BlockBuilder()
    x = rx.Var("x", X)
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(R.exp(x))
        bb.emit_func_output(R.exp(y))
    module = bb.get()
    assert Negate().visit(module) == 1
    assert ops(module) == ["negative", "exp"]


@pytest.mark.parametrize("base", [ExprMutator, DataflowMutator])
def test_no_effects_in_dataflow_blocks(base: type[ExprMutator]) -> None:
    class Log(base):  # type: ignore[misc, valid-type]  # one of two classes
        def visit_exp(self, binding: Binding) -> None:
            R.call_packed("log", binding.operands[0])

    with pytest.raises(ArgumentError, match=r"Log\.visit_exp emits call_packed in a dataflow block"):
        Log().visit(build(lambda a: R.exp(a), X))


def test_an_effect_in_front_of_a_binding_that_stays() -> None:
    class Log(ExprMutator):
        def visit_exp(self, binding: Binding) -> None:
            R.negative(binding.operands[0])
            R.call_packed("log", binding.operands[0])

    module = build(lambda a: R.exp(a), X, dataflow=False)
    assert Log().visit(module) == 0
    assert ops(module) == ["tuple", "call_packed", "exp"]


class Swap(ExprMutator):
    repeat = True

    def visit_add(self, binding: Binding) -> rx.Value:
        left, right = binding.operands
        return R.add(right, left)


def test_endless_rewriting_ends_in_an_error() -> None:
    with pytest.raises(ArgumentError, match=r"Swap still replaces bindings after 32 walks.*add at .*test_mut"):
        Swap().visit(build(lambda a, b: R.add(a, b), X, X))


def test_repeated_until_nothing_changes() -> None:
    class Unnest(ExprMutator):
        repeat = True

        def visit_negative(self, binding: Binding) -> rx.Value | None:
            inner = self.definition(binding.operands[0])
            return inner.operands[0] if inner is not None and inner.op == "negative" else None

    module = build(lambda a: R.negative(R.negative(R.negative(R.negative(R.negative(a))))), X)
    Unnest().visit(module)
    assert ops(module) == ["negative"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("x", r"returns 'x' \(str\), expected None, a value, or several"),
        ({1}, "expected None, a value"),
        ((1.0, "x"), "2 values|expected None"),
    ],
)
def test_what_is_no_replacement(given: Any, message: str) -> None:
    class Wrong(ExprMutator):
        def visit_exp(self, binding: Binding) -> Any:
            return given

    with pytest.raises(RelaxError, match=message):
        Wrong().visit(build(lambda a: R.exp(a), X))


def test_errors_of_builders_name_the_method() -> None:
    class Wrong(ExprMutator):
        def visit_exp(self, binding: Binding) -> rx.Value:
            return R.reshape(binding.operands[0], (3,)) + R.zeros((7,), "float32")

    with pytest.raises(ShapeError, match=r"in Wrong.visit_exp, on <Binding _ = exp at .*function 'main'"):
        Wrong().visit(build(lambda a: R.exp(a), rx.Tensor((3,))))


def test_a_value_that_does_not_dominate_is_refused() -> None:
    kept: Sequence[rx.Value] = []

    class Wrong(ExprMutator):
        def visit_exp(self, binding: Binding) -> None:
            kept.append(binding.result)  # type: ignore[attr-defined]  # a list

        def visit_negative(self, binding: Binding) -> rx.Value:
            return kept[0]

    module = build(
        lambda flag, a: R.if_then_else(flag, lambda: R.exp(a), lambda: R.negative(a)),
        rx.Tensor((), "bool"),
        X,
        dataflow=False,
    )
    with pytest.raises(RelaxError, match="not valid"):
        Wrong().visit(module)


def test_ops_without_result() -> None:
    class Quiet(ExprMutator):
        def visit_print(self, binding: Binding) -> tuple[()]:
            return ()

    def body(a: rx.Value) -> rx.Value:
        b = R.exp(a)
        R.print(b)
        return R.negative(a)

    module = build(body, X, dataflow=False)
    assert Quiet().visit(module) == 1
    assert ops(module) == ["negative"]

    class Wrong(ExprMutator):
        def visit_print(self, binding: Binding) -> float:
            return 1.0

        def visit_default(self, binding: Binding) -> None:
            return None

    with pytest.raises(ArgumentError, match=r"for print, which has no result; \(\) removes it"):
        Wrong().visit(build(body, X, dataflow=False))


LAMBDA = """
!f = !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = "relax.abs"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %f = "relax.lambda"() ({
  ^bb0(%y: tensor<2xf32>):
    %e = "relax.exp"(%a) : (tensor<2xf32>) -> tensor<2xf32>
    %g = "relax.add"(%e, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "relax.lambda_return"(%g) : (tensor<2xf32>) -> ()
  }) {names = ["y"]} : () -> !f
  %c = "relax.exp"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  %t = builtin.unrealized_conversion_cast %c : tensor<2xf32> to tuple<tensor<2xf32>>
  %r = "relax.invoke_closure"(%f, %t) : (!f, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
"""


def test_functions_inside_functions() -> None:
    class Negate(ExprMutator):
        def visit_exp(self, binding: Binding) -> rx.Value:
            return R.negative(binding.operands[0])

        def visit_abs(self, binding: Binding) -> rx.Value:
            return binding.operands[0]

    module = rx.IRModule.parse(LAMBDA)
    assert Negate().visit(module) == 3
    assert ops(module) == ["lambda", "negative", "add", "negative", "tuple", "invoke_closure"]
    for step in (ConvertToDataflow(), TopologicalSort()):
        module.apply_(step)
        module.verify()
    assert str(module).count('"relax.dataflow"') == 1

    class Cut(ExprMutator):
        def visit_add(self, binding: Binding) -> rx.Value:
            return R.sum(binding.operands[0])

    with pytest.raises(ShapeError, match="the result of the function inside is declared as"):
        Cut().visit(module)
