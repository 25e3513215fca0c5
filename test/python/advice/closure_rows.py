"""Functions of functions: constructs that native code refuses, and their replacements."""

from __future__ import annotations

from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import Rows
from module_texts import VECTOR, V, function, scripts
from programs import register
from relax_mlir import op

F = f"R.Callable(({V},), {V})"


@register("advice.negative")
def _negative(x: Any) -> Any:
    return -np.from_dlpack(x)


def _square(bb: rx.BlockBuilder) -> rx.Value:
    z = rx.Var("z", VECTOR)
    with bb.lambda_function("square", [z]) as square:
        op.print(z)
        bb.emit_func_output(z * z)
    return square


CHOICE = f"""
@R.function
def main(c: R.Tensor((), "bool"), x: {V}) -> {V}:
    y = x + 1.0
    def f(z: {V}):
        return z + y
    def g(z: {V}):
        return z
{{0}}
"""
MAKER = f"""
@R.function
def main(c: R.Tensor((), "bool"), x: {V}) -> {V}:
    def f(z: {V}):
        def inner(w: {V}):
            return w + z
        return inner
    def g(z: {V}):
        def inner(w: {V}):
            return w * z
        return inner
{{0}}
"""
PAIR = (
    f"""
@R.function(private=True)
def apply(p: R.Tuple({F}, {V})) -> {V}:
    f = p[0]
    return f(p[1])

@R.function(private=True)
def apply_plain(f: {F}, x: {V}) -> {V}:
    return f(x)
"""
    + CHOICE
)
EXTERN = f"""
@R.function
def main(c: R.Tensor((), "bool"), x: {V}):
    f = R.ExternFunc("advice.negative"{{0}})
    {{1}}
"""

ROWS = {
    "public_function": scripts(
        f"@R.function\ndef main(f: {F}, x: {V}) -> {V}:\n    return f(x)",
        "make 'main' private, and call it with functions of the module",
    ),
    "returned_function": scripts(
        f"@R.function\ndef main(y: {V}):\n    def f(x: {V}):\n        return x + y\n    return f",
        "native functions return no functions: return what it computes",
    ),
    "branch_captures": scripts(
        CHOICE.format(
            f"    if c:\n        y = x + 1.0\n        def h(z: {V}):\n            return z + y\n    else:\n"
            f"        def h(z: {V}):\n            return z\n    return h(x)"
        ),
        "make it, and what it captures, before the conditional",
    ),
    "chosen_maker": scripts(
        MAKER.format("    h = f if c else g\n    k = h(x)\n    return k(x)"),
        "call either function inside the branches",
    ),
    "chosen_in_tuple": scripts(
        PAIR.format("    h = f if c else g\n    return cls.apply((h, x))"),
        "pass it as an argument of its own",
    ),
    "carried_function": scripts(
        CHOICE.format("    h = f\n    for i in R.range(3):\n        h = g\n    return h(x)"),
        "make the function where it is called, or choose between calls by a conditional",
    ),
    "result_of_unknown": (
        lambda: function(lambda bb, f, x: op.invoke_closure(f, [x]), rx.Callable(), VECTOR),
        "give 'out', the info of the result",
    ),
    "size_of_result": (
        lambda: function(
            lambda bb, f, x: op.invoke_closure(f, [x]),
            rx.Callable([rx.Tensor(("k",), "float32")], rx.Tensor(("k",), "float32")),
            rx.Tensor(ndim=1, dtype="float32"),
        ),
        "is not known: give 'out'",
    ),
    "effects_of_closure": (
        lambda: function(lambda bb, x: op.invoke_pure_closure(_square(bb), [x]), VECTOR),
        "which may have effects: use invoke_closure",
    ),
    "extern": scripts(
        EXTERN.format("", f"g = f\n    return R.invoke_closure(g, (x,), {V})"),
        r'write R.ExternFunc\("advice.negative", R.Callable\(.*or call it',
    ),
}


TABLE = Rows(ROWS)
