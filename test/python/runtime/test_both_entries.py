"""Entry points that read tensors inline (short calls) or by support functions (long ones): equal checks and results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import raw_calls
import relax_mlir as rx
from relax_mlir import op
from relax_mlir.error import RelaxError

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def built() -> rx.Executable:
    """`short` and `longer` have the same parameters and results; the second one also computes a matmul."""
    bb = rx.BlockBuilder()
    for name in ("short", "longer"):
        x = rx.Var("x", rx.Tensor(("n", 2), "float32"))
        y = rx.Var("y", rx.Tensor(("n", 2), "float32"))
        with bb.function(name, [x, y]):
            total, less = bb.emit(op.add(x, y)), bb.emit(op.subtract(x, y))
            if name == "longer":
                total = bb.emit(op.matmul(total, bb.const(np.eye(2, dtype="f4"))))
            bb.emit_func_output((total, less))
    executable = rx.build(bb.get())
    assert executable._engine.latency_critical == {"short"}
    return executable


def _range(*shape: int) -> Array:
    return np.arange(int(np.prod(shape)), dtype="f4").reshape(shape)


def _odd(rows: int) -> Array:
    return np.zeros(8 * rows + 1, "u1")[1:].view("f4").reshape(rows, 2)


def _told(call: Any, arguments: tuple[Any, ...]) -> str:
    """The error of a call, without the name of the function; "" if there is none."""
    try:
        call(*arguments)
    except RelaxError as error:
        return f"{type(error).__name__}: {re.sub('short|longer', 'f', str(error))}"
    return ""


def _wrong_arguments() -> Iterator[tuple[Any, ...]]:
    x, y, out = _range(3, 2), _range(3, 2), np.zeros((8, 2), "f4")
    strange = (
        x[0],
        x[None],
        x.astype("f8"),
        x.astype(ml_dtypes.bfloat16),
        x[:2],
        x[:, :1],
        (x, y),
        7,
        "x",
        None,
        x[:0],
        x.reshape(2, 3),
    )
    for each in strange:
        yield each, y
        yield x, each
        yield each, each[None] if isinstance(each, np.ndarray) else each
        yield x, y, each, np.zeros((3, 2), "f4")
        yield x, y, np.zeros((3, 2), "f4"), each
    for first, second in (
        (out[:3], out[2:5]),
        (out[2:5], out[:3]),
        (out[:3], out[:3]),
        (out[::2][:3], out[:3]),
        (out[5:], out[::2][:3]),
        (_odd(3), out[:3]),
        (out[:3], _odd(3)),
        (out[:2], out[::2][:3]),
        (np.zeros((3, 2), "f8"), out[:2]),
        (np.asfortranarray(out[:3]), out[4:7]),
    ):
        yield x, y, first, second
    yield (x,)
    yield ()
    yield x, y, out[:3]
    yield (x[:2], y, out[:1], out[2:3])


def test_what_is_refused(built: rx.Executable) -> None:
    told = [(_told(built["short"], each), _told(built["longer"], each)) for each in _wrong_arguments()]
    assert [quick for quick, _ in told] == [slow for _, slow in told]
    assert sum(bool(quick) for quick, _ in told) >= 60
    every = "\n".join(quick for quick, _ in told)
    for said in (
        "parameter 'x' has rank 1, expected rank 2 (x: Tensor((n, 2)",
        "parameter 'y' has dtype float64, expected float32 (y: Tensor((n, 2)",
        "is of type int, expected x: Tensor",
        "the given result 0 has dimension 0 of 2, but the call gives 3",
        "the given result 1 is not contiguous",
        "the given result 0 is not aligned to its elements",
        "the given result 1 overlaps the given result 0: each needs memory of its own",
    ):
        assert said in every, said


def test_bare_tensors(built: rx.Executable) -> None:
    """Negative sizes and null pointers, which NumPy does not produce, and tensors without strides."""
    x, y, first, second = (_range(3, 2) + k for k in range(4))
    told: list[list[str]] = [[], []]
    for change in (
        {},
        {"null": True},
        {"shape": (-1, 2)},
        {"shape": (3, -2)},
        {"shape": (0, 2), "null": True},
    ):
        for position in range(4):
            for messages, name in zip(told, ("short", "longer"), strict=True):
                first[:], second[:] = 7, 7
                with ExitStack() as stack:
                    arguments = [
                        stack.enter_context(
                            raw_calls.dltensor(each, has_strides=False, **(change if i == position else {}))
                        )
                        for i, each in enumerate((x, y, first, second))
                    ]
                    try:
                        raw_calls.raw_call(built._engine.function(name), *arguments)
                    except raw_calls.RawError as error:
                        messages.append(f"{error.kind}: {re.sub('short|longer', 'f', str(error))}")
                        assert (first == 7).all() and (second == 7).all()
                        continue
                messages.append("")
                np.testing.assert_array_equal(first, x + y)
                np.testing.assert_array_equal(second, x - y)
    assert told[0] == told[1]
    assert told[0][:4] == [""] * 4 and all(told[0][4:])
    assert "its data pointer is null" in told[0][4]
    assert "dimension 1 of -2, expected zero or more" in told[0][13]


def test_what_is_read(built: rx.Executable) -> None:
    """Tensors in any order, at any address, parts of which the results overlap."""
    for name in ("short", "longer"):
        x, y = _range(4, 2), _range(4, 2) * 3
        odd = _odd(4)
        odd[:] = y
        for left, right in ((x.T.copy().T, y), (x, odd), (x[::-1], y[::-1]), (x[:1], y[:1]), (x[:0], y[:0])):
            total, less = (np.from_dlpack(each) for each in built[name](left, right))
            np.testing.assert_array_equal(total, left + right)
            np.testing.assert_array_equal(less, left - right)
        memory = _range(9, 2)
        left, right = memory[:4].copy(), memory[3:7].copy()
        built[name](memory[:4], memory[3:7], memory[1:5], memory[5:9])
        np.testing.assert_array_equal(memory[1:5], left + right)
        np.testing.assert_array_equal(memory[5:9], left - right)
