"""`PatternContext`: several patterns at once, with constraints on users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.dpl import PatternContext, is_const, is_dfv, is_op, is_tuple, is_var, wildcard
from relax_mlir.error import ArgumentError


def module_of(dataflow: bool = True) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 8), "float32"))
    weights = [rx.Var(f"w{i}", rx.Tensor((8, 4), "float32")) for i in range(3)]

    def body() -> Any:
        first = bb.emit(R.matmul(x, weights[0]), "first")
        act = bb.emit(R.nn.relu(first), "act")
        second = bb.emit(R.matmul(x, weights[1]), "second")
        total = bb.emit(R.add(act, second), "total")
        joined = bb.emit(R.concat((total, act), axis=1), "joined")
        third = bb.emit(R.matmul(x, weights[2]), "third")
        bb.emit(R.exp(third), "unused")
        return (bb.emit_output if dataflow else bb.emit)(R.concat((joined, third), axis=1), "out")

    with bb.function("main", [x, *weights]):
        if dataflow:
            with bb.dataflow():
                out = body()
        else:
            out = body()
        bb.emit_func_output(out)
    return bb.get()


@pytest.fixture(scope="module")
def program() -> tuple[rx.IRModule, Any]:
    module = module_of()
    return module, module["main"].body.blocks[0]


Make = Callable[[], dict[str, Any]]


def relu_of_matmul() -> dict[str, Any]:
    product, act = is_op("relax.matmul")(wildcard(), wildcard()), is_op("relax.nn.relu")(wildcard())
    product.used_by(act)
    return {"first": product, "act": act}


def relu_alone_uses() -> dict[str, Any]:
    product, act = is_op("relax.matmul")(wildcard(), wildcard()), is_op("relax.nn.relu")(wildcard())
    product >> act
    return {"first": product, "act": act}


def by_argument() -> dict[str, Any]:
    product, total = is_op("relax.matmul")(wildcard(), wildcard()), is_op("relax.add")(wildcard(), wildcard())
    product.used_by(total, 1)
    return {"second": product, "total": total}


def through_a_tuple() -> dict[str, Any]:
    total, joined = is_op("relax.add")(wildcard(), wildcard()), is_op("relax.concat")(wildcard())
    total ^ joined
    return {"total": total, "joined": joined}


def chain() -> dict[str, Any]:
    row = is_op("relax.matmul")(wildcard(), wildcard()) >> is_op("relax.nn.relu")(wildcard()) ^ is_op("relax.add")(
        wildcard(), wildcard()
    )
    assert len(row) == 3
    return {"first": row[0], "act": row[1], "total": row[2]}


def fork() -> dict[str, Any]:
    act = is_op("relax.nn.relu")(wildcard())
    total, joined = is_op("relax.add")(wildcard(), wildcard()), is_op("relax.concat")(wildcard())
    act.fork_to(total, joined)
    return {"act": act, "total": total, "joined": joined}


def three_products() -> dict[str, Any]:
    x, names = wildcard(), ("first", "second", "third")
    return {"x": x, **{name: is_op("relax.matmul")(x, wildcard()) for name in names}}


def parameters() -> dict[str, Any]:
    x = is_var("x")
    product = is_op("relax.matmul")(wildcard(), wildcard())
    x ^ product
    return {"x": x, "first": product}


def one_shape() -> dict[str, Any]:
    act, other = is_op("relax.nn.relu")(wildcard()), is_op("relax.concat")(wildcard())
    product = is_op("relax.matmul")(wildcard(), is_var("w2"))
    act.same_shape_as(product)
    assert other is not None
    return {"act": act, "third": product, "joined": other}


FOUND: dict[str, Make] = {
    "used_by": relu_of_matmul,
    "only_used_by": relu_alone_uses,
    "by argument": by_argument,
    "through a tuple": through_a_tuple,
    "chain": chain,
    "fork": fork,
    "shared part": three_products,
    "parameters": parameters,
    "same shape": one_shape,
}


@pytest.mark.parametrize("name", FOUND)
def test_found(program: tuple[rx.IRModule, Any], name: str) -> None:
    module, block = program
    with PatternContext() as ctx:
        expected = FOUND[name]()
    found = ctx.match_dfb(block)
    assert found is not None
    variables = {binding.var.name: binding.var for binding in block.bindings}
    variables |= {param.name: param for param in module["main"].params}
    for variable, pattern in expected.items():
        assert found[pattern].same_as(variables[variable]), variable


def act_only_in_total() -> None:
    is_op("relax.nn.relu")(wildcard()) >> is_op("relax.add")(wildcard(), wildcard())


def total_by_its_second_argument() -> None:
    is_op("relax.nn.relu")(wildcard()).used_by(is_op("relax.add")(wildcard(), wildcard()), 1)


def product_of_products() -> None:
    is_op("relax.matmul")(wildcard(), wildcard()) ^ is_op("relax.matmul")(wildcard(), wildcard())


def four_products() -> None:
    for _ in range(4):
        is_op("relax.matmul")(wildcard(), wildcard())


def output_that_is_used_once() -> None:
    is_op("relax.concat")(is_tuple([is_op("relax.concat")(wildcard()), wildcard()])) >> wildcard()


def other_shape() -> None:
    is_op("relax.nn.relu")(wildcard()).same_shape_as(is_op("relax.concat")(wildcard()))


def constants() -> None:
    is_op("relax.add")(wildcard(), is_const())


MISSING = {
    make.__name__: make
    for make in (
        act_only_in_total,
        total_by_its_second_argument,
        product_of_products,
        four_products,
        output_that_is_used_once,
        other_shape,
        constants,
    )
}


@pytest.mark.parametrize("name", MISSING)
def test_not_found(program: tuple[rx.IRModule, Any], name: str) -> None:
    with PatternContext() as ctx:
        MISSING[name]()
    assert ctx.match_dfb(program[1]) is None


def test_outside_of_dataflow_blocks() -> None:
    block = module_of(dataflow=False)["main"].body.blocks[0]
    with PatternContext() as ctx:
        expected = chain()
    found = ctx.match_dfb(block)
    assert found is not None
    assert {found[pattern].name for pattern in expected.values()} == set(expected)


def test_hints(program: tuple[rx.IRModule, Any]) -> None:
    variables = {binding.var.name: binding.var for binding in program[1].bindings}
    with PatternContext() as ctx:
        product = is_op("relax.matmul")(wildcard(), wildcard())
    names = []
    for hint in (None, variables["third"], variables["act"]):
        found = ctx.match_dfb(program[1], hint)
        assert found is not None
        names.append(found[product].name)
    assert names == ["first", "third", "first"]
    assert ctx.match_dfb(program[1], variables["act"], must_include_hint=True) is None
    with pytest.raises(ArgumentError, match="needs a start_hint"):
        ctx.match_dfb(program[1], must_include_hint=True)


def test_incremental(program: tuple[rx.IRModule, Any]) -> None:
    with PatternContext() as outer:
        product = is_op("relax.matmul")(wildcard(), wildcard())
        with PatternContext(incremental=True) as inner:
            product >> is_op("relax.exp")(wildcard())
    assert outer.match_dfb(program[1]) is not None
    assert inner.match_dfb(program[1]) is None


def test_mistakes_are_errors(program: tuple[rx.IRModule, Any]) -> None:
    with PatternContext() as ctx:
        is_dfv()
    with pytest.raises(ArgumentError, match="nothing to look for"):
        ctx.match_dfb(program[1])
    with pytest.raises(ArgumentError, match="a block of a program"):
        ctx.match_dfb(program[0]["main"])
    with pytest.raises(ArgumentError, match="is no part of a program"):
        ctx.match_dfb(rx.BindingBlock([]))
    with pytest.raises(ArgumentError, match="no PatternContext is open"):
        PatternContext(incremental=True)
    with PatternContext(), pytest.raises(ArgumentError, match="expected a pattern"):
        wildcard() ^ 3  # type: ignore[operator]  # on purpose


def test_a_block_without_bindings() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(x)
        bb.emit_func_output(out)
    with PatternContext() as ctx:
        is_op("relax.exp")(wildcard())
    for block in bb.get()["main"].body.blocks:
        assert ctx.match_dfb(block) is None
