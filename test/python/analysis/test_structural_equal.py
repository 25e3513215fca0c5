"""Structural equality: which differences count."""

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir import te
from relax_mlir.analysis import assert_structural_equal, find_difference, structural_equal, structural_hash
from relax_mlir.error import ArgumentError
from relax_mlir.script import parse, script_constants
from relax_mlir.transform import create_pass


def module(symbols: tuple[str, str] = ("n", "m"), scale: float = 2.0, weight: float = 1.0) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(symbols, "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = x + scale
            y = y + bb.const(np.full((100, 1, 1), weight, "float32"))
            y = bb.match_shape(y, (100, "a", "b"))
            s = R.shape_expr([f"{symbols[0]} * a"])
            out = bb.emit_output([y, s])
        bb.emit_func_output(out)
    return bb.get()


def test_names_of_symbols_do_not_count() -> None:
    assert_structural_equal(module(), module(("p", "q")))
    assert structural_equal(module(), rx.IRModule.parse(module().asm(elide_above=None)))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: module(("n", "n")), "argument 0"),
        (lambda: module(scale=3.0), "attribute 'value'"),
        (lambda: module(weight=3.0), "attribute 'value'"),
    ],
)
def test_differences_are_found_and_told(other, message: str) -> None:  # type: ignore[no-untyped-def]  # a lambda
    difference = find_difference(module(), other())
    assert difference is not None and message in difference and "main" in difference
    with pytest.raises(AssertionError, match="the modules differ"):
        assert_structural_equal(module(), other())


def test_functions_must_be_the_same() -> None:
    difference = find_difference(module(), rx.IRModule.parse("module {}"))
    assert difference is not None and "['main']" in difference


def test_default_attributes_may_be_written_out() -> None:
    """A legalised matmul reads back equal: its text omits the maps that the op has by default."""
    module = parse('@R.function\ndef main(x: R.Tensor(("n", "n"), "float32")):\n    return R.matmul(x, x)\n')
    module.apply_(create_pass("legalize-ops"))
    assert_structural_equal(module, parse(module.script(), constants=script_constants(module.mlir)))


PAIR = """
@R.function
def {first}(x: R.Tensor(("{n}", 4), "float32")) -> R.Tensor(("{n}", 4), "float32"):
    return cls.{called}({argument})

@R.function(private=True)
def {called}(y: R.Tensor(("k", 4), "float32")) -> R.Tensor(("k", 4), "float32"):
    return R.exp(y)

@T.prim_func
def {prim}(A: T.Buffer(("{n}", 4), "float32"), B: T.Buffer(("{n}", 4), "float32")):
    for i, j in T.grid({n}, 4):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32({factor})
"""
OURS = {"first": "main", "called": "f", "n": "n", "argument": "x", "prim": "scale", "factor": "2.0"}


def pair(**changed: str) -> rx.IRModule:
    return parse(PAIR.format(**OURS | changed))


def test_functions_have_no_names_of_their_own() -> None:
    left, right = pair(), pair(first="other", prim="twice", n="m")
    assert_structural_equal(left["main"], right["other"])
    assert_structural_equal(left["scale"], right["twice"])
    assert_structural_equal(left["f"], right["f"])
    assert structural_hash(left["main"]) == structural_hash(right["other"])
    assert structural_hash(left["scale"]) == structural_hash(right["twice"])
    with pytest.raises(AssertionError, match=r"the modules differ: functions \['main', 'scale'\] are only in the left"):
        assert_structural_equal(left, right)


def test_differences_of_functions_have_a_place() -> None:
    left, right = pair(), pair(argument="R.negative(x)")
    place = r"function 'main', builtin.unrealized_conversion_cast at .*<script>.*:4:12: the other is relax.negative"
    with pytest.raises(AssertionError, match=place):
        assert_structural_equal(left["main"], right["main"])
    with pytest.raises(AssertionError, match=r"function 'scale', arith.constant at .*: attribute 'value' is 2.0"):
        assert_structural_equal(left["scale"], pair(factor="3.0")["scale"])
    assert not structural_equal(left["main"], left["f"])
    assert not structural_equal(left["main"], left["scale"])


