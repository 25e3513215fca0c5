"""Passes preserve effects: aliases of a value, changes by callees, tuples, loops, closures."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import tvm_ffi
from relax_mlir.instrument import WellFormed
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse
from relax_mlir.transform import MLIRPass, create_pass

PROGRAM = """
@R.function(private=True)
def bump(p: R.Tensor(("k",), "float32")):
    R.call_packed("passes.increment", p)
    return p

@R.function(private=True)
def bump_field(t: R.Tuple(R.Tensor(("k",), "float32"), R.Tensor(("k",), "float32"))):
    f = t[0]
    R.call_packed("passes.increment", f)
    return f, t[1]

@R.function(private=True)
def same(p: R.Tensor(("k",), "float32")):
    return p

@R.function(private=True)
def add_to(p: R.Tensor(("k",), "float32"), q: R.Tensor(("k",), "float32")):
    R.call_packed("passes.mix", p, q)
    return p, q

@R.function
def names(x: R.Tensor(("n",), "float32")):
    y = x + 0.0
    pair = (y, x)
    before = pair[0]
    R.call_packed("passes.increment", y)
    after = pair[0]
    return y, before, after, pair

@R.function(private=True)
def sum_of(t: R.Tuple(R.Tensor(("k",), "float32"), R.Tensor(("k",), "float32"))):
    return t[0] + t[1]

@R.function
def whole_tuple(x: R.Tensor(("n",), "float32")):
    y = x + 0.0
    pair = (y, x)
    before = cls.sum_of(pair)
    R.call_packed("passes.increment", y)
    return before, cls.sum_of(pair), cls.sum_of((y, x)), R.concat(pair)

@R.function
def callee_keeps_callers_value(x: R.Tensor(("n",), "float32")):
    y = x + 0.0
    z = cls.bump(y)
    w = cls.bump_field((y, z))
    return y, z, w

@R.function
def returned_value_is_another(x: R.Tensor(("n",), "float32")):
    y = x + 0.0
    z = cls.same(y)
    R.call_packed("passes.increment", y)
    return y, z

@R.function
def one_value_twice(x: R.Tensor(("n",), "float32")):
    y = x + 0.0
    return cls.add_to(y, y), cls.add_to(y, x + 0.0)

@R.function
def equal_by_folding(x: R.Tensor((1,), "float32")):
    a = R.add(R.const([0.0]), R.const([1.0]))
    b = R.multiply(R.const([1.0]), R.const([1.0]))
    R.call_packed("passes.mix", a, b)
    return a, b, x

@R.function
def output_of_a_block(x: R.Tensor(("n",), "float32")):
    y = x + 0.0
    with R.dataflow():
        u = y - 1.0
        v = R.match_shape(y, (n,))
        R.output(u, v)
    R.call_packed("passes.increment", y)
    return y, u, v

@R.function
def constant(x: R.Tensor((1,), "float32")):
    c = R.const([2.0])
    R.call_packed("passes.increment", c)
    d = R.negative(c)
    return c, d, R.const([2.0])

@R.function
def loop(x: R.Tensor(("n",), "float32")):
    y = x + 0.0
    z = y
    for i in R.range(3):
        R.call_packed("passes.increment", y)
        z = z + y
    return y, z

@R.function
def captured(x: R.Tensor(("n",), "float32")):
    y = x + 0.0

    def inner(p: R.Tensor((n,), "float32")):
        q = p + y
        R.call_packed("passes.increment", y)
        return q - y

    R.call_packed("passes.increment", y)
    return inner(x), y

@R.function
def captured_tuple(x: R.Tensor(("n",), "float32")):
    pair = (x, x * 2.0)

    def inner(p: R.Tensor((n,), "float32")):
        field = pair[0]
        R.call_packed("passes.increment", field)
        return x, field, pair[0], pair

    R.call_packed("passes.increment", x)
    return inner(x), pair

@R.function
def tuple_of_two_calls(x: R.Tensor(("n",), "float32")):
    def same(p: R.Tensor((n,), "float32")):
        return p

    def changes(p: R.Tensor((n,), "float32")):
        R.call_packed("passes.increment", x)
        return x

    y = same(x)
    return changes(y), y
