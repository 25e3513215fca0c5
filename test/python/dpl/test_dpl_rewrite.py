"""`rewrite_call` and `rewrite_bindings`: the rewritten programs compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from programs import numpy
from relax_mlir import op as R
from relax_mlir.dpl import PatternContext, is_const, is_op, is_shape, rewrite_bindings, rewrite_call, wildcard
from relax_mlir.error import ArgumentError, ShapeError

N = rx.Tensor(("n", 8), "float32")


def products() -> rx.IRModule:
    """Three matmuls with a shared operand, the last of which comes after a user of the first."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", N)
    weights = [rx.Var(f"w{i}", rx.Tensor((8, 4), "float32")) for i in range(3)]
    with bb.function("main", [x, *weights]):
        with bb.dataflow():
            first = bb.emit(R.matmul(x, weights[0]), "first")
            act = bb.emit(R.nn.relu(first), "act")
            scaled = bb.emit(R.multiply(weights[1], R.const(2.0)), "scaled")
            second = bb.emit(R.matmul(x, scaled), "second")
            third = bb.emit(R.matmul(x, weights[2]), "third")
            total = bb.emit(R.add(R.add(act, second), third), "total")
            out = bb.emit_output(R.exp(total), "out")
        bb.emit_func_output(out)
    return bb.get()


def built(module: rx.IRModule) -> Any:
    return rx.build(module)["main"]


def run(main: Any, n: int) -> Any:
    rng = np.random.default_rng(n)
    return numpy(main(*(rng.standard_normal(shape, dtype="f4") for shape in ((n, 8), (8, 4), (8, 4), (8, 4)))))


def fused(module: rx.IRModule) -> rx.IRModule:
    with PatternContext() as ctx:
        x, weights = wildcard(), [wildcard() for _ in range(3)]
        found_products = [is_op("relax.matmul")(x, weight) for weight in weights]

    def rewriter(found: dict[Any, Any], bindings: dict[Any, Any]) -> dict[Any, Any]:
        assert {var.name for var in bindings} == {
            "first",
            "act",
            "scaled",
            "second",
            "third",
            "total",
            "out",
            "lv",
        }
        both = R.matmul(found[x], R.concat([found[weight] for weight in weights], axis=1))
        return dict(zip((found[item] for item in found_products), R.split(both, 3, axis=1), strict=True))

    new = module.clone()
    new["main"] = rewrite_bindings(ctx, rewriter, module["main"])
    return new


def test_three_products_become_one() -> None:
    module = products()
    text = str(module)
    new = fused(module)
    assert str(module) == text
    assert str(new).count('"relax.matmul"') == 1
    before, after = built(module), built(new)
    for n in (0, 1, 5):
        np.testing.assert_allclose(run(after, n), run(before, n), rtol=1e-5)


def test_bindings_that_do_not_match_stay() -> None:
    module = products()
    with PatternContext() as ctx:
        is_op("relax.sin")(wildcard())
    main = module["main"]
    assert rewrite_bindings(ctx, lambda found, bindings: {}, main) is main
    with PatternContext() as ctx:
        is_op("relax.exp")(wildcard())
    assert rewrite_bindings(ctx, lambda found, bindings: {}, main) is main


def test_rounds_until_nothing_is_found() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", N)
    with bb.function("main", [x]):
        with bb.dataflow():
            value: Any = x
            for _ in range(5):
                value = bb.emit(R.negative(value))
            out = bb.emit_output(value)
        bb.emit_func_output(out)
    module = bb.get()
    with PatternContext() as ctx:
        inner = wildcard()
        outer = is_op("relax.negative")(is_op("relax.negative")(inner))
    new = rewrite_bindings(ctx, lambda found, bindings: {found[outer]: found[inner]}, module["main"])
    assert str(new).count('"relax.negative"') == 1


