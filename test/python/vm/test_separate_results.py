"""Results of bytecode share no memory: neither with each other nor with arguments, in all branches."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import tvm_ffi
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

SOURCE = """
@R.function
def f(x: R.Tensor(("n",), "float32")):
    a = R.sum(x)
    c = R.greater(a, R.const(0.0, "float32"))
    if c:
        g = (c, (a, R.logical_not(c)))
    else:
        g = (c, (a, c))
    t = g[1]
    return c, t[1]

@R.function
def h(x: R.Tensor(("n",), "float32")):
    c = R.greater(R.sum(x), R.const(0.0, "float32"))
    if c:
        y = x * 2.0
        g = y
        k = y
    else:
        z = x + 1.0
        g = z
        k = z
    return g, k

@R.function
def h2(x: R.Tensor(("n",), "float32")):
    c = R.greater(R.sum(x), R.const(0.0, "float32"))
    if c:
        y = x * 2.0
        g = (y, y)
    else:
        z = x + 1.0
        g = (z, z)
    return g[0], g[1]

@R.function
def v(x: R.Tensor(("n", 2), "float32")):
    y = x * 3.0
    c = R.greater(R.sum(x), R.const(0.0, "float32"))
    if c:
        g = R.flatten(y)
    else:
        g = R.flatten(x + 1.0)
    return g, y

@R.function
def h3(x: R.Tensor(("n",), "float32")):
    c = R.greater(R.sum(x), R.const(0.0, "float32"))
    if c:
        y = x * 2.0
        g = (y, x + 2.0)
    else:
        z = x + 1.0
        g = (z, z)
    return g

@R.function(private=True)
def two(x: R.Tensor(("n",), "float32")):
    y = x * 2.0
    return y, y

@R.function
def call(x: R.Tensor(("n",), "float32")):
    t = cls.two(x)
    return t[0], t[1], t
"""


def leaves(value: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(value, tuple | list | tvm_ffi.Array):
        return [leaf for item in value for leaf in leaves(item)]
    return [to_numpy(value)]


@pytest.mark.parametrize("level", sweep.every(range(4), 2))
def test_no_memory_is_shared(level: int) -> None:
    module = parse(SOURCE)
    bytecode = rx.build(module, exec_mode="bytecode", opt_level=level)
    native = rx.build(module, opt_level=level)
    assert set(native) == {"f", "h", "h2", "v", "h3", "call"}
    for name in native:
        for sign in (1, -1):
            x = np.full((3, 2) if name == "v" else 3, sign, np.float32)
            found, wanted = leaves(bytecode[name](x)), leaves(native[name](x))
            for ours, theirs in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(ours, theirs)
            for results in (found, wanted):
                assert not any(np.shares_memory(a, b) for a, b in combinations([*results, x], 2)), (
                    name,
                    sign,
                )
