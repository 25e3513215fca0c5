"""slice_scatter and reverse_sequence against NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import ALL, INTEGERS, Suite
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import RelaxError, ShapeError
from relax_mlir.runtime import to_numpy

Array = np.ndarray[Any, Any]


def replaced(x: Array, src: Array, axis: int, part: slice) -> Array:
    found = x.copy()
    found[(slice(None),) * (axis % x.ndim) + (part,)] = src
    return found


@pytest.mark.parametrize("dtype", ALL)
def test_slice_scatter(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    x = Tensor(("n", 7), dtype)
    for begin, end, step, size in (
        (1, 4, 1, 3),
        (-3, 2**63 - 1, 1, 3),
        (0, 100, 3, 3),
        (5, 2, 1, 0),
        (9, 12, 1, 0),
    ):
        suite.add(
            "columns",
            lambda x, y, b=begin, e=end, s=step: R.slice_scatter(x, y, b, e, s, 1),
            lambda x, y, b=begin, e=end, s=step: replaced(x, y, 1, slice(b, e, s)),
            [x, Tensor(("n", size), dtype)],
        )
    for begin, end, step, size in (("k", "k + 2", 1, 2), ("k", "n", 1, "n - k"), (0, "n", 2, "(n + 1) // 2")):
        suite.add(
            "rows",
            lambda x, y, _, b=begin, e=end, s=step: R.slice_scatter(x, y, b, e, s, 0),
            lambda x, y, z, b=begin, e=end, s=step: replaced(
                x, y, 0, slice(len(z) if b else 0, len(z) + 2 if e != "n" else len(x), s)
            ),
            [
                x if size != 2 else Tensor(("n + k + 2", 7), dtype),
                Tensor((size, 7), dtype),
                Tensor(("k",), dtype),
            ],
            sizes=({"n": 9, "k": 3}, {"n": 1, "k": 0}, {"n": 4, "k": 4}),
        )
    suite.run(test_slice_scatter)


def sliced_backwards(x: Array, lengths: Array) -> Array:
    """ONNX's ReverseSequence with time_axis 1, according to its specification."""
    found = x.copy()
    for row, length in enumerate(np.clip(lengths.astype(np.int64), 0, x.shape[1])):
        found[row, :length] = x[row, :length][::-1]
    return found


@pytest.mark.parametrize("dtype", ALL)
def test_reverse_sequence(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    suite.add(
        "rows",
        R.reverse_sequence,
        sliced_backwards,
        [Tensor(("n", "m"), dtype), Tensor(("n",), "int64")],
    )
    suite.add(
        "columns",
        lambda x, i: R.reverse_sequence(x, i, seq_axis=0, batch_axis=2),
        lambda x, i: np.moveaxis(sliced_backwards(np.moveaxis(x, (2, 0), (0, 1)), i), (0, 1), (2, 0)),
        [Tensor(("m", "k", "n"), dtype), Tensor(("n",), "int32")],
    )
    suite.run(test_reverse_sequence)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_dtypes_of_lengths(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    suite.add(
        "rows",
        R.reverse_sequence,
        sliced_backwards,
        [Tensor(("n", "m"), "float32"), Tensor(("n",), dtype)],
    )
    suite.run(test_dtypes_of_lengths)


def test_a_slice_that_does_not_fit_the_input() -> None:
    """The size of the slice is a formula, which the call checks."""
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", Tensor(("n",), "float32")), rx.Var("y", Tensor(("k",), "float32"))
    with bb.function("main", [x, y]):
        bb.emit_func_output(R.slice_scatter(x, y, 0, 2))
    main = rx.build(bb.finalize())["main"]
    given = np.arange(3, dtype="f4")
    np.testing.assert_array_equal(to_numpy(main(given, given[:2] + 7)), [7, 8, 2])
    np.testing.assert_array_equal(to_numpy(main(given[:1], given[:1] + 7)), [7])
    with pytest.raises(ShapeError, match="3"):
        main(given, given)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_old_elements_stay(mode: str) -> None:
    """Slices are written in place if the tensor is not read later; values never change."""
    bb = rx.BlockBuilder()
    x, row = rx.Var("x", Tensor(("n", 4), "float32")), rx.Var("row", Tensor((1, 4), "float32"))
    with bb.function("main", [x, row]):
        with bb.dataflow():
            first = bb.emit(R.slice_scatter(x, row, 0, 1))
            again = bb.emit(R.add(x, x))
            kept = bb.emit(R.slice_scatter(again, row, 1, 2))
            chain = bb.emit(R.multiply(again, again))
            for place in range(3):
                chain = bb.emit(R.slice_scatter(chain, row, place, place + 1))
            outputs = bb.emit_output([x, first, again, kept, chain])
        bb.emit_func_output(outputs)
    given, new = np.ones((3, 4), np.float32), np.full((1, 4), 9, np.float32)
    found = rx.build(bb.finalize(), exec_mode=mode)["main"](given, new)
    rows = [to_numpy(item)[:, 0].tolist() for item in found]
    assert rows == [[1, 1, 1], [9, 1, 1], [2, 2, 2], [2, 9, 2], [9, 9, 9]]
    assert (given == 1).all()


X = rx.Tensor(("n", 4), "float32")


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "message"),
    [
        (
            "slice_scatter",
            [X, X, 0, 3],
            {"axis": 1},
            "dimension 1 of 'src' and what is expected, .n, 3., are 4 and 3",
        ),
        ("slice_scatter", [X, X, 0, 4], {"axis": 2}, "axis 2 is out of range"),
        ("slice_scatter", [X, X, 0, 4], {"step": 0}, "step is 0, expected an integer from 1 on"),
        (
            "slice_scatter",
            [X, rx.Tensor(("n", 4), "int8"), 0, "n"],
            {},
            "'src' has dtype int8, 'input' has float32",
        ),
        ("slice_scatter", [rx.Tensor(()), rx.Tensor(()), 0, 1], {}, "expected at least one dimension"),
        ("slice_scatter", [X, X, 0.5, 4], {}, "'start' is 0.5"),
        ("reverse_sequence", [X, X], {}, "'seq_lengths' has dtype float32"),
        ("reverse_sequence", [X, rx.Tensor((3, 4), "int8")], {}, "expected a vector"),
        ("reverse_sequence", [X, rx.Tensor((3,), "int8")], {}, "are n and 3, not known to be equal"),
        (
            "reverse_sequence",
            [X, rx.Tensor(("n",), "int8")],
            {"seq_axis": 0},
            "seq_axis and batch_axis are both 0",
        ),
        ("reverse_sequence", [X, rx.Tensor(("n",), "int8")], {"seq_axis": 2}, "seq_axis 2 is out of range"),
    ],
)
def test_wrong_arguments(
    name: str, operands: Sequence[Any], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(RelaxError, match=f"^{name}: .*{message}"):
        R.infer_rule(name)(*operands, **attributes)