def test_rewrite_call_with_numbers_expressions_and_ops() -> None:
    module = products()
    a, b, c = wildcard(), wildcard(), is_const()
    new = module.clone()
    new["main"] = rewrite_call(
        is_op("relax.add")(is_op("relax.add")(a, b), wildcard()),
        lambda call, found: R.add(found[a], R.add(found[b], call.args[1])),
        new["main"],
    )
    new["main"] = rewrite_call(
        is_op("relax.multiply")(a, c),
        lambda call, found: rx.Call("relax.add", [found[a], found[a]]),
        new["main"],
    )
    new["main"] = rewrite_call(is_op("relax.exp")(wildcard()), lambda call, found: call, new["main"])
    text = str(new)
    assert '"relax.multiply"' not in text
    np.testing.assert_allclose(run(built(new), 3), run(built(module), 3), rtol=1e-5)
    new["main"] = rewrite_call(is_op("relax.exp")(wildcard()), lambda call, found: 1.5, new["main"])
    np.testing.assert_array_equal(run(built(new), 3), np.full((3, 4), 1.5, "f4"))


def test_shapes_are_matched_by_the_algebra() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 6), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit(R.reshape(x, ("2 * n", 3)))
            out = bb.emit_output(R.reshape(a, ("n * 3", "8 - 6")))
        bb.emit_func_output(out)
    module = bb.get()
    inner = wildcard()
    twice = is_op("relax.reshape")(is_op("relax.reshape")(inner, is_shape(["n + n", 3])), is_shape(["3 * n", 2]))
    new = rewrite_call(twice, lambda call, found: R.reshape(found[inner], ("3 * n", 2)), module["main"])
    assert str(new).count('"relax.reshape"') == 1


def test_types_are_deduced_again() -> None:
    module = products()
    x = wildcard()
    with pytest.raises(ShapeError, match=r"declared as Tensor\(\(n, 4\).*but is Tensor\(\(n, 8\)"):
        rewrite_call(is_op("relax.exp")(x), lambda call, found: R.concat([call, call], axis=1), module["main"])


def test_mistakes_are_errors() -> None:
    module = products()
    main = module["main"]
    exp = is_op("relax.exp")(wildcard())
    with pytest.raises(ArgumentError, match="the rewriter gives None"):
        rewrite_call(exp, lambda call, found: None, main)
    with pytest.raises(ArgumentError, match="expected a pattern"):
        rewrite_call("relax.exp", lambda call, found: call, main)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ArgumentError, match="a Relax function of a module"):
        rewrite_call(exp, lambda call, found: call, module)  # type: ignore[arg-type]  # on purpose
    with PatternContext() as ctx:
        found_exp = is_op("relax.exp")(wildcard())
    with pytest.raises(ArgumentError, match="which the block does not bind"):
        rewrite_bindings(ctx, lambda found, bindings: {main.params[0]: 1.0}, main)
    with pytest.raises(ArgumentError, match="a dictionary of variables"):
        rewrite_bindings(ctx, lambda found, bindings: 3, main)  # type: ignore[arg-type, return-value]  # on purpose
    with pytest.raises(ArgumentError, match="holds pure ops only"):
        rewrite_bindings(
            ctx,
            lambda found, bindings: {
                found[found_exp]: R.call_packed("test.f", found[found_exp], out=rx.Tensor(("n", 4), "float32"))
            },
            main,
        )
    with pytest.raises(ArgumentError, match="needs its own result"):
        rewrite_bindings(ctx, lambda found, bindings: {found[found_exp]: R.sin(found[found_exp])}, main)
    with pytest.raises(ArgumentError, match="is found again"):
        rewrite_bindings(ctx, lambda found, bindings: {found[found_exp]: R.exp(R.sin(bindings_of(found)))}, main)


def bindings_of(found: dict[Any, Any]) -> Any:
    """The operand of the call that was found."""
    return next(value for value in found.values() if isinstance(value, rx.Var) and value.name != "out")
