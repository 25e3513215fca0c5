"""Advice in messages of prim funcs in script: the wrong line, what its message says, the line that follows it."""

from __future__ import annotations

import pytest
import relax_mlir as rx
from script_advice import Advice

MODULE = """
@I.ir_module
class Module:
{functions}
"""
FUNCTION = """
    @T.prim_func
    def prim_{name}(a: T.Buffer(("n", 4), "float32"), b: T.Buffer(("n", 4), "float32"), j: T.Buffer((4,), "int64")):
        n = T.int64()
        {line}

    @R.function
    def {name}(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        return R.call_tir(cls.prim_{name}, (x,), (R.Tensor((n, 4), "float32"), R.Tensor((4,), "int64")))
"""
LOOP = "for i, k in T.grid(n, 4):\n            "

CASES: dict[str, tuple[str, str, str]] = {
    "cast": (
        LOOP + "b[i, k] = j[k]",
        r'T.cast\(..., "float32"\)',
        LOOP + 'b[i, k] = T.cast(j[k], "float32")',
    ),
    "operands": (
        LOOP + "b[i, k] = a[i, k] + j[k]",
        r"convert one, as in T.cast\(x, \"",
        LOOP + 'b[i, k] = a[i, k] + T.cast(j[k], "float32")',
    ),
    "condition": (
        LOOP + "if a[i, k]:\n                b[i, k] = a[i, k]",
        "write a comparison",
        LOOP + "if a[i, k] > T.float32(0):\n                b[i, k] = a[i, k]",
    ),
    "indices": (LOOP + "b[i] = a[i, k]", "2 dimensions, 1 indices given: write", LOOP + "b[i, k] = a[i, k]"),
    "product": (LOOP + "b[i, k] = a @ a", "write the loops", LOOP + "b[i, k] = a[i, k] * a[i, k]"),
    "nothing": (
        LOOP + "a[i, k]",
        r"store its value into a buffer, or write T.evaluate",
        LOOP + "T.evaluate(a[i, k])\n            b[i, k] = a[i, k]",
    ),
    "variable": (
        "s = T.float32(0)\n        " + LOOP + "s = s + a[i, k]",
        r"x = T.alloc_buffer\(\(1,\), \"float32\"\), then x\[0\] = …",
        's = T.alloc_buffer((1,), "float32")\n        s[0] = T.float32(0)\n        '
        + LOOP
        + "s[0] = s[0] + a[i, k]",
    ),
    "break": (
        LOOP + "break",
        "use `while` with a condition, or `if`",
        LOOP + "if i < 3:\n                b[i, k] = a[i, k]",
    ),
}


ADVICE = Advice(MODULE, FUNCTION, CASES)


@pytest.fixture(scope="module")
def built() -> rx.Executable:
    return ADVICE.build()


def _refuse(module: rx.IRModule) -> None:
    raise AssertionError(f"this was read:\n{module}")


@pytest.mark.parametrize("name", CASES)
def test_tir_advice(built: rx.Executable, name: str) -> None:
    ADVICE.check(name, built, _refuse)