"""
EXPECTED = {
    "names": ([1], [1], [1], ([0], [0])),
    "whole_tuple": ([0], [0], [1], [0, 0]),  # a tuple keeps its original fields
    "callee_keeps_callers_value": ([0], [1], ([1], [1])),
    "returned_value_is_another": ([1], [0]),
    "one_value_twice": (([1], [1]), ([1], [1])),
    "equal_by_folding": ([2], [3], [0]),
    "output_of_a_block": ([1], [-1], [0]),
    "constant": ([3], [-3], [2]),
    "loop": ([3], [6]),
    "captured": ([-1], [1]),
    "captured_tuple": (([1], [1], [1], ([0], [0])), ([0], [0])),
    "tuple_of_two_calls": ([1], [0]),
}
PASSES = (
    *("explicit-effects", "normalize", "canonicalize-bindings", "convert-to-dataflow", "to-non-dataflow"),
    *(
        "inline-private-functions",
        "expand-tuple-arguments",
        "remove-unused-parameters",
        "remove-unused-outputs",
    ),
    *("dead-code-elimination", "fold-constant", "canonicalize-calls", "refine-shapes", "lambda-lift"),
)
LONG = (
    ("explicit-effects", "MLIR:canonicalize", "MLIR:cse"),
    ("explicit-effects", "MLIR:cse", "lambda-lift", "specialize-closures"),
    ("explicit-effects", "MLIR:sccp", "MLIR:loop-invariant-code-motion", "MLIR:control-flow-sink"),
    ("inline-private-functions", "fold-constant", "MLIR:cse", "canonicalize-bindings"),
    ("expand-tuple-arguments", "normalize", "inline-private-functions", "remove-redundant-reshape"),
    ("lambda-lift", "specialize-closures", "inline-private-functions", "dead-code-elimination"),
)
SEQUENCES = (*((name,) for name in PASSES if sweep.ALL or not any(name in each for each in LONG)), *LONG)
"""In a partial sweep, a pass that is part of a sequence does not also run by itself."""


@pytest.fixture(scope="module", autouse=True)
def _functions() -> None:
    def increment(x: Any) -> None:
        to_numpy(x)[...] += 1

    def mix(x: Any, y: Any) -> None:
        first, second = to_numpy(x), to_numpy(y)
        first += 1
        second += first

    tvm_ffi.register_global_func("passes.increment", increment, override=True)
    tvm_ffi.register_global_func("passes.mix", mix, override=True)


def _plain(value: Any) -> Any:
    if isinstance(value, tvm_ffi.Array | tuple | list):
        return tuple(map(_plain, value))
    return to_numpy(value).tolist()


@functools.cache
def _built(text: str) -> rx.Executable:
    """Builds are cached: some passes do not change the program, or give equal results."""
    return rx.build(rx.IRModule.parse(text))


def _run(module: rx.IRModule) -> dict[str, Any]:
    executable = _built(str(module))
    return {name: _plain(executable[name](np.zeros(1, "f4"))) for name in EXPECTED}


def test_the_program_itself() -> None:
    module = parse(PROGRAM)
    assert _run(module) == EXPECTED
    rx.build(module, instruments=[WellFormed()])


@pytest.mark.parametrize("names", sweep.quick(SEQUENCES, *SEQUENCES[::4]), ids=" ".join)
def test_after_passes(names: tuple[str, ...]) -> None:
    module = parse(PROGRAM)
    for name in names:
        made = MLIRPass(name.removeprefix("MLIR:")) if name.startswith("MLIR:") else create_pass(name)
        module.apply_(made)
    assert _run(module) == EXPECTED


def test_two_calls_with_one_tuple() -> None:
    module = rx.IRModule.parse("""
    !v = tensor<?xf32, #relax.shape<["n"]>>
    func.func @main(%x: !v) -> !v {
      %y = "relax.negative"(%x) : (!v) -> !v
      %t = builtin.unrealized_conversion_cast %y : !v to tuple<!v>
      %c = "relax.call_packed"(%t) {func = "passes.increment", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
      %d = "relax.call_packed"(%t) {func = "passes.increment", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
      return %y : !v
    }""")
    assert to_numpy(rx.build(module)["main"](np.zeros(1, "f4"))).tolist() == [2]


def test_vouched_for_functions_are_not_inlined() -> None:
    """Their callers count as pure, and may be in dataflow blocks."""
    module = rx.IRModule.parse("""
    !v = tensor<?xf32, #relax.shape<["n"]>>
    func.func private @acts(%p: !v) -> !v attributes {relax.force_pure} {
      %t = builtin.unrealized_conversion_cast %p : !v to tuple<!v>
      %c = "relax.call_packed"(%t) {func = "passes.increment", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
      return %p : !v
    }
    func.func @main(%x: !v) -> !v {
      %d = "relax.dataflow"() ({
        %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
        %y = "relax.call"(%t) {callee = @acts} : (tuple<!v>) -> !v
        "relax.output"(%y) : (!v) -> ()
      }) : () -> !v
      return %d : !v
    }""")
    module.apply_(create_pass("inline-private-functions"))
    module.verify()
    assert "@acts" in str(module)
    assert to_numpy(rx.build(module)["main"](np.zeros(1, "f4"))).tolist() == [1]


def test_integers_that_get_names_stay() -> None:
    """A `match_shape` of a loop variable is not an alias of a tensor."""
    module = parse("""
@R.function
def main(x: R.Tensor(("n",), "float32")):
    y = x
    for i in R.range(3):
        y = y + x
    return y
""")
    module.apply_(create_pass("canonicalize-bindings"))
    assert to_numpy(rx.build(module)["main"](np.ones(2, "f4"))).tolist() == [4, 4]
