"""Patterns of the dataflow pattern language, one by one, on values of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.dpl import (
    DFPattern,
    has_attr,
    has_dtype,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_extern_func,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from relax_mlir.error import ArgumentError, UnknownNameError
from relax_mlir.script import parse

SCRIPT = """
@I.ir_module
class Module:
    @T.prim_func
    def scale(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            B[i] = A[i] * T.float32(2)

    @R.function
    def double(v: R.Tensor(("k",), "float32")):
        return R.add(v, v)

    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 4), "float32"), i: R.Tensor((3,), "int64"),
             b: R.Tensor(("n", "n + n"), "float32")):
        with R.dataflow():
            product = R.matmul(x, w)
            act = R.nn.relu(product)
            shifted = R.add(act, R.const(1.5, "float32"))
            joined = R.concat((shifted, act), axis=0)
            parts = R.split(joined, 2, axis=1)
            left = parts[0]
            flat = R.reshape(left, (4 * n,))
            scaled = R.call_tir(scale, (flat,), R.Tensor((4 * n,), "float32"))
            filled = R.call_dps_packed("test.fill", (scaled, 3), R.Tensor((4 * n,), "float32"))
            taken = R.call_pure_packed("test.take", filled, sinfo_args=R.Tensor((4 * n,), "float32"))
            called = double(taken)
            wide = R.astype(called, "float64")
            soft = R.nn.softmax(wide, axis=0)
            R.output(soft)
        return soft