def test_names_of_called_functions() -> None:
    """Names count, unless they are mapped one to one."""
    left, right = pair(), pair(called="g")
    assert not structural_equal(left["main"], right["main"])
    assert structural_equal(left["main"], right["main"], map_free_vars=True)
    assert structural_hash(left["main"]) != structural_hash(right["main"])
    assert structural_hash(left["main"], map_free_vars=True) == structural_hash(right["main"], map_free_vars=True)
    renamed = pair(first="a", called="b", prim="c")
    assert_structural_equal(left, renamed, map_free_vars=True)
    assert structural_hash(left, map_free_vars=True) == structural_hash(renamed, map_free_vars=True)
    both = "R.add(cls.{0}(x), cls.{1}(x))"
    text = """
@R.function
def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    return {sum}

@R.function
def f(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    return x

@R.function
def g(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    return x
"""
    two, one = parse(text.format(sum=both.format("f", "g"))), parse(text.format(sum=both.format("f", "f")))
    swapped = parse(text.format(sum=both.format("g", "f")))
    assert structural_equal(two["main"], swapped["main"], map_free_vars=True)
    assert not structural_equal(two["main"], one["main"], map_free_vars=True)
    assert not structural_equal(one["main"], two["main"], map_free_vars=True)


def test_recursion_is_a_call_of_itself() -> None:
    text = """
@R.function
def {name}(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
    if c:
        y = cls.{callee}(x, c)
    else:
        y = x
    return y

@R.function
def other(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
    return x
"""
    left = parse(text.format(name="f", callee="f"))
    assert_structural_equal(left["f"], parse(text.format(name="g", callee="g"))["g"])
    calls_other = parse(text.format(name="g", callee="other"))["g"]
    assert not structural_equal(left["f"], calls_other)
    assert not structural_equal(left["f"], calls_other, map_free_vars=True)


def test_hashes_agree_with_equality() -> None:
    """For the modules of this file: equal ones have equal hashes, the others have different ones."""
    modules = [
        *(module(), module(("p", "q")), module(("n", "n")), module(scale=3.0), module(weight=3.0)),
        *(pair(), pair(n="m"), pair(factor="3.0"), pair(argument="R.negative(x)"), pair(called="g")),
        rx.IRModule.parse("module {}"),
        rx.IRModule.parse(module().asm(elide_above=None)),
    ]
    for left in modules:
        for right in modules:
            assert structural_equal(left, right) == (structural_hash(left) == structural_hash(right))


def test_hashes_survive_the_text() -> None:
    """Attributes with default values, which the text omits, are not hashed."""
    text = '@R.function\ndef main(x: R.Tensor(("n", "n"), "float32")):\n    return R.matmul(x, x + 1.0)\n'
    legal = parse(text)
    legal.apply_(create_pass("legalize-ops"))
    again = rx.IRModule.parse(legal.asm(elide_above=None))
    assert_structural_equal(legal, again)
    assert structural_hash(legal) == structural_hash(again)


def test_emit_te_as_the_document_has_it() -> None:
    """The prim func of `emit_te` equals that of `create_prim_func`, regardless of names."""
    n, m = te.var("n"), te.var("m")
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor((n, m), "float32"))

    def double(a: te.Tensor) -> te.Tensor:
        return te.compute((n, m), lambda i, j: a[i, j] * 2, "doubled")

    with bb.function("rx_func", [x]):
        bb.emit_func_output(bb.emit_te(double, x))
    a = te.placeholder((n, m), "float32", "a")
    expected = te.create_prim_func([a, double(a)])["main"]
    rx.ir.assert_structural_equal(bb.get()["double"], expected)
    rx.assert_structural_equal(bb.get()["double"], expected)
    assert rx.structural_hash(bb.get()["double"]) == rx.structural_hash(expected)
    other = te.create_prim_func([a, te.compute((n, m), lambda i, j: a[i, j] * 3, "doubled")])["main"]
    assert not rx.structural_equal(bb.get()["double"], other)


def test_what_cannot_be_compared() -> None:
    with pytest.raises(ArgumentError, match=r"the left is 'x' \(str\), expected an IRModule or a function"):
        structural_equal("x", module())  # type: ignore[arg-type]  # a mistake
    with pytest.raises(ArgumentError, match="one is no module"):
        structural_equal(module(), module()["main"])
    with pytest.raises(ArgumentError, match=r"the argument is 3 \(int\)"):
        structural_hash(3)  # type: ignore[arg-type]  # a mistake


def test_weights_outside_of_relax_constants() -> None:
    """Their elements count, and their names do not."""

    def module(name: str, last: str) -> rx.IRModule:
        blob = "0x04000000" + "0000803F" * 99 + last
        return rx.IRModule.parse(
            f"""func.func @main() -> tensor<100xf32> attributes {{note = [dense_resource<{name}> : tensor<100xf32>]}} {{
              %0 = arith.constant dense_resource<{name}> : tensor<100xf32>
              return %0 : tensor<100xf32>
            }}
            {{-# dialect_resources: {{ builtin: {{ {name}: "{blob}" }} }} #-}}""",
            trusted=True,
        )

    first, renamed, other = module("w", "0000803F"), module("v", "0000803F"), module("w", "00000040")
    assert structural_equal(first, renamed) and structural_hash(first) == structural_hash(renamed)
    assert not structural_equal(first, other) and structural_hash(first) != structural_hash(other)
