"""pad in all modes against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import Array, Suite
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, BoundsError, DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy

SIZES = ({"n": 1, "m": 1}, {"n": 3, "m": 17}, {"n": 2, "m": 5})
MODES = {"reflect": "reflect", "symmetric": "symmetric", "replicate": "edge", "circular": "wrap"}


def numpy_pad(widths: tuple[tuple[int, int], ...], mode: str, value: float = 0) -> Callable[[Array], Array]:
    def compute(x: Array) -> Array:
        return np.pad(x, widths, mode, **({"constant_values": value} if mode == "constant" else {}))  # type: ignore[call-overload]

    return compute


DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "int64", "uint16", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_numpy_gives(dtype: str) -> None:
    suite = Suite.of(dtype, DTYPES)
    matrix = Tensor(("n", "m"), dtype)
    wide = ((2, 1), (0, 3))
    value = 1 if dtype == "bool" else 7
    suite.add(
        "constant", lambda x: R.nn.pad(x, wide, pad_value=value), numpy_pad(wide, "constant", value), [matrix]
    )
    suite.add("nothing", lambda x: R.nn.pad(x, [0] * 4), lambda x: x, [matrix])
    for mode, name in MODES.items():
        for widths in (wide, ((0, 40), (7, 0))):
            suite.add(
                mode,
                lambda x, w=widths, m=mode: R.nn.pad(x, w, m),
                numpy_pad(widths, name),
                [matrix],
                sizes=SIZES,
            )
    suite.run(test_what_numpy_gives)


def test_symbols_and_scalars() -> None:
    """Widths that are sizes, of the data or of another parameter; rank 0; one dimension alone is padded."""
    suite = Suite()
    x, y = Tensor(("n", 3), "float32"), Tensor(("k",), "float32")
    suite.add("own", lambda x: R.nn.pad(x, ["n", 1, 0, "2*n"]), _own, [x])
    suite.add(
        "other",
        lambda x, y: R.nn.pad(x, [["k", 0], [0, "k"]], "edge"),
        lambda x, y: np.pad(x, ((len(y), 0), (0, len(y))), "edge"),
        [x, y],
        sizes=({"n": 1, "k": 0}, {"n": 2, "k": 4}),
    )
    suite.add("scalar", lambda x: R.nn.pad(x, []), lambda x: x, [Tensor((), "float32")])
    suite.add(
        "volume",
        lambda x: R.nn.pad(x, [0, 0, 1, 0, 0, 0, 2, 2], "reflect"),
        numpy_pad(((0, 0), (1, 0), (0, 0), (2, 2)), "reflect"),
        [Tensor(("n", 2, "m", 3), "float32")],
        sizes=SIZES,
    )
    suite.run()


def _own(x: Array) -> Array:
    return np.pad(x, ((len(x), 1), (0, 2 * len(x))))


def test_negative_widths_cut() -> None:
    suite = Suite()
    sizes = ({"n": 3}, {"n": 8})
    x = Tensor(("n", 4), "int32")
    suite.add("cut", lambda x: R.nn.pad(x, [-1, -2, 0, -1]), lambda x: x[1:-2, :-1], [x], sizes=sizes)
    suite.add(
        "both",
        lambda x: R.nn.pad(x, [-1, 2, 1, -1], pad_value=5),
        lambda x: np.pad(x[1:, :-1], ((0, 2), (1, 0)), constant_values=5),
        [x],
        sizes=sizes,
    )
    suite.add(
        "edge",
        lambda x: R.nn.pad(x, [-1, 2, 0, 0], "replicate"),
        lambda x: np.pad(x[1:], ((0, 2), (0, 0)), "edge"),
        [x],
        sizes=sizes,
    )
    suite.run()
    with pytest.raises(ShapeError, match="the dimension 'n - 3' is -1"):
        rx.build(suite.module())["cut_0"](np.zeros((2, 4), np.int32))


def test_special_values() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n",), "float32"))
    i = rx.Var("i", Tensor(("n",), "int64"))
    v = rx.Var("v", Tensor((), "float32"))
    with bb.function("main", [x, i, v]):
        results = [
            R.nn.pad(x, [1, 1], pad_value=float("-inf")),
            R.nn.pad(x, [1, 0], pad_value=float("nan")),
            R.nn.pad(i, [1, 1], pad_value=2**62 + 1),
            R.nn.pad(x, [1, 2], pad_value=v),
        ]
        bb.emit_func_output(R.make_tuple(*results))
    main = rx.build(bb.get())["main"]
    for size in (0, 3):
        given = np.arange(size, dtype=np.float32)
        found = main(given, given.astype(np.int64), np.array(2.5, np.float32))
        wants = [
            np.pad(given, 1, constant_values=-np.inf),
            np.pad(given, (1, 0), constant_values=np.nan),
            np.pad(given.astype(np.int64), 1, constant_values=2**62 + 1),
            np.pad(given, (1, 2), constant_values=2.5),
        ]
        for have, want in zip(found, wants, strict=True):
            np.testing.assert_array_equal(to_numpy(have), want)


def test_nothing_to_mirror() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n",), "float32"))
    for mode in MODES:
        with bb.function(mode, [x]):
            bb.emit_func_output(R.nn.pad(x, [1, 1], mode))
    executable = rx.build(bb.get())
    for mode in MODES:
        with pytest.raises(BoundsError, match=r"nn_pad.*dimension 0 of size 0"):
            executable[mode](np.zeros(0, np.float32))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda x, i: R.nn.pad(x, [1, 1]), ShapeError, "pad_width has 2 numbers, expected 4"),
        (lambda x, i: R.nn.pad(x, [1, 1, 1]), ArgumentError, "expected two numbers for each dimension"),
        (lambda x, i: R.nn.pad(x, [1, 1, 0, 0], "mirror"), ArgumentError, "pad_mode is 'mirror'"),
        (lambda x, i: R.nn.pad(x, [1, 1, 0, -9]), ShapeError, "dimension 1 of size 4 .* would have -5"),
        (lambda x, i: R.nn.pad(i, [1, 1], pad_value=0.5), DTypeError, "pad_value is 0.5"),
        (lambda x, i: R.nn.pad(i, [1, 1], pad_value=300), DTypeError, "pad_value is 300"),
        (lambda x, i: R.nn.pad(i, [1, 1], pad_value=float("nan")), DTypeError, "pad_value is nan"),
        (lambda x, i: R.nn.pad(i, [1, 1], pad_value="0"), ArgumentError, "'pad_value' is '0'"),
        (lambda x, i: R.nn.pad(i, 3), RelaxError, "pad_width"),
        (lambda x, i: R.nn.pad(i, [0.5, 1]), ArgumentError, r"'pad_width'\[0\] is 0.5"),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], error: type[RelaxError], message: str) -> None:
    bb = rx.BlockBuilder()
    x, i = rx.Var("x", Tensor(("n", 4), "float32")), rx.Var("i", Tensor((4,), "int8"))
    with pytest.raises(error, match=message), bb.function("main", [x, i]):
        bb.emit_func_output(build(x, i))
