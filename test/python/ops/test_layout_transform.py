"""layout_transform against NumPy: every element goes where the map says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import ALL, Suite
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import RelaxError
from relax_mlir.script import parse

Array = np.ndarray[Any, Any]
SIZES = ({"n": 1, "m": 1}, {"n": 0, "m": 3}, {"n": 5, "m": 8}, {"n": 16, "m": 7}, {"n": 9, "m": 0})
Map = Callable[..., Any]
MAPS: list[tuple[Map, tuple[Any, ...], Callable[..., tuple[int, ...]]]] = [
    (lambda i, j: (j, i), ("n", "m"), lambda n, m: (m, n)),
    (lambda i, j: (i // 4, j, i % 4), ("n", "m"), lambda n, m: (up(n, 4), m, 4)),
    (lambda i, j: (j // 3, i // 2, i % 2, j % 3), ("n", "m"), lambda n, m: (up(m, 3), up(n, 2), 2, 3)),
    (lambda i: (i // 8, i % 8 // 2, i % 2), ("n",), lambda n: (up(n, 8), 4, 2)),
    (lambda i, j: (i * 8 + j,), ("n", 8), lambda n, m: (8 * n,)),
    (lambda i, j: (i * 8 + j,), ("n", 6), lambda n, m: (8 * n,)),
    (lambda i, j: (i // 2 * 8 + j * 2 + i % 2, 0), ("n", 4), lambda n, m: (8 * up(n, 2), 1)),
    (lambda i: i, ("n",), lambda n: (n,)),
]


def up(size: int, number: int) -> int:
    """The quotient, rounded up."""
    return -(-size // number)


def moved(x: Array, index_map: Map, shape: tuple[int, ...], padding: Any) -> Array:
    """Element by element."""
    found = np.full(shape, padding, x.dtype)
    for at in np.ndindex(*x.shape):
        found[index_map(*at)] = x[at]
    return found


@pytest.mark.parametrize("dtype", ALL)
def test_maps(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    padding: Any = True if dtype == "bool" else 7
    for index_map, dims, shape in MAPS if dtype in ("float32", "bool") else MAPS[1:6:2]:
        suite.add(
            "transform",
            lambda x, m=index_map: R.layout_transform(x, m, int(padding)),
            lambda x, m=index_map, s=shape: moved(x, m, s(*x.shape), padding),
            [Tensor(dims, dtype)],
            sizes=SIZES,
        )
    suite.run(test_maps)


def test_nothing_is_padded() -> None:
    """Sizes that are multiples need no pad value; text and functions are equivalent."""
    suite = Suite()
    blocks = "lambda a, b: (a // 4, b, a % 4)"
    suite.add(
        "blocks",
        lambda x: R.layout_transform(x, blocks),
        lambda x: x.reshape(len(x) // 4, 4, x.shape[1]).swapaxes(1, 2),
        [Tensor(("4*n", "m"), "float32")],
    )
    suite.add(
        "and back",
        lambda x: R.layout_transform(R.layout_transform(x, blocks), lambda a, b, c: (a * 4 + c, b)),
        lambda x: x,
        [Tensor(("4*n", "m"), "float32")],
    )
    suite.add(
        "NaN",
        lambda x: R.layout_transform(x, lambda i: (i // 2, i % 2), float("nan")),
        lambda x: np.append(x, [np.nan] * (len(x) % 2)).reshape(-1, 2),
        [Tensor(("n",), "float32")],
    )
    suite.run()


def test_scripts() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.layout_transform(x, lambda i, j: (i // 4, j, i % 4), 0.0))
    text = bb.finalize().script()
    assert 'R.layout_transform(x, index_map="lambda i, j: (i // 4, j, i % 4)", pad_value=0.0)' in text
    assert parse(text).script() == text


X, V = rx.Tensor(("n", 4), "float32"), rx.Tensor(("n",), "int32")


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ([X, lambda i, j: (i // 4, j, i % 4), 0.0], 'Tensor(((n + 3) // 4, 4, 4), "float32")'),
        ([rx.Tensor(None), lambda i, j: (j, i)], 'Tensor((?, ?), "float32")'),
        ([rx.Tensor((None, 4)), lambda i, j: (j, i)], 'Tensor((4, ?), "float32")'),
        ([X, lambda i, j: i * 4 + j], 'Tensor((4*n,), "float32")'),
    ],
)
def test_shapes(operands: Sequence[Any], expected: str) -> None:
    assert str(R.infer_rule("layout_transform")(*operands)) == expected


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ([X, lambda i: i], "but index_map takes 1 indices"),
        (
            [V, lambda i: (i // 4, i % 4)],
            "dimension 0 of .* is n, which .* is not known to fill all places with; give",
        ),
        ([X, lambda i, j: i * 3 + j], "dimension 1 of .* is 4, not known to be at most 3"),
        ([X, lambda i, j: i * 6 + j], "dimension 1 of .* is 4, which .* not known to fill"),
        ([V, lambda i: i // 4], "does not have each part of 'i' just once"),
        ([V, lambda i: (i, i)], "does not have each part of 'i' just once"),
        ([X, lambda i, j: i], "does not have 'j'"),
        ([X, lambda i, j: i + j], "gives one number for several indices"),
        ([V, lambda i: 2 * i], "leaves numbers out"),
        ([V, lambda i: i * i], "is no sum of indices"),
        ([V, "lambda i: i -"], "is no expression of Python"),
        ([V, "3"], "expected a lambda of indices"),
        ([V, lambda i: i + 1], "is no sum of indices"),
        ([V, lambda *i: i], r"takes \(\*i\), expected one name for each dimension"),
        ([V, 3], "'index_map' is 3, expected a function"),
        ([V, lambda i: "i"], "expected an expression of the indices"),
        ([V, lambda i: (i // 4, i % 4), 0.5], "pad_value is .*, operand 'x' has dtype int32"),
        ([V, lambda i: (i // 4, i % 4), "0"], "'pad_value' is '0'"),
        ([V, lambda i: i, None, [1]], "axis separators are for memory of several dimensions"),
    ],
)
def test_wrong_arguments(operands: Sequence[Any], message: str) -> None:
    with pytest.raises(RelaxError, match=f"layout_transform: .*{message}"):
        R.infer_rule("layout_transform")(*operands)
