"""Advice in messages of prim funcs in script: the wrong line, its message, and the line that follows it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import ScriptCase, ScriptRows
from tir_reference import interpret

MODULE = """
@I.ir_module
class Module:
{functions}
"""
PRIM = """
    @T.prim_func
    def prim_{name}(a: T.Buffer(("n", 4), "float32"), j: T.Buffer((4,), "int64"), b: T.Buffer(("n", 4), "float32")):
        for p, q in T.grid(n, 4):
            b[p, q] = T.float32(0)
        {line}
"""
FUNCTION = (
    PRIM
    + """
    @R.function
    def {name}(x: R.Tensor(("n", 4), "float32"), i: R.Tensor((4,), "int64")):
        return R.call_tir(cls.prim_{name}, (x, i), R.Tensor(("n", 4), "float32"))
"""
)
LOOP = "for i, k in T.grid(n, 4):\n            "

CASES: dict[str, ScriptCase] = {
    "cast": (
        LOOP + "b[i, k] = j[k]",
        r'T.cast\(..., "float32"\)',
        LOOP + 'b[i, k] = T.cast(j[k], "float32")',
    ),
    "operands": (LOOP + "b[i, k] = a[i, k] + j[k]", r"convert one, as in T.cast\(x, \""),
    "condition": (LOOP + "if a[i, k]:\n                b[i, k] = a[i, k]", "write a comparison"),
    "indices": (LOOP + "b[i] = a[i, k]", "2 dimensions, 1 indices given: write"),
    "product": (LOOP + "b[i, k] = a @ a", "write the loops"),
    "nothing": (
        LOOP + "a[i, k]",
        r"store its value into a buffer, or write T.evaluate",
        LOOP + "T.evaluate(a[i, k])\n            b[i, k] = a[i, k]",
    ),
    "variable": (
        "s = T.float32(0)\n        " + LOOP + "s = s + a[i, k]",
        r"x = T.alloc_buffer\(\(1,\), \"float32\"\), then x\[0\] = …",
    ),
    "break": (LOOP + "break", "use `while` with a condition, or `if`"),
    "remap": (
        LOOP + 'with T.block("b"):\n                u, w = T.axis.remap("SS", i)\n                b[u, w] = a[u, w]',
        r'write T.axis.remap\("SR", \[i, k\]\)',
    ),
    "empty_reduction": (
        "for i in range(n):\n            for k in range(4):\n                for l in range(k):\n"
        "                    with T.block('b'):\n                        u, w, y = T.axis.remap('SRR', [i, k, l])\n"
        "                        with T.init():\n                            b[u, 0] = T.float32(1)\n"
        "                        b[u, 0] = b[u, 0] + a[u, y]",
        "store the initial value in a loop of its own before it, in the place of T.init",
    ),
    "buffer_as_value": (LOOP + "b[i, k] = a", "read an element, as in a"),
    "function_as_value": (LOOP + "b[i, k] = T.exp", "not a value; call it"),
    "slice": (LOOP + "b[i, k] = a[i, 0:2]", "read one element at a time"),
    "integer_division": (
        LOOP + "b[i, k] = T.cast(j[k] / 2, 'float32')",
        r"integers divide by // \(or T.truncdiv\)",
    ),
    "integer_exp": (LOOP + "b[i, k] = T.exp(j[k])", r"convert to a float first, as in T.float32\(x\)"),
    "dtype_of_result": (
        LOOP + 'b[i, k] = T.exp(a[i, k], dtype="float64")',
        r'convert it: T.cast\(…, "float64"\)',
        LOOP + 'b[i, k] = T.cast(T.cast(T.exp(a[i, k]), "float64"), "float32")',
    ),
    "python_function": (LOOP + "b[i, k] = sum(a[i, k])", "those are T.exp, T.cast, …"),
    "thread": (
        "for i in T.thread_binding(n):\n            for k in range(4):\n                b[i, k] = a[i, k]",
        r'write T.thread_binding\(n, thread="threadIdx.x"\), with one of blockIdx.x',
    ),
    "cast_alone": (LOOP + "b[i, k] = T.cast(j[k])", r'write T.cast\(x, "float32"\)'),
    "buffer_bound": (LOOP + "b = a[i, k]", r"store to an element of it, as in b\[i\] = …"),
    "declared": (LOOP + "s: T.float32\n            b[i, k] = a[i, k]", "write x: T.float32 = …"),
    "updated": (
        LOOP + "s = a[i, k]\n            s += a[i, k]\n            b[i, k] = s",
        "update an element of a buffer",
    ),
    "product_in_place": (LOOP + "b[i, k] @= a[i, k]", "write the loops"),
}


class PrimRows(ScriptRows):
    """Rows whose right prim func is run in Python."""

    def used(self, line: str) -> list[str]:
        return list(self.parameters)

    def expected(self, name: str, given: Mapping[str, Any]) -> object:
        result = np.zeros((3, 4), np.float32)
        source = PRIM.replace("{name}", "").replace("{line}", self.cases[name][2])
        interpret(textwrap.dedent(source), [*given.values(), result])
        return result


def arguments(name: str) -> dict[str, Any]:
    x = np.random.default_rng(0).uniform(-2.0, 2.0, (3, 4)).astype(np.float32)
    return {"x": x, "i": np.array([2, 0, 1, 2])}


def _read_alone(module: rx.IRModule) -> None:
    raise AssertionError(f"this was read:\n{module}")


TABLE = PrimRows(MODULE, FUNCTION, {"x": "", "i": ""}, CASES, arguments, _read_alone)