"""


@pytest.fixture(scope="module")
def program() -> dict[str, Any]:
    """The bindings of the program by name; the module is stored with them."""
    module = parse(SCRIPT)
    block = module["main"].body.blocks[0]
    found: dict[str, Any] = {binding.var.name: binding for binding in block.bindings}
    found |= {f"%{param.name}": param for param in module["main"].params}
    return found | {"module": module}


relu = is_op("relax.nn.relu")(wildcard())
CASES: dict[str, tuple[Callable[[], DFPattern], str, bool]] = {
    "wildcard": (wildcard, "act", True),
    "op": (lambda: is_op("relax.matmul")(wildcard(), wildcard()), "product", True),
    "op without the prefix": (lambda: is_op("matmul")(wildcard(), wildcard()), "product", True),
    "another op": (lambda: is_op("relax.add")(wildcard(), wildcard()), "product", False),
    "op alone": (lambda: is_op("relax.matmul"), "product", True),
    "a parameter is no call": (lambda: is_op("relax.matmul"), "%x", False),
    "through bindings": (
        lambda: is_op("relax.add")(is_op("relax.nn.relu")(is_op("relax.matmul")(is_var("x"), is_var("w"))), is_const()),
        "shifted",
        True,
    ),
    "deep mismatch": (
        lambda: is_op("relax.add")(is_op("relax.nn.relu")(is_op("relax.matmul")(is_var("w"), is_var("x"))), is_const()),
        "shifted",
        False,
    ),
    "constant": (lambda: is_op("relax.add")(wildcard(), is_const()), "shifted", True),
    "no constant": (lambda: is_op("relax.add")(is_const(), wildcard()), "shifted", False),
    "variable": (is_var, "act", True),
    "parameter": (lambda: is_var("x"), "%x", True),
    "other name": (lambda: is_var("x"), "%w", False),
    "dataflow variable": (is_dfv, "act", True),
    "named dataflow variable": (lambda: is_dfv("act"), "act", True),
    "output of the block": (is_dfv, "soft", False),
    "parameter is no dataflow variable": (is_dfv, "%x", False),
    "tuple": (lambda: is_op("relax.concat")(is_tuple([wildcard(), relu])), "joined", True),
    "order of a tuple": (
        lambda: is_op("relax.concat")(is_tuple([relu, wildcard().has_dtype("int64")])),
        "joined",
        False,
    ),
    "tuple in any order": (
        lambda: is_op("relax.concat")(is_tuple([relu, is_op("relax.add")], unordered=True)),
        "joined",
        True,
    ),
    "tuple in order": (lambda: is_op("relax.concat")(is_tuple([relu, is_op("relax.add")])), "joined", False),
    "too few fields": (lambda: is_op("relax.concat")(is_tuple([wildcard()])), "joined", False),
    "too few fields in any order": (
        lambda: is_op("relax.concat")(is_tuple([wildcard()], unordered=True)),
        "joined",
        False,
    ),
    "field": (lambda: is_tuple_get_item(is_op("relax.split"), 0), "left", True),
    "any field": (lambda: is_tuple_get_item(is_op("relax.split")), "left", True),
    "other field": (lambda: is_tuple_get_item(wildcard(), 1), "left", False),
    "shape": (lambda: is_op("relax.reshape")(wildcard(), is_shape(["n * 4"])), "flat", True),
    "equal shape": (lambda: is_op("relax.reshape")(wildcard(), is_shape(["2 * (n + n)"])), "flat", True),
    "any dimension": (lambda: is_op("relax.reshape")(wildcard(), is_shape(["?"])), "flat", True),
    "other shape": (lambda: is_op("relax.reshape")(wildcard(), is_shape(["n * 5"])), "flat", False),
    "other rank": (lambda: is_op("relax.reshape")(wildcard(), is_shape(["n", 4])), "flat", False),
    "call_tir": (lambda: is_call_tir("scale"), "scaled", True),
    "call_tir with arguments": (lambda: is_call_tir("scale", [is_op("relax.reshape")]), "scaled", True),
    "call_tir of another": (lambda: is_call_tir("scale2"), "scaled", False),
    "call_tir with others": (lambda: is_call_tir("scale", [relu]), "scaled", False),
    "call_tir without tir_vars": (lambda: is_call_tir("scale", None, ["n"]), "scaled", False),
    "any function of the module": (
        lambda: is_op("relax.call_tir")(is_gv(), wildcard(), varg_default_wildcard=True),
        "scaled",
        True,
    ),
    "call_dps_packed": (lambda: is_call_dps_packed("test.fill"), "filled", True),
    "call_dps_packed of another": (lambda: is_call_dps_packed("test.take"), "filled", False),
    "call_dps_packed with arguments": (
        lambda: is_call_dps_packed("test.fill", [is_call_tir("scale"), wildcard()]),
        "filled",
        True,
    ),
    "call_pure_packed": (lambda: is_call_packed("test.take"), "taken", True),
    "call_pure_packed with arguments": (
        lambda: is_call_packed("test.take", [is_call_dps_packed("test.fill")]),
        "taken",
        True,
    ),
    "too many arguments": (lambda: is_call_packed("test.take", [wildcard(), wildcard()]), "taken", False),
    "any packed function": (
        lambda: is_op("relax.call_pure_packed")(is_extern_func(), varg_default_wildcard=True),
        "taken",
        True,
    ),
    "call of a function": (lambda: is_gv("double")(wildcard()), "called", True),
    "call of another function": (lambda: is_gv("main")(wildcard()), "called", False),
    "dtype": (lambda: wildcard().has_dtype("float64"), "wide", True),
    "other dtype": (lambda: has_dtype("float32"), "wide", False),
    "dtype of a part": (lambda: has_dtype("float64", is_op("relax.nn.softmax")), "soft", True),
    "has_shape": (lambda: wildcard().has_shape(("n", 4)), "act", True),
    "has_shape by the algebra": (lambda: wildcard().has_shape(("n", "3*n - n")), "%b", True),
    "has_shape with any": (lambda: wildcard().has_shape((None, 4)), "act", True),
    "has_shape of another symbol": (lambda: wildcard().has_shape(("m", 4)), "act", False),
    "has_shape of a tuple": (lambda: wildcard().has_shape(("n", 4)), "parts", False),
    "struct info": (lambda: wildcard().has_struct_info(rx.Tensor(("n", 4), "float32")), "act", True),
    "vaguer struct info": (lambda: wildcard().has_struct_info(rx.Tensor(None, "float32")), "act", True),
    "other struct info": (lambda: wildcard().has_struct_info(rx.Tensor(("n", 4), "int64")), "act", False),
    "has_ty_info": (lambda: wildcard().has_ty_info(rx.Tensor(None, "float32")), "act", True),
    "has_ty_info of a type": (lambda: wildcard().has_ty_info(rx.DynTensorType(2, "float32")), "act", True),
    "type": (lambda: wildcard().has_type(rx.DynTensorType(1, "float32")), "act", False),
    "attribute": (lambda: is_op("relax.nn.softmax")(wildcard()).has_attr({"axis": 0}), "soft", True),
    "other attribute": (lambda: is_op("relax.nn.softmax").has_attr({"axis": 1}), "soft", False),
    "dtype as attribute": (lambda: is_op("relax.astype").has_attr({"dtype": "float64"}), "wide", True),
    "other dtype as attribute": (lambda: is_op("relax.astype").has_attr({"dtype": "float32"}), "wide", False),
    "attribute of any op": (lambda: has_attr({"axis": 0}), "joined", True),
    "attribute of no op": (lambda: has_attr({"axis": 0}), "%x", False),
    "or": (lambda: is_op("relax.add") | is_op("relax.matmul"), "product", True),
    "or of ops": (
        lambda: (is_op("relax.add") | is_op("relax.matmul"))(wildcard(), wildcard()),
        "product",
        True,
    ),
    "and": (lambda: relu & has_dtype("float32"), "act", True),
    "and of what contradicts": (lambda: relu & has_dtype("float64"), "act", False),
    "not": (lambda: ~is_op("relax.add"), "act", True),
    "not of what fits": (lambda: ~is_op("relax.nn.relu"), "act", False),
    "optional, taken": (
        lambda: is_op("relax.matmul")(wildcard(), wildcard()).optional(lambda x: is_op("relax.nn.relu")(x)),
        "act",
        True,
    ),
    "optional, left out": (
        lambda: is_op("relax.matmul")(wildcard(), wildcard()).optional(lambda x: is_op("relax.nn.relu")(x)),
        "product",
        True,
    ),
    "optional of another": (
        lambda: is_op("relax.matmul")(wildcard(), wildcard()).optional(lambda x: is_op("relax.exp")(x)),
        "act",
        False,
    ),
    "last arguments left out": (
        lambda: is_op("relax.reshape")(wildcard(), varg_default_wildcard=True),
        "flat",
        True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_pattern(program: dict[str, Any], name: str) -> None:
    make, where, expected = CASES[name]
    subject = program[where]
    assert make().match(subject) is expected
    if not where.startswith("%"):
        assert make().match(subject.var) is expected
        assert where == "soft" or make().match(subject.value) is (expected and not is_name(make()))


def is_name(pattern: DFPattern) -> bool:
    """True if a pattern matches variables only, not the values bound to them."""
    return type(pattern).__name__ in ("VarPattern", "DataflowVarPattern")


def test_what_parts_stand_for(program: dict[str, Any]) -> None:
    left, right = wildcard(), is_const()
    pattern = is_op("relax.add")(left, right)
    found = pattern.extract_matched_expr(program["shifted"].var)
    assert found is not None
    assert found[left].same_as(program["act"].var)
    assert found[right].data == np.float32(1.5)
    assert found[pattern].same_as(program["shifted"].var)
    assert pattern.extract_matched_expr(program["act"].var) is None


def test_one_pattern_stands_for_one_value() -> None:
    bb = rx.BlockBuilder()
    x, y = (rx.Var(name, rx.Tensor(("n",), "float32")) for name in "xy")
    with bb.function("main", [x, y]):
        with bb.dataflow():
            same = bb.emit(R.add(x, x), "same")
            other = bb.emit(R.add(x, y), "other")
            first = bb.emit(R.multiply(same, R.const(2.0)), "first")
            second = bb.emit(R.multiply(first, R.const(2.0)), "second")
            out = bb.emit_output(R.add(second, other), "out")
        bb.emit_func_output(out)
    module = bb.get()
    found = {binding.var.name: binding.var for binding in module["main"].body.blocks[0].bindings}
    operand = wildcard()
    assert is_op("relax.add")(operand, operand).match(found["same"])
    assert not is_op("relax.add")(operand, operand).match(found["other"])
    factor = is_const()  # two equal constants are one value
    twice = is_op("relax.multiply")(is_op("relax.multiply")(wildcard(), factor), factor)
    assert twice.match(found["second"])


def test_alternatives_are_tried_again_where_a_later_part_does_not_fit(program: dict[str, Any]) -> None:
    part = wildcard()
    either = is_op("relax.add")(part, wildcard()) | is_op("relax.add")(wildcard(), part)
    # `part` is the first operand in the first alternative, and then the second argument does not match.
    pattern = is_op("relax.concat")(is_tuple([either, part]))
    found = pattern.extract_matched_expr(program["joined"].var)
    assert found is not None
    assert found[part].same_as(program["act"].var)
    assert not is_op("relax.concat")(is_tuple([is_op("relax.add")(wildcard(), part), part])).match(program["joined"])


def test_a_value_as_pattern(program: dict[str, Any]) -> None:
    assert is_op("relax.nn.relu")(is_expr(program["product"].var)).match(program["act"])
    assert not is_op("relax.nn.relu")(is_expr(program["act"].var)).match(program["act"])


def test_dup_may_stand_for_another_value(program: dict[str, Any]) -> None:
    one = wildcard()
    assert not is_op("relax.matmul")(one, one).match(program["product"])
    assert is_op("relax.matmul")(one, one.dup()).match(program["product"])


def test_inside_a_mutator() -> None:
    """Mutators give plain values, which patterns take."""
    from relax_mlir.rewrite import Binding, ExprMutator

    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(R.exp(R.negative(x))))
    module = bb.get()
    seen = []

    class Look(ExprMutator):
        def visit_exp(self, binding: Binding) -> None:
            seen.append(is_op("relax.exp")(is_op("relax.negative")(is_var("x"))).match(binding.result))
            seen.append(is_op("relax.negative").match(binding.operands[0]))
            seen.append(is_op("relax.negative").match(binding.result))

    Look().visit(module)
    assert seen == [True, True, False]


def test_bounds_of_symbols_count() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("min(n, 8)",), "float32"))
    y = rx.Var("y", rx.Tensor(("n",), "float32"))
    with bb.function("main", [y, x], bounds={"n": (8, 64)}):
        bb.emit_func_output(bb.emit(R.exp(x), "e"))
    main = bb.get()["main"]
    binding = main.body.blocks[0].bindings[0]
    assert wildcard().has_shape((8,)).match(binding.var)
    assert not wildcard().has_shape((9,)).match(binding.var)


def test_mistakes_are_errors(program: dict[str, Any]) -> None:
    with pytest.raises(UnknownNameError, match=r"relax.matmull.*relax.matmul"):
        is_op("relax.matmull")
    with pytest.raises(ArgumentError, match=r"has the operands \(x1, x2\), but the pattern has 1 arguments"):
        is_op("relax.matmul")(wildcard())
    with pytest.raises(ArgumentError, match="3 arguments"):
        is_op("relax.matmul")(wildcard(), wildcard(), wildcard(), varg_default_wildcard=True)
    with pytest.raises(ArgumentError, match="expected a pattern"):
        is_op("relax.nn.relu")(3)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ArgumentError, match="expected a pattern"):
        wildcard() | 3  # type: ignore[operator]  # on purpose
    with pytest.raises(UnknownNameError, match=r"axes.*axis"):
        is_op("relax.nn.softmax").has_attr({"axes": 0})
    with pytest.raises(UnknownNameError, match="float23"):
        wildcard().has_dtype("float23")
    with pytest.raises(ArgumentError, match="is no value of a program"):
        wildcard().match(np.ones(3))  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ArgumentError, match="is no value of a program"):
        wildcard().match(rx.Call("relax.exp", [program["act"].var]))
    deep = wildcard()
    for _ in range(500):
        deep = ~deep
    with pytest.raises(ArgumentError, match="nested deeper than 200"):
        deep.match(program["act"])
    with pytest.raises(ArgumentError, match="no PatternContext is open"):
        wildcard() ^ wildcard()
