"""Python's own functions and operators on values: each gives the right op (`advice/protocol_rows` has the errors)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from programs import Program, numpy
from relax_mlir import op

X = np.array([[1.25, -2.5, 3.75], [0.5, 7.0, -0.75]], np.float32)

Emit = Callable[[Any, Any], Any]

RIGHT: dict[str, tuple[Emit, Callable[[np.ndarray, int], Any]]] = {
    "divmod": (lambda x, i: divmod(x, 2.0), lambda x, i: np.divmod(x, np.float32(2))),
    "divmod_reversed": (lambda x, i: divmod(7.0, x), lambda x, i: np.divmod(np.float32(7), x)),
    "divmod_integers": (lambda x, i: divmod(i, 2), lambda x, i: divmod(i, 2)),
    "divmod_integers_reversed": (lambda x, i: divmod(17, i), lambda x, i: divmod(17, i)),
    "round": (lambda x, i: round(x), lambda x, i: np.round(x)),
    "floor": (lambda x, i: math.floor(x), lambda x, i: np.floor(x)),
    "ceil": (lambda x, i: math.ceil(x), lambda x, i: np.ceil(x)),
    "trunc": (lambda x, i: math.trunc(x), lambda x, i: np.trunc(x)),
    "abs": (lambda x, i: abs(x), lambda x, i: np.abs(x)),
    "positive": (lambda x, i: +x, lambda x, i: x),
    "negative": (lambda x, i: -x, lambda x, i: -x),
    "negative_integer": (lambda x, i: -i, lambda x, i: -i),
    "numpy_integer": (lambda x, i: np.int64(5) - i * np.int32(2), lambda x, i: 5 - 2 * i),
    "sum_of_list": (lambda x, i: sum([x, x]), lambda x, i: x + x),
    "format": (lambda x, i: x if f"{x} {x!r} {x!s:}" else None, lambda x, i: x),
    "keys": (lambda x, i: {x: x, i: i}[x], lambda x, i: x),
    "numpy_add": (lambda x, i: np.add(x, x), lambda x, i: x + x),
    "element": (lambda x, i: x[:, 0], lambda x, i: x[:, 0]),
    "shape": (lambda x, i: x * float(len(x.shape)) * x.shape[-1], lambda x, i: x * 2 * 3),
    "shape_slice": (lambda x, i: op.ones(x.shape[1:], "float32"), lambda x, i: np.ones(3, np.float32)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_results(built: rx.Executable, name: str) -> None:
    found, expected = _flat(numpy(built[name](X, 3))), _flat(RIGHT[name][1](X, 3))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def _flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


WRAPPING: dict[str, tuple[Emit, int]] = {
    "wraps_sum": (lambda x, i: i + 1, -(2**63)),
    "wraps_product": (lambda x, i: i * 2, -2),
    "wraps_difference": (lambda x, i: -i - 2, 2**63 - 1),
}


@pytest.mark.parametrize("name", WRAPPING)
def test_integers_wrap_around(built: rx.Executable, name: str) -> None:
    """At 64 bits, as documented."""
    assert built[name](X, 2**63 - 1) == WRAPPING[name][1]


@pytest.fixture(scope="module")
def built() -> rx.Executable:
    program = Program()
    for name, (emit, _) in (RIGHT | WRAPPING).items():

        def body(bb: rx.BlockBuilder, x: Any, i: Any, emit: Any = emit) -> Any:
            found = emit(x, i)
            return op.make_tuple(*found) if isinstance(found, tuple) else found

        body.__name__ = name
        program.function(rx.Tensor((2, 3), "float32"), rx.Prim("int64"))(body)
    return program.compile()
